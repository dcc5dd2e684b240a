"""
What must wait for a better moment: until a garbage collection is over, or until there is room on the stack.

A collection may start at any allocation, also where this thread holds a lock of a metric or of an exporter, and may
end an abandoned stream there. To count it at once would wait for that lock, for ever. And where a tool failed because
the stack was full, it is full for us, too. So such work is put off, and done at the next call or scrape.
"""

from __future__ import annotations

import atexit
import gc
import os
from collections import deque
from collections.abc import Callable, Mapping
from threading import get_ident
from typing import Any, Final

waiting: Final[deque[Callable[[], None]]] = deque()  # append what is to be done: that is safe anywhere
_collecting: int | None = None  # the thread that collects; there is never more than one


def watch_collections() -> None:
    """Take note of collections from now on; called again, it does nothing."""
    if _note not in gc.callbacks:
        gc.callbacks.append(_note)
        atexit.register(catch_up)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=waiting.clear)  # those calls are the parent's


def _note(phase: str, _info: Mapping[str, Any]) -> None:
    global _collecting
    _collecting = get_ident() if phase == "start" else None


def is_collecting() -> bool:
    """Whether this very code runs inside a collection."""
    return _collecting is not None and _collecting == get_ident()


def catch_up() -> None:
    """Do what was put off."""
    if is_collecting():
        return
    while True:
        try:
            work = waiting.popleft()
        except IndexError:  # done, or another thread was faster
            return
        try:
            work()
        except RecursionError:  # the next call was made where the stack is still full
            return
