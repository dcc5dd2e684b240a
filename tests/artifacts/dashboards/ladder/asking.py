"""Rung 4: every query and variable of a dashboard is asked of a real Prometheus, and must have an answer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.artifacts.dashboards.ladder.reading import (
    LEGEND_LABEL,
    Asked,
    Json,
    builtin,
    chosen,
    put_in,
    queries,
    time_range,
    variable_query,
    variables,
)
from tests.backfill import QueryError

if TYPE_CHECKING:
    from tests.backfill import Prometheus

STEP = 60
POINTS = 30  # of a graph: enough to see data, and quick


@dataclass(frozen=True)
class Silence:
    """Something that gave no data, or not the data that it shows."""

    place: str
    fault: str

    def __str__(self) -> str:
        return f"{self.place}: {self.fault}"


def silences(
    board: Json, prometheus: Prometheus, *, end: float, values: Mapping[str, str] | None = None
) -> list[Silence]:
    """Everything in *board* that has no data at *end*; *values* are chosen values of variables."""
    known = {**builtin(board), **chosen(board), **(values or {})}
    return [
        *_variable_silences(board, prometheus, known, end),
        *_query_silences(board, prometheus, values or {}, end),
    ]


def answer(
    board: Json, asked: Asked, prometheus: Prometheus, *, end: float, values: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    """What Prometheus answers to one query of *board*."""
    step = max(STEP, time_range(board) // POINTS)  # the whole range, as a graph asks for it
    expr = put_in(asked.expr, {**builtin(board, step=step), **chosen(board), **(values or {})})
    if asked.instant:
        return prometheus.query(expr, at=end)
    return prometheus.query_range(expr, start=end - step * POINTS, end=end, step=step)


def _variable_silences(board: Json, prometheus: Prometheus, values: Mapping[str, str], end: float) -> Iterator[Silence]:
    for name, variable in variables(board).items():
        if variable["type"] != "query":
            continue
        series, label = variable_query(variable)
        start = end - time_range(board)
        if not prometheus.label_values(label, put_in(series, values), start=start, end=end):
            yield Silence(f"{board['uid']}/variable {name}", "no values")


def _query_silences(board: Json, prometheus: Prometheus, values: Mapping[str, str], end: float) -> Iterator[Silence]:
    for asked in queries(board):
        try:
            series = answer(board, asked, prometheus, end=end, values=values)
        except QueryError as error:
            yield Silence(asked.place, str(error))
            continue
        numbers = [float(value) for each in series for _, value in each.get("values", [each.get("value")])]
        if all(math.isnan(number) for number in numbers):
            yield Silence(asked.place, "no data")
        if asked.target is None:
            continue
        for label in LEGEND_LABEL.findall(asked.target.get("legendFormat", "")):
            if any(label not in each["metric"] for each in series):
                yield Silence(asked.place, f"a series without the label {label!r} that its legend shows")
