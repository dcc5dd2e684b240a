"""Which tool a function is: the catalog's, or one declared where it is wrapped. A contradiction is an error."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client import CollectorRegistry

from tooltel import Catalog, CatalogError, HouseRules, Owner, Profile, Tool, Tooltel, UnknownToolError
from tooltel.errors import Level
from tooltel.testing import capture

if TYPE_CHECKING:
    from collections.abc import Callable

SENTENCE = "Look up one order by its number, with its items and its delivery state."


def make_catalog(**options: Any) -> Catalog:
    return Catalog(
        tools=[
            Tool("order_lookup", "orders", profiles=("support",), description=SENTENCE, aliases=("get_order",)),
            Tool("order_refund", "payments", risk="irreversible", version="5", description=SENTENCE),
            Tool("order_note", "orders"),  # described by its docstring
        ],
        owners=[Owner("orders"), Owner("payments")],
        profiles=[Profile("support", "orders")],
        **options,
    )


def make(**options: Any) -> Tooltel:
    options.setdefault("catalog", make_catalog())
    return Tooltel(registry=CollectorRegistry(), **options)


def order_lookup(order_id: str) -> str:
    return order_id


def rules(error: CatalogError) -> list[tuple[str, str]]:
    return [(problem.rule, problem.path) for problem in error.problems]


def test_a_function_is_the_catalogs_tool_of_its_name() -> None:
    tel = make()
    with capture(tel) as seen:
        assert tel.tool(order_lookup)("o-1") == "o-1"
    assert seen.outcomes[0].tool is tel.catalog.tools["order_lookup"]


def test_name_says_which_tool_it_is() -> None:
    tel = make()
    with capture(tel) as seen:
        tel.tool(lambda: "done", name="order_refund")()
    tool = seen.outcomes[0].tool
    assert tool is not None
    assert (tool.name, tool.owner, tool.version, tool.risk) == ("order_refund", "payments", "5", "irreversible")


def test_an_unknown_function_is_an_error_that_names_the_nearest_tool_and_the_place() -> None:
    def order_lookpu() -> None:
        """Nothing."""

    with pytest.raises(UnknownToolError) as raised:
        make().tool(order_lookpu)
    error = raised.value
    assert (error.name, error.nearest) == ("order_lookpu", "order_lookup")
    assert isinstance(error, LookupError)
    assert "did you mean 'order_lookup'?" in str(error)
    assert "[tools.order_lookpu]" in str(error)
    assert "@tel.tool(owner=" in str(error)
    line = order_lookpu.__code__.co_firstlineno
    assert str(error).startswith(f"{__file__}:{line}: ")


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("orders_lookup", "order_lookup"), ("get_order", "order_lookup"), ("GetOrder", "order_lookup"), ("zork", None)],
)
def test_the_nearest_tool_is_found_by_old_names_too_and_only_where_one_is_near(name: str, nearest: str | None) -> None:
    with pytest.raises(UnknownToolError) as raised:
        make().tool(lambda: None, name=name)
    assert raised.value.nearest == nearest
    assert ("did you mean" in str(raised.value)) == (nearest is not None)


def test_a_lambda_without_a_name_is_no_tool_of_any_catalog() -> None:
    with pytest.raises(UnknownToolError, match="<lambda>"):
        make().tool(lambda: None)


def test_a_tool_may_be_declared_where_it_is_wrapped() -> None:
    tel = make()

    @tel.tool(owner="orders", version=3, risk="write", profiles=["support"], aliases=["tag_order"], objective=0.99)
    def order_tag(order_id: str) -> str:
        """Put a tag on one order, so that a colleague finds it again."""
        return order_id

    tool = tel.catalog.tools["order_tag"]
    assert (tool.owner, tool.version, tool.risk, tool.profiles) == ("orders", "3", "write", ("support",))
    assert tel.catalog.aliases["tag_order"].tool == "order_tag"
    with capture(tel) as seen:
        order_tag("o-1")
    assert seen.outcomes[0].tool is tool


def test_without_a_catalog_any_owner_and_profile_may_be_named() -> None:
    tel = make(catalog=None)

    @tel.tool(owner="anybody", profiles=["anything"])
    def order_tag(order_id: str) -> str:
        """Put a tag on one order, so that a colleague finds it again."""
        return order_id

    with capture(tel) as seen:
        order_tag("o-1")
    assert seen.increase("tooltel_tool_calls_total", owner="anybody") == 1


def test_every_problem_of_a_declaration_is_listed_at_once_with_its_place() -> None:
    def Tag(order_id: str) -> str:  # noqa: N802 - a name that breaks the house rule
        """Too short."""
        return order_id

    with pytest.raises(CatalogError) as raised:
        make().tool(Tag, owner="order", risk="wrte", profiles=["suport"], aliases=["order_lookup"], objective=99)
    found = {path.removeprefix("tools.Tag").removeprefix(".").partition("[")[0] for _, path in rules(raised.value)}
    assert found >= {"owner", "risk", "profiles", "aliases", "objective", "description"}
    assert {problem.file for problem in raised.value.problems} == {__file__}
    assert {problem.line for problem in raised.value.problems} == {Tag.__code__.co_firstlineno}
    assert "did you mean" in str(raised.value)


def test_what_was_refused_is_not_in_the_catalog_and_has_no_series() -> None:
    tel = make()
    with capture(tel) as seen, pytest.raises(CatalogError):
        tel.tool(order_lookup, name="order_tag", owner="nobody", description=SENTENCE)
    assert "order_tag" not in tel.catalog.tools
    assert not seen.increases()


@pytest.mark.parametrize(
    ("said", "path"),
    [
        ({"owner": "payments"}, "owner"),
        ({"version": 2}, "version"),
        ({"risk": "write"}, "risk"),
        ({"profiles": []}, "profiles"),
        ({"owner": "orders", "repeatable": True}, "repeatable"),
    ],
)
def test_what_the_catalog_contradicts_is_an_error_that_shows_both(said: Any, path: str) -> None:
    with pytest.raises(CatalogError) as raised:
        make().tool(order_lookup, **said)
    (problem,) = raised.value.problems
    assert (problem.rule, problem.path) == ("contradiction", f"tools.order_lookup.{path}")
    assert "say it in one place" in problem.fix
    assert problem.file == __file__


def test_saying_the_same_as_the_catalog_is_no_contradiction() -> None:
    tel = make()
    with capture(tel) as seen:
        tel.tool(order_lookup, owner="orders", version=1, risk="read", profiles=("support",))("o-1")
    assert len(seen.outcomes) == 1


def test_a_second_declaration_of_one_name_must_say_the_same() -> None:
    tel = make()
    tel.tool(order_lookup, name="order_tag", owner="orders", description=SENTENCE)
    tel.tool(order_lookup, name="order_tag", owner="orders")
    with pytest.raises(CatalogError, match="contradiction"):
        tel.tool(order_lookup, name="order_tag", owner="payments")


@pytest.mark.parametrize(
    ("doc", "what"), [(None, "neither a description nor a docstring"), ("Too short.", "10 characters")]
)
def test_a_tool_that_nothing_describes_is_a_problem(doc: str | None, what: str) -> None:
    def order_note() -> None: ...

    order_note.__doc__ = doc
    with pytest.raises(CatalogError, match=what) as raised:
        make().tool(order_note)
    (problem,) = raised.value.problems
    assert (problem.rule, problem.path, problem.house) == ("description", "tools.order_note.description", True)


@pytest.mark.parametrize("level", [Level.WARN, Level.OFF])
def test_the_house_may_warn_of_it_or_not_care(level: Level) -> None:
    tel = make(catalog=make_catalog(house=HouseRules(levels={"description": level})))
    with capture(tel) as seen:
        tel.tool(lambda: None, name="order_note")
    assert len(seen.logged("catalog_problem")) == (level is Level.WARN)


def test_a_docstring_of_the_class_describes_a_callable_object() -> None:
    class Note:
        """Write a note on one order, which the customer will not see."""

        def __call__(self) -> None: ...

    make().tool(Note(), name="order_note")


@pytest.mark.parametrize("use", [lambda tel: tel.tool(order_lookup, ownr="orders"), lambda tel: tel.tool(3)])
def test_misuse_is_a_type_error_at_once(use: Callable[[Tooltel], Any]) -> None:
    with pytest.raises(TypeError):
        use(make())


def test_a_thousand_tools_can_be_declared_one_by_one_in_a_moment() -> None:
    tel = make(catalog=None)
    begun = time.perf_counter()
    for number in range(1000):
        tel.tool(order_lookup, name=f"order_lookup_{number}", owner="orders", description=SENTENCE)
    assert time.perf_counter() - begun < 10.0
    assert len(tel.catalog.tools) == 1000
