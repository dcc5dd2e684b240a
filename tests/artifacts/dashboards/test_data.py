"""Rung 4: a real Prometheus that holds a fleet's past answers every query and every variable."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.artifacts.dashboards.conftest import rendered
from tests.artifacts.dashboards.fleets import CLUSTERS
from tests.artifacts.dashboards.ladder.asking import answer, silences
from tests.artifacts.dashboards.ladder.reading import queries
from tests.artifacts.dashboards.ladder.synthetic import END, Weather, label_sets, openmetrics
from tooltel import signals
from tooltel.signals import State

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.artifacts.dashboards.ladder.reading import Json
    from tests.backfill import Prometheus
    from tooltel.catalog import Catalog

    Backfill = Callable[[str], Prometheus]

# What is rightly empty on a fleet where nothing goes wrong, and why. Nothing else may be.
QUIET = "a panel of events shows those that happened"
RIGHTLY_EMPTY = {
    "annotation Firing alerts": "no alert fires",
    "Alerts/minutes": "no alert fired",
    "Alerts/now": "no alert fires",
    "Arguments the model gets wrong/times": "fields are born with the first rejection",
    "Equal writes made twice/A": QUIET,
    "Errors by type/A": QUIET,
    "Failures by place/A": QUIET,
    "Failures by place/B": QUIET,
    "Failures by place/C": QUIET,
    "Items of partial results/A": QUIET,
    "No such tool, by reason/A": QUIET,
    "Old and misplaced names still asked for/calls": "nobody asked for one",
    "Old and misplaced names still asked for/last_call": "nobody asked for one",
    "Refused by policy/A": QUIET,
    "Skipped lines by cause/A": QUIET,
    "Targets/B": "no target is down",
    "Worst tools/refused": "policies are born with the first refusal",
    "Wrong arguments, by kind/A": QUIET,
}


def test_every_query_and_variable_of_an_eventful_fleet_has_data(boards: dict[str, Json], backfill: Backfill) -> None:
    prometheus = backfill(openmetrics(Weather()))
    found = [str(each) for board in boards.values() for each in silences(board, prometheus, end=END)]
    assert found == []


def test_on_a_healthy_fleet_only_what_is_rightly_empty_is_empty(boards: dict[str, Json], backfill: Backfill) -> None:
    prometheus = backfill(openmetrics(Weather(eventful=False)))
    found = [each for board in boards.values() for each in silences(board, prometheus, end=END)]
    assert {each.fault for each in found} == {"no data"}
    assert {each.place.split("/", 1)[1] for each in found} == set(RIGHTLY_EMPTY)


def test_clusters_and_static_matchers_find_their_data(catalog: Catalog, backfill_newest: Backfill) -> None:
    """Also the alerts, which carry the static matchers of their rules."""
    fleet = Weather(extra={"cluster": "eu", "namespace": "agents"})
    prometheus = backfill_newest(openmetrics(fleet))
    for board in rendered(catalog, CLUSTERS).values():
        assert silences(board, prometheus, end=END) == []
        # Another cluster has none of it; Prometheus' own series know no cluster.
        elsewhere = silences(board, prometheus, end=END, values={"cluster": "us"})
        missing = {each.place for each in elsewhere if each.fault == "no data"}
        own = {
            asked.place
            for asked in queries(board)
            if signals.RULE_FAILURES.name in asked.expr or "TooltelWatchdog" in asked.expr
        }
        assert missing == {asked.place for asked in queries(board)} - own


def test_a_chosen_owner_narrows_every_answer(boards: dict[str, Json], backfill_newest: Backfill) -> None:
    prometheus = backfill_newest(openmetrics(Weather()))
    seen = set()
    for board in boards.values():
        if "owner" in board["uid"] or "fleet" in board["uid"]:
            for asked in queries(board):
                series = answer(board, asked, prometheus, end=END, values={"owner": "payments"})
                seen |= {each["metric"]["owner"] for each in series if "owner" in each["metric"]}
    assert seen == {"payments"}


def test_synthetic_data_covers_every_row_and_follows_the_table() -> None:
    """A row with a label that the synthetic fleet does not know stops the tests; none is left out in silence."""
    text = openmetrics(Weather())
    for row in (*signals.EMITTED, *signals.EXTERNAL):
        assert all(f"\n{name}{{" in text for name in row.series), row.name
    waiting = [row for row in signals.METRICS if row.state is State.WAITING]
    assert not any(f"\n{name}{{" in text for row in waiting for name in row.series)
    strange = signals.Metric("tooltel_strange_total", signals.Kind.COUNTER, ("unheard",), "")
    with pytest.raises(KeyError, match="unheard"):
        label_sets(strange)
