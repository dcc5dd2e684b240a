"""
What a plug-in adds to a call: the same run with and without it, in turns.

Every round runs both, in an order that alternates, on a CPU clock: what else runs on the machine takes wall time, and
this clock does not see it. The figure is the median of the differences within a round, so that what makes the processor
slower disturbs both alike; with it comes the interval in which that median lies, 19 times out of 20.

`compare` takes a run as a whole, and so what a plug-in does once for each conversation, too. `compare_calls` takes each
call by itself, against the same call of the other run: many more pairs, and steadier. `compare_alone` takes calls that
no run is around: as a framework makes a single one, again and again.
"""

from __future__ import annotations

import gc
import json
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise
from math import floor, sqrt
from typing import NamedTuple

Costs = Callable[[], Awaitable[list[float]]]


class Added(NamedTuple):
    """
    Microseconds a call: `without` the plug-in, and what it `adds`, both medians over `rounds`.

    The true median of what it adds is between `low` and `high`, with 95 per cent confidence. `pairs` were compared.
    """

    without: float
    adds: float
    low: float
    high: float
    pairs: int

    def print(self, framework: str, version: str, **facts: str) -> None:
        """Print one line for people, then one JSON line, which tells *facts*, too."""
        told = f"{framework} {version}: {self.without:.0f} us a call without the plug-in, which adds {self.adds:.1f} us"
        print(f"{told} (median of {self.pairs} pairs; 95%: {self.low:.1f} to {self.high:.1f})")
        values = {"framework": framework, "version": version, **facts, **self._asdict()}
        print(
            json.dumps({key: round(value, 1) if isinstance(value, float) else value for key, value in values.items()})
        )


def added(without: Sequence[float], with_it: Sequence[float]) -> Added:
    """What the second of each pair takes more than the first, in microseconds; both in the same order."""
    more = sorted(ours - plain for plain, ours in zip(without, with_it, strict=True))
    pairs = len(more)
    aside = max(0, floor(pairs / 2 - 0.98 * sqrt(pairs)))  # of a binomial's order statistics
    low, high = more[aside], more[pairs - 1 - aside]
    return Added(statistics.median(without), statistics.median(more), low, high, pairs)


class Marked(NamedTuple):
    """A run, and what a CPU clock said, in nanoseconds, when its model was asked: between two of these is a call."""

    run: Callable[[], Awaitable[int]]
    marks: list[int]


async def compare(
    without: Callable[[], Awaitable[int]],
    with_it: Callable[[], Awaitable[int]],
    *,
    rounds: int,
    clock: Callable[[], int] = time.thread_time_ns,
) -> Added:
    """
    Run both *rounds* times after a tenth as many that warm up; each gives the number of calls that it made.

    *clock* gives nanoseconds; what runs in several threads needs the process' own.
    """

    async def cost(run: Callable[[], Awaitable[int]]) -> list[float]:
        start = clock()
        calls = await run()
        return [(clock() - start) / calls / 1_000]

    return await _in_turns(lambda: cost(without), lambda: cost(with_it), rounds)


async def compare_calls(without: Marked, with_it: Marked, *, rounds: int) -> Added:
    """Run both *rounds* times after a tenth as many that warm up, and compare call with call."""

    async def costs(marked: Marked) -> list[float]:
        marked.marks.clear()
        await marked.run()
        return [(end - start) / 1_000 for start, end in pairwise(marked.marks)]

    return await _in_turns(lambda: costs(without), lambda: costs(with_it), rounds)


async def compare_alone(
    without: Callable[[], Awaitable[object]],
    with_it: Callable[[], Awaitable[object]],
    *,
    rounds: int,
    clock: Callable[[], int] = time.thread_time_ns,
) -> Added:
    """Make both calls *rounds* times, in turns: what interrupts the process falls on few, which no median sees."""
    plain: list[float] = []
    ours: list[float] = []
    for number in range(rounds):
        for run, times in ((without, plain), (with_it, ours))[:: 1 if number % 2 else -1]:
            start = clock()
            await run()
            times.append((clock() - start) / 1_000)
    return added(plain, ours)


async def _in_turns(without: Costs, with_it: Costs, rounds: int) -> Added:
    plain: list[float] = []
    ours: list[float] = []
    warming = 1 + rounds // 10
    for number in range(rounds + warming):
        pair = (without, with_it) if number % 2 else (with_it, without)
        found = {costs: await _undisturbed(costs) for costs in pair}
        if number >= warming:
            plain += found[without]
            ours += found[with_it]
    return added(plain, ours)


async def _undisturbed(costs: Costs) -> list[float]:
    gc.collect()
    gc.disable()
    try:
        return await costs()
    finally:
        gc.enable()
