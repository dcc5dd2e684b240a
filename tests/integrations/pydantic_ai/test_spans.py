"""A span of the framework's is tagged, and never doubled; where it makes none, tooltel does."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic_ai import capabilities
from pydantic_ai.models.instrumented import InstrumentationSettings

from tests.integrations.hotel import telemetry
from tests.integrations.pydantic_ai.kit import VERSION, Ask, Desk, Hotel, Step
from tooltel.integrations.pydantic_ai import TooltelCapability
from tooltel.testing import capture

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opentelemetry.sdk.trace import ReadableSpan

SPANS_OF_DROPS = VERSION < (1, 95)  # made by the loop itself, whatever comes of a call
SPANS_OF_REJECTED = SPANS_OF_DROPS or VERSION >= (2, 28)


class Made(NamedTuple):
    """Tool spans: the framework's, and tooltel's own."""

    framework: Sequence[ReadableSpan]
    own: Sequence[ReadableSpan]


def tool_spans(spans: Sequence[ReadableSpan]) -> list[ReadableSpan]:
    names = ("execute_tool", "running tool")
    return [span for span in spans if span.name.startswith(names)]


def play(*steps: Step, instrumented: bool = True, wrapped: bool = False, last: bool = False) -> Made:
    """The tool spans of one run."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    settings = InstrumentationSettings(tracer_provider=provider)
    with telemetry() as tel, capture(tel) as seen:
        used: list[Any] = [TooltelCapability(tel, profile="desk", agent="desk")]
        agent: dict[str, Any] = {}
        if instrumented and hasattr(capabilities, "Instrumentation"):
            used.insert(0 if last else 1, capabilities.Instrumentation(settings=settings))
        elif instrumented:
            agent["instrument"] = settings
        desk = Desk(Hotel().tools(tel if wrapped else None), capabilities=used, **agent)
        asyncio.run(desk.turn(*steps))
        return Made(tool_spans(exporter.get_finished_spans()), list(seen.spans))


def told(span: ReadableSpan) -> tuple[Any, ...]:
    attributes = span.attributes or {}
    keys = (
        "gen_ai.tool.name",
        "gen_ai.tool.call.id",
        "tool.owner",
        "tool.risk",
        "tool.profile",
        "tool.outcome",
        "error.type",
    )
    return tuple(attributes.get(key) for key in keys)


BOOKED = ("book_room", "id-1", "rooms", "write", "desk", "ok", None)
BOOK = [Ask("book_room", {"nights": 2, "kind": "single"}, "id-1")]


@pytest.mark.parametrize("wrapped", [False, True], ids=["bare", "wrapped"])
@pytest.mark.parametrize("last", [False, True], ids=["first", "last"])
def test_the_frameworks_span_of_a_call_tells_what_came_of_it(*, wrapped: bool, last: bool) -> None:
    made = play(BOOK, wrapped=wrapped, last=last)
    assert [told(span) for span in made.framework] == [BOOKED]
    assert made.own == []


def test_parallel_calls_each_tag_their_own_span() -> None:
    made = play(
        [*BOOK, Ask("find_rooms", {"kind": "single"}, "id-2"), Ask("book_table", {"size": 9, "how": "retry"}, "id-3")]
    )
    assert Counter(map(told, made.framework)) == Counter(
        [
            BOOKED,
            ("find_rooms", "id-2", "rooms", "read", "desk", "ok", None),
            ("book_table", "id-3", "kitchen", "read", "desk", "invalid_arguments", "invalid_arguments"),
        ]
    )
    assert made.own == []


@pytest.mark.parametrize("wrapped", [False, True], ids=["bare", "wrapped"])
def test_without_instrumentation_there_is_one_span_of_tooltels_own(*, wrapped: bool) -> None:
    made = play(BOOK, instrumented=False, wrapped=wrapped)
    assert [told(span) for span in made.own] == [BOOKED]
    assert [span.name for span in made.own] == ["execute_tool book_room"]
    assert made.framework == []


@pytest.mark.parametrize("instrumented", [True, False])
def test_a_name_that_is_no_tool_has_one_span_whoever_makes_it(*, instrumented: bool) -> None:
    made = play([Ask("get_wether", {}, "id-9")], instrumented=instrumented)
    if instrumented and SPANS_OF_DROPS:
        assert (len(made.framework), made.own) == (1, [])
    else:
        assert made.framework == []
        assert [told(span) for span in made.own] == [
            ("get_wether", "id-9", "hotel", None, "desk", "not_found", "tool_not_found")
        ]


@pytest.mark.parametrize("instrumented", [True, False])
def test_rejected_arguments_have_one_span_whoever_makes_it(*, instrumented: bool) -> None:
    made = play([Ask("book_room", {"kind": "single"}, "id-4")], instrumented=instrumented)
    assert len(made.framework) + len(made.own) == 1
    assert len(made.framework) == (1 if instrumented and SPANS_OF_REJECTED else 0)
    if made.own:
        assert told(made.own[0])[-2:] == ("invalid_arguments", "invalid_arguments")
