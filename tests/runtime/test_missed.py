"""Calls that a plug-in began, and that turned out to be calls to no tool: a client learns so from its server."""

from __future__ import annotations

from contextvars import Context
from typing import TYPE_CHECKING

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry

from tooltel import Tooltel
from tooltel.call import current_call, current_session, inside
from tooltel.processors.spans import ToolSpanProcessor
from tooltel.signals import Status
from tooltel.testing import parse_samples

if TYPE_CHECKING:
    from tooltel.observed import Observed
    from tooltel.testing import Captured


def search(tel: Tooltel) -> None:
    """Let the catalog hold one tool."""

    @tel.tool(owner="kb", risk="read", aliases=["search"], description="Search the knowledge base for one text.")
    def kb_search() -> None: ...


def labels(tel: Tooltel, metric: str) -> set[str]:
    return {dict(labels).get("tool", "") for name, labels in parse_samples(tel.view) if name == metric}


def test_it_is_a_drop_and_no_call(tel: Tooltel, seen: Captured) -> None:
    search(tel)
    call = tel.observe("kb_search", {"text": "x"}, call_id="c-1")
    outcome = tel.not_found("kb_search", call=call)
    assert [each.status for each in seen.outcomes] == [Status.NOT_FOUND]
    assert (outcome.tool, outcome.call_id) == (None, "c-1")
    assert seen.increase("tooltel_tool_not_found_total", reason="not_in_profile", requested="kb_search") == 1
    assert not seen.increase("tooltel_tool_calls_total")
    assert not seen.increase("gen_ai_execute_tool_duration_seconds_count")
    assert current_call() is None


def test_it_no_longer_counts_as_running(tel: Tooltel, seen: Captured) -> None:
    search(tel)
    call = tel.observe("kb_search")
    assert seen.increase("tooltel_tool_calls_active", tool="kb_search") == 1
    tel.not_found("kb_search", call=call)
    assert seen.increase("tooltel_tool_calls_active", tool="kb_search") == 0


def test_the_name_leaves_no_series_behind(tel: Tooltel, seen: Captured) -> None:
    before = set(parse_samples(tel.view))
    for number in range(300):
        tel.not_found(f"made_up_{number}", call=tel.observe(f"made_up_{number}", {}))
    assert {
        key for key in set(parse_samples(tel.view)) - before if any("made_up" in value for _, value in key[1])
    } == set()
    assert not seen.increase("tooltel_label_overflow_total")
    assert seen.increase("tooltel_tool_not_found_total", reason="unknown", requested="other") == 300


def test_a_stranger_that_is_a_tool_after_all_is_counted_and_from_then_on_counts_as_running(
    tel: Tooltel, seen: Captured
) -> None:
    tel.observe("stranger", {}).finish(1)
    assert seen.increase("tooltel_tool_calls_total", tool="stranger", owner="unowned") == 1
    call = tel.observe("stranger", {})
    assert seen.increase("tooltel_tool_calls_active", tool="stranger") == 1
    call.finish(1)
    assert seen.increase("tooltel_tool_calls_active", tool="stranger") == 0


def test_its_span_is_called_as_that_of_any_drop_and_ended(tel: Tooltel, seen: Captured) -> None:
    tel.not_found("made_up", call=tel.observe("made_up", {}))
    (span,) = seen.spans
    assert span.name == "execute_tool"
    assert span.attributes is not None
    assert {key: span.attributes[key] for key in ("gen_ai.tool.name", "tool.outcome", "error.type")} == {
        "gen_ai.tool.name": "made_up",
        "tool.outcome": "not_found",
        "error.type": "tool_not_found",
    }


def test_a_frameworks_span_keeps_its_name_and_is_the_frameworks_to_end(tel: Tooltel, seen: Captured) -> None:
    span = TracerProvider().get_tracer("framework").start_span("tools/call made_up")
    tel.not_found("made_up", call=tel.observe("made_up", {}, span=span))
    assert span.is_recording()
    assert getattr(span, "name", None) == "tools/call made_up"


def test_what_the_one_inside_looked_for_in_vain_is_a_drop_of_the_one_outside(tel: Tooltel, seen: Captured) -> None:
    client = tel.observe("made_up", {})
    server = tel.observe("made_up", {})
    tel.not_found("made_up", call=server)
    client.conclude(Status.ERROR, "tool_error")
    assert [each.status for each in seen.outcomes] == [Status.NOT_FOUND]
    assert not seen.increase("tooltel_tool_calls_total")
    assert len(seen.spans) == 1


def test_a_call_seen_at_both_ends_of_a_connection_is_one_although_no_catalog_holds_it(
    tel: Tooltel, seen: Captured
) -> None:
    client = tel.observe("stranger", {})
    tel.observe("stranger", {}).finish({"answer": 42})
    client.finish({"answer": 42})
    assert seen.increase("tooltel_tool_calls_total") == 1


def test_told_twice_it_is_one(tel: Tooltel, seen: Captured) -> None:
    call = tel.observe("made_up", {})
    tel.not_found("made_up", call=call)
    tel.not_found("made_up", call=call)
    assert len(seen.outcomes) == 1


def test_a_frameworks_span_inside_a_call_that_a_plug_in_tells_of_is_not_counted_again(
    tel: Tooltel, seen: Captured
) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(ToolSpanProcessor(tel, SimpleSpanProcessor(exporter), count=True))
    tracer = provider.get_tracer("framework")
    call = tel.observe("stranger", {})
    with tracer.start_as_current_span("tools/call stranger"):
        pass
    call.finish(1)
    with tracer.start_as_current_span("tools/call another"):
        pass
    assert labels(tel, "tooltel_tool_calls_total") == {"stranger", "another"}
    assert seen.increase("tooltel_tool_calls_total") == 2


def test_the_frameworks_span_of_a_call_seen_from_inside_another_is_tagged_too(tel: Tooltel, seen: Captured) -> None:
    span = TracerProvider().get_tracer("framework").start_span("tools/call stranger")
    client = tel.observe("stranger", {})
    tel.observe("stranger", {}, span=span).reject()
    client.conclude(Status.ERROR, "tool_error")
    assert (getattr(span, "attributes", None) or {})["tool.outcome"] == "invalid_arguments"
    assert [each.status for each in seen.outcomes] == [Status.INVALID_ARGUMENTS]
    assert len(seen.spans) == 1


def test_a_result_that_breaks_its_schema_is_the_clients_to_tell(tel: Tooltel, seen: Captured) -> None:
    client = tel.observe("stranger", {})
    tel.observe("stranger", {}).finish({"n": "bad"})
    client.conclude(Status.ERROR, "invalid_output")
    assert [(each.status, each.error_type) for each in seen.outcomes] == [(Status.ERROR, "invalid_output")]


def test_a_call_can_be_seen_from_inside_where_no_context_was_carried(tel: Tooltel, seen: Captured) -> None:
    def serve(client: Observed) -> None:
        assert current_call() is None
        with inside(client):
            tel.observe("stranger", {}).finish(1)
            with trace.get_tracer("tool").start_as_current_span("query"):
                parents.append(trace.get_current_span().get_span_context().trace_id)

    parents: list[int] = []
    client = tel.observe("stranger", {})
    Context().run(serve, client)
    client.finish(1)
    assert len(seen.outcomes) == 1
    assert parents == [span.context.trace_id for span in seen.spans if span.context]
    assert (current_call(), current_session()) == (None, None)


def test_calls_that_another_tooltel_observes_around_it_are_its_own(tel: Tooltel, seen: Captured) -> None:
    with Tooltel(tel.catalog, registry=CollectorRegistry()) as other:
        client = other.observe("stranger", {})
        tel.observe("stranger", {}).finish(1)
        client.finish(1)
        assert parse_samples(other.view)[calls_of("stranger")] == 1
    assert len(seen.outcomes) == 1


def calls_of(tool: str) -> tuple[str, frozenset[tuple[str, str]]]:
    labels = {"owner": "unowned", "version": "", "risk": "unknown", "profile": "none", "outcome": "ok", "tool": tool}
    return "tooltel_tool_calls_total", frozenset(labels.items())


def test_spans_around_one_that_a_plug_in_told_of_are_not_counted_either(tel: Tooltel, seen: Captured) -> None:
    provider = TracerProvider()
    provider.add_span_processor(ToolSpanProcessor(tel, count=True))
    tracer = provider.get_tracer("framework")
    with (
        tracer.start_as_current_span("tools/call stranger"),
        tracer.start_as_current_span("MCP send tools/call stranger"),
        tracer.start_as_current_span("tools/call") as server,
    ):
        call = tel.observe("stranger", {}, span=server)
        server.update_name("tools/call stranger")
        call.finish(1)
    assert seen.increase("tooltel_tool_calls_total") == 1
    with (
        tracer.start_as_current_span("MCP send tools/call stranger"),
        tracer.start_as_current_span("tools/call") as server,
    ):
        server.update_name("tools/call stranger")
    assert seen.increase("tooltel_tool_calls_total") == 2


def test_nor_are_those_around_a_span_inside_a_call_that_a_plug_in_tells_of(tel: Tooltel, seen: Captured) -> None:
    """A framework opens its span below the hook, where the hook cannot reach it."""
    provider = TracerProvider()
    provider.add_span_processor(ToolSpanProcessor(tel, count=True))
    tracer = provider.get_tracer("framework")
    with tracer.start_as_current_span("tools/call stranger"):
        call = tel.observe("stranger", {}, span=trace.INVALID_SPAN)
        with tracer.start_as_current_span("tools/call stranger"):
            pass
        call.finish(1)
    assert seen.increase("tooltel_tool_calls_total") == 1
