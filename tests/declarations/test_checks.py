from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tooltel.catalog import Catalog, HouseRules, Owner, Profile, Tool
from tooltel.declarations import find_problems, measure
from tooltel.errors import Level, Problem

DESK = Catalog(
    tools=[
        Tool("order_lookup", "orders", profiles=("support", "sales"), aliases=("get_order",), retired=("find_order",)),
        Tool("order_cancel", "orders", profiles=("support",)),
    ],
    owners=[Owner("orders")],
    profiles=[Profile("support", "orders"), Profile("sales", "orders")],
)


def declare(*names: str, text: str = "") -> list[dict[str, Any]]:
    return [{"name": name, "description": text, "parameters": {}} for name in names]


def only(problems: list[Problem]) -> Problem:
    (problem,) = problems
    return problem


def test_declarations_that_are_the_catalogs_have_no_problems() -> None:
    sent = {"support": declare("order_lookup", "order_cancel"), "sales": declare("order_lookup")}
    assert find_problems(DESK, sent) == []
    assert find_problems(DESK, {}) == []


@pytest.mark.parametrize(
    ("name", "level", "fix"),
    [
        ("order_lokup", Level.ERROR, "did you mean 'order_lookup'?"),
        ("weather", Level.ERROR, "add [tools.weather]"),
        ("find_order", Level.ERROR, "declare it as 'order_lookup'"),
        ("get_order", Level.WARN, "declare it as 'order_lookup'"),
    ],
)
def test_a_declared_name_that_is_not_the_catalogs_is_a_problem(name: str, level: Level, fix: str) -> None:
    problem = only(find_problems(DESK, {"support": declare(name)}))
    assert (problem.rule, problem.path, problem.level) == ("declared_name", f"declarations.support.{name}", level)
    assert fix in problem.fix


def test_a_tool_declared_to_a_profile_that_may_not_see_it_is_a_problem() -> None:
    problem = only(find_problems(DESK, {"sales": declare("order_cancel")}))
    assert problem.what == "the tool is not in the profile 'sales'"
    assert "tools.order_cancel.profiles" in problem.fix


def test_a_name_declared_twice_to_one_profile_is_a_problem() -> None:
    problem = only(find_problems(DESK, {"support": declare("order_lookup", "order_lookup")}))
    assert problem.rule == "duplicate_declaration"


def test_a_malformed_declaration_is_a_problem_with_its_place() -> None:
    problem = only(find_problems(DESK, {"support": [*declare("order_lookup"), {"description": "nameless"}]}))
    assert (problem.rule, problem.path) == ("malformed_declaration", "declarations.support[1]")


def test_declarations_of_an_unknown_profile_are_a_problem() -> None:
    assert only(find_problems(DESK, {"suport": declare("order_lookup")})).rule == "unknown_profile"


def test_an_open_catalog_may_still_learn_names_and_profiles() -> None:
    assert find_problems(Catalog(open=True), {"support": declare("weather")}) == []


def _budgeted(profile: int | None, total: int | None, **levels: Level) -> Catalog:
    profiles = {"support": Profile("support", "orders", profile), "sales": Profile("sales", "orders")}
    return replace(DESK, profiles=profiles, house=HouseRules(budget_chars=total, levels=levels))


def test_a_profile_over_its_budget_is_a_problem_that_names_the_largest_declarations() -> None:
    sent = {"support": [*declare("order_lookup", text="x" * 500), *declare("order_cancel")]}
    chars = sum(declaration.chars for declaration in measure(sent["support"]))
    problem = only(find_problems(_budgeted(chars - 1, None), sent))
    assert (problem.rule, problem.path, problem.house) == ("budget", "profiles.support.budget_chars", True)
    assert f"take {chars} characters of at most {chars - 1}" in problem.what
    assert "'order_lookup' 5" in problem.fix
    assert find_problems(_budgeted(chars, None), sent) == []


def test_a_declaration_that_two_profiles_share_counts_once_in_the_total() -> None:
    sent = {"support": declare("order_lookup", "order_cancel"), "sales": declare("order_lookup")}
    chars = sum(declaration.chars for declaration in measure(sent["support"]))
    assert find_problems(_budgeted(None, chars), sent) == []
    assert only(find_problems(_budgeted(None, chars - 1), sent)).path == "catalog.budget_chars"


def test_two_versions_of_a_declaration_count_twice_in_the_total() -> None:
    sent = {"support": declare("order_lookup"), "sales": declare("order_lookup", text="other")}
    chars = sum(declaration.chars for declaration in measure([*sent["support"], *sent["sales"]]))
    assert only(find_problems(_budgeted(None, chars - 1), sent)).rule == "budget"
    assert find_problems(_budgeted(None, chars), sent) == []


def test_a_budget_of_nothing_is_a_budget() -> None:
    assert only(find_problems(_budgeted(0, None), {"support": declare("order_lookup")})).rule == "budget"


def test_budgets_have_the_level_of_the_house() -> None:
    sent = {"support": declare("order_lookup")}
    assert only(find_problems(_budgeted(1, None, budget=Level.WARN), sent)).level is Level.WARN
    assert find_problems(_budgeted(1, None, budget=Level.OFF), sent) == []
