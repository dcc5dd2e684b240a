"""Every alert has a runbook written by hand, in the same order, whose queries name what is really there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.artifacts.expressions import Reader, known_series
from tooltel.artifacts.options import RenderOptions
from tooltel.artifacts.rules import every_alert, render_rules, runbook_name
from tooltel.artifacts.runbooks import INDEX, render_runbook_index
from tooltel.loading import load

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "alerts" / "runbooks"
CATALOG = load(str(ROOT / "src/tooltel/demo/tools.toml"))
OPTIONS = RenderOptions.from_catalog(CATALOG)
RUNBOOKS = sorted(path for path in FOLDER.glob("*.md") if path.name != "README.md")
SECTIONS = ["Meaning", "Impact", "Diagnosis", "Mitigation"]


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
    reader = Reader(known_series(waiting=True))
    for text in render_rules(CATALOG, OPTIONS).values():
        for rule in (rule for group in yaml.safe_load(text)["groups"] for rule in group["rules"]):
            if "record" in rule:
                reader.series[rule["record"]] = reader.read(rule["expr"])
    for query in queries(path):
        reader.read(query)
    assert reader.faults == []


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
