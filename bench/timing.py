"""
Timing of small things on a noisy machine.

Every case runs one short batch per round, in an order shuffled anew each round, in one process: what
disturbs the machine disturbs all cases alike. A figure is the median over rounds of a ratio taken *within* a
round. The clock is the thread's own CPU time, so a neighbor that takes the core away is not counted; nothing
measured here waits.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import random
import statistics
import time
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

CALLS: Final = 250  # per batch: a few milliseconds, and fewer spans than one export of the batch processor
WARM: Final = 20  # calls before the clock starts, as the batch before was of another case
ITEMS: Final = 50  # of one stream

Batch = Callable[[int], float]  # runs that many calls; gives nanoseconds of CPU time per call (or per item)
Rounds = Mapping[str, Sequence[float]]  # by case: one figure per round

_numbers = itertools.count()  # every call gets an argument of its own, as equal calls would count as repeated
_clock = time.thread_time_ns


class Fault(Exception):
    """What the failing tool raises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Something to time: its batch, and what is done around and after it, off the clock."""

    name: str
    batch: Batch
    around: Callable[[], AbstractContextManager[object]] = nullcontext
    after: Callable[[], object] = lambda: None


def timed(fn: Callable[[int, str], object]) -> Batch:
    """A batch of plain calls."""

    def batch(calls: int) -> float:
        numbers = itertools.islice(_numbers, calls)
        start = _clock()
        for number in numbers:
            fn(number, "x")
        return (_clock() - start) / calls

    return batch


def timed_faults(fn: Callable[[int, str], object]) -> Batch:
    """A batch of calls that raise Fault."""

    def batch(calls: int) -> float:
        numbers = itertools.islice(_numbers, calls)
        start = _clock()
        for number in numbers:
            try:  # noqa: SIM105 - what is timed is written out
                fn(number, "x")
            except Fault:
                pass
        return (_clock() - start) / calls

    return batch


def timed_stream(fn: Callable[[int, str], Iterable[object]]) -> Batch:
    """A batch of streams, per item: each of the calls gives ITEMS items."""

    def batch(calls: int) -> float:
        streams = max(1, calls // ITEMS)
        start = _clock()
        for _ in range(streams):
            for _ in fn(ITEMS, "x"):
                pass
        return (_clock() - start) / (streams * ITEMS)

    return batch


class AsyncTimer:
    """Makes batches of what is awaited, all on one event loop. Close it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()

    def timed(self, fn: Callable[[int, str], Awaitable[object]]) -> Batch:
        """A batch of awaited calls."""

        async def run(calls: int) -> float:
            numbers = itertools.islice(_numbers, calls)
            start = _clock()
            for number in numbers:
                await fn(number, "x")
            return (_clock() - start) / calls

        return lambda calls: self._loop.run_until_complete(run(calls))

    def timed_faults(self, fn: Callable[[int, str], Awaitable[object]]) -> Batch:
        """A batch of awaited calls that raise Fault."""

        async def run(calls: int) -> float:
            numbers = itertools.islice(_numbers, calls)
            start = _clock()
            for number in numbers:
                try:  # noqa: SIM105 - what is timed is written out
                    await fn(number, "x")
                except Fault:
                    pass
            return (_clock() - start) / calls

        return lambda calls: self._loop.run_until_complete(run(calls))

    def timed_stream(self, fn: Callable[[int, str], AsyncIterable[object]]) -> Batch:
        """A batch of asynchronous streams, per item."""

        async def run(calls: int) -> float:
            streams = max(1, calls // ITEMS)
            start = _clock()
            for _ in range(streams):
                async for _ in fn(ITEMS, "x"):
                    pass
            return (_clock() - start) / (streams * ITEMS)

        return lambda calls: self._loop.run_until_complete(run(calls))

    def close(self) -> None:
        """Close the loop."""
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()


def measure(
    cases: Iterable[Case],
    *,
    rounds: int | None = None,
    seconds: float = 60.0,
    calls: int = CALLS,
    seed: int = 1,
) -> Rounds:
    """Run *rounds* rounds of all cases (None: as many as fit into *seconds*); give ns per call, by case."""
    order = list(cases)
    chance = random.Random(seed)
    found: dict[str, list[float]] = {case.name: [] for case in order}
    gc.collect()
    gc.freeze()  # what exists now is looked at by no collection between batches
    end = time.monotonic() + seconds
    try:
        for _ in range(rounds) if rounds is not None else itertools.count():
            chance.shuffle(order)
            for case in order:
                found[case.name].append(_run(case, calls))
            if rounds is None and time.monotonic() >= end:
                break
    finally:
        gc.unfreeze()
    return found


def _run(case: Case, calls: int) -> float:
    with case.around():
        case.batch(WARM)
        gc.collect()
        gc.disable()
        try:
            figure = case.batch(calls)
        finally:
            gc.enable()
    case.after()
    return figure


class Figure(NamedTuple):
    """A median with its quartiles."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Figure:
        """The figure of one value per round."""
        if len(values) < 2:
            return cls(values[0], values[0], values[0])
        low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(middle, low, high)


class Added(NamedTuple):
    """What a case costs beyond the bare callable that it wraps."""

    case: str
    bare: str

    def per_round(self, rounds: Rounds) -> list[float]:
        """Nanoseconds per call, by round."""
        pairs: Any = zip(rounds[self.case], rounds[self.bare], strict=True)
        return [with_it - without for with_it, without in pairs]


def ratio(rounds: Rounds, over: Added, under: Added) -> Figure:
    """How many times the cost of *under* is *over*, each taken in the same round."""
    return Figure.of([a / b for a, b in zip(over.per_round(rounds), under.per_round(rounds), strict=True) if b > 0])


def added(rounds: Rounds, over: Added) -> Figure:
    """The cost of *over* in nanoseconds."""
    return Figure.of(over.per_round(rounds))
