"""
Cleaning of text that a model or a stranger wrote.

What passes through here is bounded, one line, printable and valid UTF-8: it cannot forge a log record, move a
terminal's cursor or break an exporter. It is for people to read; it is never a label value.
"""

from __future__ import annotations

from typing import Final

from tooltel.signals import NAME_LIMIT

ELLIPSIS: Final = "…"


def clean(value: object, *, limit: int = NAME_LIMIT) -> str:
    r"""
    Give *value* as one printable line of at most *limit* characters.

    Control characters, line separators, bidirectional overrides and lone surrogates become escapes such as
    ``\n`` or ``\u202e``; a cut is marked with an ellipsis. Never raises, whatever `str(value)` does.
    """
    try:
        text = value if type(value) is str else str.__str__(str(value))  # a subclass may lie about itself
    except Exception:  # noqa: BLE001 - a hostile __str__ must not reach the caller
        text = f"<unprintable {type(value).__name__}>"
    cut = text[: limit + 1]  # never look at more than can be kept: the rest may be megabytes
    if not (cut.isascii() and cut.isprintable()):
        cut = "".join(char if char.isprintable() else _escaped(char) for char in cut)
    if len(cut) > limit or len(text) > limit:
        return cut[: limit - 1] + ELLIPSIS
    return cut


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
