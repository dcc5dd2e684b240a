"""
What a plug-in adds to a call: the same run with and without it, in turns.

Every round runs both, in an order that alternates, on the thread's own CPU clock; the figure is the median over rounds
of the difference within a round, so that what disturbs the machine disturbs both alike.
"""

from __future__ import annotations

import gc
import json
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple


class Added(NamedTuple):
    """Microseconds a call: `without` the plug-in, what it `adds`, both medians over `rounds`."""

    without: float
    adds: float
    rounds: int

    def print(self, framework: str, version: str) -> None:
        """Print one line for people, then one JSON line."""
        told = f"{framework} {version}: {self.without:.0f} us a call without the plug-in, which adds {self.adds:.1f} us"
        print(f"{told} (median of {self.rounds} rounds)")
        facts = {"framework": framework, "version": version, **self._asdict()}
        print(json.dumps({key: round(value, 1) if isinstance(value, float) else value for key, value in facts.items()}))


async def compare(
    without: Callable[[], Awaitable[int]],
    with_it: Callable[[], Awaitable[int]],
    *,
    rounds: int,
    clock: Callable[[], int] = time.thread_time_ns,
) -> Added:
    """
    Run both *rounds* times after one round that warms up; each gives the number of calls that it made.

    *clock* gives nanoseconds; what runs in several threads needs the process' own.
    """
    plain: list[float] = []
    added: list[float] = []
    for number in range(rounds + 1):
        pair = (without, with_it) if number % 2 else (with_it, without)
        costs = {run: await _cost(run, clock) for run in pair}
        if number:
            plain.append(costs[without])
            added.append(costs[with_it] - costs[without])
    return Added(statistics.median(plain), statistics.median(added), rounds)


async def _cost(run: Callable[[], Awaitable[int]], clock: Callable[[], int]) -> float:
    gc.collect()
    gc.disable()
    try:
        start = clock()
        calls = await run()
        return (clock() - start) / calls / 1_000
    finally:
        gc.enable()
