"""Coroutine tools: one call from the first step to the last, whoever drives, cancels or drops them."""

from __future__ import annotations

import asyncio
import gc
import warnings
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.trace import INVALID_SPAN, get_current_span

from tooltel.call import current_call
from tooltel.signals import Status

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

    from tooltel import Tooltel
    from tooltel.testing import Captured, FakeClock


class Turn:
    """Something to await by hand: gives its name, and returns what is sent in."""

    def __await__(self) -> Generator[str, Any, Any]:
        got = yield "turn"
        return got


@pytest.fixture
def wait(tel: Tooltel) -> Callable[[float | None], Awaitable[Any]]:
    @tel.tool(owner="desk")
    async def order_wait(limit: float | None) -> None:
        async with asyncio.timeout(limit):
            await asyncio.Event().wait()

    return order_wait


def test_the_time_of_a_call_includes_its_waiting(tel: Tooltel, seen: Captured, clock: FakeClock) -> None:
    @tel.tool(owner="desk")
    async def order_lookup() -> str:
        clock.advance(0.5)
        await asyncio.sleep(0)
        clock.advance(0.25)
        return "done"

    async def main() -> None:
        pending = order_lookup()
        clock.advance(100.0)  # made, and not begun
        assert await pending == "done"

    asyncio.run(main())
    (outcome,) = seen.outcomes
    assert (outcome.status, outcome.seconds, outcome.stream) == (Status.OK, 0.75, None)


def test_one_that_is_never_awaited_is_no_call_and_python_warns_by_its_name(tel: Tooltel, seen: Captured) -> None:
    @tel.tool(owner="desk")
    async def order_lookup() -> None: ...

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        order_lookup()  # type: ignore[unused-coroutine]  # the point
        gc.collect()
    (warning,) = warned
    assert "order_lookup' was never awaited" in str(warning.message)
    assert (seen.outcomes, list(seen.spans)) == ([], [])
    assert seen.increase("tooltel_tool_calls_total") == seen.increase("tooltel_tool_calls_active") == 0


def test_a_limit_of_the_tools_own_is_a_timeout(seen: Captured, wait: Callable[[float | None], Any]) -> None:
    async def main() -> None:
        with pytest.raises(TimeoutError):
            await wait(0)

    asyncio.run(main())
    assert seen.outcomes[0].status is Status.TIMEOUT


@pytest.mark.parametrize("how", ["timeout", "wait_for", "cancel", "group"])
def test_one_that_its_caller_calls_off_is_cancelled(
    seen: Captured, wait: Callable[[float | None], Any], how: str
) -> None:
    async def main() -> None:
        if how == "timeout":
            async with asyncio.timeout(0.001):
                await wait(None)
        elif how == "wait_for":
            await asyncio.wait_for(wait(None), 0.001)
        elif how == "cancel":
            task = asyncio.ensure_future(wait(None))
            await asyncio.sleep(0)
            task.cancel("enough")
            await task
        else:
            async with asyncio.TaskGroup() as group:
                group.create_task(wait(None))
                await asyncio.sleep(0)
                raise KeyError

    with pytest.raises((TimeoutError, asyncio.CancelledError, ExceptionGroup)):
        asyncio.run(main())
    (outcome,) = seen.outcomes
    assert (outcome.status, outcome.error_type) == (Status.CANCELLED, "cancelled")
    assert seen.spans[0].status.is_unset, "nobody failed"


def test_a_cancellation_that_the_tool_turns_into_a_result_is_one(tel: Tooltel, seen: Captured) -> None:
    @tel.tool(owner="desk")
    async def order_wait() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "called off"
        return "never"

    async def main() -> None:
        task = asyncio.ensure_future(order_wait())
        await asyncio.sleep(0)
        task.cancel()
        assert await task == "called off"

    asyncio.run(main())
    assert seen.outcomes[0].status is Status.OK


def test_a_shielded_call_goes_on_when_its_caller_is_cancelled(tel: Tooltel, seen: Captured) -> None:
    @tel.tool(owner="desk")
    async def order_wait(turn: asyncio.Event) -> str:
        await turn.wait()
        return "done"

    async def main() -> None:
        turn = asyncio.Event()
        inner = asyncio.ensure_future(order_wait(turn))

        async def caller() -> None:
            await asyncio.shield(inner)

        outer = asyncio.ensure_future(caller())
        await asyncio.sleep(0)
        outer.cancel()
        with pytest.raises(asyncio.CancelledError):
            await outer
        assert not seen.outcomes
        turn.set()
        assert await inner == "done"

    asyncio.run(main())
    assert seen.outcomes[0].status is Status.OK


def test_one_that_is_driven_by_hand_gets_what_is_sent_and_thrown(tel: Tooltel, seen: Captured) -> None:
    @tel.tool(owner="desk")
    async def order_ask() -> list[Any]:
        first = await Turn()
        try:
            await Turn()
        except KeyError as error:
            return [first, error]
        return []

    coroutine: Any = order_ask()
    assert coroutine.send(None) == "turn"
    assert coroutine.send("answer") == "turn"
    error = KeyError("from the driver")
    with pytest.raises(StopIteration) as stop:
        coroutine.throw(error)
    assert stop.value.value == ["answer", error]
    assert seen.outcomes[0].status is Status.OK


def test_one_that_is_closed_or_dropped_half_way_is_abandoned_and_leaves_no_context(
    tel: Tooltel, seen: Captured
) -> None:
    @tel.tool(owner="desk")
    async def order_ask() -> None:
        await Turn()

    closed: Any = order_ask()
    closed.send(None)
    closed.close()
    assert current_call() is None
    dropped: Any = order_ask()
    dropped.send(None)
    del dropped
    gc.collect()
    assert current_call() is None
    assert get_current_span() is INVALID_SPAN
    assert [outcome.status for outcome in seen.outcomes] == [Status.ABANDONED] * 2


def test_one_whose_loop_is_gone_is_abandoned_when_it_is_collected(tel: Tooltel, seen: Captured) -> None:
    @tel.tool(owner="desk")
    async def order_wait() -> None:
        await asyncio.get_running_loop().create_future()

    async def begin(task: list[Any]) -> None:
        task.append(asyncio.ensure_future(order_wait()))
        await asyncio.sleep(0)

    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)  # it tells of a task that was destroyed while it was pending
    tasks: list[Any] = []
    loop.run_until_complete(begin(tasks))
    tasks[0]._log_destroy_pending = False
    loop.close()
    tasks.clear()
    gc.collect()
    assert [outcome.status for outcome in seen.outcomes] == [Status.ABANDONED]


def test_the_loop_may_run_other_tools_while_one_waits(tel: Tooltel, seen: Captured, clock: FakeClock) -> None:
    @tel.tool(owner="desk")
    async def order_slow(turn: asyncio.Event) -> None:
        clock.advance(1.0)
        await turn.wait()
        clock.advance(1.0)

    @tel.tool(owner="desk")
    async def order_quick(turn: asyncio.Event) -> None:
        clock.advance(5.0)
        turn.set()

    async def main() -> None:
        turn = asyncio.Event()
        await asyncio.gather(order_slow(turn), order_quick(turn))

    asyncio.run(main())
    assert {o.tool.name: (o.seconds, o.parent) for o in seen.outcomes if o.tool} == {
        "order_quick": (5.0, None),
        "order_slow": (7.0, None),  # it waited, and waiting is its own time
    }
