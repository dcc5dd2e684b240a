"""What a fleet may set: every key is checked, and every problem is said at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.artifacts.fleets import EXAMPLE, with_alerts, with_options
from tooltel.artifacts.defaults import ALERTS, AlertOptions
from tooltel.artifacts.options import RenderOptions, find_option_problems, find_override_problems
from tooltel.errors import CatalogError


def paths(table: dict[str, Any]) -> list[str]:
    return [problem.path for problem in find_option_problems(table)]


def test_an_empty_table_gives_the_defaults() -> None:
    assert RenderOptions.from_catalog(with_options()) == RenderOptions()


def test_every_key_is_read() -> None:
    table = {
        "labels": {"origin": "tools"}, "selector": {"namespace": "agents"}, "cluster_label": "cluster", "job": "agents",
        "dashboards_url": "https://grafana.acme.test", "runbooks_url": "https://git.acme.test/runbooks",
        "group_interval": "1m", "alert_prefix": "Acme", "prometheus_version": "3.5", "alertmanager_version": "0.33",
        "retention": "90d",
    }  # fmt: skip
    options = RenderOptions.from_catalog(with_options(**table))
    assert {key: getattr(options, key) for key in table} == table
    assert options.scope.keep == ("cluster",)
    assert options.scope.selector == {"namespace": "agents"}


def test_an_unknown_key_is_refused_with_those_that_exist() -> None:
    (problem,) = find_option_problems({"dashboard_url": "https://x.test"})
    assert problem.path == "render.dashboard_url"
    assert "dashboards_url" in problem.fix


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("labels", {"owner": "me"}), ("labels", {"severity": "page"}), ("labels", {"1x": "a"}), ("labels", {"x": ""}),
        ("labels", {"x": "{{ .Value }}"}), ("labels", {"x": "a\nb"}), ("labels", ["x"]), ("selector", {"tool": "x"}),
        ("selector", {"__name__": "up"}), ("selector", {"x": 1}), ("cluster_label", "job"), ("cluster_label", "a-b"),
        ("cluster_label", ""), ("job", ""), ("job", "a\nb"), ("job", None), ("dashboards_url", "grafana"),
        ("dashboards_url", "https://x.test/"), ("runbooks_url", "https://x.test/{{x}}"),
        ("runbooks_url", "https://x y.test"), ("dashboards_url", "https://x.test/?orgId=2"),
        ("runbooks_url", "https://x.test/a#b"),
        ("group_interval", "30"), ("group_interval", "0s"), ("group_interval", "5m"), ("group_interval", 30),
        ("alert_prefix", "my-"), ("alert_prefix", ""), ("prometheus_version", "2.41"), ("prometheus_version", 3),
        ("alertmanager_version", "0.24"), ("alertmanager_version", "latest"), ("retention", "forever"), ("alerts", []),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_used_is_refused(key: str, value: object) -> None:
    assert paths({key: value}) == [f"render.{key}"]


@pytest.mark.parametrize(
    ("alert", "key", "value"),
    [
        ("ToolSilent", "window", "1"), ("ToolSilent", "window", "1m"), ("ToolSilent", "window", "31d"),
        ("ToolSilent", "minimum", 0), ("ToolSilent", "minimum", "3"), ("ToolSilent", "minimum", True),
        ("ToolSilent", "for", "soon"), ("ToolSilent", "severity", "critical"), ("ToolSilent", "enabled", "no"),
        ("ToolSilent", "threshold", 3), ("ToolSilent", "per_tool", True), ("ToolSilent", "for_", "1m"),
        ("ToolLatencyHigh", "ratio", 0), ("ToolLatencyHigh", "ratio", 1), ("ToolLatencyHigh", "ratio", 5),
        ("ToolErrorBudgetBurn", "threshold", 0.5), ("PolicyRefusals", "threshold", -1),
        ("PolicyRefusals", "threshold", float("nan")), ("Watchdog", "severity", "page"), ("Watchdog", "for", "1m"),
    ],
)  # fmt: skip
def test_an_alert_option_that_cannot_be_used_is_refused(alert: str, key: str, value: object) -> None:
    assert paths({"alerts": {alert: {key: value}}}) == [f"render.alerts.{alert}.{key}"]


def test_an_unknown_alert_is_refused_also_with_its_prefix() -> None:
    assert paths({"alerts": {"TooltelToolSilent": {}, "ToolSilent": 3}}) == [
        "render.alerts.TooltelToolSilent",
        "render.alerts.ToolSilent",
    ]


def test_a_static_label_must_not_hide_or_contradict_another() -> None:
    assert paths({"labels": {"cluster": "eu"}, "cluster_label": "cluster"}) == ["render.labels.cluster"]
    assert paths({"labels": {"zone": "a"}, "selector": {"zone": "b"}}) == ["render.labels.zone"]
    assert paths({"labels": {"zone": "a"}, "selector": {"zone": "a"}}) == []


def test_all_problems_are_said_at_once_those_of_tools_too() -> None:
    catalog = with_alerts("order_lookup", with_options(job="", x=1), ToolSilent={"windows": "1h"})
    with pytest.raises(CatalogError) as caught:
        RenderOptions.from_catalog(catalog)
    assert [problem.path for problem in caught.value.problems] == [
        "render.job",
        "render.x",
        "tools.order_lookup.alerts.ToolSilent.windows",
    ]


def test_a_tool_overrides_only_alerts_about_tools() -> None:
    catalog = with_alerts("order_lookup", FleetDown={"ratio": 0.1}, ToolLatencyHigh={"ratio": 0.1})
    (problem,) = find_override_problems(catalog)
    assert problem.path == "tools.order_lookup.alerts.FleetDown"


def test_a_retention_that_ends_before_sessions_do_is_refused() -> None:
    assert find_override_problems(replace(EXAMPLE, render={"retention": "31d"})) == []
    (problem,) = find_override_problems(replace(EXAMPLE, render={"retention": "30d"}))
    assert problem.path == "render.retention"
    without = replace(EXAMPLE, tools={}, render={"retention": "30d"})
    assert find_override_problems(without) == []


def test_settings_of_an_alert_come_from_the_tool_then_the_fleet_then_the_table() -> None:
    options = RenderOptions(alerts={"ToolSilent": AlertOptions(window="12h", minimum=7)})
    merged = options.alert("ToolSilent", {"minimum": 9, "for": "2h"})
    assert (merged.window, merged.minimum, merged.for_) == ("12h", 9, "2h")
    assert merged.severity == ALERTS["ToolSilent"].severity


def test_both_speeds_of_an_alert_share_its_name() -> None:
    options = RenderOptions(alert_prefix="Acme")
    assert (
        options.alert_name("ToolErrorBudgetBurn")
        == options.alert_name("ToolErrorBudgetBurnSlow")
        == ("AcmeToolErrorBudgetBurn")
    )
