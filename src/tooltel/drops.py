"""
One drop, told several times: by a plug-in's hook, and by the line that the framework logs of it.

Whoever tells of a drop asks here whether it is a new one. Each drop that one told of cancels at most one that another
tells of the same name within two seconds, in either order: two drops at the same time stay two.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from enum import StrEnum
from typing import Final

WINDOW: Final = 2.0  # seconds between a hook and the line that the framework logs of the same drop
_KEPT: Final = 10_000  # drops; within one window that is a flood, in which one more or less is no news


class Teller(StrEnum):
    """Who tells of a drop."""

    HOOK = "hook"  # a plug-in, or the loop itself
    LOGGING = "logging"
    WARNINGS = "warnings"
    STRUCTLOG = "structlog"
    OTEL = "otel"


class _Drop:
    __slots__ = ("at", "name", "told")

    def __init__(self, at: float, name: str, teller: Teller, times: int) -> None:
        self.at = at
        self.name = name
        self.told = {teller: times - 1}  # how often each that has told of it will tell again


class Drops:
    """The drops of the last seconds, by *clock*."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._recent: deque[_Drop] = deque()
        self._named: dict[str, list[_Drop]] = {}
        self.forked()

    def forked(self) -> None:
        """Take a lock of our own: another thread may have held it when the process forked."""
        self._lock = threading.RLock()  # re-entrant: a collection inside may end a call that was one to no tool

    def is_new(self, name: str, teller: Teller, *, times: int = 1) -> bool:
        """
        Whether the drop of *name* that *teller* tells of now is one that nobody else has told of.

        *times* is how often that teller tells of each.
        """
        now = self._now()
        with self._lock:
            self._forget(now)
            for drop in self._named.get(name, ()):
                again = drop.told.get(teller, times)
                if again > 0:
                    drop.told[teller] = again - 1
                    return False
            made = _Drop(now, name, teller, times)
            self._recent.append(made)
            self._named.setdefault(name, []).append(made)
        return True

    def _now(self) -> float:
        try:
            return self._clock()
        except Exception:  # noqa: BLE001 - the host's clock; the drop counts all the same
            return 0.0

    def _forget(self, now: float) -> None:
        recent = self._recent
        # A clock that went back would keep what is in its future for ever.
        while recent and (abs(now - recent[0].at) > WINDOW or len(recent) >= _KEPT):
            old = recent.popleft()
            same = self._named[old.name]
            same.remove(old)
            if not same:
                del self._named[old.name]
