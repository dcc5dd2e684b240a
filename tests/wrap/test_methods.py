"""Methods, static and class methods, in both orders of decorators; and what is wrapped already."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry

from tooltel import Tooltel
from tooltel.testing import capture

if TYPE_CHECKING:
    from collections.abc import Callable

    from tooltel.testing import Captured


def recorded(seen: Captured) -> list[str]:
    return [outcome.tool.name for outcome in seen.outcomes if outcome.tool]


def test_a_method_gets_its_instance_and_is_one_call(tel: Tooltel, seen: Captured) -> None:
    class Desk:
        def __init__(self, name: str) -> None:
            self.name = name

        @tel.tool(owner="desk")
        def order_lookup(self, order_id: str) -> tuple[str, str]:
            return self.name, order_id

    first, second = Desk("first"), Desk("second")
    assert first.order_lookup("o-1") == ("first", "o-1")
    assert Desk.order_lookup(second, "o-2") == ("second", "o-2")
    assert inspect.ismethod(first.order_lookup)
    assert recorded(seen) == ["order_lookup"] * 2


def test_static_and_class_methods_work_with_the_decorators_in_either_order(tel: Tooltel, seen: Captured) -> None:
    class Desk:
        @tel.tool(owner="desk")
        @staticmethod
        def outer_static(order_id: str) -> str:
            return order_id

        @staticmethod
        @tel.tool(owner="desk")
        def inner_static(order_id: str) -> str:
            return order_id

        @tel.tool(owner="desk")
        @classmethod
        def outer_class(cls, order_id: str) -> tuple[type, str]:
            return cls, order_id

        @classmethod
        @tel.tool(owner="desk")
        def inner_class(cls, order_id: str) -> tuple[type, str]:
            return cls, order_id

    class Night(Desk):
        pass

    for desk in (Desk, Desk(), Night, Night()):
        kind = desk if isinstance(desk, type) else type(desk)
        assert desk.outer_static("o-1") == desk.inner_static("o-1") == "o-1"
        assert desk.outer_class("o-1") == desk.inner_class("o-1") == (kind, "o-1")
    assert sorted(recorded(seen)) == sorted(["outer_static", "inner_static", "outer_class", "inner_class"] * 4)
    assert isinstance(vars(Desk)["outer_static"], staticmethod)
    assert isinstance(vars(Desk)["outer_class"], classmethod)


def test_a_tool_that_is_wrapped_twice_is_recorded_once(tel: Tooltel, seen: Captured) -> None:
    @tel.tool(owner="desk")
    def order_lookup(order_id: str) -> str:
        return order_id

    assert tel.tool(order_lookup) is order_lookup
    assert tel.tool(order_lookup, name="order_lookup", owner="desk") is order_lookup
    assert tel.tool(functools.partial(order_lookup, "o-1"))() == "o-1"
    assert recorded(seen) == ["order_lookup"]


def test_a_decorator_between_two_wrappings_leaves_one_record(tel: Tooltel, seen: Captured) -> None:
    def retried(fn: Callable[[], str]) -> Callable[[], str]:
        @functools.wraps(fn)
        def again() -> str:
            fn()
            return fn()

        return again

    @tel.tool
    @retried
    @tel.tool(owner="desk")
    def order_lookup() -> str:
        return "done"

    assert order_lookup() == "done"
    assert recorded(seen) == ["order_lookup"] * 2, "two calls of the tool itself, and none of the decorator"


def test_a_bound_method_of_a_wrapped_one_is_wrapped_already(tel: Tooltel, seen: Captured) -> None:
    class Desk:
        @tel.tool(owner="desk")
        def order_lookup(self) -> str:
            return "done"

    bound = Desk().order_lookup
    assert tel.tool(bound) is bound
    bound()
    assert recorded(seen) == ["order_lookup"]


def test_one_function_may_be_two_tools(tel: Tooltel, seen: Captured) -> None:
    def search(query: str) -> str:
        return query

    articles = tel.tool(search, name="article_search", owner="kb")
    orders = tel.tool(search, name="order_search", owner="desk")
    assert articles("a") == "a"
    assert orders("b") == "b"
    assert recorded(seen) == ["article_search", "order_search"]


def test_a_wrapped_tool_under_a_second_name_is_a_tool_that_calls_the_first(tel: Tooltel, seen: Captured) -> None:
    @tel.tool(owner="kb")
    def article_search(query: str, lang: str) -> str:
        return f"{lang}:{query}"

    german = tel.tool(functools.partial(article_search, lang="de"), name="article_search_german", owner="kb")
    assert german("x") == "de:x"
    assert [(o.tool.name, o.parent) for o in seen.outcomes if o.tool] == [
        ("article_search", "article_search_german"),
        ("article_search_german", None),
    ]


def test_another_instance_records_for_itself(tel: Tooltel, seen: Captured) -> None:
    """A library may have wrapped its tools for its own Tooltel; the host's still counts its own calls of them."""
    other = Tooltel(registry=CollectorRegistry(), on_problem="warn")

    @tel.tool(owner="desk")
    def order_lookup() -> str:
        return "done"

    both = other.tool(order_lookup, owner="host")
    with capture(other) as theirs:
        assert both() == "done"
    assert recorded(theirs) == recorded(seen) == ["order_lookup"]
