"""A call that a garbage collection ends settles a moment later: inside one, no lock may be waited for."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client import CollectorRegistry

from tooltel import Catalog, HouseRules, Tooltel, late
from tooltel.call import current_call
from tooltel.errors import Level
from tooltel.signals import Status
from tooltel.testing import capture

if TYPE_CHECKING:
    from tooltel.testing import Captured


ROUNDS = 160  # more allocations than it takes to make and count a call


def rows() -> Iterator[int]:
    yield 1
    yield 2


def abandon(stream: Any) -> None:
    """Leave *stream* after its first item, so that only a collection can end it."""
    next(stream)
    cycle: list[Any] = [stream]
    cycle.append(cycle)


def test_outside_a_collection_nothing_is_put_off(tel: Tooltel, seen: Captured) -> None:
    stream = tel.tool(rows, name="order_rows", owner="desk")()
    next(stream)
    del stream
    assert not late.is_collecting()
    assert not late.waiting
    assert [outcome.status for outcome in seen._outcomes] == [Status.ABANDONED]


def look_by_another_call(tel: Tooltel) -> None:
    tel.tool(lambda: None, name="another_tool", owner="desk")()


def look_by_a_scrape(tel: Tooltel) -> None:
    list(tel.view.collect())


def look_by_the_hosts_own_scrape(tel: Tooltel) -> None:
    list(tel.registry.collect())


@pytest.mark.parametrize("look", [look_by_another_call, look_by_a_scrape, look_by_the_hosts_own_scrape])
def test_what_a_collection_ends_settles_with_the_next_call_or_scrape(
    tel: Tooltel, look: Callable[[Tooltel], None]
) -> None:
    with capture(tel) as seen:
        abandon(tel.tool(rows, name="order_rows", owner="desk")())
        gc.collect()
        assert not seen._outcomes
        look(tel)
        assert [outcome.status for outcome in seen._outcomes][:1] == [Status.ABANDONED]
        assert not late.waiting


def test_each_is_settled_once_though_many_threads_catch_up(tel: Tooltel, seen: Captured) -> None:
    tool = tel.tool(rows, name="order_rows", owner="desk")
    gc.disable()
    for _ in range(200):
        abandon(tool())
    gc.enable()
    gc.collect()
    assert len(late.waiting) == 200
    threads = [threading.Thread(target=late.catch_up) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen.outcomes) == 200


@pytest.mark.slow
@pytest.mark.parametrize(("what", "tools"), [("wrapping", ROUNDS), ("calling", ROUNDS), ("scraping", 5)])
def test_a_collection_at_any_moment_never_locks_up(what: str, tools: int) -> None:
    """Each round, one allocation later: also while this thread holds the lock of the very metric to be counted."""
    tel = Tooltel(Catalog(house=HouseRules(levels={"description": Level.OFF}), open=True), registry=CollectorRegistry())
    streams = [tel.tool(rows, name=f"rows_{number}", owner="desk") for number in range(tools)]

    def act(number: int) -> None:
        if what == "scraping":
            list(tel.registry.collect())
            return
        tool = tel.tool(rows, name=f"fresh_{number}", owner="desk")
        if what == "calling":
            list(tool())

    def work() -> None:
        before = gc.get_threshold()
        gc.freeze()  # what is there already need not be looked at 200 times
        try:
            for number in range(1, ROUNDS):
                gc.disable()
                gc.collect()
                abandon(streams[number % tools]())
                gc.set_threshold(number)
                gc.enable()
                act(number)
        finally:
            gc.unfreeze()
            gc.set_threshold(*before)
            gc.enable()

    with capture(tel) as seen:
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join(timeout=100)
        assert not thread.is_alive(), "locked up"
        gc.collect()
        assert [outcome.status for outcome in seen.outcomes].count(Status.ABANDONED) == ROUNDS - 1


@pytest.mark.parametrize("awaited", [True, False])
def test_a_tool_that_a_finalizer_awaits_inside_a_collection_gives_its_result(
    tel: Tooltel, seen: Captured, awaited: bool
) -> None:
    async def find() -> str:
        return "found"

    def look() -> Any:
        return find()

    tool: Callable[[], Any] = tel.tool(find if awaited else look, name="order_find", owner="desk")
    given: list[object] = []

    class Holder:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            try:
                tool().send(None)
            except BaseException as error:  # noqa: BLE001 - whatever it is, it must be what the tool gave
                given.append(getattr(error, "value", error))

    Holder()
    gc.collect()
    assert given == ["found"]
    assert [outcome.status for outcome in seen.outcomes] == [Status.OK]
    assert current_call() is None
