"""Open files: at most so many, of which the one that has been idle longest makes room."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tooltel.sidecar.disk import Disk
    from tooltel.sidecar.logfile import LogFile


class Descriptors:
    """At most *limit* open files."""

    def __init__(self, disk: Disk, limit: int) -> None:
        self._disk = disk
        self._limit = max(1, limit)
        self._open = 0

    def open(self, log: LogFile, among: Iterable[LogFile], *, beside: LogFile | None = None) -> None:
        """
        Open *log*. Where too many are open, one *among* others gives up its own, but not the one *beside* it.

        Raises OSError.
        """
        while self._open >= self._limit and self._close_one(among, beside):
            pass
        log.fd = self._disk.open(log.path)
        self._open += 1

    def _close_one(self, among: Iterable[LogFile], beside: LogFile | None) -> bool:
        """Close the file that has been idle longest; one with unread bytes or without a name only if need be."""
        held = [log for log in among if log.fd is not None and log is not beside]
        if not held:
            return False
        self.close(min(held, key=lambda log: (not log.is_live, log.lag > 0, log.used_at)))
        return True

    def close(self, log: LogFile) -> None:
        """Close *log*, if it is open."""
        if log.fd is None:
            return
        fd, log.fd = log.fd, None
        self._open -= 1
        with suppress(OSError):
            self._disk.close(fd)
