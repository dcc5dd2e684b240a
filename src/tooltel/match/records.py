"""One log record, as far as it says anything about a tool call."""

from __future__ import annotations

from typing import NamedTuple


class Record(NamedTuple):
    """
    One log record: its message, and what is known beside it.

    The message may hold newlines, or only its first line with the next ones in `following`. `logger` and `level` are
    None where the log does not tell; `level` is upper case, with WARN as WARNING. `seconds` is the record's time.
    """

    message: str
    logger: str | None = None
    level: str | None = None
    following: tuple[str, ...] = ()
    seconds: float | None = None
