"""Rung 0: files come out the same for the same catalog, and hold what the table of signals says."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import promql_parser as promql
import pytest

from tests.artifacts.dashboards.conftest import EXAMPLE, REPOSITORY, rendered
from tests.artifacts.dashboards.fleets import CLUSTERS, FLEETS, HOSTILE, OTHERS, PINNED, PLAIN
from tests.artifacts.dashboards.ladder import names
from tests.artifacts.dashboards.ladder.reading import (
    VARIABLE,
    builtin,
    chosen,
    panels,
    put_in,
    queries,
    variable_query,
    variables,
)
from tooltel import signals
from tooltel.artifacts.dashboards import board as board_module
from tooltel.artifacts.dashboards import links, render_dashboards
from tooltel.artifacts.dashboards import queries as query_module
from tooltel.artifacts.dashboards.parts import alerts_stat
from tooltel.artifacts.dashboards.sdk import dashboard
from tooltel.artifacts.dashboards.view import View
from tooltel.artifacts.defaults import AlertOptions
from tooltel.artifacts.options import RenderOptions
from tooltel.artifacts.rules import render_rules
from tooltel.catalog import Catalog, Owner, Profile, Tool
from tooltel.signals import State

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.artifacts.dashboards.ladder.reading import Json

RENDER = (
    "import sys, hashlib; from tooltel.loading import load; from tooltel.artifacts.options import RenderOptions;"
    "from tooltel.artifacts.dashboards import render_dashboards; catalog = load(sys.argv[1]);"
    "files = render_dashboards(catalog, RenderOptions.from_catalog(catalog));"
    "print(hashlib.sha256(repr(files).encode()).hexdigest())"
)
WITHOUT_SDK = "import sys; sys.modules['grafana_foundation_sdk'] = None;"


def run(code: str, *arguments: str, seed: str = "0") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, env=environment, check=False
    )


def test_one_file_for_each_dashboard(catalog: Catalog) -> None:
    files = render_dashboards(catalog, PLAIN)
    assert list(files) == [f"dashboards/{uid}.json" for uid in links.TITLES]


def test_committed_files_are_those_of_the_example_catalog(catalog: Catalog) -> None:
    files = render_dashboards(catalog, RenderOptions.from_catalog(catalog))
    committed = {
        f"dashboards/{path.name}": path.read_text(encoding="utf-8")
        for path in sorted((REPOSITORY / "dashboards").glob("*.json"))
    }
    stale = sorted(path for path in {*files, *committed} if files.get(path) != committed.get(path))
    assert stale == [], "run `tooltel render`"


def test_the_same_catalog_gives_the_same_bytes_whatever_the_hash_seed() -> None:
    hashes = {run(RENDER, str(EXAMPLE), seed=seed).stdout for seed in ("1", "2")}
    assert len(hashes) == 1
    assert re.fullmatch(r"[0-9a-f]{64}\n", hashes.pop())


def test_without_the_sdk_the_error_says_what_to_install() -> None:
    code = (
        "from tooltel.artifacts.dashboards import render_dashboards; from tooltel.catalog import Catalog;"
        "from tooltel.artifacts.options import RenderOptions; render_dashboards(Catalog(), RenderOptions())"
    )
    ran = run(WITHOUT_SDK + code)
    assert ran.returncode == 1
    assert "pip install '.[render]'" in ran.stderr


def test_addresses_of_dashboards_need_no_sdk() -> None:
    code = "from tooltel.artifacts.dashboards import links; print(links.FLEET)"
    assert run(WITHOUT_SDK + code).stdout == "tooltel-fleet\n"


def test_every_emitted_row_is_on_a_panel(boards: dict[str, Json]) -> None:
    shown = shown_series(boards)
    assert [row.name for row in signals.EMITTED if not shown & set(row.series)] == []


def test_no_waiting_row_is_on_a_panel(boards: dict[str, Json]) -> None:
    shown = shown_series(boards)
    waiting = [row for row in signals.METRICS if row.state is State.WAITING]
    assert waiting, "this test has nothing to hold any more"
    assert [row.name for row in waiting if shown & set(row.series)] == []


def shown_series(boards: dict[str, Json]) -> set[str]:
    found: set[str] = set()
    for board in boards.values():
        values = {**builtin(board), **chosen(board)}
        for panel in panels(board):
            found |= names.metrics_of(panel, values)
    return found


def test_a_row_that_becomes_emitted_brings_its_panels(
    catalog: Catalog, boards: dict[str, Json], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether a panel is there is decided by the row's state alone."""
    awake = tuple(dataclasses.replace(row, state=State.EMITTED) for row in signals.METRICS)
    by_series = {name: row for row in (*awake, *signals.EXTERNAL) for name in row.series}
    monkeypatch.setattr(query_module, "_SERIES", by_series)
    monkeypatch.setattr(signals, "EMITTED", awake)
    more = rendered(catalog, PLAIN)
    new = {
        uid: sorted({panel["title"] for panel in panels(more[uid])} - {panel["title"] for panel in panels(board)})
        for uid, board in boards.items()
    }
    assert new == {
        "tooltel-fleet": [],
        "tooltel-owner": [],
        "tooltel-tool": ["Corrected on the next try"],
        "tooltel-lifecycle": ["MCP servers"],
        "tooltel-itself": [],
    }
    assert [fault for board in more.values() for fault in names.name_faults(board)] == []


def test_a_closed_row_keeps_its_panels_and_takes_one_line_of_the_grid(catalog: Catalog) -> None:
    panel = alerts_stat(View(catalog, PLAIN), 24)
    row = board_module.Row
    rows = board_module.place([row("closed", ((panel,), (panel,)), closed=True), row("open", ((panel,),))])
    closed, heading, below = rows
    assert isinstance(closed, dashboard.RowPanel)
    assert closed.collapsed
    inside = [(each.id_val, each.grid_pos.y) for each in closed.panels if each.grid_pos]
    assert inside == [(2, 1), (3, 5)]
    assert [(each.id_val, each.grid_pos.y) for each in (heading, below) if each.grid_pos] == [(4, 1), (5, 2)]


def test_only_what_a_fleet_may_lack_is_closed(boards: dict[str, Json]) -> None:
    closed = [row["title"] for board in boards.values() for row in board["panels"] if row.get("collapsed")]
    assert closed == ["Sidecars"]


def test_names_of_the_catalog_are_in_no_dashboard(catalog: Catalog, boards: dict[str, Json]) -> None:
    """Variables ask Prometheus, so a hostile name can break neither JSON nor a query."""
    evil = 'x"}) or vector(1) # {{ $labels }} ${owner}\n日本'
    hostile = Catalog(
        tools=[Tool(evil, owner=evil, profiles=(evil,), aliases=(f"old {evil}",), retired=(f"older {evil}",))],
        owners=[Owner(evil)],
        profiles=[Profile(evil, owner=evil, budget_chars=1)],
        session_retention=catalog.session_retention,
    )
    assert rendered(hostile, RenderOptions.from_catalog(catalog)) == boards


def selectors(board: Json) -> Iterator[tuple[str, dict[str, str]]]:
    """Place and matchers of every selector in *board*, variables put in."""
    values = {**builtin(board), **chosen(board)}
    texts = [(asked.place, asked.expr) for asked in queries(board)]
    texts += [
        (f"variable {name}", variable_query(variable)[0])
        for name, variable in variables(board).items()
        if variable["type"] == "query"
    ]
    for place, text in texts:
        found: list[promql.VectorSelector] = []

        def visit(node: object, found: list[promql.VectorSelector] = found) -> None:
            if isinstance(node, promql.VectorSelector):
                found.append(node)
            if isinstance(node, promql.MatrixSelector):
                found.append(node.vector_selector)

        promql.walk(promql.parse(put_in(text, values)), visit)
        assert found, place
        for node in found:
            yield f"{place}: {node.name}", {each.name: each.value for each in node.matchers.matchers}


@pytest.mark.parametrize("fleet", ["clusters", "hostile"])
def test_static_matchers_are_in_every_selector_and_mean_what_was_said(catalog: Catalog, fleet: str) -> None:
    options = FLEETS[fleet]
    for board in rendered(catalog, options).values():
        for place, matchers in selectors(board):
            if not place.endswith(signals.RULE_FAILURES.name):  # Prometheus' own, outside the fleet
                assert {name: matchers.get(name) for name in options.selector} == options.selector, place


def test_no_static_matcher_is_taken_for_a_variable(catalog: Catalog) -> None:
    own = {"owner", "profile", "tool"}
    values = " ".join(HOSTILE.selector.values())
    assert {next(filter(None, found)) for found in VARIABLE.findall(values)} == own
    for board in rendered(catalog, HOSTILE).values():
        changed = dict.fromkeys(own, "SWAPPED")
        for asked in queries(board):
            zone = promql_zone(put_in(asked.expr, changed))
            assert "SWAPPED" not in zone, asked.place


def promql_zone(text: str) -> str:
    return " ".join(re.findall(r'zone="((?:[^"\\]|\\.)*)"', text))


def test_a_cluster_label_is_a_variable_that_narrows_everything(catalog: Catalog) -> None:
    for board in rendered(catalog, CLUSTERS).values():
        assert list(variables(board)) == ["datasource", "cluster", "owner", "profile", "tool", "risk"]
        for place, matchers in selectors(board):
            alone = place.startswith("variable cluster") or place.endswith(signals.RULE_FAILURES.name)
            watchdog = matchers.get("alertname") == "TooltelWatchdog"
            assert ("cluster" in matchers) != (alone or watchdog), place


def test_a_table_keeps_clusters_apart(catalog: Catalog) -> None:
    for board in rendered(catalog, CLUSTERS).values():
        for panel in panels(board):
            if panel["type"] == "table":
                assert panel["transformations"][1]["options"]["indexByName"]["cluster"] == 0, panel["title"]
                assert all("cluster" in target["expr"] for target in panel["targets"])


def test_a_cluster_that_is_pinned_is_no_variable(catalog: Catalog) -> None:
    for board in rendered(catalog, PINNED).values():
        assert "cluster" not in variables(board)
        for place, matchers in selectors(board):
            if not place.endswith(signals.RULE_FAILURES.name):
                assert matchers["cluster"] == "eu", place


def test_options_reach_alerts_targets_and_runbooks(catalog: Catalog) -> None:
    boards = rendered(catalog, OTHERS)
    text = str(boards)
    assert 'up{job=\\\\"agents\\\\"}' in text or 'up{job="agents"}' in text
    assert "Tooltel" not in text
    assert 'alertname=~"Acme.+"' in text
    assert "https://wiki.example.com/rb/${__data.fields.alert:percentencode}.md" in text


def test_colors_follow_the_thresholds_of_the_alerts(catalog: Catalog) -> None:
    options = RenderOptions(alerts={"StructuralRejections": AlertOptions(ratio=0.4)})
    (panel,) = [each for each in panels(rendered(catalog, options)[links.FLEET]) if each["title"] == "Wrong arguments"]
    steps = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
    assert [(step["value"], step["color"]) for step in steps] == [(None, "green"), (0.2, "orange"), (0.4, "red")]


def test_the_window_of_aliases_is_the_session_retention(catalog: Catalog) -> None:
    other = dataclasses.replace(catalog, session_retention=14 * 86400.0)
    (panel,) = [each for each in panels(rendered(other, PLAIN)[links.LIFECYCLE]) if each["title"] == "Aliases"]
    calls = next(target["expr"] for target in panel["targets"] if target["refId"] == "calls")
    assert "[14d]" in calls
    assert "14d" in panel["description"]


def test_links_between_dashboards_carry_every_variable(boards: dict[str, Json]) -> None:
    """A variable that a dashboard does not show is there all the same, hidden, or a link would lose it."""
    shown = {
        uid: [name for name, variable in variables(board).items() if variable["hide"] == 0]
        for uid, board in boards.items()
    }
    every = ["datasource", "owner", "profile", "tool", "risk"]
    assert shown == {
        links.FLEET: every,
        links.OWNER: every,
        links.TOOL: every,
        links.LIFECYCLE: ["datasource", "owner", "profile", "tool"],
        links.ITSELF: ["datasource"],
    }
    assert all(list(variables(board)) == every for board in boards.values())


def test_latency_leads_to_traces(boards: dict[str, Json]) -> None:
    """Exemplars are asked for where a dot can be drawn: graphs and heat maps of durations, never in tables."""
    asked = [each for board in boards.values() for each in queries(board) if each.target]
    dotted = {each.place for each in asked if each.target and each.target["exemplar"]}
    assert {"tooltel-tool/Duration/A", "tooltel-tool/Duration, quantiles/C"} <= dotted
    assert all("_duration_seconds_bucket" in each.expr and not each.instant for each in asked if each.place in dotted)


@pytest.mark.parametrize("fleet", ["plain", "clusters"])
def test_every_alert_leads_to_a_dashboard_that_has_its_variables(catalog: Catalog, fleet: str) -> None:
    options = FLEETS[fleet]
    boards = rendered(catalog, options)
    urls = re.findall(r"/d/([\w-]+)(\S*)", "\n".join(render_rules(catalog, options).values()))
    assert len(urls) > 20
    for uid, query in urls:
        named = re.findall(r"var-(\w+)=", query)
        assert set(named) <= set(variables(boards[uid])), (uid, query)
