"""The stand-in draws: real pictures of real data, and it sees what is wrong with one."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.backfill import backfilled
from tests.preview.draw import ROOT, Tools, prepare_page, taken
from tests.preview.pasts import END, SCRAPE
from tooltel.demo.timeline import play_history

if TYPE_CHECKING:
    from tests.servers import Servers

    Json = dict[str, Any]

pytestmark = pytest.mark.slow
MINUTES = 20


@pytest.fixture
def tools(libraries: Path, browser: str, newest_servers: Servers, tmp_path: Path) -> Tools:
    """Everything that a picture takes, the page made anew."""
    page = tmp_path / "page"
    prepare_page(page)
    return Tools(page, browser, newest_servers)


def damaged(board: Json) -> Json:
    """The fleet with a refused query, an unknown variable, a cut title, and a panel that finds nothing."""
    titled = {panel["title"]: panel for panel in board["panels"]}
    titled["Failed calls"]["targets"][0]["expr"] = "sum("
    titled["Calls"]["targets"][0]["expr"] = "sum($nothing)"
    titled["Wrong arguments"]["title"] = "Wrong arguments that a model gave to any tool"
    titled["Calls by outcome"]["targets"][0]["expr"] = "absent_of_everything"
    return board


def size_of(picture: Path) -> tuple[int, int]:
    """Width and height of a PNG file."""
    head = picture.read_bytes()[:24]
    assert head.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", head[16:])
    return width, height


def test_a_dashboard_is_drawn_and_what_is_wrong_with_one_is_told(tools: Tools, tmp_path: Path) -> None:
    fleet = ROOT / "dashboards" / "tooltel-fleet.json"
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps(damaged(json.loads(fleet.read_text(encoding="utf-8")))), encoding="utf-8")
    span = {"end": END, "range": MINUTES * 60, "scrape": SCRAPE}
    shots = [
        {"board": str(board), "file": str(tmp_path / name), "theme": theme, "width": 1280, "chosen": {}, "time": span}
        for board, name, theme in ((fleet, "right.png", "light"), (wrong, "wrong.png", "dark"))
    ]
    past, _ = play_history(7, 200, start=END - MINUTES * 60, seconds=MINUTES * 60, step=SCRAPE)
    with backfilled(tools.servers, past.text()) as prometheus:
        job = {"page": str(tools.page), "chromium": tools.browser, "prometheus": prometheus.url, "shots": shots}
        right, bad = taken(job)
    assert (right["faults"], right["cut"]) == ([], [])
    assert right["empty"] == []
    for shot in (right, bad):
        width, height = size_of(Path(shot["file"]))
        assert width == 1280
        assert height > 1000
    assert {fault.split(":")[0] for fault in bad["faults"]} == {"Calls", "Failed calls"}
    assert [cut.split(":")[0] for cut in bad["cut"]] == ["Wrong arguments that a model gave to any tool"]
    assert "Calls by outcome: no calls" in bad["empty"]
