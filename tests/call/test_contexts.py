"""Sessions and parents follow a call into tasks, threads and executors, and never where they do not belong."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from tooltel import propagate
from tooltel.call import current_call, current_session

if TYPE_CHECKING:
    from tooltel import Tooltel
    from tooltel.testing import Captured


def where() -> tuple[str | None, str | None]:
    """The session's id and the running call's tool, as seen from here."""
    session, call = current_session(), current_call()
    return (session.origin.session_id if session else None, call.tool.name if call else None)


@pytest.fixture
def tell(tel: Tooltel) -> Callable[[], Any]:
    """A tool that tells where its caller is: the session, and what had called it."""

    @tel.tool(owner="desk")
    def tell_where() -> tuple[str | None, str | None]:
        return where()

    return tell_where


def parents(seen: Captured) -> list[tuple[str, str | None, str | None]]:
    return [(o.tool.name, o.parent, o.origin.session_id) for o in seen.outcomes if o.tool]


def assert_spans_match_parents(seen: Captured) -> None:
    """The span of each call that has a parent is a child of that parent's span."""
    by_name = {span.name.removeprefix("execute_tool "): span for span in seen.spans}
    for outcome, span in zip(seen.outcomes, seen.spans, strict=True):
        expected = by_name[outcome.parent].context if outcome.parent else None
        assert span.parent == expected


def test_tools_called_by_a_tool_are_its_children_however_deep(tel: Tooltel, seen: Captured) -> None:
    def level(name: str, inner: Callable[[], Any] | None) -> Callable[[], Any]:
        return tel.tool(lambda: inner() if inner else where(), name=name, owner="desk")

    top = level("level_one", level("level_two", level("level_three", None)))
    with tel.session(id="s-1"):
        assert top() == ("s-1", "level_three")
        assert where() == ("s-1", None)
    assert parents(seen) == [
        ("level_three", "level_two", "s-1"),
        ("level_two", "level_one", "s-1"),
        ("level_one", None, "s-1"),
    ]
    assert_spans_match_parents(seen)


def test_a_tool_that_calls_itself_is_its_own_parent(tel: Tooltel, seen: Captured) -> None:
    @tel.tool(owner="desk")
    def count_down(number: int) -> int:
        return count_down(number - 1) if number else 0

    count_down(2)
    assert [parent for _, parent, _ in parents(seen)] == ["count_down", "count_down", None]
    assert [span.parent for span in seen.spans] == [seen.spans[1].context, seen.spans[2].context, None]


def test_tasks_and_gather_carry_session_and_parent(tel: Tooltel, seen: Captured, tell: Callable[[], Any]) -> None:
    async def told() -> Any:
        await asyncio.sleep(0)
        return tell()

    @tel.tool(owner="desk")
    async def fan_out() -> list[Any]:
        return list(await asyncio.gather(told(), asyncio.create_task(told()), asyncio.to_thread(tell)))

    async def main() -> None:
        with tel.session(id="s-1"):
            assert await fan_out() == [("s-1", "tell_where")] * 3

    asyncio.run(main())
    assert parents(seen) == [("tell_where", "fan_out", "s-1")] * 3 + [("fan_out", None, "s-1")]
    assert_spans_match_parents(seen)


def test_sessions_of_tasks_that_run_at_once_are_their_own(
    tel: Tooltel, seen: Captured, tell: Callable[[], Any]
) -> None:
    async def converse(name: str) -> None:
        with tel.session(id=name):
            for _ in range(5):
                await asyncio.sleep(0)
                assert tell() == (name, "tell_where")

    async def main() -> None:
        await asyncio.gather(*(converse(f"s-{n}") for n in range(20)))
        assert where() == (None, None)

    asyncio.run(main())
    assert {session for _, _, session in parents(seen)} == {f"s-{n}" for n in range(20)}
    assert all(parent is None for _, parent, _ in parents(seen))


def test_a_task_that_outlives_its_call_still_tells_who_started_it(
    tel: Tooltel, seen: Captured, tell: Callable[[], Any]
) -> None:
    tasks: list[asyncio.Task[None]] = []

    async def later() -> None:
        await asyncio.sleep(0)
        tell()

    @tel.tool(owner="desk")
    async def start_later() -> None:
        tasks.append(asyncio.create_task(later()))

    async def main() -> None:
        await start_later()
        await tasks[0]

    asyncio.run(main())
    assert parents(seen) == [("start_later", None, None), ("tell_where", "start_later", None)]
    outer, inner = seen.spans
    assert inner.parent == outer.context


def run_in_thread(fn: Callable[[], Any]) -> Any:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(fn()))
    thread.start()
    thread.join()
    return found[0]


def run_in_pool(fn: Callable[[], Any]) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(fn).result()


def run_in_loops_executor(fn: Callable[[], Any]) -> Any:
    async def main() -> Any:
        with ThreadPoolExecutor(1) as pool:
            return await asyncio.get_running_loop().run_in_executor(pool, fn)

    return asyncio.run(main())


@pytest.mark.parametrize("run", [run_in_thread, run_in_pool, run_in_loops_executor])
def test_a_bare_thread_has_no_session_and_propagate_gives_it_this_ones(
    tel: Tooltel, seen: Captured, tell: Callable[[], Any], run: Callable[[Callable[[], Any]], Any]
) -> None:
    @tel.tool(owner="desk")
    def work_elsewhere() -> list[Any]:
        return [run(tell), run(propagate(tell)), where()]

    with tel.session(id="s-1"):
        assert work_elsewhere() == [(None, "tell_where"), ("s-1", "tell_where"), ("s-1", "work_elsewhere")]
    assert parents(seen) == [
        ("tell_where", None, None),
        ("tell_where", "work_elsewhere", "s-1"),
        ("work_elsewhere", None, "s-1"),
    ]
    assert_spans_match_parents(seen)


def test_what_propagate_gives_can_run_many_times_and_at_once(tel: Tooltel, seen: Captured) -> None:
    ready = threading.Barrier(4, timeout=30)

    @tel.tool(owner="desk")
    def tell_where() -> Any:
        ready.wait()
        return where()

    with tel.session(id="s-1"):
        carried = propagate(tell_where)
    with ThreadPoolExecutor(4) as pool:
        found = [future.result() for future in [pool.submit(carried) for _ in range(8)]]
    assert found == [("s-1", "tell_where")] * 8
    assert where() == (None, None)
    assert {session for _, _, session in parents(seen)} == {"s-1"}


def test_what_propagate_gives_is_called_as_the_function_was() -> None:
    def work(first: int, *, second: int = 2) -> int:
        """Add up."""
        return first + second

    carried = propagate(work)
    assert carried(1, second=5) == 6
    assert (carried.__name__, carried.__doc__) == ("work", "Add up.")
    error = ValueError("as it was")

    def fail() -> None:
        raise error

    with pytest.raises(ValueError, match="as it was") as raised:
        propagate(fail)()
    assert raised.value is error


def test_a_pools_threads_keep_nothing_of_the_call_before(tel: Tooltel, tell: Callable[[], Any]) -> None:
    with ThreadPoolExecutor(1) as pool:
        with tel.session(id="s-1"):
            assert pool.submit(propagate(tell)).result() == ("s-1", "tell_where")
        assert pool.submit(where).result() == (None, None)


def test_a_callback_of_the_loop_runs_in_the_session_that_scheduled_it(tel: Tooltel, tell: Callable[[], Any]) -> None:
    found: list[Any] = []

    async def main() -> None:
        with tel.session(id="s-1"):
            asyncio.get_running_loop().call_soon(lambda: found.append(tell()))
        await asyncio.sleep(0)

    asyncio.run(main())
    assert found == [("s-1", "tell_where")]


def test_a_drop_inside_a_tool_names_it_as_its_parent(tel: Tooltel, seen: Captured) -> None:
    @tel.tool(owner="desk")
    def run_agent() -> None:
        tel.not_found("zork")

    run_agent()
    drop, outer = seen.spans
    assert seen.outcomes[0].parent == "run_agent"
    assert drop.parent == outer.context
