"""Awaitables of no known kind: what stands in for one is all that it is, and its call is one."""

from __future__ import annotations

import asyncio
import gc
import inspect
import weakref
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import TYPE_CHECKING, Any, Self

from prometheus_client import CollectorRegistry

from tooltel import Catalog, HouseRules, Outcome, Tooltel
from tooltel.call import current_call
from tooltel.errors import Level
from tooltel.signals import Status

if TYPE_CHECKING:
    from tooltel.testing import Captured

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


def tool(tel: Tooltel, make: Callable[[Work], Awaitable[Any]], work: Work) -> Callable[[], Any]:
    def order_lookup() -> Awaitable[Any]:
        return make(work)

    return tel.tool(order_lookup, owner="desk")


async def quick() -> str:
    return "done"


def test_an_awaitable_of_any_kind_can_still_do_what_it_could(tel: Tooltel) -> None:
    pending = tool(tel, Awaited, quick)()
    assert isinstance(pending, Awaited)
    assert isinstance(pending, Awaitable)
    assert inspect.isawaitable(pending)
    assert pending.url == "https://example.com"
    assert pending.cancel() == "called off"
    assert len(pending) == 3
    assert pending == Awaited(quick)
    assert hash(pending) == 7
    assert weakref.ref(pending)() is pending
    pending.url = "changed"
    assert pending.url == "changed"

    async def main() -> Any:
        return await pending

    assert asyncio.run(main()) == "done"


def test_one_that_is_awaited_again_is_one_call(tel: Tooltel, seen: Captured) -> None:
    async def main() -> None:
        pending = tool(tel, Awaited, quick)()
        assert [await pending, await pending] == ["done", "done"]
        assert list(await asyncio.gather(pending, pending)) == ["done", "done"]
        assert current_call() is None

    asyncio.run(main())
    assert [outcome.status for outcome in seen.outcomes] == [Status.OK]


def test_one_that_is_awaited_by_two_tasks_at_once_leaves_both_contexts_clean(tel: Tooltel, seen: Captured) -> None:
    async def work() -> str:
        await asyncio.sleep(0)
        return "done"

    async def main() -> None:
        pending = tool(tel, Awaited, work)()

        async def wait() -> None:
            await pending
            assert current_call() is None

        await asyncio.gather(wait(), wait())

    asyncio.run(main())
    assert [outcome.status for outcome in seen.outcomes] == [Status.OK]


class Response:
    """What a web client gives: to be awaited, or entered with `async with`."""

    def __init__(self) -> None:
        self.entered = 0

    def __await__(self) -> Generator[Any, Any, Response]:
        yield from asyncio.sleep(0).__await__()
        return self

    async def __aenter__(self) -> Self:
        self.entered += 1
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self.entered -= 1


def test_what_can_do_more_than_be_awaited_works_in_every_way(tel: Tooltel, seen: Captured) -> None:
    def fetch() -> Response:
        return Response()

    wrapped = tel.tool(fetch, name="page_fetch", owner="web")

    async def main() -> None:
        assert isinstance(await wrapped(), Response)
        async with wrapped() as response:
            assert response.entered == 1

    asyncio.run(main())
    assert [outcome.status for outcome in seen.outcomes] == [Status.OK, Status.OK]


def test_a_client_that_can_also_be_awaited_is_no_abandoned_call_when_it_is_used(tel: Tooltel, seen: Captured) -> None:
    """As those of some databases: to await one is to connect it, and it connects by itself when it is used."""

    class Client:
        def __await__(self) -> Generator[Any, Any, Client]:
            yield from asyncio.sleep(0).__await__()
            return self

        def get(self, key: str) -> str:
            return f"value of {key}"

    def connect() -> Client:
        return Client()

    client = tel.tool(connect, name="client_connect", owner="desk")()
    assert client.get("a") == "value of a"
    del client
    gc.collect()
    assert [outcome.status for outcome in seen.outcomes] == [Status.OK]


def test_an_awaitable_that_fights_being_looked_at_comes_back_itself() -> None:
    class Fighting:
        @property  # type: ignore[misc]  # mypy knows it as an attribute
        def __class__(self) -> Any:
            raise RuntimeError("asked for its class")

        def __await__(self) -> Generator[Any, Any, str]:
            yield from asyncio.sleep(0).__await__()
            return "done"

    catalog = Catalog(house=HouseRules(levels={"description": Level.OFF}), open=True)
    outcomes: list[Outcome] = []
    tel = Tooltel(catalog, registry=CollectorRegistry(), recorders=[outcomes.append])
    fighting = Fighting()

    def order_lookup() -> Fighting:
        return fighting

    async def main() -> str:
        pending = tel.tool(order_lookup, owner="desk")()
        assert pending is fighting
        return await pending

    assert asyncio.run(main()) == "done"
    assert [outcome.status for outcome in outcomes] == [Status.OK]


def test_a_coroutine_of_a_librarys_own_class_can_become_a_task(tel: Tooltel, seen: Captured) -> None:
    """As compiled code makes them: a Coroutine by its methods, and not the interpreter's own."""

    class Compiled(Coroutine[Any, Any, str]):
        def __init__(self) -> None:
            self.inner = quick()

        def send(self, value: Any) -> Any:
            return self.inner.send(value)

        def throw(self, *error: Any) -> Any:
            return self.inner.throw(*error)

        def close(self) -> None:
            self.inner.close()

        def __await__(self) -> Generator[Any, Any, str]:
            return self.inner.__await__()

    def order_lookup() -> Compiled:
        return Compiled()

    async def main() -> None:
        assert await asyncio.create_task(tel.tool(order_lookup, owner="desk")()) == "done"

    asyncio.run(main())
    assert [outcome.status for outcome in seen.outcomes] == [Status.OK]
