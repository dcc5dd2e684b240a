"""A catalog with problems stops a start, with all of them at once; what is only house style can be relaxed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from tooltel import Catalog, CatalogError, HouseRules, Owner, Profile, RegistryError, Tool, Tooltel
from tooltel.errors import Level
from tooltel.testing import capture, parse_samples

GOOD = "Look up one order by its number, with its items and its delivery state."


def make(catalog: Any, registry: CollectorRegistry | None = None, **options: Any) -> Tooltel:
    return Tooltel(catalog, registry=registry or CollectorRegistry(), **options)


def catalog_with(*tools: Tool, **options: Any) -> Catalog:
    return Catalog(
        tools=tools, owners=[Owner("orders")], profiles=[Profile("support", "orders", budget_chars=60)], **options
    )


def test_one_exception_lists_every_problem() -> None:
    tools = (
        Tool("order_lookup", "order", description=GOOD),
        Tool("OrderRefund", "orders", risk="irreversable", description=GOOD),
        Tool("order_tag", "orders", profiles=("suport",), description="Short."),
    )
    with pytest.raises(CatalogError) as raised:
        make(catalog_with(*tools))
    paths = {problem.path for problem in raised.value.problems}
    assert paths >= {
        "tools.order_lookup.owner",
        "tools.OrderRefund.risk",
        "tools.order_tag.description",
    }
    assert isinstance(raised.value, ValueError)
    message = str(raised.value)
    assert message.startswith(f"{len(raised.value.problems)} problems in ")
    assert message.count("\n") == len(raised.value.problems)
    assert "did you mean" in message


def test_problems_of_a_file_have_its_name_and_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "tools.toml"
    file.write_text('[owners.orders]\n\n[tools.order_lookup]\nowner = "order"\ndescription = "Short."\n')
    with pytest.raises(CatalogError) as raised:
        make(file)
    assert {(problem.path, problem.line) for problem in raised.value.problems} >= {
        ("tools.order_lookup.owner", 4),
        ("tools.order_lookup.description", 5),
    }
    assert {problem.file for problem in raised.value.problems} == {str(file)}


def test_a_start_that_failed_leaves_the_registry_free() -> None:
    registry = CollectorRegistry()
    with pytest.raises(CatalogError):
        make(catalog_with(Tool("order_lookup", "order", description=GOOD)), registry)
    make(catalog_with(), registry)


def test_house_style_is_warned_about_where_that_is_asked_for() -> None:
    catalog = catalog_with(Tool("OrderLookup", "orders", description="Short."))
    with pytest.raises(CatalogError):
        make(catalog)
    tel = make(catalog, on_problem="warn")
    with capture(tel) as seen:
        tel.tool(lambda: "done", name="OrderLookup")()
    assert len(seen.outcomes) == 1


def test_what_is_broken_is_never_only_warned_about() -> None:
    catalog = catalog_with(Tool("OrderLookup", "nobody", description="Short."))
    with pytest.raises(CatalogError) as raised:
        make(catalog, on_problem="warn")
    assert len(raised.value.problems) == 3, "and the warnings are listed beside it"


@pytest.mark.parametrize("rule", ["name_pattern", "description"])
def test_each_house_rule_has_a_level_of_its_own(rule: str) -> None:
    tool = Tool("OrderLookup", "orders", description="Short.")
    with pytest.raises(CatalogError) as raised:
        make(catalog_with(tool, house=HouseRules(levels={rule: Level.OFF})))
    assert len(raised.value.problems) == 1
    levels = dict.fromkeys(("name_pattern", "description"), Level.WARN)
    make(catalog_with(tool, house=HouseRules(levels=levels)))


def test_declarations_are_held_against_the_catalog_at_start_up() -> None:
    declarations = {"support": [{"name": "order_lookpu", "description": "x" * 100}]}
    with pytest.raises(CatalogError) as raised:
        make(
            catalog_with(Tool("order_lookup", "orders", profiles=("support",), description=GOOD)),
            declarations=declarations,
        )
    assert {problem.rule for problem in raised.value.problems} == {"declared_name", "budget"}
    assert "did you mean" in str(raised.value)


def test_declarations_given_at_start_up_are_declared() -> None:
    catalog = catalog_with(Tool("order_lookup", "orders", profiles=("support",), description=GOOD))
    tel = make(catalog, declarations={"support": [{"name": "order_lookup"}]})
    found = parse_samples(tel.view)
    assert found["tooltel_profile_tools", frozenset({("profile", "support"), ("owner", "orders")})] == 1


def test_two_instances_on_one_registry_are_refused_and_the_first_is_unharmed() -> None:
    registry = CollectorRegistry()
    first = make(catalog_with(Tool("order_lookup", "orders", description=GOOD)), registry)
    tool = first.tool("done".upper, name="order_lookup")
    with pytest.raises(RegistryError, match=r"close\(\) the old one first"):
        make(catalog_with(), registry)
    tool()
    counted = {
        (name, dict(labels).get("outcome")): value
        for (name, labels), value in parse_samples(first.view).items()
        if name == "tooltel_tool_calls_total" and value
    }
    assert counted == {("tooltel_tool_calls_total", "ok"): 1}


def test_a_registry_is_free_for_another_once_the_first_is_closed() -> None:
    registry = CollectorRegistry()
    with make(catalog_with(), registry):
        pass
    make(catalog_with(), registry)


def test_a_setting_that_does_not_exist_stops_a_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLTEL_DISABELD", "1")
    with pytest.raises(ValueError, match="TOOLTEL_DISABLED"):
        make(catalog_with())
