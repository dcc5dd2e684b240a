"""Telemetry never breaks the tool: every failure inside is contained, counted, and said at a limited rate."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.signals.desk import SENTENCE, Desk, raising
from tests.signals.scrape import samples, total
from tooltel.recording import SECONDS_BETWEEN_LOGS, FanOut, Guard
from tooltel.signals import Component
from tooltel.testing import capture

if TYPE_CHECKING:
    from tooltel import Outcome

INTERNAL = "tooltel_internal_errors_total"


class Sink:
    """A recorder that keeps outcomes, and raises when told to."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error
        self.outcomes: list[Outcome] = []

    def __call__(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        if self.error is not None:
            raise self.error


def test_a_recorder_that_fails_keeps_no_other_from_its_outcome() -> None:
    first, broken, last = Sink(), Sink(RuntimeError("broken")), Sink()
    desk = Desk(recorders=[first, broken, last])
    assert desk.act("kb_search") == "done"
    assert isinstance(desk.act("kb_search", raising(ValueError())), ValueError)
    desk.tel.not_found("zork")
    assert first.outcomes == broken.outcomes == last.outcomes
    assert [outcome.status.value for outcome in last.outcomes] == ["ok", "error", "not_found"]
    found = samples(desk.tel)
    assert total(found, INTERNAL, component="recorder") == total(found, INTERNAL) == 3
    assert len(desk.spans.ended) == 3, "the span is the last sink of all"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
def test_an_interrupt_during_recording_passes(error: BaseException) -> None:
    """It was meant for the process, not for us."""
    desk = Desk(recorders=[Sink(error)])
    with pytest.raises(type(error)):
        desk.tool("kb_search")(lambda: "done")


def test_every_kind_of_tool_survives_a_broken_recorder() -> None:
    desk = Desk(recorders=[Sink(RuntimeError("broken"))])
    tel = desk.tel

    async def kb_async() -> str:
        return "done"

    async def kb_stream() -> AsyncIterator[int]:
        for number in range(3):
            yield number

    call = tel.tool(kb_async, owner="kb", description=SENTENCE)
    stream = tel.tool(kb_stream, owner="kb", description=SENTENCE)

    async def use() -> list[Any]:
        return [await call(), [number async for number in stream()]]

    assert asyncio.run(use()) == ["done", [0, 1, 2]]
    assert list(desk.tool("kb_read_pages")(lambda: [1, 2])) == [1, 2]
    assert total(samples(tel), INTERNAL, component="recorder") == 3


@pytest.mark.parametrize(
    "clock",
    [raising(RuntimeError("stopped")), lambda: None, lambda: "soon", lambda: float("nan"), lambda: float("inf")],
    ids=["raises", "none", "text", "nan", "infinity"],
)
def test_a_clock_that_raises_or_talks_nonsense_changes_no_result(clock: Callable[[], Any]) -> None:
    desk = Desk(clock=clock)
    assert desk.act("kb_search") == "done"
    assert list(desk.act("kb_read_pages", lambda: [1, 2])) == [1, 2]
    found = samples(desk.tel)
    assert total(found, "tooltel_tool_calls_total", outcome="ok") == 2
    assert total(found, "gen_ai_execute_tool_duration_seconds_sum") == 0
    assert total(found, "tooltel_tool_calls_active") == 0
    assert len(desk.spans.ended) == 2


def test_a_clock_that_runs_backwards_gives_no_negative_time() -> None:
    times = iter(range(1000, 0, -1))
    desk = Desk(clock=lambda: float(next(times)))
    desk.act("kb_search")
    assert total(samples(desk.tel), "gen_ai_execute_tool_duration_seconds_sum") == 0


def test_the_test_kit_lets_failures_through() -> None:
    desk = Desk(recorders=[Sink(RuntimeError("broken"))])
    with capture(desk.tel), pytest.raises(RuntimeError, match="broken"):
        desk.tool("kb_search")(lambda: "done")
    assert desk.act("kb_search") == "done", "outside the block they are contained again"


# --- the guard by itself ---


class Said:
    def __init__(self) -> None:
        self.now = 0.0
        self.said: list[tuple[str, str, int]] = []
        self.counted: list[str] = []


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Said:
    said = Said()
    monkeypatch.setattr("tooltel.recording.time.monotonic", lambda: said.now)
    return said


def make_guard(said: Said, *, strict: bool = False) -> Guard:
    guard = Guard(strict=strict)
    guard.count = lambda component: said.counted.append(component.value)
    guard.say = lambda component, error, silent: said.said.append((component.value, str(error), silent))
    return guard


def test_each_component_is_said_once_a_minute_with_how_many_were_silent(said: Said) -> None:
    guard = make_guard(said)
    for number in range(10):
        guard.contain(Component.SPANS, ValueError(f"span {number}"))
        guard.contain(Component.LOGS, ValueError(f"log {number}"))
    assert said.said == [("spans", "span 0", 0), ("logs", "log 0", 0)]
    said.now += SECONDS_BETWEEN_LOGS
    guard.contain(Component.SPANS, ValueError("again"))
    assert said.said[2:] == [("spans", "again", 9)]
    said.now += SECONDS_BETWEEN_LOGS
    guard.contain(Component.SPANS, ValueError("and again"))
    assert said.said[3:] == [("spans", "and again", 0)]
    assert len(said.counted) == 22


@pytest.mark.parametrize("broken", ["count", "say"])
def test_a_guard_whose_own_ways_out_are_broken_still_contains(said: Said, broken: str) -> None:
    guard = make_guard(said)

    def fail(*_: Any) -> None:
        raise OSError("disk full")

    setattr(guard, broken, fail)
    guard.contain(Component.METRICS, ValueError("original"))
    said.now += 1000
    guard.contain(Component.METRICS, ValueError("original"))


def test_a_count_that_fails_does_not_silence_the_log(said: Said) -> None:
    """When the metrics are what is broken, the log is the only way to learn of it."""
    guard = make_guard(said)

    def fail(*_: Any) -> None:
        raise OSError("disk full")

    guard.count = fail
    guard.contain(Component.METRICS, ValueError("original"))
    assert said.said == [("metrics", "original", 0)]


def test_a_strict_guard_raises_the_failure_itself(said: Said) -> None:
    error = ValueError("original")
    with pytest.raises(ValueError, match="original") as caught:
        make_guard(said, strict=True).contain(Component.METRICS, error)
    assert caught.value is error
    assert said.counted == ["metrics"]


def test_a_fan_out_without_recorders_does_nothing() -> None:
    desk = Desk()
    (outcome,) = _outcomes(desk)
    FanOut(Guard(strict=True)).publish(outcome)


def _outcomes(desk: Desk) -> list[Outcome]:
    with capture(desk.tel) as seen:
        desk.act("kb_search")
    return seen.outcomes
