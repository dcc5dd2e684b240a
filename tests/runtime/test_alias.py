"""An old name that still works: it delegates, and each call of it is counted."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tooltel import CatalogError

if TYPE_CHECKING:
    from tooltel import Tooltel
    from tooltel.testing import Captured


def wrap(tel: Tooltel, fn: Callable[..., Any]) -> Callable[..., Any]:
    return tel.tool(fn, name="order_lookup", owner="orders", aliases=["get_order", "find_order"])


def order_lookup(order_id: str, limit: int = 3) -> str:
    """Look up one order."""
    return f"{order_id}:{limit}"


async def slowly(order_id: str) -> str:
    await asyncio.sleep(0)
    return order_id


def rows(order_id: str) -> Iterator[str]:
    yield order_id


async def slow_rows(order_id: str) -> AsyncIterator[str]:
    yield order_id


def test_an_alias_works_as_the_tool_does_and_its_calls_are_counted(tel: Tooltel, seen: Captured) -> None:
    tool = wrap(tel, order_lookup)
    get_order = tel.alias("get_order", tool)
    assert get_order("o-1", limit=5) == "o-1:5"
    tool("o-2")
    first, second = seen.outcomes
    assert first.tool is second.tool
    assert (first.alias, second.alias) == ("get_order", None)
    assert seen.increase("tooltel_alias_calls_total", alias="get_order", tool="order_lookup", owner="orders") == 1
    assert seen.increase("tooltel_tool_calls_total", tool="order_lookup", outcome="ok") == 2
    assert (seen.spans[0].attributes or {})["tool.alias"] == "get_order"
    assert seen.spans[0].name == "execute_tool order_lookup"
    assert len(seen.logged("tool_alias_called")) == 1


def test_an_alias_shows_its_old_name_and_the_tools_signature_and_words(tel: Tooltel) -> None:
    get_order = tel.alias("get_order", wrap(tel, order_lookup))
    assert get_order.__name__ == get_order.__qualname__ == "get_order"
    assert get_order.__doc__ == order_lookup.__doc__
    assert inspect.signature(get_order) == inspect.signature(order_lookup)


@pytest.mark.parametrize("fn", [order_lookup, slowly, rows, slow_rows])
def test_an_alias_is_of_the_tools_kind(tel: Tooltel, fn: Callable[..., Any]) -> None:
    get_order = tel.alias("get_order", wrap(tel, fn))
    for ask in (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction):
        assert ask(get_order) == ask(fn)


def test_a_failure_of_an_alias_call_is_the_tools_and_counts_as_an_alias_call(tel: Tooltel, seen: Captured) -> None:
    get_order = tel.alias("get_order", wrap(tel, order_lookup))
    with pytest.raises(TypeError):
        get_order()
    assert seen.outcomes[0].status == "invalid_arguments"
    assert seen.increase("tooltel_alias_calls_total", alias="get_order") == 1


def test_a_tool_may_have_many_aliases_and_an_alias_of_an_alias_is_one_of_the_tool(tel: Tooltel, seen: Captured) -> None:
    tool = wrap(tel, order_lookup)
    find_order = tel.alias("find_order", tel.alias("get_order", tool))
    find_order("o-1")
    assert [outcome.alias for outcome in seen.outcomes] == ["find_order"]


def test_a_method_gets_an_alias_in_its_class_or_on_its_object(tel: Tooltel, seen: Captured) -> None:
    class Desk:
        def __init__(self, name: str) -> None:
            self.name = name

        @tel.tool(owner="orders", aliases=["get_order"])
        def order_lookup(self, order_id: str) -> str:
            return f"{self.name}:{order_id}"

        get_order = tel.alias("get_order", order_lookup)

    desk = Desk("first")
    assert desk.get_order("o-1") == "first:o-1"
    assert tel.alias("get_order", desk.order_lookup)("o-2") == "first:o-2"
    assert tel.alias("get_order", Desk.order_lookup)(desk, "o-3") == "first:o-3"
    assert [outcome.alias for outcome in seen.outcomes] == ["get_order"] * 3


def test_static_and_class_methods_get_aliases_too(tel: Tooltel, seen: Captured) -> None:
    class Desk:
        @tel.tool(owner="orders", aliases=["get_order"])
        @staticmethod
        def order_lookup(order_id: str) -> str:
            return order_id

        @tel.tool(owner="orders", aliases=["drop_order"])
        @classmethod
        def order_cancel(cls, order_id: str) -> str:
            return f"{cls.__name__}:{order_id}"

        get_order = tel.alias("get_order", order_lookup)
        drop_order = tel.alias("drop_order", order_cancel)

    assert Desk.get_order("o-1") == "o-1"
    assert tel.alias("drop_order", Desk.order_cancel)("o-2") == "Desk:o-2"
    assert Desk.drop_order("o-3") == "Desk:o-3"
    assert [outcome.alias for outcome in seen.outcomes] == ["get_order", "drop_order", "drop_order"]


def test_a_name_that_is_no_alias_of_the_tool_is_an_error_that_says_what_to_write(tel: Tooltel) -> None:
    tool = wrap(tel, order_lookup)
    with pytest.raises(CatalogError) as raised:
        tel.alias("fetch_order", tool)
    (problem,) = raised.value.problems
    assert (problem.rule, problem.path) == ("unknown_alias", "tools.order_lookup.aliases")
    assert "fetch_order" in problem.fix
    assert "get_order" in problem.fix, "and keeps what is there"


@pytest.mark.parametrize("target", [order_lookup, len, 3, None])
def test_only_a_wrapped_tool_can_have_an_alias(tel: Tooltel, target: Any) -> None:
    with pytest.raises(TypeError, match=r"use tel\.tool"):
        tel.alias("get_order", target)


def test_an_alias_is_recorded_by_the_instance_that_made_the_tool(tel: Tooltel, seen: Captured) -> None:
    """`alias` of an alias shell keeps one record for one call."""
    get_order = tel.alias("get_order", wrap(tel, order_lookup))
    assert tel.tool(get_order) is get_order
    get_order("o-1")
    assert len(seen.outcomes) == 1
