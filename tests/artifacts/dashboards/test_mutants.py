"""The ladder is no decoration: a dashboard with one thing wrong is caught, by the rung that is there for it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.artifacts.dashboards.ladder.asking import silences
from tests.artifacts.dashboards.ladder.lint import lint_faults
from tests.artifacts.dashboards.ladder.names import name_faults
from tests.artifacts.dashboards.ladder.reading import Json, panels, variables
from tests.artifacts.dashboards.ladder.schema import schema_faults
from tests.artifacts.dashboards.ladder.synthetic import END, Weather, openmetrics
from tooltel.artifacts.dashboards import links

if TYPE_CHECKING:
    from tests.backfill import Prometheus

Mutation = Callable[[Json], None]
STATIC = {"schema": schema_faults, "lint": lint_faults, "names": name_faults}


def panel(board: Json, title: str) -> Json:
    return next(each for each in panels(board) if each["title"] == title)


def query(board: Json, title: str, before: str, after: str) -> None:
    """Change the text of the queries of one panel, which must hold what is replaced."""
    targets = panel(board, title)["targets"]
    assert any(before in target["expr"] for target in targets), f"{title}: no {before}"
    for target in targets:
        target["expr"] = target["expr"].replace(before, after)


def in_query(title: str, before: str, after: str) -> Mutation:
    return lambda board: query(board, title, before, after)


def in_variable(name: str, before: str, after: str) -> Mutation:
    def change(board: Json) -> None:
        variable = variables(board)[name]
        assert before in variable["query"]
        variable["query"] = variable["definition"] = variable["query"].replace(before, after)

    return change


def at(*path: str | int, value: object) -> Mutation:
    """Set, or with `value=...` remove, what stands at *path*; the first part is the title of a panel."""

    def change(board: Json) -> None:
        place: Any = panel(board, str(path[0]))
        for part in path[1:-1]:
            place = place[part]
        if value is ...:
            del place[path[-1]]
        else:
            place[path[-1]] = value

    return change


def of_variable(name: str, key: str, value: object) -> Mutation:
    return lambda board: variables(board)[name].update({key: value})


def same_number(board: Json) -> None:
    first, second, *_ = panels(board)
    second["id"] = first["id"]


def overlap(board: Json) -> None:
    panel(board, "No such tool, by reason")["gridPos"]["x"] -= 1


def legend(title: str, text: str) -> Mutation:
    return lambda board: panel(board, title)["targets"][0].update({"legendFormat": text})


def link_url(before: str, after: str) -> Mutation:
    def change(board: Json) -> None:
        text = json.dumps(board)
        assert before in text
        board.update(json.loads(text.replace(before, after)))

    return change


def override_unit(board: Json) -> None:
    override = panel(board, "Worst tools")["fieldConfig"]["overrides"][3]
    override["properties"] = [one for one in override["properties"] if one["id"] != "unit"]


FIELDS = ("fieldConfig", "defaults")
# Each is one slip that a person or a changed SDK could make; the value is the rung that must see it.
STATIC_MUTANTS: dict[str, tuple[str, Mutation]] = {
    "a metric renamed in one query": ("names", in_query("Calls", "tool_calls_total", "tool_call_total")),
    "a metric that waits": ("names", in_query("Calls", "tooltel_tool_calls_total", "tooltel_corrections_total")),
    "a label that the metric lacks, in a matcher": (
        "names", in_query("No such tool, by reason", "owner=~", "team=~"),
    ),
    "a label dropped from by": ("names", in_query("Calls by outcome", "by (outcome)", "by (risk)")),
    "a label in by that nothing has": ("names", in_query("Calls by outcome", "by (outcome)", "by (result)")),
    "a label in on that one side lacks": (
        "names", in_query("Declarations against budget", "on (profile, owner)", "on (profile, tool)"),
    ),
    "a legend of another label": ("names", legend("Calls by outcome", "{{status}}")),
    "a query that is no PromQL": ("names", in_query("Calls", "sum(", "sum((")),
    "a link that takes what no row has": ("names", link_url("__data.fields.tool:", "__data.fields.name:")),
    "a link that takes what the table hides": (
        "names", at("Worst tools", "transformations", 1, "options", "excludeByName", "owner", value=True),
    ),
    "a column of a label that no query gives": (
        "names", at("Worst tools", "transformations", 1, "options", "indexByName", "team", value=1),
    ),
    "a variable of an unknown metric": ("names", in_variable("tool", "tool_info", "tools_info")),
    "a variable of a label that its series lack": (
        "names", of_variable("owner", "query", "label_values(tooltel_build_info, owner)"),
    ),
    "an annotation of another label": (
        "names", lambda board: board["annotations"]["list"][0].update({"expr": 'ALERTS{team=~"$owner"}'}),
    ),
    "= for a variable of many values": ("lint", in_query("Calls", 'owner=~"$owner"', 'owner="$owner"')),
    "a variable that is not there": ("lint", in_query("Calls", "$owner", "$team")),
    "no unit": ("lint", at("Calls", *FIELDS, "unit", value=...)),
    "a unit that Grafana does not know": ("lint", at("Calls", *FIELDS, "unit", value="percents")),
    "a column without a unit": ("lint", override_unit),
    "two panels of one id": ("lint", same_number),
    "an id that is missing": ("schema", at("Calls", "id", value=...)),
    "panels that overlap": ("lint", overlap),
    "a panel beyond the grid": ("lint", at("Firing alerts", "gridPos", "w", value=5)),
    "a number's color where there is none": ("lint", at("Failed calls", *FIELDS, "mappings", value=[])),
    "a graph through a number": ("lint", at("Calls", "options", "graphMode", value="area")),
    "a pattern without slashes": (
        "lint", at("Failed calls by owner", "fieldConfig", "overrides", 0, "matcher", "options", value=", write$"),
    ),
    "no calculation": ("lint", at("Calls", "options", "reduceOptions", "calcs", value=[])),
    "decimals of an increase": ("lint", at("No such tool", *FIELDS, "decimals", value=...)),
    "no description": ("schema", at("Calls", "description", value=...)),
    "a description that says nothing": ("lint", at("Calls", "description", value="Calls.")),
    "two panels of one title": ("lint", at("Calls", "title", value="Failed calls")),
    "a fixed window in a graph": ("lint", in_query("Calls by outcome", "$__rate_interval", "5m")),
    "the window of a point in one number": ("lint", in_query("Failed calls", "$__range", "$__rate_interval")),
    "All expands to a list": ("lint", of_variable("owner", "allValue", None)),
    "a variable of one value": ("lint", of_variable("tool", "multi", False)),
    "a variable that is never asked again": ("lint", of_variable("owner", "refresh", 1)),
    "a data source by name": ("lint", at("Calls", "datasource", "uid", value="prometheus-1")),
    "inputs that provisioning cannot fill": ("lint", lambda board: board.update({"__inputs": []})),
    "an editable dashboard": ("lint", lambda board: board.update({"editable": True})),
    "an old schema": ("lint", lambda board: board.update({"schemaVersion": 37})),
    "a link to no dashboard": ("lint", link_url("/d/tooltel-owner", "/d/tooltel-team")),
    "a link that loses the variables": ("lint", lambda board: board["links"][0].update({"includeVars": False})),
    "a link that is not encoded": ("lint", link_url(":percentencode}", "}")),
    "nothing said where there is no data": ("lint", at("Calls", *FIELDS, "noValue", value=...)),
    "a key that the format does not know": ("schema", at("Calls", "grid", value={})),
    "a key of another panel's options": ("schema", at("Calls", "options", "legend", value={})),
    "a color mode that does not exist": ("schema", at("Calls", *FIELDS, "color", "mode", value="traffic")),
    "a panel type that does not exist": ("schema", at("Calls", "type", value="singlestat")),
    "an override that does nothing": (
        "schema", at("Worst tools", "fieldConfig", "overrides", 0, "properties", 0, "id", value="widht"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("slip", STATIC_MUTANTS)
def test_a_slip_is_caught_without_a_server(boards: dict[str, Json], slip: str) -> None:
    rung, mutate = STATIC_MUTANTS[slip]
    board = boards[links.FLEET]
    mutant = copy.deepcopy(board)
    mutate(mutant)
    assert mutant != board
    assert STATIC[rung](board) == []
    assert STATIC[rung](mutant) != [], f"rung {rung} does not see {slip}"


# What names and format cannot tell: the query is right, and finds nothing.
DATA_MUTANTS: dict[str, tuple[str, Mutation]] = {
    "a value that no series has": ("Failed calls/A", in_query("Failed calls", "error|timeout", "failure")),
    "a wrong case": (
        "Wrong arguments/A", in_query("Wrong arguments", 'kind="structural"', 'kind="Structural"'),
    ),
    "a join of many with many": (
        "Declarations against budget/A", in_query("Declarations against budget", "on (profile, owner)", "on ()"),
    ),
    "a quantile without its buckets": (
        "Slowest 5 % take over/A", in_query("Slowest 5 % take over", "sum by (le)", "sum"),
    ),
    "an operator the wrong way round": ("Calls/A", in_query("Calls", "sum(", "-1 > sum(")),
    "a label that is never set": (
        "Worst tools/repeated",
        in_query("Worst tools", "repeated_calls_total{", 'repeated_calls_total{job="x", '),
    ),
    "a variable that finds nothing": ("variable tool", in_variable("tool", "{", '{job="x", ')),
}  # fmt: skip


def test_a_slip_that_only_data_can_tell_is_caught(
    boards: dict[str, Json], backfill_newest: Callable[[str], Prometheus]
) -> None:
    prometheus = backfill_newest(openmetrics(Weather()))
    board = boards[links.FLEET]
    assert silences(board, prometheus, end=END) == []
    for slip, (place, mutate) in DATA_MUTANTS.items():
        mutant = copy.deepcopy(board)
        mutate(mutant)
        found = [each.place.split("/", 1)[1] for each in silences(mutant, prometheus, end=END)]
        assert found == [place], slip
