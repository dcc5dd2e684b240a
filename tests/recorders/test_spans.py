"""Spans: the published attributes exactly, with any provider and sampler, and never a reason for a tool to fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.trace import SpanKind, StatusCode

import tooltel
from tests.signals.desk import Desk, Spans, make_catalog, make_tools, raising
from tooltel.testing import FakeClock

KNOWN_AT_START = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "order_update",
    "gen_ai.tool.type": "function",
    "gen_ai.agent.name": "support_agent",
    "gen_ai.conversation.id": "s-1",
    "tool.owner": "orders",
    "tool.version": "2",
    "tool.risk": "write",
    "tool.profile": "support",
}


class AtStart(SpanProcessor):
    """Remembers the attributes with which spans start."""

    def __init__(self) -> None:
        self.attributes: list[dict[str, Any]] = []

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        self.attributes.append(dict(span.attributes))


@pytest.fixture
def spans() -> Spans:
    return Spans()


@pytest.fixture
def desk(spans: Spans) -> Desk:
    return Desk(tracer_provider=spans.provider)


def test_a_span_starts_with_all_that_is_known_and_ends_with_the_outcome(desk: Desk, spans: Spans) -> None:
    """The outcome is never preset: a span that is exported early, or never ended, must not claim one."""
    start = AtStart()
    spans.provider.add_span_processor(start)
    with desk.tel.session(profile="support", agent="support_agent", id="s-1"):
        desk.act("order_update")
    assert start.attributes == [KNOWN_AT_START]
    span = spans.one()
    assert dict(span.attributes) == KNOWN_AT_START | {"tool.outcome": "ok"}
    assert (span.name, span.kind) == ("execute_tool order_update", SpanKind.INTERNAL)
    assert span.status.status_code is StatusCode.UNSET
    assert span.instrumentation_scope.name == "tooltel"
    assert span.instrumentation_scope.version == tooltel.__version__
    assert span.events == ()


def test_what_is_not_known_is_not_there(desk: Desk, spans: Spans) -> None:
    desk.act("order_update")
    assert dict(spans.one().attributes) == {
        key: value
        for key, value in (KNOWN_AT_START | {"tool.profile": "none", "tool.outcome": "ok"}).items()
        if key not in ("gen_ai.agent.name", "gen_ai.conversation.id")
    }


def test_an_alias_call_says_which_old_name_was_used_under_the_tools_own_name(desk: Desk, spans: Spans) -> None:
    desk.tel.alias("change_order", desk.tool("order_update"))(lambda: "done")
    span = spans.one()
    assert span.name == "execute_tool order_update"
    assert span.attributes["tool.alias"] == "change_order"
    assert span.attributes["gen_ai.tool.name"] == "order_update"
    desk.act("order_update")
    assert "tool.alias" not in spans.ended[1].attributes, "the next call by the new name is no alias call"


def test_a_call_id_is_cleaned_and_cut(desk: Desk, spans: Spans) -> None:
    with desk.tel.call("kb_search", call_id="call-7\n" + "x" * 500) as call:
        call.returned("done")
    call_id = spans.one().attributes["gen_ai.tool.call.id"]
    assert call_id.startswith("call-7\\n")
    assert len(call_id) == 128


def test_a_stream_tells_its_life(spans: Spans) -> None:
    clock = FakeClock()
    desk = Desk(tracer_provider=spans.provider, clock=clock)

    def pages() -> Iterator[int]:
        for page in range(3):
            clock.advance(1.0)
            yield page

    for _ in desk.tool("kb_read_pages")(pages):
        clock.advance(10.0)
    assert spans.one().attributes["tool.stream.life"] == pytest.approx(22.0)


@pytest.mark.parametrize(
    ("action", "outcome", "error_type", "code"),
    [
        (lambda: "done", "ok", None, StatusCode.UNSET),
        (lambda: {"replayed": True}, "replayed", None, StatusCode.UNSET),
        (lambda: {"status": "partial", "results": [{"status": "ok"}]}, "partial", None, StatusCode.UNSET),
        (raising(ValueError("secret")), "error", "ValueError", StatusCode.ERROR),
        (raising(TimeoutError("secret")), "timeout", "timeout", StatusCode.ERROR),
        (raising(tooltel.Rejected("f", problem="secret")), "invalid_arguments", "invalid_arguments", StatusCode.ERROR),
        (raising(tooltel.Refused("secret", policy="p")), "refused", "refused", StatusCode.ERROR),
        (raising(GeneratorExit()), "abandoned", "abandoned", StatusCode.UNSET),
        (lambda: {"status": "refused", "policy": "p"}, "refused", "refused", StatusCode.ERROR),
        (lambda: {"content": ["secret"], "isError": True}, "error", "tool_error", StatusCode.ERROR),
    ],
)
def test_a_failed_call_has_an_error_type_and_a_status_without_words(
    desk: Desk, spans: Spans, action: Callable[[], Any], outcome: str, error_type: str | None, code: StatusCode
) -> None:
    """What an exception says may hold a user's data: it stays out of the span."""
    with suppress(GeneratorExit):
        desk.act("kb_search", action)
    span = spans.one()
    assert span.attributes["tool.outcome"] == outcome
    assert span.attributes.get("error.type") == error_type
    assert (span.status.status_code, span.status.description) == (code, None)
    assert span.events == ()
    assert "secret" not in span.to_json()


def test_exceptions_are_recorded_only_when_asked_for(spans: Spans) -> None:
    desk = Desk(tracer_provider=spans.provider, settings={"record_exceptions": True})
    desk.act("kb_search", raising(ValueError("why")))
    (event,) = spans.one().events
    assert event.name == "exception"
    assert event.attributes["exception.type"] == "ValueError"
    assert "action" in event.attributes["exception.stacktrace"]
    assert spans.one().status.description is None


def test_a_drop_has_a_span_of_a_fixed_name(desk: Desk, spans: Spans) -> None:
    """A model can invent any number of names, and span names must stay few."""
    requested = "made\nup" + "x" * 3000
    with desk.tel.session(profile="support", agent="support_agent", id="s-1"):
        desk.tel.not_found(requested)
    span = spans.one()
    assert span.name == "execute_tool"
    assert dict(span.attributes) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": ("made\\nup" + "x" * 3000)[:127] + "…",
        "gen_ai.tool.type": "function",
        "gen_ai.agent.name": "support_agent",
        "gen_ai.conversation.id": "s-1",
        "tool.owner": "support-platform",
        "tool.profile": "support",
        "tool.outcome": "not_found",
        "error.type": "tool_not_found",
    }
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, None)


def test_a_drops_call_id_is_on_its_span(desk: Desk, spans: Spans) -> None:
    desk.tel.not_found("made_up", call_id="call-7")
    assert spans.one().attributes["gen_ai.tool.call.id"] == "call-7"


def test_the_four_keys_of_a_tool_are_renamed_by_settings(spans: Spans) -> None:
    renamed = {
        "attribute_owner": "team.name",
        "attribute_version": "tool.rev",
        "attribute_risk": "gen_ai.tool.risk.level",
        "attribute_profile": "agent.profile",
    }
    desk = Desk(tracer_provider=spans.provider, settings=renamed)
    with desk.tel.session(profile="support"):
        desk.act("order_update")
        desk.tel.not_found("zork")
    done, dropped = (dict(span.attributes) for span in spans.ended)
    assert [done[key] for key in renamed.values()] == ["orders", "2", "write", "support"]
    assert dropped["team.name"] == "support-platform"
    assert dropped["agent.profile"] == "support"
    assert not {"tool.owner", "tool.version", "tool.risk", "tool.profile"} & (set(done) | set(dropped))


def test_after_a_reload_new_spans_tell_the_new_facts(desk: Desk, spans: Spans) -> None:
    with desk.tel.session(profile="support"):
        desk.act("kb_search")
        desk.tel.reload(make_catalog([replace(tool, version="9") for tool in make_tools()]))
        desk.act("kb_search")
    assert [span.attributes["tool.version"] for span in spans.ended] == ["3", "9"]


# --- parents ---


def test_a_tools_span_is_the_child_of_the_hosts_and_the_parent_of_what_the_tool_does(desk: Desk, spans: Spans) -> None:
    tracer = spans.provider.get_tracer("host")

    def action() -> Any:
        with tracer.start_as_current_span("inside"):
            return desk.act("kb_search")

    with tracer.start_as_current_span("outside"):
        desk.act("order_lookup", action)
        assert trace.get_current_span().get_span_context().is_valid
    found = {span.name: span for span in spans.ended}
    chain = ["outside", "execute_tool order_lookup", "inside", "execute_tool kb_search"]
    for above, below in pairwise(chain):
        assert found[below].parent.span_id == found[above].context.span_id
    assert len({span.context.trace_id for span in spans.ended}) == 1


def test_between_its_items_a_streams_span_is_not_current(desk: Desk, spans: Spans) -> None:
    tracer = spans.provider.get_tracer("host")
    for _ in desk.tool("kb_read_pages")(lambda: [1, 2]):
        with tracer.start_as_current_span("consumer"):
            pass
    consumers = [span for span in spans.ended if span.name == "consumer"]
    assert [span.parent for span in consumers] == [None, None]
