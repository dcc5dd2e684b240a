"""Generator tools: one call over many steps, however its consumer uses or leaves it."""

from __future__ import annotations

import gc
import inspect
import itertools
import threading
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tooltel.call import current_call
from tooltel.outcome import StreamTimes
from tooltel.signals import Status

if TYPE_CHECKING:
    from tooltel import Tooltel
    from tooltel.outcome import Outcome
    from tooltel.testing import Captured

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
