from __future__ import annotations

import math
from collections import Counter

import pytest

from tooltel import signals
from tooltel.demo.readback import Scrape, error_ratio, histogram_quantile
from tooltel.errors import SignalError

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
    assert histogram_quantile(q, buckets) == (None if expected is None else pytest.approx(expected))


def test_neutral_outcomes_are_in_neither_part_of_an_error_ratio() -> None:
    outcomes = Counter({"ok": 8, "error": 1, "timeout": 1, "refused": 90, "cancelled": 5})
    assert error_ratio(outcomes) == pytest.approx(0.2)
    assert error_ratio(Counter({"refused": 3})) is None


def test_a_scrape_sums_over_what_was_not_asked_for() -> None:
    row = signals.NOT_FOUND.name
    scrape = Scrape(
        f"# TYPE {row.removesuffix('_total')} counter\n"
        f'{row}{{profile="a",owner="o",reason="unknown",requested="other"}} 2\n'
        f'{row}{{profile="b",owner="o",reason="unknown",requested="other"}} 3\n'
        f'{row}{{profile="b",owner="p",reason="renamed",requested="old"}} 5\n'
    )
    assert scrape.total(signals.NOT_FOUND) == 10
    assert scrape.total(signals.NOT_FOUND, owner="o") == 5
    assert scrape.by(signals.NOT_FOUND, "profile") == {"a": 2, "b": 8}


def test_a_label_that_a_row_does_not_have_is_an_error() -> None:
    with pytest.raises(SignalError, match="no label 'tol'"):
        Scrape("").total(signals.NOT_FOUND, tol="x")


def test_what_is_no_exposition_is_refused() -> None:
    with pytest.raises(ValueError, match=r"[Ii]nvalid"):
        Scrape("<html>not metrics</html>\n")
