"""Generator tools: one call over many steps, however its consumer uses or leaves it."""

from __future__ import annotations

import gc
import inspect
import itertools
import threading
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


# --- ends ---


def test_an_exhausted_stream_is_ok_and_gives_its_items_and_its_return_value(counted: Counted, seen: Captured) -> None:
    ends: list[str] = []

    def relay() -> Iterator[int]:
        ends.append((yield from counted(3)))

    assert list(relay()) == [0, 1, 2]
    assert ends == ["done"]
    assert only(seen).status is Status.OK


def test_an_empty_stream_is_a_call_without_a_first_item(counted: Counted, seen: Captured) -> None:
    assert list(counted(0)) == []
    outcome = only(seen)
    assert (outcome.status, outcome.stream) == (Status.OK, StreamTimes(None, 0.0, 0))


@pytest.mark.parametrize("drop", [lambda stream: None, lambda stream: stream.close(), list.__len__])
def test_a_stream_that_is_never_iterated_is_no_call(counted: Counted, seen: Captured, drop: Any) -> None:
    stream = counted(3)
    if drop is list.__len__:
        assert inspect.getgeneratorstate(stream) == inspect.GEN_CREATED
    else:
        drop(stream)
    del stream
    gc.collect()
    assert (seen.outcomes, list(seen.spans), seen.increases()) == ([], [], {})


def leave_by_break(stream: Generator[int, Any, str]) -> None:
    for _ in stream:
        break


def leave_by_islice(stream: Generator[int, Any, str]) -> None:
    assert list(itertools.islice(stream, 2)) == [0, 1]


def leave_by_close(stream: Generator[int, Any, str]) -> None:
    next(stream)
    stream.close()
    stream.close()


def leave_by_an_exception_of_the_consumer(stream: Generator[int, Any, str]) -> None:
    with pytest.raises(ZeroDivisionError):
        sum(item / 0 for item in stream)


def leave_by_the_last_reference(stream: Generator[int, Any, str]) -> None:
    next(stream)


def leave_by_a_cycle(stream: Generator[int, Any, str]) -> None:
    next(stream)
    cycle: list[Any] = [stream]
    cycle.append(cycle)


@pytest.mark.parametrize(
    "leave",
    [
        leave_by_break,
        leave_by_islice,
        leave_by_close,
        leave_by_an_exception_of_the_consumer,
        leave_by_the_last_reference,
        leave_by_a_cycle,
    ],
)
def test_a_consumer_that_stops_reading_abandons_the_stream(
    counted: Counted, seen: Captured, leave: Callable[[Generator[int, Any, str]], None]
) -> None:
    leave(counted(3))
    gc.collect()
    outcome = only(seen)
    assert (outcome.status, outcome.error_type) == (Status.ABANDONED, "abandoned")
    (span,) = seen.spans
    assert span.status.is_unset, "nobody failed"


def test_a_stream_that_is_closed_by_another_thread_is_abandoned(counted: Counted, seen: Captured) -> None:
    stream = counted(3)
    next(stream)
    thread = threading.Thread(target=stream.close)
    thread.start()
    thread.join()
    assert only(seen).status is Status.ABANDONED


def test_a_tool_may_clean_up_when_it_is_abandoned_and_its_clean_up_is_part_of_the_call(
    tel: Tooltel, seen: Captured
) -> None:
    inside: list[Any] = []

    @tel.tool(owner="desk")
    def order_search() -> Iterator[int]:
        try:
            yield 1
        finally:
            call = current_call()
            inside.append(call.tool.name if call else None)

    stream = order_search()
    next(stream)
    del stream
    assert inside == ["order_search"]
    assert only(seen).status is Status.ABANDONED


@pytest.mark.parametrize(
    ("error", "status"), [(ValueError("half way"), Status.ERROR), (TimeoutError(), Status.TIMEOUT)]
)
def test_a_failure_half_way_is_the_calls(tel: Tooltel, seen: Captured, error: Exception, status: Status) -> None:
    @tel.tool(owner="desk")
    def order_search() -> Iterator[int]:
        yield 1
        raise error

    stream = order_search()
    assert next(stream) == 1
    assert not seen.outcomes
    with pytest.raises(type(error)):
        next(stream)
    assert only(seen).status is status
    with pytest.raises(StopIteration):
        next(stream)
    assert len(seen.outcomes) == 1


def test_a_clean_up_that_fails_is_a_failure_of_the_call(tel: Tooltel, seen: Captured) -> None:
    @tel.tool(owner="desk")
    def order_search() -> Iterator[int]:
        try:
            yield 1
        finally:
            raise OSError("cannot close")

    stream: Any = order_search()
    next(stream)
    with pytest.raises(OSError, match="cannot close"):
        stream.close()
    assert only(seen).status is Status.ERROR


def test_a_tool_that_goes_on_when_it_should_close_gets_pythons_own_complaint(tel: Tooltel, seen: Captured) -> None:
    @tel.tool(owner="desk")
    def order_search() -> Iterator[int]:
        while True:
            try:
                yield 1
            except GeneratorExit:
                yield 2

    stream: Any = order_search()
    next(stream)
    with pytest.raises(RuntimeError, match="generator ignored GeneratorExit"):
        stream.close()
    assert only(seen).status is Status.ERROR


# --- send and throw ---


def test_what_is_sent_reaches_the_tool(tel: Tooltel, seen: Captured) -> None:
    @tel.tool(owner="desk")
    def order_search() -> Generator[Any, Any, None]:
        got = yield "first"
        while got != "stop":
            got = yield got

    stream = order_search()
    assert [next(stream), stream.send("a"), stream.send(None), stream.send(0)] == ["first", "a", None, 0]
    with pytest.raises(StopIteration):
        stream.send("stop")
    outcome = only(seen)
    assert outcome.status is Status.OK
    assert outcome.stream is not None
    assert outcome.stream.items == 4


def test_sending_too_early_is_refused_as_by_any_generator_and_is_no_call(counted: Counted, seen: Captured) -> None:
    with pytest.raises(TypeError, match="just-started generator"):
        counted(3).send("too early")
    assert not seen.outcomes


def test_what_is_thrown_in_may_be_handled_by_the_tool(tel: Tooltel, seen: Captured) -> None:
    @tel.tool(owner="desk")
    def order_search() -> Generator[Any, Any, str]:
        for item in range(3):
            try:
                yield item
            except KeyError as error:
                yield error
        return "done"

    stream = order_search()
    next(stream)
    error = KeyError("from the consumer")
    assert stream.throw(error) is error
    assert list(stream) == [1, 2]
    outcome = only(seen)
    assert outcome.status is Status.OK
    assert outcome.stream is not None
    assert outcome.stream.items == 4, "what it yields in answer is an item, too"


def test_what_is_thrown_in_and_not_handled_ends_the_call_and_comes_back_itself(
    counted: Counted, seen: Captured
) -> None:
    stream = counted(3)
    next(stream)
    error = KeyError("from the consumer")
    with pytest.raises(KeyError) as raised:
        stream.throw(error)
    assert raised.value is error
    outcome = only(seen)
    assert (outcome.status, outcome.error) == (Status.ERROR, error)


@pytest.mark.parametrize(("error", "status"), [(GeneratorExit, Status.ABANDONED), (TimeoutError, Status.TIMEOUT)])
def test_a_class_thrown_in_is_an_exception_of_it(
    counted: Counted, seen: Captured, error: type[BaseException], status: Status
) -> None:
    stream = counted(3)
    next(stream)
    with pytest.raises(error):
        stream.throw(error)
    assert only(seen).status is status


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
