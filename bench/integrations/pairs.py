"""
What a plug-in adds to a call: the same run with and without it, in turns.

Every round runs both, in an order that alternates, on a CPU clock: what else runs on the machine takes wall time, and
this clock does not see it. The figure is the median over rounds of the difference within a round, so that what makes
the processor slower disturbs both alike; with it comes the interval in which that median lies, 19 times out of 20.
"""

from __future__ import annotations

import gc
import json
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from math import floor, sqrt
from typing import NamedTuple


class Added(NamedTuple):
    """
    Microseconds a call: `without` the plug-in, and what it `adds`, both medians over `rounds`.

    The true median of what it adds is between `low` and `high`, with 95 per cent confidence.
    """

    without: float
    adds: float
    low: float
    high: float
    rounds: int

    def print(self, framework: str, version: str, **facts: str) -> None:
        """Print one line for people, then one JSON line, which tells *facts*, too."""
        told = f"{framework} {version}: {self.without:.0f} us a call without the plug-in, which adds {self.adds:.1f} us"
        print(f"{told} (median of {self.rounds} rounds; 95%: {self.low:.1f} to {self.high:.1f})")
        values = {"framework": framework, "version": version, **facts, **self._asdict()}
        print(
            json.dumps({key: round(value, 1) if isinstance(value, float) else value for key, value in values.items()})
        )


def added(without: Sequence[float], with_it: Sequence[float]) -> Added:
    """What the second of each pair takes more than the first, in microseconds; both in the order of the rounds."""
    more = sorted(ours - plain for plain, ours in zip(without, with_it, strict=True))
    rounds = len(more)
    aside = max(0, floor(rounds / 2 - 0.98 * sqrt(rounds)))  # of a binomial's order statistics
    low, high = more[aside], more[rounds - 1 - aside]
    return Added(statistics.median(without), statistics.median(more), low, high, rounds)


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
    plain: list[float] = []
    ours: list[float] = []
    warming = 1 + rounds // 10
    for number in range(rounds + warming):
        pair = (without, with_it) if number % 2 else (with_it, without)
        costs = {run: await _cost(run, clock) for run in pair}
        if number >= warming:
            plain.append(costs[without])
            ours.append(costs[with_it])
    return added(plain, ours)


async def _cost(run: Callable[[], Awaitable[int]], clock: Callable[[], int]) -> float:
    gc.collect()
    gc.disable()
    try:
        start = clock()
        calls = await run()
        return (clock() - start) / calls / 1_000
    finally:
        gc.enable()
