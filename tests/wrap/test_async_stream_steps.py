"""The steps of an async generator tool: whose time each second is, and whose context is current."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from opentelemetry.trace import INVALID_SPAN, get_current_span

from tooltel.call import current_call, current_session
from tooltel.outcome import StreamTimes
from tooltel.signals import Status

if TYPE_CHECKING:
    from tooltel import Tooltel
    from tooltel.outcome import Outcome
    from tooltel.testing import Captured, FakeClock

Counted = Callable[[int], AsyncGenerator[int, Any]]


def only(seen: Captured) -> Outcome:
    (outcome,) = seen.outcomes
    (span,) = seen.spans
    assert span.end_time is not None
    assert (span.attributes or {})["tool.outcome"] == outcome.status.value
    return outcome


# --- times and context ---


def test_seconds_are_the_tools_own_waiting_included_and_the_consumers_are_not(
    tel: Tooltel, seen: Captured, clock: FakeClock
) -> None:
    async def wait(seconds: float) -> None:
        await asyncio.sleep(0)
        clock.advance(seconds)

    @tel.tool(owner="desk")
    async def order_search() -> AsyncIterator[int]:
        await wait(0.25)
        yield 1
        await wait(0.5)
        yield 2
        await wait(1.0)

    async def main() -> None:
        async for _ in order_search():
            await wait(100.0)

    asyncio.run(main())
    outcome = only(seen)
    assert (outcome.seconds, outcome.stream) == (1.75, StreamTimes(0.25, 100.5, 2))


def test_between_steps_the_consumer_has_its_own_context_back(tel: Tooltel, seen: Captured) -> None:
    inside: list[Any] = []

    @tel.tool(owner="desk")
    async def order_search() -> AsyncIterator[int]:
        for item in range(2):
            await asyncio.sleep(0)
            call = current_call()
            inside.append((call.tool.name if call else None, get_current_span() is not INVALID_SPAN))
            yield item

    async def main() -> None:
        with tel.session(id="s-1") as session:
            async for _ in order_search():
                assert current_call() is None
                assert current_session() is session
                assert get_current_span() is INVALID_SPAN

    asyncio.run(main())
    assert inside == [("order_search", True)] * 2
    assert only(seen).origin.session_id == "s-1"


def test_streams_read_by_many_tasks_at_once_do_not_touch_each_other(tel: Tooltel, seen: Captured) -> None:
    @tel.tool(owner="desk")
    async def order_search(name: str) -> AsyncIterator[str]:
        for _ in range(3):
            await asyncio.sleep(0)
            session = current_session()
            assert session is not None
            assert session.origin.session_id == name
            yield name

    async def read(name: str) -> list[str]:
        with tel.session(id=name):
            return [item async for item in order_search(name)]

    async def main() -> list[list[str]]:
        return list(await asyncio.gather(*(read(f"s-{n}") for n in range(20))))

    assert asyncio.run(main()) == [[f"s-{n}"] * 3 for n in range(20)]
    assert {o.origin.session_id for o in seen.outcomes} == {f"s-{n}" for n in range(20)}
    assert {(o.status, o.parent) for o in seen.outcomes} == {(Status.OK, None)}


def test_a_stream_that_is_handed_to_another_task_keeps_its_session_and_leaves_that_tasks_alone(
    tel: Tooltel, seen: Captured
) -> None:
    @tel.tool(owner="desk")
    async def order_search() -> AsyncIterator[Any]:
        while True:
            session = current_session()
            yield session.origin.session_id if session else None

    async def main() -> None:
        with tel.session(id="s-1"):
            stream: Any = order_search()
            assert await anext(stream) == "s-1"

        async def reader() -> None:
            with tel.session(id="s-2") as mine:
                assert await anext(stream) == "s-1"
                assert current_session() is mine
                await stream.aclose()
                assert current_session() is mine

        await asyncio.create_task(reader())

    asyncio.run(main())
    assert only(seen).origin.session_id == "s-1"


def test_a_tool_started_by_a_step_is_its_child_also_when_it_ends_between_steps(tel: Tooltel, seen: Captured) -> None:
    @tel.tool(owner="desk")
    async def order_lookup() -> None:
        await asyncio.sleep(0)

    @tel.tool(owner="desk")
    async def order_search() -> AsyncIterator[int]:
        task = asyncio.create_task(order_lookup())
        yield 1
        await task

    async def main() -> None:
        async for _ in order_search():
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    asyncio.run(main())
    lookup, search = seen.spans
    assert [(o.tool.name, o.parent) for o in seen.outcomes if o.tool] == [
        ("order_lookup", "order_search"),
        ("order_search", None),
    ]
    assert lookup.parent == search.context
