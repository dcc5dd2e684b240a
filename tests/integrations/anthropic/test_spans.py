"""A span of the SDK's is tagged, and never doubled; where it makes none, tooltel does."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.integrations.anthropic.kit import VERSION, WAYS, Ask, Desk, Hotel, Step, Way
from tests.integrations.hotel import telemetry
from tooltel.integrations.anthropic import TooltelRunners
from tooltel.testing import capture

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opentelemetry.sdk.trace import ReadableSpan

MAKES_SPANS = VERSION >= (1, 17)


class Made(NamedTuple):
    """Tool spans: the SDK's, and tooltel's own."""

    sdk: Sequence[ReadableSpan]
    own: Sequence[ReadableSpan]


def play(*steps: Step, way: Way = "sync", instrumented: bool = True, wrapped: bool = False) -> Made:
    """The tool spans of one run."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with telemetry() as tel, capture(tel) as seen:
        make = TooltelRunners(tel, profile="desk").tool_runner
        desk = Desk(Hotel().tools(way, tel if wrapped else None), make=make, way=way)
        if MAKES_SPANS:
            traced: dict[str, Any] = {"tracer_provider": provider} if instrumented else {"traces": False}
            desk.client = desk.client.with_options(open_telemetry=traced)
        asyncio.run(desk.turn(*steps))
        sdk = [span for span in exporter.get_finished_spans() if "tool_use" in span.name]
        return Made(sdk, list(seen.spans))


def told(span: ReadableSpan) -> tuple[Any, ...]:
    attributes = span.attributes or {}
    tool = ("gen_ai.tool.name", "gen_ai.tool.call.id", "tool.owner", "tool.risk", "tool.profile")
    keys = (*tool, "tool.outcome", "error.type")
    return tuple(attributes.get(key) for key in keys)


BOOKED = ("book_room", "id-1", "rooms", "write", "desk", "ok", None)
BOOK = Ask("book_room", {"nights": 2, "kind": "single"}, "id-1")


@pytest.mark.skipif(not MAKES_SPANS, reason="the SDK makes spans since 1.17")
@pytest.mark.parametrize("wrapped", [False, True], ids=["bare", "wrapped"])
@pytest.mark.parametrize("way", WAYS)
def test_the_sdks_span_of_a_call_tells_what_came_of_it(way: Way, *, wrapped: bool) -> None:
    made = play([BOOK, Ask("find_rooms", {"kind": "single"}, "id-2")], "Done.", way=way, wrapped=wrapped)
    assert Counter(map(told, made.sdk)) == Counter(
        [BOOKED, ("find_rooms", "id-2", "rooms", "read", "desk", "ok", None)]
    )
    assert made.own == []


@pytest.mark.skipif(not MAKES_SPANS, reason="the SDK makes spans since 1.17")
@pytest.mark.parametrize(
    ("ask", "outcome"),
    [
        (Ask("book_room", {"kind": "single"}), "invalid_arguments"),
        (Ask("send_bill", {"room": "12", "how": "raise"}), "refused"),
        (Ask("call_taxi", {"how": "crash"}), "error"),
        (Ask("ring_bell", {"how": "late"}), "timeout"),
    ],
)
def test_the_sdks_span_of_a_failed_call_tells_why(ask: Ask, outcome: str) -> None:
    made = play([ask], "Done.")
    assert [(span.attributes or {})["tool.outcome"] for span in made.sdk] == [outcome]
    assert made.own == []


@pytest.mark.parametrize("wrapped", [False, True], ids=["bare", "wrapped"])
def test_without_them_there_is_one_span_of_tooltels_own(*, wrapped: bool) -> None:
    made = play([BOOK], "Done.", instrumented=False, wrapped=wrapped)
    assert [told(span) for span in made.own] == [BOOKED]
    assert [span.name for span in made.own] == ["execute_tool book_room"]
    assert made.sdk == []


@pytest.mark.parametrize("way", WAYS)
def test_a_name_that_is_no_tool_has_a_span_of_tooltels_as_the_sdk_makes_none(way: Way) -> None:
    made = play([Ask("get_wether", {}, "id-9")], "Done.", way=way)
    assert made.sdk == []
    assert [told(span) for span in made.own] == [
        ("get_wether", "id-9", "hotel", None, "desk", "not_found", "tool_not_found")
    ]


@pytest.mark.skipif(not MAKES_SPANS, reason="the SDK makes spans since 1.17")
def test_where_only_the_tools_are_watched_the_span_tells_the_calls_id() -> None:
    with telemetry() as tel, capture(tel) as seen:
        provider = TracerProvider()
        desk = Desk(TooltelRunners(tel, profile="desk").run().tools(Hotel().tools("sync")))
        desk.client = desk.client.with_options(open_telemetry={"tracer_provider": provider})
        asyncio.run(desk.turn([BOOK], "Done."))
        assert [outcome.call_id for outcome in seen.outcomes] == ["id-1"]


def test_a_span_of_tooltels_own_around_is_not_taken_for_the_sdks() -> None:
    with telemetry() as tel, capture(tel) as seen:
        (book, *_) = TooltelRunners(tel, profile="desk").run().tools(Hotel().tools("sync"))
        with tel.call("book_room"):
            book.call({"nights": 2, "kind": "single"})
        inner, outer = seen.spans
        assert inner.parent == outer.get_span_context()
