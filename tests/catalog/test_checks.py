from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tooltel.catalog import (
    Catalog,
    HouseRules,
    McpServer,
    Owner,
    Profile,
    Signature,
    Source,
    Tool,
    find_problems,
    find_tool_problems,
)
from tooltel.catalog.nouns import field_names
from tooltel.catalog.shapes import FIELDS
from tooltel.errors import Level, Problem
from tooltel.signals import BUCKETS, NAME_LIMIT

DESCRIPTION = "Look up one order by its number, and say where it is."


def catalog(*tools: Tool, **rest: Any) -> Catalog:
    """A fine catalog with *tools*, but for what *rest* says."""
    base = Catalog(
        tools=tools or (Tool("order_lookup", "orders", description=DESCRIPTION),),
        owners=[Owner("orders"), Owner("payments")],
        profiles=[Profile("support", "orders")],
    )
    return replace(base, **rest)


def found(given: Catalog) -> list[tuple[str, str]]:
    return [(problem.rule, problem.path) for problem in find_problems(given)]


def only(given: Catalog) -> Problem:
    (problem,) = find_problems(given)
    return problem


def test_a_fine_catalog_has_no_problems() -> None:
    assert find_problems(catalog()) == []
    assert find_problems(Catalog()) == []


def test_every_problem_is_found_at_once_and_says_what_to_write() -> None:
    bad = catalog(
        Tool("orderLookup", "order", risk="reed", profiles=("sales",), description="x", objective=1, latency_bound=3)
    )
    problems = find_problems(bad)
    assert [problem.rule for problem in problems] == [
        "name_pattern",
        "unknown_owner",
        "unknown_profile",
        "unknown_risk",
        "description",
        "objective",
        "latency_bound",
    ]
    assert all(problem.fix and problem.file is None and problem.line is None for problem in problems)


# --- names -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["", " ", "a" * (NAME_LIMIT + 1), "a\nb", "a\0b", "a\x1b[2J", "a\u202eb", "a\ud800", " a"]
)
def test_a_name_that_is_unfit_to_leave_the_process_is_refused_whatever_the_pattern(name: str) -> None:
    house = HouseRules(name_pattern="(?s).*")
    for kind, given in (
        ("tools", catalog(Tool(name, "orders"), house=house)),
        ("owners", catalog(owners=[Owner("orders"), Owner(name)])),
        ("profiles", catalog(profiles=[Profile(name, "orders")])),
        ("mcp", catalog(mcp=[McpServer(name, "orders", "1.0")])),
        ("sidecar", catalog(sources=[Source(name, ("x",))])),
    ):
        problem = only(given)
        assert problem.rule == "unsafe_name", kind
        assert problem.path.startswith(kind)
        assert str(problem).isprintable()
        assert len(str(problem)) < 500


@pytest.mark.parametrize("field", ["aliases", "retired"])
def test_old_names_must_be_fit_to_leave_the_process_too(field: str) -> None:
    names: dict[str, Any] = {field: ("other", "a\nb")}
    bad = catalog(Tool("order_lookup", "orders", **names))
    assert found(bad) == [
        ("reserved_name", f"tools.order_lookup.{field}"),
        ("unsafe_name", f"tools.order_lookup.{field}"),
    ]


def test_a_name_of_the_longest_length_is_fine() -> None:
    assert find_problems(catalog(Tool("a" * NAME_LIMIT, "orders"), house=HouseRules(name_pattern="a+"))) == []


def test_names_that_mean_something_else_in_labels_are_refused() -> None:
    assert only(catalog(Tool("other", "orders"))).rule == "reserved_name"
    assert only(catalog(profiles=[Profile("none", "orders")])).rule == "reserved_name"
    assert only(catalog(profiles=[Profile("other", "orders")])).rule == "reserved_name"
    assert only(catalog(owners=[Owner("orders"), Owner("unowned")])).rule == "reserved_name"
    assert find_problems(catalog(Tool("unowned", "orders"), owners=[Owner("orders"), Owner("other")])) == []


def test_the_name_pattern_is_for_the_whole_name() -> None:
    loose = HouseRules(name_pattern="order")
    assert only(catalog(Tool("order_lookup", "orders"), house=loose)).rule == "name_pattern"
    assert find_problems(catalog(Tool("order", "orders"), house=loose)) == []


def test_a_name_in_camel_case_gets_a_suggestion_that_fits() -> None:
    assert "'get_order_by_id2'" in only(catalog(Tool("getOrderById2", "orders"))).fix


@pytest.mark.parametrize(
    ("one", "two", "owners"),
    [("orders", "payments", ("'orders'", "'payments'")), ("orders", "orders", ("'orders'",))],
)
def test_two_tools_of_one_name_are_told_with_both_owners(one: str, two: str, owners: tuple[str, ...]) -> None:
    problem = only(catalog(Tool("order_lookup", one), Tool("order_lookup", two)))
    assert (problem.rule, problem.path) == ("duplicate_name", "tools.order_lookup")
    assert all(owner in problem.what for owner in owners)


def test_two_of_anything_are_told() -> None:
    twice = Catalog(
        owners=[Owner("orders"), Owner("orders")],
        profiles=[Profile("support", "orders"), Profile("support", "orders")],
        mcp=[McpServer("kb", "orders", "1.0"), McpServer("kb", "orders", "2.0")],
        sources=[Source("a", ("x",)), Source("a", ("y",))],
    )
    assert [rule for rule, _ in found(twice)] == ["duplicate_name"] * 4


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ({"aliases": ("order_find",)}, {}, "is a tool of the owner 'payments'"),
        ({"retired": ("order_find",)}, {}, "is a tool of the owner 'payments'"),
        ({"aliases": ("order_lookup",)}, {}, "the tool's own name"),
        ({"aliases": ("old",)}, {"aliases": ("old",)}, "an alias of 'order_lookup' of the owner 'orders'"),
        ({"aliases": ("old",)}, {"retired": ("old",)}, "an alias of 'order_lookup'"),
        ({"retired": ("old",)}, {"aliases": ("old",)}, "a retired name of 'order_lookup'"),
        ({"retired": ("old",)}, {"retired": ("old",)}, "a retired name of 'order_lookup'"),
        ({"aliases": ("old",), "retired": ("old",)}, {}, "of the same tool"),
    ],
)
def test_an_old_name_leads_to_one_tool(first: dict[str, Any], second: dict[str, Any], said: str) -> None:
    problem = only(catalog(Tool("order_lookup", "orders", **first), Tool("order_find", "payments", **second)))
    assert problem.rule == "old_name"
    assert said in problem.what


# --- references --------------------------------------------------------------------------------------------


def test_whoever_owns_something_must_be_there_and_must_be_named() -> None:
    bad = catalog(
        Tool("order_lookup", ""),
        Tool("order_find", "payment"),
        profiles=[Profile("support", " ")],
        mcp=[McpServer("kb", "", "1.0")],
        platform_owner="platform",
        security_owner="",
    )
    assert found(bad) == [
        ("unknown_owner", "catalog.platform_owner"),
        ("missing_owner", "catalog.security_owner"),
        ("missing_owner", "profiles.support.owner"),
        ("missing_owner", "tools.order_lookup.owner"),
        ("unknown_owner", "tools.order_find.owner"),
        ("missing_owner", "mcp.kb.owner"),
    ]
    assert "did you mean 'payments'?" in find_problems(bad)[4].fix


def test_an_open_catalog_lets_tools_name_what_nobody_declared_but_not_nobody() -> None:
    tools = [Tool("order_lookup", "orders", profiles=("sales",)), Tool("order_find", "")]
    assert found(Catalog(tools=tools, open=True)) == [("missing_owner", "tools.order_find.owner")]


def test_thousands_of_wrong_references_take_no_minutes() -> None:
    from time import thread_time

    tools = [Tool(f"tool_{number}", f"owner_{number}") for number in range(5_000)]
    bad = Catalog(tools=tools, owners=[Owner(f"team_{number}") for number in range(5_000)])
    start = thread_time()
    assert len(find_problems(bad)) == 5_000
    assert thread_time() - start < 10


# --- values ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("objective", [0.95, 0.99, 0.9999])
def test_an_objective_within_its_range_is_fine(objective: float) -> None:
    assert find_problems(catalog(Tool("order_lookup", "orders", objective=objective))) == []


@pytest.mark.parametrize("objective", [0, 0.9499, 0.99999, 1, 99, -0.99, float("nan"), float("inf")])
def test_an_objective_out_of_its_range_is_a_problem(objective: float) -> None:
    assert only(catalog(Tool("order_lookup", "orders", objective=objective))).rule == "objective"


def test_an_objective_in_percent_is_understood() -> None:
    assert "0.995" in only(catalog(Tool("order_lookup", "orders", objective=99.5))).fix


@pytest.mark.parametrize("bound", BUCKETS)
def test_every_bound_of_the_histogram_is_a_latency_bound(bound: float) -> None:
    assert find_problems(catalog(Tool("order_lookup", "orders", latency_bound=bound))) == []


@pytest.mark.parametrize(("bound", "near"), [(1, "1.28"), (3, "2.56"), (0, "0.01"), (-1, "0.01"), (1e9, "81.92")])
def test_another_latency_bound_is_a_problem_that_names_the_nearest(bound: float, near: str) -> None:
    assert only(catalog(Tool("order_lookup", "orders", latency_bound=bound))).fix.startswith(f"write {near},")


def test_a_latency_bound_that_is_no_number_at_all_is_a_problem() -> None:
    assert only(catalog(Tool("order_lookup", "orders", latency_bound=float("nan")))).rule == "latency_bound"


@pytest.mark.parametrize("version", ["", "*", "latest", "LATEST"])
def test_an_mcp_server_pins_an_exact_version(version: str) -> None:
    assert only(catalog(mcp=[McpServer("kb", "orders", version)])).rule == "unpinned_version"


def test_an_absent_description_is_not_judged_here_and_a_short_one_is() -> None:
    assert find_problems(catalog(Tool("order_lookup", "orders"))) == []
    assert only(catalog(Tool("order_lookup", "orders", description=" " * 50))).rule == "description"
    assert find_problems(catalog(Tool("order_lookup", "orders", description="d" * 40))) == []


@pytest.mark.parametrize("pattern", ["", ".*", "x?", "^"])
def test_a_signature_that_matches_every_line_is_a_problem(pattern: str) -> None:
    assert only(catalog(signatures=[Signature("not_found", pattern)])).rule == "bad_pattern"


# --- types, for catalogs made in code ----------------------------------------------------------------------


def test_a_value_of_a_wrong_type_is_that_one_problem() -> None:
    bad: Any = Tool("order_lookup", 5, objective="0.99", description=7, alerts={"ToolErrors": "page"})  # type: ignore[arg-type, dict-item]
    assert found(catalog(bad)) == [
        ("wrong_type", "tools.order_lookup.owner"),
        ("wrong_type", "tools.order_lookup.description"),
        ("wrong_type", "tools.order_lookup.objective"),
        ("wrong_type", "tools.order_lookup.alerts.ToolErrors"),
    ]


def test_a_name_that_is_no_string_is_a_problem() -> None:
    bad: Any = Tool(5, "orders")  # type: ignore[arg-type]
    assert ("wrong_type", "tools.5") in found(catalog(bad))


def test_one_string_where_a_list_belongs_is_reported_whole() -> None:
    bad: Any = Tool("order_lookup", "orders", profiles="support, sales")
    assert "'support, sales'" in only(catalog(bad)).what


def test_settings_of_a_wrong_type_are_problems() -> None:
    bad = catalog(
        platform_owner=5,
        session_retention="30d",
        render=[],
        house=HouseRules(name_pattern=5, levels=[], budget_chars="9"),  # type: ignore[arg-type]
    )
    assert found(bad) == [
        ("wrong_type", "catalog.name_pattern"),
        ("wrong_type", "catalog.budget_chars"),
        ("wrong_type", "catalog.levels"),
        ("wrong_type", "catalog.platform_owner"),
        ("wrong_type", "catalog.session_retention"),
        ("wrong_type", "render"),
    ]


def test_the_table_of_types_knows_every_field_of_every_noun() -> None:
    for noun, shapes in FIELDS.items():
        assert set(shapes) == set(field_names(noun)), noun


# --- house rules -------------------------------------------------------------------------------------------

BAD_STYLE = Tool("kb", "orders", description="short")


def test_house_rules_are_errors_unless_the_house_says_otherwise() -> None:
    problems = find_problems(catalog(BAD_STYLE))
    assert [(problem.rule, problem.level, problem.house) for problem in problems] == [
        ("name_pattern", Level.ERROR, True),
        ("description", Level.ERROR, True),
    ]


def test_a_house_rule_can_warn_or_be_off() -> None:
    house = HouseRules(levels={"name_pattern": Level.WARN, "description": Level.OFF})
    problem = only(catalog(BAD_STYLE, house=house))
    assert (problem.rule, problem.level) == ("name_pattern", Level.WARN)


def test_relaxed_house_rules_only_warn() -> None:
    problems = find_problems(catalog(BAD_STYLE).relaxed())
    assert {problem.level for problem in problems} == {Level.WARN}


def test_what_is_no_house_rule_cannot_be_relaxed() -> None:
    house = HouseRules(levels={"unknown_owner": Level.OFF})  # such a level is a problem itself
    rules = found(catalog(Tool("order_lookup", "nobody"), house=house))
    assert rules == [("unknown_key", "catalog.levels.unknown_owner"), ("unknown_owner", "tools.order_lookup.owner")]


def test_a_level_that_nobody_knows_is_a_problem_and_the_rule_stays_an_error() -> None:
    house = HouseRules(levels={"description": "eror"})  # type: ignore[dict-item]
    assert [(each.rule, each.level) for each in find_problems(catalog(BAD_STYLE, house=house))] == [
        ("unknown_level", Level.ERROR),
        ("name_pattern", Level.ERROR),
        ("description", Level.ERROR),
    ]


@pytest.mark.parametrize("pattern", ["[", "(?P<a>x)(?P<a>y)", "a{99999999999}", "(" * 5_000])
def test_a_pattern_that_does_not_compile_is_a_problem_and_judges_nothing(pattern: str) -> None:
    assert found(catalog(BAD_STYLE, house=HouseRules(name_pattern=pattern, description_min_chars=0))) == [
        ("bad_pattern", "catalog.name_pattern")
    ]


# --- one tool ----------------------------------------------------------------------------------------------


def test_one_tool_is_judged_alone_but_against_every_name() -> None:
    base = catalog(Tool("order_lookup", "orders", aliases=("get_order",)), Tool("bad_one", "nobody"))
    added = Tool("get_order", "nobody", risk="reed", aliases=("bad_one",))
    rules = [problem.rule for problem in find_tool_problems(base.with_tool(added), added)]
    assert rules == ["old_name", "unknown_owner", "unknown_risk"]
    fine = Tool("order_find", "orders")
    assert find_tool_problems(base.with_tool(fine), fine) == []


def test_one_tool_with_a_name_that_needs_quotes_is_judged_too() -> None:
    odd = Tool("a.b", "nobody")
    rules = [problem.rule for problem in find_tool_problems(catalog().with_tool(odd), odd)]
    assert rules == ["name_pattern", "unknown_owner"]


# --- secrets -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "https://user@example.com/",
        "https://user:password@example.com/",
        "HTTPS://HOOKS.SLACK.COM/services/T0/B0/x",
        "https://discordapp.com/api/webhooks/1/x",
        "https://acme.webhook.office.com/webhookb2/x",
        "https://api.telegram.org/bot123:abc/sendMessage",
        "https://example.com/hook?access_token=x",
        "https://example.com/hook?a=b&sig=x",
    ],
)
def test_a_url_that_holds_a_secret_is_refused(url: str) -> None:
    owner = Owner("orders", page={"webhook_configs": [{"url": url}]})
    problem = only(catalog(owners=[owner]))
    assert problem.rule == "inline_secret"
    assert url not in str(problem)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9000/page",
        "https://example.com/a@b",
        "https://example.com/hook?team=orders",
        "https://example.com/#token=x",
        "https://slack.com/api/chat.postMessage",
        '{{ template "x" . }}',
    ],
)
def test_a_url_without_a_secret_is_fine(url: str) -> None:
    assert find_problems(catalog(owners=[Owner("orders", page={"webhook_configs": [{"url": url}]})])) == []


def test_a_secret_in_a_receiver_of_an_unknown_kind_is_refused_too() -> None:
    page = {"pager_configs": [{"deep": [{"app_password": "x", "api_key_file": "/etc/key"}]}]}
    rules = found(catalog(owners=[Owner("orders", page=page)]))
    assert rules == [
        ("receiver", "owners.orders.page.pager_configs"),
        ("inline_secret", "owners.orders.page.pager_configs[0].deep[0].app_password"),
    ]
