"""
The engine: looks at files, and makes visible what it has committed, in that order.

A turn never waits. Whoever runs it waits between turns through a waker, which a test cranks by hand.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from tooltel import signals
from tooltel.recorders.prometheus import Series
from tooltel.sidecar.counting import LastMatch, Ledger
from tooltel.sidecar.following import Follower
from tooltel.sidecar.judging import LineJudge
from tooltel.sidecar.reading import Limits, Reader
from tooltel.sidecar.state import Keeping, dump, restore

if TYPE_CHECKING:
    from tooltel.catalog import Catalog, Source
    from tooltel.sidecar.disk import Disk
    from tooltel.sidecar.logfile import LogFile
    from tooltel.sidecar.records import Judging
    from tooltel.sidecar.streams import Stream
    from tooltel.signals import SkipCause

BUSY: Final = 0.01  # seconds between turns while data flows
IDLE: Final = 0.25  # at most, while nothing comes
LOOK_AROUND: Final = 1.0  # seconds between looks at which files there are
COMMIT: Final = 0.5  # seconds between commits while data flows
RETRY: Final = 5.0  # seconds after a commit failed


class Waker(Protocol):
    """Waits between turns."""

    def wait(self, seconds: float) -> bool:
        """Wait at most so long; False ends the run."""


class Clock(Protocol):
    """The two clocks."""

    def monotonic(self) -> float:
        """Seconds that only go on."""

    def wall(self) -> int:
        """Nanoseconds of the day's time, as files carry it."""


class Job(NamedTuple):
    """
    What a sidecar is to do.

    *judge* gives the judge of a source. *descriptors* is how many files may be open at once.
    """

    catalog: Catalog
    sources: Sequence[Source]
    judge: Callable[[Source], Judging]
    from_end: bool = False
    descriptors: int = 256
    limits: Limits = Limits()
    fast: bool = True


class Shown(NamedTuple):
    """What may be seen from outside. *values* were committed; the gauges are as of the last turn."""

    values: Mapping[Series, float]
    lag: Mapping[str, int]
    open_files: Mapping[str, int]
    last_read: Mapping[str, float]
    last: tuple[LastMatch, ...]


class Readiness(NamedTuple):
    """Whether the counts can be relied on, and what is being waited for."""

    is_ready: bool
    missing: tuple[str, ...]
    failing: Mapping[str, str]
    problems: tuple[str, ...]


class Engine:
    """One sidecar's work. Everything but `shown`, `readiness`, `values_may_be_seen` and `beat` is for one thread."""

    def __init__(
        self, job: Job, *, disk: Disk, keeping: Keeping, clock: Clock, say: Callable[[str, str], None]
    ) -> None:
        self._job = job
        self._clock = clock
        self._keeping = keeping
        self._say = say
        self.ledger = Ledger(job.catalog)
        self._judges = {source.name: self._make_judge(source) for source in job.sources}
        self._reader = Reader(disk, self.ledger, self._judges, job.limits)
        self.follower = Follower(
            [source for source in job.sources if source.files],
            disk, self._reader, self.ledger,
            limits=job.limits, descriptors=job.descriptors, from_end=job.from_end, wall=clock.wall, say=say,
        )  # fmt: skip
        self._lock = threading.Lock()
        self._committed: dict[Series, float] = {}
        self._last: tuple[LastMatch, ...] = ()
        self._offsets: dict[tuple[int, int], int] = {}
        self._last_read: dict[str, float] = {}
        self._commit_problem = ""
        self._behind: dict[tuple[int, int], int] | None = None  # after a lost generation: where each file ended
        self._reads_again = False
        self._is_dirty = True
        self._has_more = False  # to read at once
        self._next_look = self._next_commit = float("-inf")
        self.beat = clock.monotonic()
        self._load()

    def _make_judge(self, source: Source) -> LineJudge:
        judge = self._job.judge(source)
        ids = [rule.id for rule in getattr(judge, "rules", ())]
        self.ledger.bear_source(source.name, source.profile or signals.NO_PROFILE, ids)

        def skipped(cause: SkipCause) -> None:
            self.ledger.count(signals.SIDECAR_SKIPPED_LINES, source.name, cause.value)

        return LineJudge(judge, form=source.format, skipped=skipped, fast=self._job.fast)

    # --- state ---

    def _load(self) -> None:
        loaded = self._keeping.load()
        names = frozenset(source.name for source in self._job.sources)
        is_restored = loaded.payload is not None and restore(loaded.payload, self.ledger, self.follower, sources=names)
        if is_restored:
            self._committed = dict(self.ledger.values)
            self._offsets = {log.key: log.offset for log in self.follower.logs.values()}
        if is_restored and loaded.broken:
            self._lost("the newest state does not check; going on from the one before, and showing no counts until "
                       "every file has been read to where it ends now")  # fmt: skip
            self._behind = {}
        elif not is_restored and (loaded.broken or loaded.payload is not None):
            where = "end" if self._job.from_end else "start"
            self._lost(f"both generations of the state are lost; counts begin at 0, and every file at its {where}")

    def _lost(self, what: str) -> None:
        self._say("error", what)
        for source in self._job.sources:
            self.ledger.count(signals.SIDECAR_CHECKPOINT_FAILURES, source.name)

    # --- one turn ---

    def turn(self, *, final: bool = False) -> bool:
        """
        Look at every file once, and commit when it is time. Whether there is more to do at once.

        *final* says that nothing more will be written, so that no line waits for its end.
        """
        now = self.beat = self._clock.monotonic()
        is_last = final and not self._has_more  # as far as is known
        if self.follower.is_stirred or now >= self._next_look or is_last:
            with suppress(OSError):
                self._is_dirty |= self.follower.look_around(now)
            self._next_look = now + LOOK_AROUND
            if self._behind is not None and not self._reads_again:
                self._behind = {log.key: self.follower.size_of(log) for log in self.follower.logs.values()}
                self._reads_again = True
        more = False
        for log in self.follower.in_order():
            before = log.offset, log.key in self.follower.logs
            more |= self.follower.look(log, now, final=final)
            if (log.offset, log.key in self.follower.logs) != before:
                self._is_dirty = True
                self._last_read[log.source] = self._clock.wall() / 1e9
        self._catch_up()
        if self._is_dirty and now >= self._next_commit:
            self.commit()
        self._has_more = more or self.follower.is_stirred
        return self._has_more

    def feed(self, stream: Stream) -> None:
        """Count what a pipe gave. What is not committed when the process dies is lost with the pipe."""
        if stream.count(self.ledger, self._judges[stream.source]):
            self._is_dirty = True
            self._last_read[stream.source] = self._clock.wall() / 1e9

    def _catch_up(self) -> None:
        """After a lost generation, see whether every file has been read to where it ended at the start."""
        if self._behind is None or not self._reads_again:
            return
        for key, size in list(self._behind.items()):
            log = self.follower.logs.get(key)
            if log is None or not log.lag or log.offset >= size or log.scanned >= size or log.waiting_since is not None:
                del self._behind[key]
        if not self._behind and self.commit():
            self._behind = None
            self._say("info", "every file has been read to where it ended: counts are shown again")

    # --- commit, then expose ---

    def commit(self) -> bool:
        """Save what is known, and only then show it. Whether that worked."""
        now = self._clock.monotonic()
        for name, judge in self._judges.items():
            for matched, times in judge.drain():
                self.ledger.count_match(name, matched, times, now=self._clock.wall() / 1e9)
        try:
            self._keeping.commit(dump(self.ledger, self.follower))
        except OSError as error:
            self._commit_failed(error)
            self._next_commit = now + RETRY
            return False
        if self._commit_problem:
            self._say("info", "the state can be saved again")
        with self._lock:
            self._commit_problem = ""
            self._committed = dict(self.ledger.values)
            self._last = tuple(self.ledger.last)
            self._offsets = {log.key: log.offset for log in self.follower.logs.values()}
        self._is_dirty = False
        self._next_commit = now + COMMIT
        return True

    def _commit_failed(self, error: OSError) -> None:
        reason = error.strerror or str(error)
        if reason != self._commit_problem:
            self._say("error", f"cannot save the state: {reason}; counts stay as they were saved last until it works")
        with self._lock:
            self._commit_problem = reason
            for source in self._job.sources:
                self.ledger.count(signals.SIDECAR_CHECKPOINT_FAILURES, source.name)
                # The one count that has to be seen although it could not be saved.
                series = Series(signals.SIDECAR_CHECKPOINT_FAILURES, (source.name,))
                self._committed[series] = self.ledger.values[series]

    def run(self, waker: Waker) -> None:
        """Turn until the waker says to stop, then once more for what was written since, and commit."""
        pause = BUSY
        while True:
            more = self.turn()
            pause = BUSY if more or self._is_dirty else min(IDLE, pause * 2)
            if not waker.wait(0 if more else pause):
                break
        self.turn()
        self.finish()

    def run_once(self) -> None:
        """Read everything to its end, and commit."""
        while self.turn(final=True) or self.turn(final=True):  # the second looks around: a file may have come meanwhile
            pass
        self.commit()

    def finish(self) -> None:
        """Commit what there is, and let go of everything."""
        if self._is_dirty:
            self.commit()
        self.follower.close()
        self._keeping.close()

    # --- what others may see ---

    @property
    def values_may_be_seen(self) -> bool:
        """Whether the counts cannot be lower than they were shown before."""
        return self._behind is None

    @property
    def shown(self) -> Shown:
        """What was committed, and the gauges."""
        names = [source.name for source in self._job.sources]
        lag, held = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
        for log in list(self.follower.logs.values()):
            if log.lag or log.offset:
                lag[log.source] += max(0, log.size - max(0, self._offsets.get(log.key, 0))) if _is_read(log) else 0
            held[log.source] += log.fd is not None
        for source, waiting in list(self.follower.failing_bytes.values()):
            lag[source] += waiting
        with self._lock:
            return Shown(dict(self._committed), lag, held, dict(self._last_read), self._last)

    @property
    def readiness(self) -> Readiness:
        """Whether all is well, and what is missing."""
        problems = [f"the state cannot be saved: {self._commit_problem}"] if self._commit_problem else []
        if self._behind is not None:
            problems.append("reading again what the lost generation of the state had read")
        return Readiness(not problems, tuple(self.follower.missing), dict(self.follower.failing), tuple(problems))


def _is_read(log: LogFile) -> bool:
    return not log.is_ignored and log.original is None and log.parent is None
