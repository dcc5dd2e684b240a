"""What exists at 0 before anything happened: increase() cannot see a series that is born at 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.signals.desk import Desk, make_catalog, make_tools
from tests.signals.scrape import Labels, samples, series
from tooltel import signals

GAUGES_OF_STATE = {  # read from the catalog in use; their value is no count
    "tooltel_tool_info", "tooltel_tool_objective_ratio", "tooltel_catalog_info", "tooltel_build_info",
    "tooltel_catalog_loaded_timestamp_seconds",
}  # fmt: skip


def labels(names: str, *values: str) -> Labels:
    return frozenset(zip(names.split(), values, strict=True))


def counts(desk: Desk) -> dict[str, dict[Labels, float]]:
    """The series of each metric, those of the catalog's state left out."""
    found: dict[str, dict[Labels, float]] = {}
    for (name, has), value in samples(desk.tel).items():
        if name not in GAUGES_OF_STATE:
            found.setdefault(name, {})[has] = value
    return found


def from_catalog() -> dict[str, set[Labels]]:
    missing = "profile owner reason requested"
    return {
        "tooltel_tool_not_found_total": {
            labels(missing, "support", "support-platform", "unknown", "other"),
            labels(missing, "support", "support-platform", "empty", "other"),
            labels(missing, "sales", "support-platform", "unknown", "other"),
            labels(missing, "sales", "support-platform", "empty", "other"),
            labels(missing, "support", "payments", "renamed", "refund"),
        },
        "tooltel_alias_calls_total": {
            labels("alias tool owner", "change_order", "order_update", "orders"),
            labels("alias tool owner", "refund_order", "order_refund", "payments"),
        },
        "tooltel_catalog_reload_failures_total": {frozenset()},
        "tooltel_internal_errors_total": {labels("component", each.value) for each in signals.Component},
        "tooltel_label_overflow_total": {
            labels("metric", name)
            for name in (
                "tooltel_tool_calls_total",
                "gen_ai_execute_tool_duration_seconds",
                "tooltel_policy_refusals_total",
            )
        },
    }


def from_tool(name: str, owner: str, version: str, risk: str, *profiles: str) -> dict[str, set[Labels]]:
    born = {
        "tooltel_tool_calls_total": {
            labels("tool owner version risk profile outcome", name, owner, version, risk, profile, outcome)
            for profile in (*profiles, "none")
            for outcome in ("ok", "error", "timeout")
        },
        "tooltel_tool_calls_active": {labels("tool owner", name, owner)},
        "tooltel_rejections_total": {
            labels("tool owner kind source", name, owner, kind, source)
            for kind, source in (("structural", "framework"), ("structural", "schema"), ("domain", "tool"))
        },
        "tooltel_batch_items_total": {labels("tool owner status", name, owner, "outstanding")},
    }
    if risk != "read":
        born["tooltel_repeated_calls_total"] = {labels("tool owner risk", name, owner, risk)}
    return born


def merged(*parts: Mapping[str, set[Labels]]) -> dict[str, dict[Labels, float]]:
    whole: dict[str, dict[Labels, float]] = {}
    for part in parts:
        for name, born in part.items():
            whole.setdefault(name, {}).update(dict.fromkeys(born, 0.0))
    return whole


def test_the_catalog_alone_bears_what_needs_no_tool() -> None:
    assert counts(Desk()) == merged(from_catalog())


def test_each_wrapped_tool_bears_its_own_series_and_no_other_tools() -> None:
    """Only tools wrapped in this process: a catalog of thousands is shared by many small agents."""
    desk = Desk()
    desk.tool("kb_search")
    desk.tool("order_refund")
    assert counts(desk) == merged(
        from_catalog(),
        from_tool("kb_search", "kb", "3", "read", "support", "sales"),
        from_tool("order_refund", "payments", "1", "irreversible", "support"),
    )


def test_a_repeatable_write_tool_bears_no_series_of_repeats() -> None:
    desk = Desk()
    desk.tel.tool(lambda: None, name="kb_note", owner="kb", risk="write", repeatable=True, description="x" * 50)
    assert not series(samples(desk.tel), "tooltel_repeated_calls_total")


def test_an_empty_catalog_still_bears_the_process_own_series() -> None:
    desk = Desk(catalog=make_catalog([]))
    never_from_tools = {"tooltel_alias_calls_total"}
    assert set(counts(desk)) == set(from_catalog()) - never_from_tools


def test_the_catalogs_state_is_shown_from_the_start() -> None:
    found = samples(Desk().tel)
    assert set(series(found, "tooltel_tool_info")) == {
        labels("tool owner version risk", tool.name, tool.owner, tool.version, tool.risk) for tool in make_tools()
    }
    assert series(found, "tooltel_tool_objective_ratio") == {labels("tool owner", "order_lookup", "orders"): 0.99}
    assert list(series(found, "tooltel_catalog_info").values()) == [1.0]
    assert list(series(found, "tooltel_build_info").values()) == [1.0]
    assert list(series(found, "tooltel_catalog_loaded_timestamp_seconds").values()) > [1.7e9]


def test_a_first_call_adds_nothing_but_its_duration() -> None:
    desk = Desk()
    desk.tool("kb_search")
    before = set(samples(desk.tel))
    with desk.tel.session(profile="support"):
        desk.act("kb_search")
    new = {name for name, _ in set(samples(desk.tel)) - before}
    assert new == {f"gen_ai_execute_tool_duration_seconds_{suffix}" for suffix in ("bucket", "sum", "count")}


@pytest.mark.parametrize(
    ("declare", "shown"),
    [
        ({}, set()),
        ({"support": [{"name": "kb_search"}]}, {"support"}),
        ({"support": [{"name": "kb_search"}], "sales": []}, {"support", "sales"}),
    ],
)
def test_profiles_have_declaration_gauges_once_they_were_declared(declare: dict[str, Any], shown: set[str]) -> None:
    found = samples(Desk(declarations=declare).tel)
    for name in ("tooltel_declaration_chars", "tooltel_profile_tools"):
        assert {dict(has)["profile"] for has in series(found, name)} == shown
    budgets = {dict(has)["profile"] for has in series(found, "tooltel_declaration_budget_chars")}
    assert budgets == shown & {"support"}, "sales has no budget"
    assert not series(found, "tooltel_declaration_tokens"), "no counter of tokens was given"
