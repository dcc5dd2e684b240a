"""Calls that simply went well take a short way to the recorders, which tells the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests.signals.desk import Desk
from tests.signals.scrape import samples, total
from tooltel.recorders.prometheus import PrometheusRecorder
from tooltel.recorders.spans import Spans

if TYPE_CHECKING:
    from tooltel import Outcome

INTERNAL = "tooltel_internal_errors_total"


def play(desk: Desk) -> None:
    """Let one tool go well twice, once inside another, and fail once."""
    desk.act("kb_search")
    outer = desk.tool("order_lookup")
    outer(lambda: desk.act("kb_search"))
    desk.act("kb_search", lambda: {"status": "invalid_arguments", "errors": [{"field": "q", "problem": "missing"}]})


def quiet(**options: Any) -> Desk:
    """A desk whose log of good calls nobody reads, as in most processes."""
    desk = Desk(**options)
    desk.tel.services.fan_out.spare(desk.tel.logs.settled)
    return desk


def told(desk: Desk) -> tuple[dict[Any, float], list[Any]]:
    """What was counted, times apart, and the spans."""
    counted = {key: value for key, value in samples(desk.tel).items() if "_seconds" not in str(key)}
    return counted, [(span.name, dict(span.attributes or {}), span.status) for span in desk.spans.ended]


def test_the_short_way_is_taken_unless_somebody_wants_the_outcome() -> None:
    seen: list[Outcome] = []
    assert quiet().tel.services.fan_out.briefs is not None
    assert quiet(recorders=[seen.append]).tel.services.fan_out.briefs is None


def test_a_recorder_that_cannot_be_hashed_is_one_as_any_other() -> None:
    @dataclass
    class Sink:
        outcomes: int = 0

        def __call__(self, _: Outcome) -> None:
            self.outcomes += 1

    sink = Sink()
    desk = quiet(recorders=[sink])
    play(desk)
    assert sink.outcomes == 4
    assert total(samples(desk.tel), INTERNAL) == 0


def test_both_ways_tell_the_same() -> None:
    seen: list[Outcome] = []
    short, long = quiet(), quiet(recorders=[seen.append])
    play(short)
    play(long)
    assert told(short) == told(long)
    assert [outcome.is_plain for outcome in seen] == [True, True, True, False]


def fail(*_: Any) -> None:
    raise OSError("broken")


@pytest.mark.parametrize(("owner", "component"), [(PrometheusRecorder, "metrics"), (Spans, "spans")])
def test_a_short_way_that_fails_is_contained_and_keeps_no_other_from_the_call(
    owner: type, component: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, "went_well", fail)
    desk = quiet()
    assert desk.act("kb_search") == "done"
    found = samples(desk.tel)
    assert total(found, INTERNAL, component=component) == total(found, INTERNAL) == 1
    assert total(found, "tooltel_tool_calls_total", tool="kb_search", outcome="ok") == (
        0 if owner is PrometheusRecorder else 1
    )
    assert len(desk.spans.ended) == (0 if owner is Spans else 1)


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_on_the_short_way_passes(interrupt: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: Any) -> None:
        raise interrupt

    monkeypatch.setattr(PrometheusRecorder, "went_well", stop)
    tool: Callable[..., Any] = quiet().tool("kb_search")
    with pytest.raises(interrupt):
        tool(lambda: "done")
