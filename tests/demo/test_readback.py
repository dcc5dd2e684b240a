from __future__ import annotations

import math

import pytest

from tooltel import signals
from tooltel.demo.readback import Scrape
from tooltel.errors import SignalError

INF = math.inf


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
