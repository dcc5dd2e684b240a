"""Both generations of Prometheus accept the rules, and the rules do what their unit tests say."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.artifacts import promtool
from tests.artifacts.fleets import EXAMPLE, FLEETS, TWO_CLUSTERS
from tooltel.artifacts.options import RenderOptions
from tooltel.artifacts.rules import render_rule_tests, render_rules
from tooltel.catalog import Catalog, Owner, Tool, find_problems

if TYPE_CHECKING:
    from pathlib import Path

    from tests.servers import Servers

HOSTILE = (
    'a"b', "{{ .Value }}", "{{", "}}", "a'b", "a\\b", "a`b", "a%sb%q", "$labels", "a|b", "a.*",
    "naïve-tool", "工具", "😀",
    "a b", "a: b", "#x", "- x", "&a", "*a", "!x", "%x", "@x", "null", "true", "1e3", "~", "a,b", "a=b", "a{b}", "[x]",
    "\u2028x", "a\u00a0b", "\u202eb", "{{`{{`}}", '{{ printf "%q" "x" }}', "a\nb", "a\x00b", "\ud800", "", " ",
)  # fmt: skip


# promtool plays days to rules: patience, where the machine is busy with something else.
pytestmark = pytest.mark.timeout(400)


def rendered(catalog: Catalog, folder: Path, *, waiting: bool = False) -> tuple[list[Path], list[Path]]:
    """Rule files and their test files, written below *folder*."""
    options = RenderOptions.from_catalog(catalog)
    rules = render_rules(catalog, options, waiting=waiting)
    tests = render_rule_tests(catalog, options, waiting=waiting)
    promtool.write({**rules, **tests}, folder)
    return [folder / path for path in rules], [folder / path for path in tests]


@pytest.mark.parametrize("fleet", ["example", "two clusters"])
def test_every_alert_fires_when_it_must_and_not_just_below_and_resolves(
    fleet: str, servers: Servers, tmp_path: Path
) -> None:
    """Includes alerts whose series wait for their code: what is written for them already holds."""
    rules, tests = rendered(FLEETS[fleet], tmp_path, waiting=True)
    assert promtool.complaint(servers, rules) == ""
    assert promtool.failures(servers, tests) == ""


@pytest.mark.parametrize("fleet", sorted({*FLEETS} - {"example", "two clusters"}))
def test_the_unit_tests_hold_for_other_numbers_too(fleet: str, newest_servers: Servers, tmp_path: Path) -> None:
    rules, tests = rendered(FLEETS[fleet], tmp_path)
    assert promtool.complaint(newest_servers, rules) == ""
    assert promtool.failures(newest_servers, tests) == ""


def test_every_text_of_every_alert_can_be_written(servers: Servers, tmp_path: Path) -> None:
    _, files = rendered(TWO_CLUSTERS, tmp_path, waiting=True)
    fired = [texts for file in files for texts in promtool.texts(servers, file)]
    tested = {test["name"].partition(":")[0] for file in files for test in promtool.tests_of(file)}
    assert {texts["alertname"] for texts in fired} == tested
    for texts in fired:
        for name in ("summary", "description", "dashboard_url", "runbook_url"):
            said = texts[name]
            for trouble in ("{{", "error expanding", "no value", "%!"):
                assert trouble not in said
        assert "var-cluster=here" in texts["dashboard_url"] or "cluster" not in texts


def test_a_page_lists_errors_by_number_and_names_the_new_version(newest_servers: Servers, tmp_path: Path) -> None:
    _, tests = rendered(EXAMPLE, tmp_path)
    (file,) = [test for test in tests if test.stem == "budgets"]
    (texts,) = [
        texts
        for texts in promtool.texts(newest_servers, file)
        if texts["alertname"] == "TooltelToolErrorBudgetBurn" and texts["owner"] == "fast"
    ]
    assert (
        "21.6% of the calls of sample_tool (owner fast) failed, where 99% without error are promised."
        in (texts["description"])
    )
    errors = texts["description"].partition("last hour: ")[2].partition(".")[0]
    assert [error.split()[0] for error in errors.split(", ")] == ["ConnectionError", "timeout", "KeyError"]
    assert "Version 1 was not seen a day ago." in texts["description"]
    assert "var-owner=fast&var-tool=sample_tool" in texts["dashboard_url"]


# --- hostile names -----------------------------------------------------------------------------------------


def with_names(owner: str, tool: str) -> Catalog:
    """A catalog in which these names stand wherever a name of a catalog gets into a rule."""
    house = replace(EXAMPLE.house, name_pattern=".*")
    alerts: dict[str, dict[str, Any]] = {"ToolSilent": {"minimum": 7}, "IrreversibleCallRefused": {"severity": "page"}}
    tools = [Tool(tool, owner, "read", objective=0.99, latency_bound=0.64, alerts=alerts, description="x" * 40)]
    return Catalog(tools=tools, owners=[Owner(owner)], platform_owner=owner, security_owner=owner, house=house)


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_refused_or_means_what_it_says(name: str, newest_servers: Servers, tmp_path: Path) -> None:
    """The unit tests play a tool and an owner of that name: labels and texts come out as they went in."""
    catalog = with_names(name, name)
    if find_problems(catalog):
        return
    rules, tests = rendered(catalog, tmp_path)
    assert promtool.complaint(newest_servers, rules) == ""
    files = {file.stem: file for file in tests}
    latency = promtool.keep_tests(files["reliability"], "TooltelToolLatencyHigh")
    assert promtool.failures(newest_servers, [latency, files["security"], files["platform"]]) == ""
    assert {texts["owner"] for texts in promtool.texts(newest_servers, files["platform"])} == {name}
    assert {texts["tool"] for texts in promtool.texts(newest_servers, latency)} == {name}


def test_most_hostile_names_are_not_refused() -> None:
    """Otherwise the test above would prove nothing."""
    kept = [name for name in HOSTILE if not find_problems(with_names(name, name))]
    assert {'a"b', "{{ .Value }}", "a\\b", "工具", "😀", "a%sb%q"} <= set(kept)


@pytest.mark.slow
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(st.text(min_size=1, max_size=30), min_size=2, max_size=8, unique=True))
def test_whatever_the_names_promtool_accepts_what_is_rendered(
    names: list[str], newest_servers: Servers, tmp_path: Path
) -> None:
    catalogs = [with_names(owner, tool) for owner, tool in itertools.pairwise(names)]
    for catalog in catalogs:
        if not find_problems(catalog):
            rules, _ = rendered(catalog, tmp_path)
            assert promtool.complaint(newest_servers, rules) == ""
            told = [rule["labels"].get("owner") for file in rules for rule in promtool.alerts_of(file)]
            meant = {owner.replace('{{ "{{" }}', "{{") for owner in told if owner is not None}
            assert meant == {catalog.platform_owner}
