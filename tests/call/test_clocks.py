"""Seconds come from a clock of the host's; whatever it does, a call has a sane time and a clean context."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client import CollectorRegistry

from tooltel import Catalog, HouseRules, Tooltel
from tooltel.call import current_call
from tooltel.errors import Level
from tooltel.signals import Status
from tooltel.testing import capture, parse_samples

if TYPE_CHECKING:
    from tooltel import Outcome

FAIL = object()
CATALOG = Catalog(house=HouseRules(levels={"description": Level.OFF}), open=True)


class Scripted:
    """Gives one reading after the other, and raises where the script says FAIL."""

    def __init__(self, *readings: Any) -> None:
        self.readings = iter(readings)

    def __call__(self) -> Any:
        reading = next(self.readings, 10.0)
        if reading is FAIL:
            raise OSError("no clock")
        return reading


def record(clock: Callable[[], Any], use: Callable[[Tooltel], Any]) -> tuple[Outcome, Tooltel]:
    outcomes: list[Outcome] = []
    tel = Tooltel(CATALOG, registry=CollectorRegistry(), clock=clock, recorders=[outcomes.append])
    use(tel)
    (outcome,) = outcomes
    return outcome, tel


def failures(tel: Tooltel) -> float:
    return parse_samples(tel.view)["tooltel_internal_errors_total", frozenset({("component", "clock")})]


def call(tel: Tooltel) -> None:
    assert tel.tool(lambda: "done", name="order_lookup", owner="desk")() == "done"


def read(tel: Tooltel) -> None:
    def rows() -> Iterator[int]:
        yield from (1, 2)

    assert list(tel.tool(rows, name="order_rows", owner="desk")()) == [1, 2]


@pytest.mark.parametrize(
    ("readings", "seconds", "failed"),
    [
        ((1.0, 3.5), 2.5, 0),
        ((FAIL, 3.5), 0.0, 1),  # what it began with is not known: not the time since the clock's own zero
        ((1.0, FAIL), 0.0, 1),
        ((FAIL, FAIL), 0.0, 2),
        ((None, 3.5), 0.0, 1),
        ((1.0, None), 0.0, 1),
        (("1", "3"), 0.0, 1),
        ((3.5, 1.0), 0.0, 0),
        ((1.0, float("nan")), 0.0, 0),
        ((1.0, float("inf")), 0.0, 0),
        ((0.0, 1e12), 0.0, 0),
        ((1, 3), 2.0, 0),
        ((True, 3), 2.0, 0),
    ],
)
def test_one_call(readings: tuple[Any, ...], seconds: float, failed: int) -> None:
    outcome, tel = record(Scripted(*readings), call)
    assert (outcome.status, outcome.seconds) == (Status.OK, seconds)
    assert failures(tel) == failed


@pytest.mark.parametrize(
    ("readings", "seconds", "life"),
    [
        # begin, leave | enter, leave (first item) | enter, leave (second) | enter, leave (end)
        ((0.0, 1.0, 1.0, 2.0, 5.0, 6.0, 9.0, 9.5), 3.5, 4.0),
        ((FAIL, 1.0, 1.0, 2.0, 5.0, 6.0, 9.0, 9.5), 2.5, 4.0),
        ((0.0, 1.0, FAIL, 2.0, 5.0, 6.0, 9.0, 9.5), 2.5, 4.0),
        ((0.0, 1.0, 2.0, 1.0, 5.0, 6.0, 9.0, 9.5), 2.5, 5.0),
        ((0.0, 1.0, 1.0, 8.0, 5.0, 6.0, 9.0, 9.5), 9.5, 0.0),
        ((None,) * 8, 0.0, 0.0),
        ((FAIL,) * 8, 0.0, 0.0),
        ((float("nan"),) * 8, 0.0, 0.0),
        ((float("inf"),) * 8, 0.0, 0.0),
    ],
)
def test_a_stream_keeps_the_steps_whose_time_is_known(readings: tuple[Any, ...], seconds: float, life: float) -> None:
    outcome, tel = record(Scripted(*readings), read)
    assert (outcome.status, outcome.seconds) == (Status.OK, seconds)
    assert outcome.stream is not None
    assert (outcome.stream.life, outcome.stream.items) == (life, 2)
    for (name, _), value in parse_samples(tel.view).items():
        if name.endswith("_seconds_sum"):
            assert 0.0 <= value < 100.0, f"{name} is spoilt for ever"


@pytest.mark.parametrize("use", [call, read])
@pytest.mark.parametrize("readings", [(FAIL,), (1.0, FAIL)])
def test_under_the_test_kit_a_broken_clock_raises_and_leaves_the_context_clean(
    use: Callable[[Tooltel], Any], readings: tuple[Any, ...]
) -> None:
    tel = Tooltel(CATALOG, registry=CollectorRegistry(), clock=Scripted(*readings))
    with capture(tel), pytest.raises(OSError, match="no clock"):
        use(tel)
    assert current_call() is None
