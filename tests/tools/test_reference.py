"""The reference pages say what the code's tables say, all of it, and nothing else."""

from __future__ import annotations

import re
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tools.reference import sentences
from tools.reference.__main__ import main
from tools.reference.alerts import live_alerts
from tools.reference.frameworks import END, START, readme_block, with_block
from tools.reference.pages import FOLDER, RUNBOOKS, render
from tooltel import signals
from tooltel.artifacts.option_values import ALERT_OPTIONS, OPTIONS
from tooltel.catalog.shapes import FIELDS
from tooltel.cli.app import VERBS
from tooltel.integrations.compatibility import ROWS as MOMENTS
from tooltel.loading.tables import SETTINGS
from tooltel.settings import ROWS
from tooltel.signals import Event, State

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def pages() -> Mapping[str, str]:
    """The pages as rendered now, by name."""
    runbooks = {path.name: path.read_text("utf-8") for path in (ROOT / RUNBOOKS).glob("*.md")}
    return {Path(path).stem: text for path, text in render(runbooks).items()}


def test_the_committed_pages_are_as_rendered(pages: Mapping[str, str]) -> None:
    committed = {path.stem: path.read_text("utf-8") for path in (ROOT / FOLDER).glob("*.md")}
    assert pages.keys() == committed.keys()
    stale = {name: list(unified_diff(committed[name].splitlines(), text.splitlines(), lineterm="", n=0))
             for name, text in pages.items() if text != committed[name]}  # fmt: skip
    assert not stale, f"run make render, and commit what it wrote: {stale}"


def test_every_series_that_is_emitted_is_there_and_no_other(pages: Mapping[str, str]) -> None:
    described = re.findall(r"^\| `(\w+)` \| (?:counter|gauge|histogram|info) ", pages["metrics"], re.MULTILINE)
    assert sorted(described) == sorted(each.name for each in signals.EMITTED)
    assert not [each.name for each in signals.METRICS if each.state is State.WAITING and each.name in pages["metrics"]]


def test_every_attribute_is_there(pages: Mapping[str, str]) -> None:
    assert first_cells(pages["spans"]) == list(signals.ATTRIBUTES)


def test_every_event_that_code_writes_is_there(pages: Mapping[str, str]) -> None:
    source = "".join(
        path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py") if path.name != "signals.py"
    )  # fmt: skip
    written = [event.value for event in Event if re.search(rf"Event\.{event.name}\b", source)]
    assert first_cells(pages["events"]) == written


def test_every_setting_is_there(pages: Mapping[str, str]) -> None:
    assert first_cells(pages["settings"]) == [row.variable for row in ROWS]


def test_every_key_of_a_catalog_is_there(pages: Mapping[str, str]) -> None:
    keys = {*SETTINGS, *OPTIONS, "alerts", *(key for shapes in FIELDS.values() for key in shapes)}
    assert set(first_cells(pages["catalog"])) == keys


def test_every_alert_is_there_and_each_option(pages: Mapping[str, str]) -> None:
    named = re.findall(r"^\| \[(\w+)\]", pages["alerts"], re.MULTILINE)
    assert named == list(live_alerts())
    assert set(first_cells(pages["alerts"])) == set(ALERT_OPTIONS)


def test_every_verb_is_there(pages: Mapping[str, str]) -> None:
    assert re.findall(r"^## tooltel (\w+)", pages["cli"], re.MULTILINE) == list(VERBS)


def test_every_moment_in_every_framework_is_there_with_its_versions(pages: Mapping[str, str]) -> None:
    sections = dict(part.split("\n", 1) for part in pages["frameworks"].split("\n## ")[1:])
    assert list(sections) == list(dict.fromkeys(row.framework for row in MOMENTS))
    for row in MOMENTS:
        seen = "yes" if row.seen else "**no**"
        assert f"| {row.moment} | {seen} | {row.how or row.why_not} |" in sections[row.framework]
        assert all(version in sections[row.framework] for version in row.versions)


def test_the_readmes_table_is_as_rendered() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert with_block(readme, readme_block()) == readme, "run make render, and commit what it wrote"


def test_the_readmes_table_says_of_every_framework_what_is_not_seen_and_why() -> None:
    block = readme_block()
    reasons = dict(re.findall(r"^(\d+)\. (.+)\.$", block, re.MULTILINE))
    rows = {line.split(" | ")[0].lstrip("| "): line for line in block.splitlines() if line.startswith("| ")}
    for framework in {row.framework for row in MOMENTS}:
        mine = [row for row in MOMENTS if row.framework == framework]
        told = re.findall(r"(?:\| |; )((?:[^;|])+?) \((\d+)\)", rows[framework])
        unseen = [(row.moment.value, row.why_not) for row in mine if not row.seen]
        assert [(moment, reasons[number]) for moment, number in told] == unseen
        assert f"| {sum(row.seen for row in mine)} |" in rows[framework]
        assert ", ".join(mine[0].versions) in rows[framework]


def test_the_rest_of_the_readme_is_left_as_it_is() -> None:
    assert with_block(f"a\n{START}\nold\n{END}\nb\n", f"{START}\nnew\n{END}") == f"a\n{START}\nnew\n{END}\nb\n"


@pytest.mark.parametrize("readme", ["", START, f"{START}{END}{START}{END}"])
def test_a_readme_without_a_place_for_the_table_is_an_error(readme: str) -> None:
    with pytest.raises(ValueError, match="once each"):
        with_block(readme, readme_block())


def test_no_sentence_is_about_something_that_is_gone() -> None:
    assert set(sentences.ATTRIBUTES) == set(signals.ATTRIBUTES)
    assert {*sentences.EVENTS, *sentences.WAITING_EVENTS} == set(Event)
    assert set(sentences.CATALOG) == set(SETTINGS) - set(sentences.NOUNS[next(iter(sentences.NOUNS))])
    assert {noun: set(said) for noun, said in sentences.NOUNS.items()} == {
        noun: set(shapes) for noun, shapes in FIELDS.items()
    }
    assert set(sentences.RENDER) == {*OPTIONS, "alerts"}
    assert set(sentences.ALERT_OPTIONS) == set(ALERT_OPTIONS)
    labels = {label for metric in signals.EMITTED for label in metric.labels}
    assert set(sentences.LABEL_VALUES) <= labels


@pytest.mark.parametrize(
    ("label", "values"),
    [
        ("outcome", signals.Status),
        ("reason", signals.Reason),
        ("kind", signals.RejectionKind),
        ("source", signals.RejectionSource),
        ("status", signals.ItemStatus),
        ("cause", signals.SkipCause),
    ],
)
def test_every_closed_value_has_its_meaning(label: str, values: type[signals.Status]) -> None:
    assert list(sentences.LABEL_VALUES[label]) == list(values)


def test_a_stale_page_and_one_too_many_are_found_and_mended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / RUNBOOKS
    folder.mkdir(parents=True)
    for path in (ROOT / RUNBOOKS).glob("*.md"):
        (folder / path.name).write_text(path.read_text("utf-8"), "utf-8")
    (tmp_path / "README.md").write_text(f"{START}{END}", "utf-8")
    assert main(["--check"], tmp_path) == 1
    assert "README.md: not as rendered" in capsys.readouterr().out
    assert main([], tmp_path) == 0
    assert main(["--check"], tmp_path) == 0
    metrics, extra = tmp_path / FOLDER / "metrics.md", tmp_path / FOLDER / "colors.md"
    extra.write_text(metrics.read_text("utf-8"), "utf-8")
    metrics.write_text("by hand", "utf-8")
    assert main(["--check"], tmp_path) == 1
    assert [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()] == [
        f"{FOLDER}/metrics.md",
        f"{FOLDER}/colors.md",
    ]
    assert main([], tmp_path) == 0
    assert main(["--check"], tmp_path) == 0
    assert not extra.exists()


def first_cells(text: str) -> list[str]:
    """The first cell of each row that has code there."""
    return re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)
