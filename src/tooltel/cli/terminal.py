"""What the terminal wants: colors or none, signs of life or quiet."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE: Final = 1.0  # seconds until a person wants to know that something is going on
_PLAIN: Final = frozenset({"dumb", "unknown"})  # terminals that cannot move their cursor


def wants_color() -> bool | None:
    """
    Whether to write colors: never with NO_COLOR, always with FORCE_COLOR, and None where a terminal decides.

    An empty variable is none. https://no-color.org, https://force-color.org
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return False if is_plain() else None


def is_plain() -> bool:
    """Whether the terminal can only write line after line."""
    return os.environ.get("TERM") in _PLAIN


def is_interactive() -> bool:
    """Whether a person sits at both ends, on a terminal that can be drawn on."""
    streams = (sys.stdin, sys.stdout)
    return not is_plain() and all(stream is not None and stream.isatty() for stream in streams)


@contextmanager
def working(words: str, *, after: float = PATIENCE) -> Iterator[None]:
    """Say *words* on standard error while the block takes longer than *after* seconds; only a terminal sees it."""
    if sys.stderr is None or not sys.stderr.isatty() or is_plain():
        yield
        return
    done = threading.Event()
    teller = threading.Thread(target=_tell, args=(words, done, after), daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()


def _tell(words: str, done: threading.Event, after: float) -> None:
    if done.wait(after):
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text(words)):
        done.wait()
