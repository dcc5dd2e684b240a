"""Async generator tools: one call over many steps, also where a task, a loop or a cancellation ends it."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.trace import INVALID_SPAN, get_current_span

from tooltel.call import current_call
from tooltel.signals import Status

if TYPE_CHECKING:
    from tooltel import Tooltel
    from tooltel.outcome import Outcome
    from tooltel.testing import Captured

Counted = Callable[[int], AsyncGenerator[int, Any]]


def only(seen: Captured) -> Outcome:
    (outcome,) = seen.outcomes
    (span,) = seen.spans
    assert span.end_time is not None
    assert (span.attributes or {})["tool.outcome"] == outcome.status.value
    return outcome


@pytest.fixture
def cleaned() -> list[str]:
    """Where the tool says that its clean-up ran to its end."""
    return []


@pytest.fixture
def counted(tel: Tooltel, cleaned: list[str]) -> Counted:
    @tel.tool(owner="desk")
    async def order_search(count: int) -> AsyncGenerator[int, Any]:
        """Yield numbers, and clean up."""
        try:
            for item in range(count):
                await asyncio.sleep(0)
                yield item
        finally:
            await asyncio.sleep(0)
            call = current_call()
            cleaned.append(call.tool.name if call else "outside any call")

    return order_search


# --- ends ---


def test_an_exhausted_stream_is_ok(counted: Counted, seen: Captured, cleaned: list[str]) -> None:
    async def main() -> list[int]:
        return [item async for item in counted(3)]

    assert asyncio.run(main()) == [0, 1, 2]
    assert only(seen).status is Status.OK
    assert cleaned == ["order_search"]


def test_a_stream_that_is_never_iterated_is_no_call(counted: Counted, seen: Captured) -> None:
    async def main() -> None:
        counted(3)
        await counted(3).aclose()

    asyncio.run(main())
    gc.collect()
    assert (seen.outcomes, list(seen.spans), seen.increases()) == ([], [], {})


async def leave_by_break(stream: AsyncGenerator[int, Any]) -> None:
    async for _ in stream:
        break


async def leave_by_close(stream: AsyncGenerator[int, Any]) -> None:
    await anext(stream)
    await stream.aclose()
    await stream.aclose()


async def leave_by_a_closing_block(stream: AsyncGenerator[int, Any]) -> None:
    async with contextlib.aclosing(stream):
        assert await anext(stream) == 0


async def leave_by_the_last_reference(stream: AsyncGenerator[int, Any]) -> None:
    await anext(stream)


async def leave_by_a_cycle(stream: AsyncGenerator[int, Any]) -> None:
    await anext(stream)
    cycle: list[Any] = [stream]
    cycle.append(cycle)
    del stream, cycle
    gc.collect()


async def leave_to_another_task(stream: AsyncGenerator[int, Any]) -> None:
    await anext(stream)
    await asyncio.create_task(close(stream))


async def close(stream: AsyncGenerator[int, Any]) -> None:
    await stream.aclose()


LEAVES = [
    leave_by_break,
    leave_by_close,
    leave_by_a_closing_block,
    leave_by_the_last_reference,
    leave_by_a_cycle,
    leave_to_another_task,
]


@pytest.mark.parametrize("leave", LEAVES)
def test_a_consumer_that_stops_reading_abandons_the_stream_and_the_tool_cleans_up(
    counted: Counted, seen: Captured, cleaned: list[str], leave: Callable[[AsyncGenerator[int, Any]], Any]
) -> None:
    async def main() -> None:
        await leave(counted(3))
        assert current_call() is None
        assert get_current_span() is INVALID_SPAN
        for _ in range(5):  # the loop closes what was dropped in a task of its own
            await asyncio.sleep(0)

    asyncio.run(main())
    outcome = only(seen)
    assert (outcome.status, outcome.error_type) == (Status.ABANDONED, "abandoned")
    assert cleaned == ["order_search"], "its clean-up is part of the call"


def test_a_stream_still_held_when_the_loop_shuts_down_is_closed_in_peace(
    counted: Counted, seen: Captured, cleaned: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    """The loop closes every generator it knows of at once; the tool's own must not be one of them."""
    held: list[Any] = []

    async def main() -> None:
        held.append(counted(3))
        await anext(held[0])

    with caplog.at_level(logging.WARNING):
        asyncio.run(main())
    assert only(seen).status is Status.ABANDONED
    assert cleaned == ["order_search"]
    assert caplog.messages == []


def test_a_stream_that_outlives_its_loop_is_settled_when_it_is_gone(counted: Counted, seen: Captured) -> None:
    """Nobody can run its clean-up any more, but the call must not run for ever."""
    loop = asyncio.new_event_loop()
    held = [counted(3)]

    async def main() -> None:
        await anext(held[0])

    loop.run_until_complete(main())
    loop.close()
    assert not seen.outcomes
    held.clear()
    gc.collect()
    assert only(seen).status is Status.ABANDONED


def test_a_cancelled_reader_cancels_the_step_that_is_running(tel: Tooltel, seen: Captured) -> None:
    @tel.tool(owner="desk")
    async def order_search() -> AsyncIterator[int]:
        yield 1
        await asyncio.Event().wait()

    async def main() -> None:
        async def read() -> None:
            async for _ in order_search():
                pass

        task = asyncio.create_task(read())
        for _ in range(3):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert only(seen).status is Status.CANCELLED


def test_a_reader_that_is_cancelled_between_steps_abandons_the_stream(counted: Counted, seen: Captured) -> None:
    async def main() -> None:
        async def read() -> None:
            async with contextlib.aclosing(counted(3)) as stream:
                async for _ in stream:
                    await asyncio.Event().wait()

        task = asyncio.create_task(read())
        for _ in range(3):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert only(seen).status is Status.ABANDONED


def test_a_timeout_around_the_reader_is_a_cancellation_and_one_in_the_tool_a_timeout(
    tel: Tooltel, seen: Captured
) -> None:
    """Only the tool knows that it was too slow; who stops waiting calls it off."""

    @tel.tool(owner="desk")
    async def order_search(limit: float | None) -> AsyncIterator[int]:
        async with asyncio.timeout(limit):
            await asyncio.Event().wait()
        yield 1

    async def read(limit: float | None) -> None:
        async for _ in order_search(limit):
            pass

    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await read(None)
        with pytest.raises(TimeoutError):
            await read(0)

    asyncio.run(main())
    assert [outcome.status for outcome in seen.outcomes] == [Status.CANCELLED, Status.TIMEOUT]


def test_a_failure_half_way_is_the_calls(tel: Tooltel, seen: Captured) -> None:
    error = ValueError("half way")

    @tel.tool(owner="desk")
    async def order_search() -> AsyncIterator[int]:
        yield 1
        raise error

    async def main() -> None:
        stream = order_search()
        assert await anext(stream) == 1
        with pytest.raises(ValueError, match="half way") as raised:
            await anext(stream)
        assert raised.value is error
        with pytest.raises(StopAsyncIteration):
            await anext(stream)

    asyncio.run(main())
    assert only(seen).error is error


def test_a_clean_up_that_fails_is_a_failure_of_the_call(tel: Tooltel, seen: Captured) -> None:
    error = OSError("cannot close")

    @tel.tool(owner="desk")
    async def order_search() -> AsyncGenerator[int, Any]:
        try:
            yield 1
        finally:
            raise error

    async def main() -> None:
        stream = order_search()
        await anext(stream)
        with pytest.raises(OSError, match="cannot close") as raised:
            await stream.aclose()
        assert raised.value is error

    asyncio.run(main())
    assert (only(seen).status, only(seen).error) == (Status.ERROR, error)


# --- asend and athrow ---


def test_what_is_sent_and_thrown_in_reaches_the_tool(tel: Tooltel, seen: Captured) -> None:
    @tel.tool(owner="desk")
    async def order_search() -> AsyncGenerator[Any, Any]:
        got: Any = "first"
        while got != "stop":
            try:
                got = yield got
            except KeyError as error:
                got = error

    async def main() -> None:
        stream = order_search()
        assert await anext(stream) == "first"
        assert await stream.asend("a") == "a"
        assert await stream.asend(0) == 0
        error = KeyError("from the consumer")
        assert await stream.athrow(error) is error
        assert await anext(stream) is None
        with pytest.raises(StopAsyncIteration):
            await stream.asend("stop")

    asyncio.run(main())
    outcome = only(seen)
    assert outcome.status is Status.OK
    assert outcome.stream is not None
    assert outcome.stream.items == 5


def test_what_is_thrown_in_and_not_handled_ends_the_call_and_comes_back_itself(
    counted: Counted, seen: Captured
) -> None:
    error = KeyError("from the consumer")

    async def main() -> None:
        stream = counted(3)
        await anext(stream)
        with pytest.raises(KeyError) as raised:
            await stream.athrow(error)
        assert raised.value is error

    asyncio.run(main())
    assert only(seen).error is error


def test_a_tool_that_goes_on_when_it_should_close_gets_pythons_own_complaint(tel: Tooltel, seen: Captured) -> None:
    @tel.tool(owner="desk")
    async def order_search() -> AsyncGenerator[int, Any]:
        while True:
            try:
                yield 1
            except GeneratorExit:
                yield 2

    async def main() -> None:
        stream = order_search()
        await anext(stream)
        with pytest.raises(RuntimeError, match="async generator ignored GeneratorExit"):
            await stream.aclose()

    asyncio.run(main())
    assert only(seen).status is Status.ERROR


def test_two_readers_of_one_stream_get_pythons_own_complaint_and_one_call(tel: Tooltel, seen: Captured) -> None:
    turn = asyncio.Event()

    @tel.tool(owner="desk")
    async def order_search() -> AsyncIterator[int]:
        await turn.wait()
        yield 1

    async def main() -> None:
        stream: Any = order_search()
        first = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="already running"):
            await anext(stream)
        turn.set()
        assert await first == 1
        await stream.aclose()

    asyncio.run(main())
    assert only(seen).status is Status.ABANDONED
