"""One span for a call: fastmcp's own where it can be reached while it is open."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from fastmcp.exceptions import ToolError
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from tests.integrations.fastmcp.kit import MAKES_SPANS, SPAN_IS_AROUND, WAYS, connect, serve
from tests.integrations.hotel import telemetry
from tests.integrations.mcp.hotel import Hotel
from tests.integrations.mcp.recording import attributes
from tests.integrations.mcp.test_spans import ASKED, AT_CLIENT, AT_SERVER, TOLD
from tooltel.integrations.fastmcp import TooltelMiddleware, watch_client
from tooltel.processors.spans import ToolSpanProcessor
from tooltel.testing import capture

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

    from tooltel import Tooltel


def ask(tel: Tooltel, ends: str, way: str = "legacy") -> None:
    async def converse() -> None:
        server = serve(Hotel(ToolError))
        if "server" in ends:
            server.add_middleware(TooltelMiddleware(tel, profile="desk"))
        async with connect(server, way) as caller:
            if "client" in ends:
                watch_client(tel, caller.client, profile="desk")
            for name, arguments in ASKED:
                await caller.call_tool(name, arguments)

    asyncio.run(converse())


def spans_of(exporter: InMemorySpanExporter, kind: SpanKind) -> list[ReadableSpan]:
    """The framework's spans of calls, of one kind, in the order in which the calls were made."""
    found = [span for span in exporter.get_finished_spans() if span.name.startswith("tools/call") and span.kind is kind]
    return sorted(found, key=lambda span: span.start_time or 0)


@pytest.mark.parametrize("way", WAYS)
def test_at_the_server_fastmcps_span_is_told_of_where_it_is_around_and_no_second_is_made(
    way: str, host_spans: InMemorySpanExporter
) -> None:
    with telemetry() as tel, capture(tel) as seen:
        ask(tel, "server", way)
        theirs, ours = spans_of(host_spans, SpanKind.SERVER), seen.spans
    assert len(theirs) == (len(ASKED) if MAKES_SPANS else 0)
    assert len(ours) == (0 if MAKES_SPANS else len(ASKED))
    told = [attributes(span, *TOLD) for span in theirs or ours]
    assert (
        told == AT_SERVER if SPAN_IS_AROUND or not MAKES_SPANS else all(each["tool.outcome"] is None for each in told)
    )


@pytest.mark.parametrize("way", WAYS)
def test_at_the_client_fastmcps_span_is_told_of_and_no_second_is_made(
    way: str, host_spans: InMemorySpanExporter
) -> None:
    with telemetry() as tel, capture(tel) as seen:
        ask(tel, "client", way)
        theirs, ours = spans_of(host_spans, SpanKind.CLIENT), seen.spans
    assert len(theirs) == (len(ASKED) if MAKES_SPANS else 0)
    assert len(ours) == (0 if MAKES_SPANS else len(ASKED))
    assert [attributes(span, *TOLD) for span in theirs or ours] == AT_CLIENT


@pytest.mark.parametrize("ends", ["server", "client", "server and client"])
@pytest.mark.parametrize("way", WAYS)
def test_what_the_plug_in_counts_is_not_counted_from_any_of_three_spans_again(way: str, ends: str) -> None:
    exporter = InMemorySpanExporter()
    with telemetry() as tel, capture(tel) as seen:
        provider: Any = trace.get_tracer_provider()
        assert isinstance(provider, TracerProvider)
        before = provider._active_span_processor._span_processors
        provider.add_span_processor(ToolSpanProcessor(tel, SimpleSpanProcessor(exporter), count=True))
        try:
            ask(tel, ends, way)
        finally:
            provider._active_span_processor._span_processors = before
        assert seen.increase("tooltel_tool_calls_total") == len(ASKED) - 1
        assert seen.increase("tooltel_tool_not_found_total") == 1
    calls = [span for span in exporter.get_finished_spans() if "tools/call book_room" in span.name]
    assert {(span.attributes or {}).get("tool.owner") for span in calls} == ({"rooms"} if MAKES_SPANS else set())


def test_the_clients_trace_goes_on_in_the_servers_span(host_spans: InMemorySpanExporter) -> None:
    with telemetry() as tel:
        ask(tel, "server")
    if MAKES_SPANS:
        client, server = spans_of(host_spans, SpanKind.CLIENT)[0], spans_of(host_spans, SpanKind.SERVER)[0]
        assert client.context is not None
        assert server.context is not None
        assert client.context.trace_id == server.context.trace_id
