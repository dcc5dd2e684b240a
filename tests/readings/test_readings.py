"""Numbers that were read back say what Prometheus and the rules would say of them."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltel.readings import error_ratio, histogram_quantile

INF = math.inf


@pytest.mark.parametrize(
    ("buckets", "q", "expected"),
    [
        ([(0.01, 0), (0.02, 100), (INF, 100)], 0.95, 0.0195),  # linear within a bucket
        ([(0.01, 100), (0.02, 100), (INF, 100)], 0.5, 0.005),  # the first bucket starts at 0
        ([(0.01, 50), (0.02, 100), (INF, 100)], 0.5, 0.01),  # on a bound
        ([(0.01, 0), (0.02, 0), (INF, 7)], 0.95, 0.02),  # beyond the last finite bound
        ([(0.01, 90), (0.02, 94), (0.04, 100), (INF, 100)], 0.95, 0.02 + 0.02 / 6),
        ([(0.01, 0), (0.02, 0), (INF, 0)], 0.95, None),  # no observation
        ([], 0.95, None),
    ],
)
def test_a_quantile_is_what_prometheus_says(buckets: list[tuple[float, int]], q: float, expected: float | None) -> None:
    assert histogram_quantile(q, dict(buckets)) == (None if expected is None else pytest.approx(expected))


def by_hand(q: float, buckets: list[tuple[float, int]]) -> float | None:
    """The same of *buckets* that are sorted, rise, and have the infinite one: another way to write it."""
    if len(buckets) < 2 or not buckets[-1][1]:
        return None
    rank = q * buckets[-1][1]
    start, below = 0.0, 0
    for bound, count in buckets:
        if count >= rank:
            if math.isinf(bound):
                return start
            return start + (bound - start) * ((rank - below) / (count - below) if count > below else 1.0)
        start, below = bound, count
    return start


@given(st.lists(st.integers(0, 50), min_size=2, max_size=15), st.sampled_from([0.5, 0.95, 0.99]))
def test_a_quantile_is_what_the_sum_of_buckets_says(counts: list[int], share: float) -> None:
    bounds = [0.01 * 2**place for place in range(len(counts) - 1)] + [math.inf]
    total, buckets = 0, {}
    for bound, count in zip(bounds, counts, strict=True):
        total += count
        buckets[bound] = total
    wanted = by_hand(share, list(buckets.items()))
    assert histogram_quantile(share, buckets) == (None if wanted is None else pytest.approx(wanted))


@pytest.mark.parametrize(
    ("buckets", "found"),
    [
        ({}, None),
        ({0.1: 0.0, math.inf: 0.0}, None),
        ({math.inf: 5.0}, 0.0),  # no bound is known
        ({0.1: 2.0, 0.2: 1.0, 0.4: 10.0, math.inf: 10.0}, 0.3875),  # a bucket that holds less than the one below
        ({0.1: 10.0}, 0.095),  # the last one is missing
    ],
)
def test_odd_buckets_give_no_nonsense(buckets: dict[float, float], found: float | None) -> None:
    assert histogram_quantile(0.95, buckets) == (None if found is None else pytest.approx(found))


def test_neutral_outcomes_are_in_neither_part_of_an_error_ratio() -> None:
    outcomes = Counter({"ok": 8, "error": 1, "timeout": 1, "refused": 90, "cancelled": 5})
    assert error_ratio(outcomes) == pytest.approx(0.2)
    assert error_ratio(Counter({"refused": 3})) is None
