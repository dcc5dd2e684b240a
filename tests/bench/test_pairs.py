"""What a plug-in adds is the median of pairs, with the interval in which it lies."""

from __future__ import annotations

import asyncio
import random
from itertools import count

from bench.integrations.pairs import Marked, added, compare, compare_alone, compare_calls


def test_the_median_of_what_each_pair_differs_by_is_told_and_not_the_difference_of_medians() -> None:
    found = added([10.0, 20.0, 90.0], [13.0, 24.0, 95.0])
    assert (found.without, found.adds, found.pairs) == (20.0, 4.0, 3)


def test_one_pair_that_was_disturbed_does_not_count() -> None:
    assert added([10.0] * 9, [*[12.0] * 8, 5_000.0]).adds == 2.0


def test_the_interval_holds_the_true_median_nineteen_times_out_of_twenty() -> None:
    dice = random.Random(7)
    held = 0
    for _ in range(400):
        found = added([0.0] * 100, [dice.gauss(5.0, 20.0) for _ in range(100)])
        assert found.low <= found.adds <= found.high
        held += found.low <= 5.0 <= found.high
    assert 0.92 <= held / 400 <= 0.99


def test_both_runs_are_measured_by_the_given_clock_equally_often_and_in_alternating_order() -> None:
    now, order = count(0), []

    async def without() -> int:
        order.append("without")
        return 2

    async def with_it() -> int:
        order.append("with it")
        for _ in range(4):
            next(now)
        return 2

    found = asyncio.run(compare(without, with_it, rounds=10, clock=lambda: next(now) * 1_000))
    assert (found.without, found.adds, found.pairs) == (0.5, 2.0, 10)
    assert order.count("without") == order.count("with it")
    assert order[:4] == ["with it", "without", "without", "with it"]


def test_calls_are_compared_with_the_same_call_of_the_other_run() -> None:
    def marked(*marks: int) -> Marked:
        seen: list[int] = []

        async def run() -> int:
            seen.extend(marks)
            return len(marks) - 1

        return Marked(run, seen)

    found = asyncio.run(compare_calls(marked(0, 1_000, 9_000), marked(500, 3_500, 13_500), rounds=3))
    assert (found.adds, found.low, found.high, found.pairs) == (2.0, 2.0, 2.0, 6)


def test_single_calls_are_made_in_alternating_order_and_each_is_timed_by_itself() -> None:
    now, order = count(0, 500), []

    async def without() -> None:
        order.append("without")

    async def with_it() -> None:
        order.append("with it")
        for _ in range(6):
            next(now)

    found = asyncio.run(compare_alone(without, with_it, rounds=4, clock=lambda: next(now)))
    assert (found.without, found.adds, found.pairs) == (0.5, 3.0, 4)
    assert order == ["with it", "without", "without", "with it"] * 2
