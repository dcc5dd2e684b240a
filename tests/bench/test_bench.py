from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.floor import ATTRIBUTES
from bench.report import BARS
from bench.timing import Added, Case, Figure, measure, ratio
from tooltel import signals

ROOT = Path(__file__).resolve().parents[2]
CONDITIONS = ("sampled", "unsampled", "no_sdk", "error")
GENEROUS = 2.0  # bars are for a quiet moment; a test among others only sees that nothing is off by a factor


@pytest.fixture(scope="module")
def output() -> str:
    """What a short run prints, from a process of its own: there is no global tracer provider in it."""
    command = [sys.executable, str(ROOT / "bench" / "calls.py"), "--rounds", "7", "--imports", "3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False, cwd=ROOT.parent)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def figures(output: str) -> dict[str, Any]:
    found = json.loads(output.splitlines()[-1])
    assert isinstance(found, dict)
    return found


def numbers(value: object) -> Iterator[float]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from numbers(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from numbers(inner)
    else:
        assert isinstance(value, (int, float))
        yield float(value)


@pytest.mark.slow
def test_the_last_line_is_one_json_object_with_the_ratios_of_both_kinds(figures: dict[str, Any]) -> None:
    for kind in ("sync", "async"):
        assert set(CONDITIONS) < set(figures[kind])
        assert figures[kind]["floor"] == 1.0
    assert figures["import_ratio"] > 0


@pytest.mark.slow
def test_every_figure_is_a_finite_number(figures: dict[str, Any]) -> None:
    found = list(numbers(figures))
    assert len(found) > 40
    assert all(map(math.isfinite, found))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_no_ratio_is_beyond_twice_its_bar(figures: dict[str, Any], kind: str, condition: str) -> None:
    assert 0 < figures[kind][condition] <= GENEROUS * BARS[condition]


@pytest.mark.slow
def test_importing_is_not_beyond_twice_its_bar(figures: dict[str, Any]) -> None:
    assert figures["import_ratio"] <= GENEROUS * BARS["import_ratio"]


@pytest.mark.slow
def test_a_call_costs_less_the_less_is_recorded_of_it(figures: dict[str, Any]) -> None:
    for kind in ("sync", "async"):
        found = figures[kind]
        assert found["prometheus_client"] < found["no_sdk"] < found["unsampled"] < found["sampled"]


@pytest.mark.slow
def test_each_attribute_that_a_good_call_may_carry_has_its_cost(figures: dict[str, Any]) -> None:
    assert set(figures["attributes"]) == {*ATTRIBUTES, signals.OUTCOME}
    assert sum(figures["attributes"].values()) > 0


@pytest.mark.slow
def test_what_is_opt_in_is_reported_beside_the_call(figures: dict[str, Any]) -> None:
    assert {"exemplar", "argument_hash", "log_event"} < set(figures["beside"])
    assert all(value > 0 for value in figures["beside"].values())


@pytest.mark.slow
def test_the_table_shows_every_bar_with_its_verdict(output: str) -> None:
    assert output.count("(at most ") == 2 * len(CONDITIONS) + 1


def test_a_ratio_is_taken_within_each_round_and_off_the_bare_callable() -> None:
    rounds = {"bare": [1.0, 10.0, 1.0], "floor": [2.0, 20.0, 3.0], "ours": [4.0, 50.0, 5.0]}
    assert ratio(rounds, Added("ours", "bare"), Added("floor", "bare")) == Figure(3.0, 2.5, 3.5)


def test_each_case_runs_once_a_round_inside_what_surrounds_it() -> None:
    ran: list[int] = []
    drained: list[int] = []

    def batch(calls: int) -> float:
        ran.append(calls)
        return float(calls)

    case = Case(name="one", batch=batch, after=lambda: drained.append(len(ran)))
    assert measure([case], rounds=3, calls=40) == {"one": [40.0, 40.0, 40.0]}
    assert ran.count(40) == 3  # the others warm up
    assert drained == [2, 4, 6]
