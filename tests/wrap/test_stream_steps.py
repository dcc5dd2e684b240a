"""The steps of a generator tool: whose time each second is, and whose context is current."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import INVALID_SPAN, get_current_span

from tooltel.call import current_call, current_session
from tooltel.outcome import StreamTimes
from tooltel.signals import Status

if TYPE_CHECKING:
    from tooltel import Tooltel
    from tooltel.outcome import Outcome
    from tooltel.testing import Captured, FakeClock

Counted = Callable[[int], Generator[int, Any, str]]


def only(seen: Captured) -> Outcome:
    (outcome,) = seen.outcomes
    (span,) = seen.spans
    assert span.end_time is not None
    assert (span.attributes or {})["tool.outcome"] == outcome.status.value
    return outcome


@pytest.fixture
def counted(tel: Tooltel) -> Counted:
    @tel.tool(owner="desk")
    def order_search(count: int) -> Generator[int, Any, str]:
        """Yield numbers, and return a word."""
        yield from range(count)
        return "done"

    return order_search


# --- times ---


def test_seconds_are_the_tools_own_and_life_is_from_first_to_last_item(
    tel: Tooltel, seen: Captured, clock: FakeClock
) -> None:
    @tel.tool(owner="desk")
    def order_search() -> Iterator[int]:
        clock.advance(0.25)
        yield 1
        clock.advance(0.5)
        yield 2
        clock.advance(1.0)

    for _ in order_search():
        clock.advance(100.0)  # the consumer's own time
    outcome = only(seen)
    assert outcome.seconds == 1.75
    assert outcome.stream == StreamTimes(first_item=0.25, life=100.5, items=2)
    assert (seen.spans[0].attributes or {})["tool.stream.life"] == 100.5
    assert seen.increase("tooltel_stream_first_item_seconds_sum", tool="order_search") == 0.25
    assert seen.increase("gen_ai_execute_tool_duration_seconds_sum", gen_ai_tool_name="order_search") == 1.75


def test_an_abandoned_stream_took_the_time_until_then(tel: Tooltel, seen: Captured, clock: FakeClock) -> None:
    @tel.tool(owner="desk")
    def order_search() -> Iterator[int]:
        try:
            while True:
                clock.advance(1.0)
                yield 1
        finally:
            clock.advance(0.5)

    stream: Any = order_search()
    next(stream)
    next(stream)
    clock.advance(50.0)
    stream.close()
    outcome = only(seen)
    assert outcome.seconds == 2.5
    assert outcome.stream == StreamTimes(1.0, 1.0, 2)


# --- context ---


def test_between_steps_the_consumer_has_its_own_context_back(tel: Tooltel, seen: Captured) -> None:
    inside: list[Any] = []

    @tel.tool(owner="desk")
    def order_search() -> Iterator[int]:
        for item in range(2):
            call = current_call()
            inside.append((call.tool.name if call else None, get_current_span() is not INVALID_SPAN))
            yield item

    with tel.session(profile="support", id="s-1") as session:
        for _ in order_search():
            assert current_call() is None
            assert current_session() is session
            assert get_current_span() is INVALID_SPAN
    assert inside == [("order_search", True)] * 2
    assert only(seen).origin.session_id == "s-1"


def test_what_the_consumer_does_between_steps_is_no_child_of_the_tool(tel: Tooltel, seen: Captured) -> None:
    @tel.tool(owner="desk")
    def order_search() -> Iterator[int]:
        order_lookup("inside")
        yield 1

    @tel.tool(owner="desk")
    def order_lookup(where: str) -> str:
        return where

    for _ in order_search():
        order_lookup("between")
    assert [(o.tool.name, o.parent) for o in seen.outcomes if o.tool] == [
        ("order_lookup", "order_search"),
        ("order_lookup", None),
        ("order_search", None),
    ]
    inside, between, search = seen.spans
    assert inside.parent == search.context
    assert between.parent is None


def test_a_stream_read_inside_another_tool_is_its_child_wherever_it_was_made(tel: Tooltel, seen: Captured) -> None:
    """The call begins with its first step."""

    @tel.tool(owner="desk")
    def order_search() -> Iterator[int]:
        yield 1

    @tel.tool(owner="desk")
    def read_all(stream: Iterator[int]) -> list[int]:
        return list(stream)

    assert read_all(order_search()) == [1]
    assert [(o.tool.name, o.parent) for o in seen.outcomes if o.tool] == [
        ("order_search", "read_all"),
        ("read_all", None),
    ]
    search, outer = seen.spans
    assert search.parent == outer.context


def test_nested_streams_are_parent_and_child_step_by_step(tel: Tooltel, seen: Captured) -> None:
    @tel.tool(owner="desk")
    def pages() -> Iterator[int]:
        yield from (1, 2)

    @tel.tool(owner="desk")
    def order_search() -> Iterator[int]:
        for page in pages():
            call = current_call()
            assert call is not None
            assert call.tool.name == "order_search"
            yield page
        yield from pages()

    assert list(order_search()) == [1, 2, 1, 2]
    assert [(o.tool.name, o.parent) for o in seen.outcomes if o.tool] == [
        ("pages", "order_search"),
        ("pages", "order_search"),
        ("order_search", None),
    ]


def test_two_streams_read_in_turns_do_not_touch_each_other(tel: Tooltel, seen: Captured, clock: FakeClock) -> None:
    def rows(name: str, seconds: float) -> Callable[[], Iterator[str]]:
        def read() -> Iterator[str]:
            for _ in range(3):
                call = current_call()
                assert call is not None
                assert call.tool.name == name
                clock.advance(seconds)
                yield name

        return tel.tool(read, name=name, owner="desk")

    pairs = list(zip(rows("slow_rows", 1.0)(), rows("fast_rows", 0.125)(), strict=False))
    assert pairs == [("slow_rows", "fast_rows")] * 3
    assert {o.tool.name: (o.seconds, o.parent, o.status) for o in seen.outcomes if o.tool} == {
        "slow_rows": (3.0, None, Status.OK),
        "fast_rows": (0.375, None, Status.ABANDONED),  # zip asks the first one, which is at its end, and stops
    }


def test_a_session_entered_between_two_steps_changes_nothing_for_the_stream(tel: Tooltel, seen: Captured) -> None:
    @tel.tool(owner="desk")
    def order_search() -> Iterator[Any]:
        while True:
            session = current_session()
            yield session.origin.session_id if session else None

    with tel.session(id="s-1"):
        stream: Any = order_search()
        next(stream)
    with tel.session(id="s-2"):
        assert next(stream) == "s-1"
        assert (current_session() or session_missing()).origin.session_id == "s-2"
    assert next(stream) == "s-1"
    assert current_session() is None
    stream.close()
    assert only(seen).origin.session_id == "s-1"


def session_missing() -> Any:
    raise AssertionError("no session")


def test_a_span_that_the_tool_keeps_open_across_steps_stays_its_own(tel: Tooltel, seen: Captured) -> None:
    """As of a client that streams: current in every step of the tool, and never in the consumer's code."""
    tracer = TracerProvider().get_tracer("a client")
    spans: dict[str, Any] = {}

    @tel.tool(owner="desk")
    def order_search() -> Iterator[int]:
        with tracer.start_as_current_span("request") as spans["request"]:
            yield 1
            spans["chunk"] = tracer.start_span("chunk")
            yield 2
        spans["after"] = tracer.start_span("after")
        yield 3

    for _ in order_search():
        assert get_current_span() is INVALID_SPAN
    call = seen.spans[0].context
    assert only(seen).status is Status.OK
    assert spans["request"].parent == call
    assert spans["chunk"].parent == spans["request"].context
    assert spans["after"].parent == call


def test_a_running_stream_is_counted_as_running_and_no_longer_once_it_ended(
    tel: Tooltel, counted: Counted, seen: Captured
) -> None:
    streams = [counted(2) for _ in range(3)]
    for stream in streams:
        next(stream)
    assert seen.increase("tooltel_tool_calls_active", tool="order_search") == 3
    streams[0].close()
    list(streams[1])
    assert seen.increase("tooltel_tool_calls_active", tool="order_search") == 1
    streams.clear()
    del stream
    assert seen.increase("tooltel_tool_calls_active", tool="order_search") == 0
    assert sorted(outcome.status for outcome in seen.outcomes) == [Status.ABANDONED, Status.ABANDONED, Status.OK]


def test_items_are_the_very_objects(tel: Tooltel) -> None:
    items = [object(), {"status": "refused", "policy": "p"}, None]

    @tel.tool(owner="desk")
    def order_search() -> Iterator[Any]:
        yield from items

    assert all(got is item for got, item in zip(order_search(), items, strict=True))
