"""The test kit: what was recorded in a block, a clock moved by hand, and no failure passed over."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry

from tooltel import Catalog, HouseRules, Outcome, Tooltel
from tooltel.errors import Level
from tooltel.signals import Status
from tooltel.testing import FakeClock, assert_catalog, capture, parse_samples

if TYPE_CHECKING:
    from pathlib import Path

CATALOG = Catalog(house=HouseRules(levels={"description": Level.OFF}), open=True)


def make(**options: Any) -> Tooltel:
    return Tooltel(CATALOG, registry=CollectorRegistry(), **options)


def order_lookup(order_id: str = "o-1") -> str:
    return order_id


def test_a_block_has_its_outcomes_spans_events_and_increases_in_order() -> None:
    tel = make()
    tool = tel.tool(order_lookup, owner="desk")
    tool()
    with capture(tel) as seen:
        tool()
        with pytest.raises(TypeError):
            tool(limit=3)  # type: ignore[call-arg]  # the point
        tel.not_found("zork")
    tool()
    assert [outcome.status for outcome in seen.outcomes] == [Status.OK, Status.INVALID_ARGUMENTS, Status.NOT_FOUND]
    assert [span.name for span in seen.spans] == ["execute_tool order_lookup"] * 2 + ["execute_tool"]
    assert [event.name for event in seen.events] == ["tool_call", "tool_rejected", "tool_call", "tool_not_found"]
    assert [event.level for event in seen.events] == ["debug", "warning", "warning", "warning"]
    assert seen.logged("tool_not_found")[0]["requested"] == "zork"


def test_increases_are_those_since_the_block_began_by_any_of_their_labels() -> None:
    tel = make()
    tool = tel.tool(order_lookup, owner="desk")
    for _ in range(5):
        tool()
    with capture(tel) as seen:
        assert seen.increases() == {}
        tool()
        tool()
        assert seen.increase("tooltel_tool_calls_total") == 2
        assert seen.increase("tooltel_tool_calls_total", tool="order_lookup", outcome="ok") == 2
        assert seen.increase("tooltel_tool_calls_total", outcome="error") == 0
        assert seen.increase("tooltel_tool_calls_total", tool="another") == 0
        assert seen.increase("no_such_metric") == 0


def test_a_metric_that_no_signal_has_is_simply_not_there_and_its_samples_can_be_parsed() -> None:
    tel = make()
    found = parse_samples(tel.view)
    assert all(isinstance(value, float) for value in found.values())
    assert not any(name.endswith("_created") for name, _ in found)


def test_good_calls_have_events_though_nobody_logs_debug() -> None:
    tel = make()
    tool = tel.tool(order_lookup, owner="desk")
    tool()  # found that nobody listens
    with capture(tel) as seen:
        tool()
    assert len(seen.logged("tool_call")) == 1


def test_the_hosts_provider_sees_none_of_the_blocks_spans_and_all_of_the_others() -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tel = make(tracer_provider=provider)
    tool = tel.tool(order_lookup, owner="desk")
    tool()
    with capture(tel) as seen:
        tool()
    tool()
    assert len(exporter.get_finished_spans()) == 2
    assert len(seen.spans) == 1


def test_everything_is_as_before_afterwards_also_after_a_failure() -> None:
    tel = make()
    tool = tel.tool(order_lookup, owner="desk")

    def state() -> tuple[Any, ...]:
        fan_out = tel.services.fan_out
        return (
            fan_out.recorders,
            fan_out.plain,
            tel.guard.strict,
            tel.events.sink,
            tel.logs.good_calls,
            tel.spans.tracer,
        )

    before = state()
    with capture(tel) as seen:
        tool()
    assert state() == before
    with pytest.raises(ZeroDivisionError), capture(tel):
        raise ZeroDivisionError
    assert state() == before
    tool()
    assert len(seen.outcomes) == 1


@pytest.mark.parametrize("broken", ["recorder", "clock", "log"])
def test_what_is_contained_outside_is_raised_inside(broken: str) -> None:
    def fail(*_: Any) -> Any:
        raise RuntimeError("broken")

    options: dict[str, Any] = {"recorders": [fail]} if broken == "recorder" else {}
    if broken == "clock":
        options["clock"] = fail
    tel = make(**options)
    tool = tel.tool(order_lookup, owner="desk")
    if broken == "log":
        tel.services.fan_out.recorders = tel.services.fan_out.plain = tuple(
            (component, fail if component == "logs" else record) for component, record in tel.services.fan_out.recorders
        )
    assert tool() == "o-1"
    with capture(tel) as seen, pytest.raises(RuntimeError, match="broken"):
        tool()
    assert tool() == "o-1"
    assert seen.increase("tooltel_internal_errors_total") >= 1


def test_the_tools_own_exception_is_not_swallowed_by_a_broken_recorder() -> None:
    def broken(_: Outcome) -> None:
        raise RuntimeError("broken")

    tel = make(recorders=[broken])

    @tel.tool(owner="desk")
    def order_fail() -> None:
        raise KeyError("the tool's own")

    with pytest.raises(KeyError, match="the tool's own"):
        order_fail()
    with capture(tel), pytest.raises(RuntimeError, match="broken") as raised:
        order_fail()
    assert isinstance(raised.value.__context__, KeyError), "and a test still sees what came before"


def test_a_clock_moved_by_hand_makes_times_exact() -> None:
    clock = FakeClock(100.0)
    tel = make(clock=clock)

    @tel.tool(owner="desk")
    async def order_wait() -> None:
        clock.advance(1.5)
        await asyncio.sleep(0)
        clock.advance(0.25)

    with capture(tel) as seen:
        asyncio.run(order_wait())
    assert seen.outcomes[0].seconds == 1.75
    assert clock() == clock.now == 101.75
    assert seen.increase("gen_ai_execute_tool_duration_seconds_sum") == 1.75
    assert seen.increase("gen_ai_execute_tool_duration_seconds_bucket", le="2.56") == 1
    assert seen.increase("gen_ai_execute_tool_duration_seconds_bucket", le="1.28") == 0


def test_two_instances_can_be_captured_at_once() -> None:
    first, second = make(), make()
    one, two = first.tool(order_lookup, owner="desk"), second.tool(order_lookup, owner="desk")
    with capture(first) as seen_first, capture(second) as seen_second:
        one()
        two()
        two()
    assert (len(seen_first.outcomes), len(seen_second.outcomes)) == (1, 2)
    assert (len(seen_first.spans), len(seen_second.spans)) == (1, 2)


def test_a_capture_inside_a_capture_sees_its_part_and_the_outer_one_sees_all() -> None:
    tel = make()
    tool = tel.tool(order_lookup, owner="desk")
    with capture(tel) as outer:
        tool()
        with capture(tel) as inner:
            tool()
        tool()
    assert len(inner.outcomes) == 1
    assert len(outer.outcomes) == 3


def test_captures_that_overlap_each_see_all_that_is_recorded_meanwhile_and_leave_nothing_behind() -> None:
    """As of two threads' tests; the one that began first may end first."""
    tel = make()
    tool = tel.tool(order_lookup, owner="desk")
    tool()
    before = (tel.guard.strict, tel.events.sink, tel.spans.tracer, tel.services.fan_out.plain)
    first, second = capture(tel), capture(tel)
    seen = [first.__enter__()]
    tool()
    seen.append(second.__enter__())
    tool()
    first.__exit__(None, None, None)
    assert tel.guard.strict, "the second block goes on"
    tool()
    second.__exit__(None, None, None)
    assert before == (tel.guard.strict, tel.events.sink, tel.spans.tracer, tel.services.fan_out.plain)
    tool()
    assert [(len(each.outcomes), len(each.spans), len(each.events)) for each in seen] == [(2, 2, 2)] * 2


def test_a_catalog_is_asserted_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "tools.toml"
    file.write_text('[owners.orders]\n[tools.order_lookup]\nowner = "order"\ndescription = "Short."\n')
    with pytest.raises(AssertionError) as raised:
        assert_catalog(file)
    assert "did you mean" in str(raised.value)
    assert f"{file}:3" in str(raised.value)
