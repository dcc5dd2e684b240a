"""Every alert has a runbook written by hand, in the same order, whose queries name what is really there."""

from __future__ import annotations

import re
from pathlib import Path

import promql_parser
import pytest

from tooltel import signals
from tooltel.artifacts.options import RenderOptions
from tooltel.artifacts.rules import every_alert, runbook_name
from tooltel.artifacts.runbooks import INDEX, render_runbook_index
from tooltel.loading import load

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "alerts" / "runbooks"
CATALOG = load(str(ROOT / "src/tooltel/demo/tools.toml"))
OPTIONS = RenderOptions.from_catalog(CATALOG)
RUNBOOKS = sorted(path for path in FOLDER.glob("*.md") if path.name != "README.md")
SECTIONS = ["Meaning", "Impact", "Diagnosis", "Mitigation"]
# A recorded series or one of Prometheus' own; everything else must stand in the table of signals.
SERIES = {name for row in (*signals.METRICS, *signals.EXTERNAL) for name in row.series}
LABELS = {label for row in (*signals.METRICS, *signals.EXTERNAL) for label in row.labels}
LABELS |= {*signals.TARGET_LABELS, "le"}


def names(*, waiting: bool) -> set[str]:
    return {runbook_name(alert.key) for alert in every_alert(CATALOG, OPTIONS, waiting=waiting)}


def queries(path: Path) -> list[str]:
    return re.findall(r"```promql\n(.*?)```", path.read_text("utf-8"), re.DOTALL)


def test_every_alert_has_its_runbook() -> None:
    assert names(waiting=False) <= {path.name for path in RUNBOOKS}


def test_every_runbook_has_its_alert() -> None:
    assert {path.name for path in RUNBOOKS} <= names(waiting=True)


@pytest.mark.parametrize("path", RUNBOOKS, ids=lambda path: path.stem)
def test_a_runbook_says_the_same_things_in_the_same_order(path: Path) -> None:
    text = path.read_text("utf-8")
    assert text.startswith(f"# {path.stem}\n")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == SECTIONS
    for section in re.split(r"^## .+$", text, flags=re.MULTILINE)[1:]:
        assert len(section.strip()) > 25


@pytest.mark.parametrize("path", RUNBOOKS, ids=lambda path: path.stem)
def test_its_queries_parse_and_name_series_and_labels_that_exist(path: Path) -> None:
    assert queries(path), "a diagnosis needs queries to paste"
    for query in queries(path):
        promql_parser.parse(query)
        named = set(re.findall(r"\b(?:tooltel|gen_ai_execute)_\w+", query)) - LABELS
        assert named <= SERIES, named - SERIES
        for label in re.findall(r"[{,]\s*(\w+)\s*[=!]", query):
            assert label in LABELS, label
        for grouped in re.findall(r"\b(?:by|on|group_left)\s*\(([^)]*)\)", query):
            assert {label.strip() for label in grouped.split(",") if label.strip()} <= LABELS, grouped


@pytest.mark.parametrize("path", RUNBOOKS, ids=lambda path: path.stem)
def test_the_runbooks_it_points_to_are_there(path: Path) -> None:
    known = {each.stem for each in RUNBOOKS}
    for other in re.findall(
        r"\b[sS]ee (\w+(?:Burn|High|Silent|Called|InProfile|Invented|\w+))", path.read_text("utf-8")
    ):
        if re.fullmatch(r"(?:[A-Z][a-z]+){2,}", other):
            assert other in known, other


def test_the_index_names_every_alert_once_with_its_runbook() -> None:
    index = render_runbook_index(CATALOG, OPTIONS)[INDEX]
    linked = re.findall(r"\]\((\w+\.md)\)", index)
    assert sorted(linked) == sorted(names(waiting=False))
    assert "page and ticket" in next(line for line in index.splitlines() if "ErrorBudgetBurn" in line)


def test_the_index_follows_the_fleets_prefix() -> None:
    index = render_runbook_index(CATALOG, RenderOptions(alert_prefix="Acme"))[INDEX]
    assert "[AcmeToolSilent](ToolSilent.md)" in index
