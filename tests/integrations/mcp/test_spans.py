"""One span for a call: the SDK's own where it makes one, else ours."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from tests.integrations.hotel import telemetry
from tests.integrations.mcp.hotel import Hotel
from tests.integrations.mcp.kit import IS_2, ToolError, connect, serve
from tests.integrations.mcp.recording import attributes
from tooltel.integrations.mcp import watch_client, watch_server
from tooltel.processors.spans import ToolSpanProcessor
from tooltel.testing import capture

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

    from tooltel import Tooltel

ASKED: list[tuple[str, dict[str, Any]]] = [
    ("book_room", {"nights": 1, "kind": "single"}),
    ("book_room", {"nights": "ten", "kind": "single"}),
    ("call_taxi", {"how": "crash"}),
    ("book_table", {"size": 9, "how": "say"}),
    ("made_up", {}),
]
TOLD = ("gen_ai.tool.name", "tool.owner", "tool.profile", "tool.outcome")


def told(name: str, owner: str, outcome: str) -> dict[str, object]:
    return dict(zip(TOLD, (name, owner, "desk", outcome), strict=True))


AT_SERVER = [
    told("book_room", "rooms", "ok"),
    told("book_room", "rooms", "invalid_arguments"),
    told("call_taxi", "porters", "error"),
    told("book_table", "kitchen", "invalid_arguments"),
    told("made_up", "hotel", "not_found"),
]
AT_CLIENT = [*AT_SERVER[:3], told("book_table", "kitchen", "error"), AT_SERVER[4]]


def ask(tel: Tooltel, ends: str) -> None:
    async def converse() -> None:
        server = serve(Hotel(ToolError))
        if "server" in ends:
            watch_server(tel, server, profile="desk")
        async with connect(server) as client:
            if "client" in ends:
                watch_client(tel, client, profile="desk")
            for name, arguments in ASKED:
                await client.call_tool(name, arguments)

    asyncio.run(converse())


def server_spans(exporter: InMemorySpanExporter) -> list[ReadableSpan]:
    return [span for span in exporter.get_finished_spans() if span.name.startswith("tools/call")]


def test_at_the_server_the_sdks_span_is_told_of_and_no_second_is_made(host_spans: InMemorySpanExporter) -> None:
    with telemetry() as tel, capture(tel) as seen:
        ask(tel, "server")
        theirs, ours = server_spans(host_spans), seen.spans
    assert len(theirs) == (len(ASKED) if IS_2 else 0)  # 1.x makes none
    assert len(ours) == (0 if IS_2 else len(ASKED))
    assert [attributes(span, *TOLD) for span in theirs or ours] == AT_SERVER


def test_at_the_client_each_call_has_a_span_and_the_sdks_messages_are_below_it(
    host_spans: InMemorySpanExporter,
) -> None:
    with telemetry() as tel:
        ask(tel, "client")
    spans = host_spans.get_finished_spans()
    ours = [span for span in spans if span.name.startswith("execute_tool")]
    assert [attributes(span, *TOLD) for span in ours] == AT_CLIENT
    assert [span.name for span in ours][-1] == "execute_tool"  # a model makes up any number of names
    sent = [span for span in spans if span.name.startswith("MCP send tools/call")]
    assert len(sent) == (len(ASKED) if IS_2 else 0)
    for call, message in zip(ours, sent, strict=False):
        assert message.parent is not None
        assert call.context is not None
        assert message.parent.span_id == call.context.span_id


def test_at_both_ends_the_client_has_the_span_and_the_servers_own_is_told_of_too(
    host_spans: InMemorySpanExporter,
) -> None:
    with telemetry() as tel:
        ask(tel, "server and client")
    spans = host_spans.get_finished_spans()
    ours = [span for span in spans if span.name.startswith("execute_tool")]
    theirs = server_spans(host_spans)
    assert [attributes(span, *TOLD) for span in ours] == AT_SERVER
    assert [attributes(span, *TOLD) for span in theirs] == (AT_SERVER if IS_2 else [])


def test_what_the_plug_in_counts_is_not_counted_from_the_sdks_spans_again() -> None:
    for ends in ("server", "client", "server and client"):
        with telemetry() as tel, capture(tel) as seen:
            exporter = InMemorySpanExporter()
            provider = trace.get_tracer_provider()
            assert isinstance(provider, TracerProvider)
            processor = ToolSpanProcessor(tel, SimpleSpanProcessor(exporter), count=True)
            before = provider._active_span_processor._span_processors
            provider.add_span_processor(processor)
            try:
                ask(tel, ends)
            finally:
                provider._active_span_processor._span_processors = before
            assert seen.increase("tooltel_tool_calls_total") == len(ASKED) - 1, ends
            assert seen.increase("tooltel_tool_not_found_total") == 1, ends


def test_a_span_of_the_agents_framework_around_the_client_is_the_calls(host_spans: InMemorySpanExporter) -> None:
    """No plug-in watches the framework, and it makes spans: the client's call is told of on the one it is in."""

    async def converse(tel: Tooltel) -> None:
        async with connect(serve(Hotel())) as client:
            watch_client(tel, client, profile="desk")
            framework = trace.get_tracer("framework")
            named = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "call_taxi"}
            with framework.start_as_current_span("execute_tool call_taxi", attributes=named):
                await client.call_tool("call_taxi", {})

    with telemetry() as tel:
        asyncio.run(converse(tel))
    (span,) = [span for span in host_spans.get_finished_spans() if span.name.startswith("execute_tool")]
    assert attributes(span, *TOLD) == told("call_taxi", "porters", "ok")
    assert span.kind is SpanKind.INTERNAL


def test_a_gateways_span_is_not_taken_for_that_of_what_it_asks_for(host_spans: InMemorySpanExporter) -> None:
    async def converse(tel: Tooltel) -> None:
        async with connect(serve(Hotel())) as behind:
            watch_client(tel, behind, profile="desk")
            server = serve(Hotel())

            async def ask_on() -> str:
                """Ask another server."""
                await behind.call_tool("call_taxi", {})
                return "asked"

            server.add_tool(ask_on)
            watch_server(tel, server, profile="desk")
            async with connect(server) as client:
                await client.call_tool("ask_on", {})

    with telemetry() as tel:
        asyncio.run(converse(tel))
    spans = [span for span in host_spans.get_finished_spans() if (span.attributes or {}).get("tool.outcome")]
    assert [attributes(span, *TOLD) for span in spans] == [
        told("call_taxi", "porters", "ok"),
        told("ask_on", "unowned", "ok"),
    ]
