"""Numbers and words that the pages repeat are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.docs.test_names import BOARDS
from tooltel.artifacts.defaults import ALERTS, INFO, PAGE, TICKET
from tooltel.artifacts.routes.config import GROUPS, MUTED_BY_FLEET_DOWN, WAITS
from tooltel.artifacts.routes.receivers import DIGEST, WATCHDOG
from tooltel.catalog.checks.values import OBJECTIVE_MAX, OBJECTIVE_MIN
from tooltel.match import FRAMEWORKS
from tooltel.recorders.prometheus import UNOWNED_TOOLS, VALUES_PER_TOOL
from tooltel.signals import BUCKETS, Reason

WORDS = {"4h": "4 hours", "1d": "a day", "4d": "4 days", "12h": "12 hours", "5m": "five minutes"}


def page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text("utf-8")


@pytest.mark.parametrize(("severity", "kind"), [(PAGE, PAGE), (TICKET, TICKET), (INFO, DIGEST)])
def test_the_table_of_severities_is_what_routes_do(severity: str, kind: str) -> None:
    (row,) = re.findall(rf"^\| `{severity}` \|(.*)\|$", page("routing"), re.MULTILINE)
    _, groups, again, _ = (cell.strip() for cell in row.split("|"))
    named = {label for label in ("tool", "profile", "owner", "alert") if label in groups}
    assert named - {"alert"} == set(GROUPS[kind]) - {"alertname"} - ({"owner"} if kind == TICKET else set())
    assert WORDS[WAITS[kind]["repeat_interval"]] in again
    if kind == DIGEST:
        assert WORDS[WAITS[kind]["group_interval"]] in groups


def test_what_mutes_what_is_what_is_rendered() -> None:
    section = page("routing").partition("## What mutes what")[2].partition("\n## ")[0]
    assert all(f"`{name}`" in section for name in ("FleetDown", *MUTED_BY_FLEET_DOWN))


def test_the_dead_mans_switch_is_as_frequent_as_it_says() -> None:
    assert f"sent every {WORDS[WAITS[WATCHDOG]['repeat_interval']]}" in page("routing")


def test_promises_of_a_catalog_are_what_alerts_hold_it_to() -> None:
    section = page("catalog").partition("## An objective")[2].partition("\n## ")[0]
    latency = ALERTS["ToolLatencyHigh"]
    assert f"{ALERTS['ToolErrorBudgetBurn'].threshold} times" in section
    assert f"From {OBJECTIVE_MIN} to {OBJECTIVE_MAX}" in section
    assert f"more than {(latency.ratio or 0) * 100:g} % of calls" in " ".join(section.split())
    assert latency.for_ == "10m"
    assert "for ten minutes" in section


def test_bounds_of_series_are_what_recorders_keep() -> None:
    section = page("troubleshooting").partition("## Too many series")[2].partition("\n## ")[0]
    assert f"{VALUES_PER_TOOL} error types and {VALUES_PER_TOOL} policies per tool" in section
    assert f"{UNOWNED_TOOLS} tools" in section
    assert f"takes {len(BUCKETS) + 3} series" in section  # the infinite bucket, the sum and the count


def test_what_an_empty_panel_says_is_what_it_says() -> None:
    section = page("troubleshooting").partition("## No data")[2].partition("\n## ")[0]
    said = re.findall(r"\*(no [a-z ]+|not [a-z ]+)\*", section)
    boards = "".join(board.read_text("utf-8") for board in BOARDS)
    assert said
    assert [words for words in said if f'"{words}"' not in boards] == []


def test_the_frameworks_that_the_sidecar_reads_are_listed() -> None:
    (listed,) = re.findall(r"Known are (.*?)\.\n", page("sidecar"), re.DOTALL)
    assert tuple(re.findall(r"`([\w-]+)`", listed)) == FRAMEWORKS


def test_every_reason_is_explained() -> None:
    section = page("troubleshooting").partition("## A tool is not found, and it exists")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \| ", section, re.MULTILINE)[1 if "`reason` |" in section else 0 :] == list(Reason)


def test_the_pages_are_written_in_the_words_of_the_field() -> None:
    british = re.compile(r"\b(?:behaviour|colour|labelled|initialise|organisation|licence|honour)\b")
    assert [path.name for path in Path(ROOT / "docs").rglob("*.md") if british.search(path.read_text("utf-8"))] == []
