"""Real time and real signals: what a test replaces by its hands."""

from __future__ import annotations

import signal
import threading
import time
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from types import FrameType

STOPPING: Final = (signal.SIGTERM, signal.SIGINT)


class SystemClock:
    """The machine's clocks."""

    def monotonic(self) -> float:
        """Seconds that only go on."""
        return time.monotonic()

    def wall(self) -> int:
        """Nanoseconds of the day's time."""
        return time.time_ns()


class SignalWaker:
    """Waits on a lock, which SIGTERM and SIGINT open for good. For the main thread."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self.signal: int | None = None

    def listen(self) -> None:
        """Let the signals stop the run from now on."""
        for number in STOPPING:
            signal.signal(number, self._stopped)

    def _stopped(self, number: int, _frame: FrameType | None) -> None:
        self.signal = number
        self._stop.set()

    def wait(self, seconds: float) -> bool:
        """Wait at most so long; False ends the run."""
        return not (self._stop.wait(seconds) if seconds > 0 else self._stop.is_set())


def descriptors_for_files(limit: int | None = None) -> int:
    """How many files may be held open, of *limit* descriptors (the process's own): half is for the rest of us."""
    import resource

    allowed: Any = resource.getrlimit(resource.RLIMIT_NOFILE)[0] if limit is None else limit
    return 512 if allowed == resource.RLIM_INFINITY else max(8, min(512, allowed // 2))
