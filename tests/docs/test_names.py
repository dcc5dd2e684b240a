"""What the documentation calls by name exists under that name."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT
from tests.docs.test_links import name_of
from tooltel import signals
from tooltel.settings import ROWS

SERIES = {name for metric in (*signals.EMITTED, *signals.EXTERNAL) for name in (*metric.series, metric.name)}
BOARDS = sorted((ROOT / "dashboards").glob("*.json"))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_series_is_emitted(page: Path) -> None:
    named = set(
        re.findall(
            r"\b(?:tooltel_[a-z_]+_(?:total|info|seconds|chars|ratio|bytes|active|files)|gen_ai_execute_tool_duration\w*)\b",
            page.read_text("utf-8"),
        )
    )
    assert named <= SERIES


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_setting_exists(page: Path) -> None:
    named = set(re.findall(r"\bTOOLTEL_[A-Z_]*[A-Z]\b", page.read_text("utf-8")))
    assert named <= {row.variable for row in ROWS}


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.stem)
def test_every_panel_of_a_dashboard_is_explained_and_no_other(board: Path) -> None:
    rows = json.loads(board.read_text("utf-8"))["panels"]
    panels = [panel for row in rows for panel in (row, *row.get("panels", ()))]  # also those of a closed row
    titles = [panel["title"] for panel in panels if panel["type"] != "row"]
    section = sections()[board.stem]
    assert re.findall(r"^\| \*\*(.+?)\*\* \|", section, re.MULTILINE) == titles


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.stem)
def test_the_rows_of_a_dashboard_are_asked_as_it_asks_them(board: Path) -> None:
    panels = json.loads(board.read_text("utf-8"))["panels"]
    rows = [panel["title"] for panel in panels if panel["type"] == "row"]
    assert re.findall(r"^\*(.+?)\*$", sections()[board.stem], re.MULTILINE) == rows


def sections() -> dict[str, str]:
    """The parts of the page on dashboards, by the dashboard that each names in its first line."""
    text = (ROOT / "docs" / "dashboards.md").read_text("utf-8")
    found = {}
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        if name := re.search(r"`(tooltel-\w+)`", part.partition("\n\n")[2].partition("\n\n")[0]):
            found[name[1]] = part
    return found


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.stem)
def test_a_dashboard_is_shown_in_a_picture(board: Path) -> None:
    picture = f"images/{board.stem.removeprefix('tooltel-')}.png"
    assert f"]({picture})" in sections()[board.stem]
    assert (ROOT / "docs" / picture).read_bytes().startswith(b"\x89PNG")
