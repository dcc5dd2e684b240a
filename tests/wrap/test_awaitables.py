"""Plain functions that return something to await: their call lives until that is done."""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import TYPE_CHECKING, Any

import pytest

from tooltel.call import current_call
from tooltel.signals import Status

if TYPE_CHECKING:
    from tooltel import Tooltel
    from tooltel.testing import Captured, FakeClock

Work = Callable[[], Coroutine[Any, Any, Any]]


class Awaited:
    """An awaitable of no known kind, as client libraries return it."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.url = "https://example.com"

    def __await__(self) -> Generator[Any, Any, Any]:
        awaited: Generator[Any, Any, Any] = self.work().__await__()
        return awaited

    def __len__(self) -> int:
        return 3

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Awaited)

    def __hash__(self) -> int:
        return 7

    def cancel(self) -> str:
        return "called off"


def as_coroutine(work: Work) -> Awaitable[Any]:
    return work()


def as_task(work: Work) -> Awaitable[Any]:
    return asyncio.create_task(work())


ALL = [as_coroutine, as_task, Awaited]


def tool(tel: Tooltel, make: Callable[[Work], Awaitable[Any]], work: Work) -> Callable[[], Any]:
    def order_lookup() -> Awaitable[Any]:
        return make(work)

    return tel.tool(order_lookup, owner="desk")


@pytest.mark.parametrize("make", ALL)
def test_the_call_lasts_until_the_result_is_there_and_takes_its_time(
    tel: Tooltel, seen: Captured, clock: FakeClock, make: Callable[[Work], Awaitable[Any]]
) -> None:
    result = {"status": "partial", "results": [{"status": "ok"}]}

    async def work() -> Any:
        clock.advance(1.0)
        await asyncio.sleep(0)
        clock.advance(0.5)
        return result

    async def main() -> None:
        pending = tool(tel, make, work)()
        assert not seen.outcomes, "nothing is settled before it is awaited"
        assert current_call() is None
        assert await pending is result
        await asyncio.sleep(0)

    asyncio.run(main())
    (outcome,) = seen.outcomes
    assert (outcome.status, outcome.seconds) == (Status.PARTIAL, 1.5)
    assert len(seen.spans) == 1


@pytest.mark.parametrize("make", ALL)
@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ValueError("late"), Status.ERROR),
        (TimeoutError(), Status.TIMEOUT),
        (asyncio.CancelledError(), Status.CANCELLED),
        (TypeError("plain() missing 1 required positional argument"), Status.ERROR),
    ],
)
def test_a_failure_while_it_is_awaited_is_the_calls_and_passes_untouched(
    tel: Tooltel, seen: Captured, make: Callable[[Work], Awaitable[Any]], error: BaseException, status: Status
) -> None:
    async def work() -> None:
        await asyncio.sleep(0)
        raise error

    async def main() -> None:
        try:
            await tool(tel, make, work)()
        except BaseException as raised:  # noqa: BLE001 - a cancellation is none of pytest's
            assert type(raised) is type(error)  # noqa: PT017 - see above
            assert raised is error or isinstance(raised, asyncio.CancelledError)  # noqa: PT017
        await asyncio.sleep(0)

    asyncio.run(main())
    (outcome,) = seen.outcomes
    assert outcome.status is status
    error.__traceback__ = None


@pytest.mark.parametrize("make", ALL)
def test_one_that_is_cancelled_while_it_is_awaited_is_cancelled(
    tel: Tooltel, seen: Captured, make: Callable[[Work], Awaitable[Any]]
) -> None:
    async def work() -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        async def caller() -> None:
            await tool(tel, make, work)()

        task = asyncio.create_task(caller())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0)

    asyncio.run(main())
    (outcome,) = seen.outcomes
    assert outcome.status is Status.CANCELLED


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@pytest.mark.parametrize("make", [as_coroutine, Awaited])
def test_one_that_is_never_awaited_is_abandoned_once_it_is_gone(
    tel: Tooltel, seen: Captured, make: Callable[[Work], Awaitable[Any]]
) -> None:
    async def work() -> None:
        raise AssertionError

    tool(tel, make, work)()
    gc.collect()
    (outcome,) = seen.outcomes
    assert outcome.status is Status.ABANDONED
    assert len(seen.spans) == 1


def test_a_coroutine_that_is_never_awaited_is_warned_about_under_its_own_name(tel: Tooltel) -> None:
    async def fetch_order() -> None:
        raise AssertionError

    said: list[str] = []
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        tool(tel, as_coroutine, fetch_order)()
        while warned:  # a recorded warning keeps its coroutine, and what that holds, alive
            said += [str(each.message) for each in warned]
            warned.clear()
            gc.collect()
    assert {sentence.partition("<locals>.")[2] for sentence in said} == {"fetch_order' was never awaited"}


def test_a_task_is_given_back_itself_and_counts_though_nobody_awaits_it(tel: Tooltel, seen: Captured) -> None:
    tasks: list[asyncio.Future[Any]] = []

    def order_lookup() -> asyncio.Future[Any]:
        tasks.append(asyncio.get_running_loop().create_task(asyncio.sleep(0, "done")))
        return tasks[-1]

    async def main() -> None:
        assert tel.tool(order_lookup, owner="desk")() is tasks[0]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    asyncio.run(main())
    (outcome,) = seen.outcomes
    assert outcome.status is Status.OK


def test_a_future_that_is_done_already_is_settled_at_once(tel: Tooltel, seen: Captured) -> None:
    """Its loop may never turn again."""

    async def main() -> None:
        future = asyncio.get_running_loop().create_future()
        future.set_result("cached")

        def order_lookup() -> asyncio.Future[str]:
            return future

        assert tel.tool(order_lookup, owner="desk")() is future
        assert [outcome.status for outcome in seen.outcomes] == [Status.OK]

    asyncio.run(main())


def test_a_tasks_exception_that_nobody_retrieves_is_still_told_by_its_loop(tel: Tooltel, seen: Captured) -> None:
    told: list[str] = []

    async def work() -> None:
        raise ValueError("lost")

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["message"]))
        tool(tel, as_task, work)()
        for _ in range(3):
            await asyncio.sleep(0)
        gc.collect()

    asyncio.run(main())
    assert [outcome.status for outcome in seen.outcomes] == [Status.ERROR]
    assert told == ["Task exception was never retrieved"]


def test_a_type_error_while_it_is_awaited_is_no_rejection(tel: Tooltel, seen: Captured) -> None:
    """The arguments did fit: the function has returned long ago."""

    class NoIterator:
        def __await__(self) -> Any:
            return 5

    def order_lookup(order_id: str) -> Any:
        assert order_id
        return NoIterator()

    async def main() -> None:
        await tel.tool(order_lookup, owner="desk")("o-1")

    with pytest.raises(TypeError):
        asyncio.run(main())
    assert [outcome.status for outcome in seen.outcomes] == [Status.ERROR]


def test_two_calls_may_give_the_same_future(tel: Tooltel, seen: Captured) -> None:
    async def main() -> None:
        future = asyncio.get_running_loop().create_future()

        def order_lookup() -> asyncio.Future[str]:
            return future

        wrapped = tel.tool(order_lookup, owner="desk")
        first, second = wrapped(), wrapped()
        future.set_result("done")
        assert await first == await second == "done"
        await asyncio.sleep(0)

    asyncio.run(main())
    assert [outcome.status for outcome in seen.outcomes] == [Status.OK, Status.OK]


def test_tasks_of_the_tool_see_it_as_their_parent_and_the_caller_does_not(tel: Tooltel, seen: Captured) -> None:
    @tel.tool(owner="desk")
    async def inner_tool() -> None:
        await asyncio.sleep(0)

    async def work() -> None:
        await asyncio.gather(inner_tool(), inner_tool())

    async def main() -> None:
        await tool(tel, as_coroutine, work)()
        await inner_tool()

    asyncio.run(main())
    assert [(o.tool.name, o.parent) for o in seen.outcomes if o.tool] == [
        ("inner_tool", "order_lookup"),
        ("inner_tool", "order_lookup"),
        ("order_lookup", None),
        ("inner_tool", None),
    ]
