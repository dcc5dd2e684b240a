"""Rung 4 with data that was really recorded: the demo's shift, and conversations that nobody here wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client import CollectorRegistry

from tests.artifacts.dashboards.conftest import rendered
from tests.artifacts.dashboards.fleets import PLAIN
from tests.artifacts.dashboards.ladder.asking import silences
from tests.artifacts.dashboards.ladder.synthetic import END
from tooltel import Tooltel
from tooltel.demo.timeline import TARGET, History, play_history

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.artifacts.dashboards.ladder.reading import Json
    from tests.backfill import Prometheus

    Backfill = Callable[[str], Prometheus]

HOURS = 3 * 3600.0

# What a few hours of scraped series cannot hold, whoever is played, and why.
NOT_SCRAPED = {
    "annotation Firing alerts": "ALERTS is written by a Prometheus that evaluates rules",
    "Alerts/minutes": "ALERTS is written by a Prometheus that evaluates rules",
    "Alerts/now": "ALERTS is written by a Prometheus that evaluates rules",
    "Firing alerts/A": "ALERTS is written by a Prometheus that evaluates rules",
    "Firing alerts/B": "ALERTS is written by a Prometheus that evaluates rules",
    "Failures by place/A": "nothing in tooltel failed",
    "Failures by place/B": "no value was folded",
    "Failures by place/C": "Prometheus' own series: it did not scrape itself",
    "Targets/B": "no target is down",
}
# The panels of the sidecar's series: none is run here.
SIDECAR = ("Lag by source/", "Lines read by source/", "Skipped lines by cause/", "Sources/")
# What that catalog, and those conversations, do not have.
QUIET_IN_THE_REPLAY = {
    "Alias": "no tool has an old name",
    "Calls by an old name/": "no tool has an old name",
    "Items of partial results/": "no tool works through items",
    "Old ": "no tool has an old name",
    "Error budget burn by tool/": "no tool has an objective",
    "Fastest burn/": "no tool has an objective",
    "Objective/": "no tool has an objective",
    "Tools/objective": "no tool has an objective",
    "Duration, quantiles/D": "no tool streams",
    "Declarations": "no profile has a budget",
    "Profiles": "no profile has a budget, and no token counter is given",
    "Refused by policy/": "nothing is refused",
    "Worst tools/refused": "nothing is refused",
}


def silent(boards: dict[str, Json], prometheus: Prometheus) -> set[str]:
    found = [each for board in boards.values() for each in silences(board, prometheus, end=END)]
    assert {each.fault for each in found} <= {"no data"}
    places = {each.place.split("/", 1)[1] for each in found}
    return {place for place in places if not place.startswith(SIDECAR)}


@pytest.mark.slow
def test_after_the_demo_every_query_and_variable_has_data(boards: dict[str, Json], backfill_newest: Backfill) -> None:
    history, _ = play_history(7, 600, start=END - HOURS, seconds=HOURS)
    empty = silent(boards, backfill_newest(history.text()))
    assert empty <= set(NOT_SCRAPED), empty - set(NOT_SCRAPED)


@pytest.mark.slow
def test_after_the_replay_the_dashboards_of_another_catalog_are_filled_too(
    backfill_newest: Backfill,
) -> None:
    pytest.importorskip("bfcl_eval", reason="`make setup` installs the data of the replay")
    from examples.replay import conversations, playing, slips, tools

    talks: Any = list(slips.careless(conversations.load_conversations(), seed=1))
    catalog = tools.make_catalog(talks)
    tel = Tooltel(catalog, registry=CollectorRegistry())
    history = History(TARGET)
    start, step = END - 3600.0, 3600.0 / len(talks)
    history.add(tel.view.collect(), start, loaded=start)
    for place, _ in enumerate(playing.play(tel, talks), 1):
        history.add(tel.view.collect(), start + place * step, loaded=start)
    boards = rendered(catalog, PLAIN)
    empty = silent(boards, backfill_newest(history.text()))
    left = {place for place in empty - set(NOT_SCRAPED) if not place.startswith(tuple(QUIET_IN_THE_REPLAY))}
    assert left == set()
