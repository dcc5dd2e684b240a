"""What every rule has, and that it names nothing which nobody emits."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.artifacts.expressions import SHOWN, Reader, known_series, queries_of
from tests.artifacts.fleets import EXAMPLE, FLEETS, OWN_NUMBERS, TWO_CLUSTERS, with_alerts
from tooltel import signals
from tooltel.artifacts.defaults import ALERTS
from tooltel.artifacts.options import RenderOptions
from tooltel.artifacts.rules import every_alert, render_rule_tests, render_rules
from tooltel.artifacts.rules.scenarios import SCENARIOS
from tooltel.catalog import Catalog, Owner, Tool
from tooltel.signals import State

if TYPE_CHECKING:
    from collections.abc import Iterator

# Alerts about parts that were written later than the rest, with the row that each reads.
LATER = {
    "McpServerVersionDrift": signals.MCP_SERVER_INFO,
    "McpUnlistedTools": signals.MCP_UNLISTED,
    "McpChangedTools": signals.MCP_CHANGED,
    "SidecarLagging": signals.SIDECAR_LAG,
    "SidecarSkippedBytes": signals.SIDECAR_SKIPPED_BYTES,
    "SidecarCheckpointFailing": signals.SIDECAR_CHECKPOINT_FAILURES,
}
Rule = dict[str, Any]


def groups_of(catalog: Catalog, *, waiting: bool = False) -> Iterator[dict[str, Any]]:
    files = render_rules(catalog, RenderOptions.from_catalog(catalog), waiting=waiting)
    for text in files.values():
        yield from yaml.safe_load(text)["groups"]


def rules_of(catalog: Catalog, *, waiting: bool = False) -> list[Rule]:
    return [rule for group in groups_of(catalog, waiting=waiting) for rule in group["rules"]]


def alerts_of(catalog: Catalog, name: str = "", *, waiting: bool = False) -> list[Rule]:
    rules = [rule for rule in rules_of(catalog, waiting=waiting) if "alert" in rule]
    return [rule for rule in rules if not name or rule["alert"] == name]


def reader_of(catalog: Catalog, rules: list[Rule], *, waiting: bool = False) -> Reader:
    """A reader that knows the table of signals and what these rules record."""
    options = RenderOptions.from_catalog(catalog)
    label = options.cluster_label
    kept = {label} - {None, *options.selector} if label else set()
    reader = Reader(known_series(waiting=waiting), matchers=options.selector, kept=frozenset(filter(None, kept)))
    reader.extra = frozenset({*options.selector, *options.labels, *([label] if label else [])})
    for rule in rules:
        if "record" in rule:
            reader.series[rule["record"]] = reader.read(rule["expr"])
    return reader


# --- names -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fleet", FLEETS)
def test_every_metric_and_label_of_every_rule_is_emitted_by_somebody(fleet: str) -> None:
    catalog = FLEETS[fleet]
    rules = rules_of(catalog)
    reader = reader_of(catalog, rules)
    for rule in rules:
        labels = reader.read(rule["expr"]) | reader.extra
        for text in rule.get("annotations", {}).values():
            assert set(SHOWN.findall(text)) <= labels, (rule["alert"], text)
            for query, holes in queries_of(text):
                reader.read(query)
                assert set(holes) <= labels
    assert reader.faults == []
    assert len(rules) > 40


def test_rules_of_waiting_rows_name_only_what_the_table_has() -> None:
    rules = rules_of(TWO_CLUSTERS, waiting=True)
    reader = reader_of(TWO_CLUSTERS, rules, waiting=True)
    for rule in rules:
        reader.read(rule["expr"])
    assert reader.faults == []


def test_the_reader_of_these_tests_sees_a_wrong_name() -> None:
    reader = Reader(
        known_series(), matchers={"namespace": "a"}, kept=frozenset({"cluster"}), extra=frozenset({"namespace"})
    )
    reader.read('sum by (ownr) (rate(tooltel_tool_call_total{outcom="ok"}[5m]))')
    assert len(reader.faults) == 5


def test_no_raw_series_is_read_over_more_than_an_hour_but_to_see_whether_it_was_there() -> None:
    rules = rules_of(EXAMPLE)
    for rule in rules:
        reader = reader_of(EXAMPLE, rules)
        reader.windows.clear()
        reader.read(rule["expr"].replace("present_over_time", "absent_over_time"))
        presence = set(re.findall(r"present_over_time\((\w+)", rule["expr"]))
        long = {name for name, width in reader.windows if width > 3600 and ":" not in name}
        assert long <= presence, rule


# --- what every alert has ----------------------------------------------------------------------------------


@pytest.mark.parametrize("fleet", FLEETS)
def test_every_alert_says_whom_what_why_and_where_to_look(fleet: str) -> None:
    catalog = FLEETS[fleet]
    options = RenderOptions.from_catalog(catalog)
    rules = rules_of(catalog, waiting=True)
    reader = reader_of(catalog, rules, waiting=True)
    for rule in (rule for rule in rules if "alert" in rule):
        labels, texts = rule["labels"], rule["annotations"]
        assert labels["severity"] in {"page", "ticket", "info", "none"}
        # The owner is the series', unless the alert is for somebody else.
        assert ("owner" in labels) or ("owner" in reader.read(rule["expr"]))
        assert list(texts) == ["summary", "description", "runbook_url", "dashboard_url"]
        assert len(texts["description"]) > 40
        key = rule["alert"].removeprefix(options.alert_prefix)
        assert texts["runbook_url"] == f"{options.runbooks_url}/{key}.md"
        assert texts["dashboard_url"].startswith(f"{options.dashboards_url}/d/tooltel-")
        assert {**options.selector, **options.labels}.items() <= labels.items()


def test_a_page_tells_the_errors_the_version_and_where_a_trace_is() -> None:
    for rule in alerts_of(OWN_NUMBERS):
        # A refused call went nowhere: it has neither errors nor a version to blame.
        about_tool = "$labels.tool" in rule["annotations"]["summary"] and "Refused" not in rule["alert"]
        if rule["labels"]["severity"] == "page" and about_tool:
            said = rule["annotations"]["description"]
            for part in ("Most frequent errors of the last hour", "version", "Traces: "):
                assert part in said, rule["alert"]


def test_a_static_owner_is_only_on_alerts_that_are_for_somebody_else() -> None:
    catalog = replace(EXAMPLE, platform_owner="platform", security_owner="payments")
    rules = alerts_of(catalog, waiting=True)
    static = {rule["alert"]: rule["labels"]["owner"] for rule in rules if "owner" in rule["labels"]}
    assert {alert for alert, owner in static.items() if owner == "payments"} == {
        "TooltelIrreversibleCallRefused", "TooltelMcpServerVersionDrift", "TooltelMcpUnlistedTools",
        "TooltelMcpChangedTools",
    }  # fmt: skip
    platform = {alert for alert, owner in static.items() if owner == "platform"}
    assert platform == {
        "TooltelToolWithoutOwner", "TooltelTargetDown", "TooltelFleetDown", "TooltelRuleEvaluationFailing",
        "TooltelWatchdog", "TooltelCatalogReloadFailed", "TooltelCatalogSkew", "TooltelInternalErrors",
        "TooltelLabelOverflow", "TooltelSidecarLagging", "TooltelSidecarSkippedBytes",
        "TooltelSidecarCheckpointFailing",
    }  # fmt: skip


def test_without_a_platform_owner_alerts_are_unowned_and_so_reach_the_fallback_route() -> None:
    catalog = replace(EXAMPLE, platform_owner=None, security_owner=None)
    owners = {rule["labels"]["owner"] for rule in alerts_of(catalog) if "owner" in rule["labels"]}
    assert owners == {signals.UNOWNED}


# --- which rules there are -----------------------------------------------------------------------------------


def test_every_alert_of_the_table_has_a_rule_and_a_unit_test() -> None:
    alerts = every_alert(EXAMPLE, RenderOptions(), waiting=True)
    assert {alert.key for alert in alerts} == set(ALERTS) == set(SCENARIOS)


def test_alerts_of_rows_that_nothing_emits_yet_are_left_out() -> None:
    keys = {alert.key for alert in every_alert(EXAMPLE, RenderOptions())}
    assert set(ALERTS) - keys == {key for key, row in LATER.items() if row.state is State.WAITING}


def test_a_row_that_is_emitted_brings_its_alerts_and_one_that_waits_takes_them_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("MCP_CHANGED", "LABEL_OVERFLOW"):
        row = getattr(signals, name)
        for state in (State.EMITTED, State.WAITING):
            monkeypatch.setattr(signals, name, replace(row, state=state))
            keys = {alert.key for alert in every_alert(EXAMPLE, RenderOptions())}
            alert = {"MCP_CHANGED": "McpChangedTools", "LABEL_OVERFLOW": "LabelOverflow"}[name]
            assert (alert in keys) is (state is State.EMITTED)


def test_each_rendered_rule_is_played_in_the_unit_tests_and_no_other() -> None:
    catalog = OWN_NUMBERS
    files = render_rule_tests(catalog, RenderOptions.from_catalog(catalog))
    played = {
        check["expr"]
        for text in files.values()
        for test in yaml.safe_load(text)["tests"]
        for check in test["promql_expr_test"]
    }
    chosen = 'ALERTS{{alertname="{}", alertstate="firing", severity="{}", settings="{}"}}'
    assert played == {
        chosen.format(rule["alert"], rule["labels"]["severity"], rule["labels"].get("settings", ""))
        for rule in alerts_of(catalog)
    }


def test_no_two_rules_of_an_alert_look_the_same() -> None:
    for catalog in FLEETS.values():
        marks = [(rule["alert"], tuple(sorted(rule["labels"].items()))) for rule in alerts_of(catalog)]
        assert len(marks) == len(set(marks))


def test_names_of_the_catalog_stand_in_rules_only_where_a_tool_is_special() -> None:
    plain = replace(
        EXAMPLE, tools={name: replace(tool, latency_bound=None, alerts={}) for name, tool in EXAMPLE.tools.items()}
    )
    text = "".join(render_rules(plain, RenderOptions()).values())
    for name in (*EXAMPLE.tools, "orders", "payments", "knowledge", "support", "back_office"):
        assert not re.search(rf'[="|]{name}["|]', text)


def test_a_tool_with_numbers_of_its_own_has_a_rule_of_its_own() -> None:
    catalog = with_alerts("order_lookup", ToolSilent={"window": "12h", "minimum": 7, "severity": "page"})
    fleet, own = alerts_of(catalog, "TooltelToolSilent")
    assert 'tool!~"order_lookup"' in fleet["expr"]
    assert 'tool="order_lookup"' in own["expr"]
    assert ">= 7" in own["expr"]
    assert "[12h:" in own["expr"]
    assert own["labels"] == {"severity": "page", "settings": "minimum=7 window=12h severity=page"}


def test_tools_with_equal_numbers_share_a_rule() -> None:
    catalog = with_alerts("order_lookup", ToolSilent={"window": "12h"})
    catalog = with_alerts("order_search", catalog, ToolSilent={"window": "12h"})
    assert 'tool=~"order_lookup|order_search"' in alerts_of(catalog, "TooltelToolSilent")[1]["expr"]


def test_an_alert_can_be_switched_off_for_a_tool_and_for_all() -> None:
    off = with_alerts("order_lookup", ToolSilent={"enabled": False})
    (rule,) = alerts_of(off, "TooltelToolSilent")
    assert 'tool!~"order_lookup"' in rule["expr"]
    none = replace(EXAMPLE, render={"alerts": {"ToolSilent": {"enabled": False}}})
    assert alerts_of(none, "TooltelToolSilent") == []
    again = with_alerts("order_lookup", none, ToolSilent={"enabled": True})
    (rule,) = alerts_of(again, "TooltelToolSilent")
    assert 'tool="order_lookup"' in rule["expr"]


def test_latency_is_compared_with_the_bucket_of_each_bound() -> None:
    rules = {rule["labels"]["settings"]: rule["expr"] for rule in alerts_of(EXAMPLE, "TooltelToolLatencyHigh")}
    assert 'gen_ai_tool_name=~"article_search|payment_lookup", le="0.64"' in rules["bound=0.64s"]
    assert 'gen_ai_tool_name="payment_refund", le="2.56"' in rules["bound=2.56s severity=page"]


def test_each_bound_is_written_as_the_exposition_writes_its_bucket() -> None:
    from prometheus_client import CollectorRegistry, Histogram, generate_latest

    registry = CollectorRegistry()
    Histogram("h", "h", buckets=signals.BUCKETS, registry=registry)
    exposed = generate_latest(registry).decode()
    tools = [Tool(f"tool_{at}", "a", latency_bound=bound) for at, bound in enumerate(signals.BUCKETS)]
    for rule in alerts_of(Catalog(tools=tools, owners=[Owner("a")]), "TooltelToolLatencyHigh"):
        (bucket,) = re.findall(r'le="[^"]+"', rule["expr"])
        assert bucket in exposed


# --- the fleet's options -----------------------------------------------------------------------------------


def test_groups_are_evaluated_at_the_fleets_interval() -> None:
    catalog = replace(EXAMPLE, render={"group_interval": "3m"})
    intervals = {group["name"]: group["interval"] for group in groups_of(catalog)}
    assert intervals["tooltel-reliability"] == intervals["tooltel-burn-rates-long"] == "3m"
    assert {group["interval"] for group in groups_of(EXAMPLE)} == {"30s", "2m", "30m"}


def test_links_hand_over_the_cluster() -> None:
    (rule, _) = alerts_of(TWO_CLUSTERS, "AcmeToolErrorBudgetBurn")
    assert "&var-cluster={{ $labels.cluster | urlquery }}" in rule["annotations"]["dashboard_url"]


def test_recorded_series_carry_the_static_matchers_so_that_two_fleets_do_not_mix() -> None:
    recorded = [rule for rule in rules_of(TWO_CLUSTERS) if "record" in rule]
    assert all(rule["labels"] == {"namespace": "agents", "origin": "tools"} for rule in recorded)


def test_the_same_catalog_gives_the_same_bytes() -> None:
    options = RenderOptions.from_catalog(OWN_NUMBERS)
    shuffled = replace(OWN_NUMBERS, tools=dict(list(OWN_NUMBERS.tools.items())[::-1]))
    assert render_rules(OWN_NUMBERS, options) == render_rules(shuffled, options)
    assert render_rule_tests(OWN_NUMBERS, options) == render_rule_tests(shuffled, options)


def test_a_thousand_tools_are_rendered_in_under_two_seconds() -> None:
    owners = [Owner(f"team_{at}") for at in range(50)]
    tools = [
        Tool(
            f"tool_{at}", f"team_{at % 50}", objective=0.99, latency_bound=signals.BUCKETS[at % 14],
            alerts={"ToolSilent": {"minimum": at % 200 + 1}},
        )
        for at in range(1000)
    ]  # fmt: skip
    catalog = Catalog(tools=tools, owners=owners, platform_owner="team_0")
    started = time.process_time()  # of this process: tests share a small machine
    options = RenderOptions.from_catalog(catalog)
    files = {**render_rules(catalog, options), **render_rule_tests(catalog, options)}
    assert time.process_time() - started < 2 * 2
    assert sum(len(text) for text in files.values()) < 4_000_000


def test_every_rule_file_says_where_it_comes_from() -> None:
    files = render_rules(EXAMPLE, RenderOptions())
    assert {Path(path).stem for path in files} == {
        "budgets",
        "reliability",
        "contract",
        "security",
        "lifecycle",
        "platform",
    }
    assert all(text.startswith("# Generated by `tooltel render` from tools.toml") for text in files.values())
