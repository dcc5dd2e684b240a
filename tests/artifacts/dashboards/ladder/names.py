"""Rung 3: every query is parsed, and every metric and label in it is held against the table of signals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import promql_parser as promql

from tests.artifacts.dashboards.ladder.reading import (
    FIELD_LABEL,
    LEGEND_LABEL,
    Asked,
    Json,
    builtin,
    chosen,
    panels,
    put_in,
    queries,
    variable_query,
    variables,
)
from tooltel import signals
from tooltel.signals import State

KEEPING: Final = {"topk", "bottomk", "limitk"}  # aggregations whose result is some of what they were given
SET_LEFT: Final = {"and", "unless"}


def known_series() -> dict[str, frozenset[str]]:
    """Every series that is emitted or that somebody else gives us, with its labels."""
    rows = (*signals.EMITTED, *signals.EXTERNAL)
    series = {}
    for row in rows:
        for name in row.series:
            extra = {"le"} if name.endswith("_bucket") else set()
            series[name] = frozenset({*row.labels, *signals.TARGET_LABELS, *extra})
    return series


@dataclass
class Reader:
    """
    Walks one query and gathers what is wrong with its names.

    `extra` are labels that a fleet's own options add to every series.
    """

    extra: frozenset[str] = frozenset()
    faults: list[str] = field(default_factory=list)
    metrics: set[str] = field(default_factory=set)

    def labels(self, node: Any) -> frozenset[str]:
        """Labels that the result of *node* may carry."""
        match node:
            case promql.VectorSelector():
                return self._selected(node)
            case promql.MatrixSelector():
                return self._selected(node.vector_selector)
            case promql.ParenExpr() | promql.UnaryExpr() | promql.SubqueryExpr():
                return self.labels(node.expr)
            case promql.AggregateExpr():
                return self._aggregated(node)
            case promql.BinaryExpr():
                return self._combined(node)
            case promql.Call():
                return self._called(node)
        return frozenset()

    def _selected(self, node: Any) -> frozenset[str]:
        matchers = node.matchers.matchers
        names = [node.name] if node.name else []
        for matcher in matchers:
            if matcher.name == "__name__":
                names += matcher.value.split("|")
        known = known_series()
        self.metrics.update(names)
        self.faults += [f"no metric {name!r}" for name in names if name not in known]
        labels = frozenset().union(self.extra, *(known.get(name, frozenset()) for name in names))
        used = {matcher.name for matcher in matchers} - {"__name__"}
        self._demand(used, labels, f"{'|'.join(names)} matches")
        return labels

    def _aggregated(self, node: Any) -> frozenset[str]:
        inner = self.labels(node.expr)
        if str(node.op) in KEEPING:
            return inner
        if node.modifier is None:
            return frozenset()
        named = frozenset(node.modifier.labels)
        self._demand(named, inner, "by")
        return named if node.modifier.type == promql.AggModifierType.By else inner - named

    def _combined(self, node: Any) -> frozenset[str]:
        left, right = self.labels(node.lhs), self.labels(node.rhs)
        on = node.modifier.matching if node.modifier else None
        if on is None:
            return left or right if str(node.op) != "or" else left | right
        named = frozenset(on.labels)
        self._demand(named, left, "on, left side")
        self._demand(named, right, "on, right side")
        if str(node.op) in SET_LEFT:
            return left
        return left | right if str(node.op) == "or" else named

    def _called(self, node: Any) -> frozenset[str]:
        inner = frozenset().union(*(self.labels(argument) for argument in node.args))
        name = node.func.name
        if name == "label_replace":
            self._demand({node.args[3].val}, inner, "label_replace reads")
            return inner | {node.args[1].val}
        return inner - {"le"} if name == "histogram_quantile" else inner

    def _demand(self, labels: Iterable[str], known: frozenset[str], place: str) -> None:
        self.faults += [f"{place} {label!r}, which is no label there" for label in sorted(set(labels) - known)]


def name_faults(board: Json, *, extra: frozenset[str] = frozenset()) -> list[str]:
    """One sentence for every name in *board* that nothing emits."""
    values = {**builtin(board), **chosen(board)}
    found: list[str] = []
    for asked in queries(board):
        reader, labels = _read(put_in(asked.expr, values), extra)
        found += [f"{asked.place}: {fault}" for fault in (*reader.faults, *_shown_faults(asked, labels))]
    for name, variable in variables(board).items():
        if variable["type"] == "query":
            series, label = variable_query(variable)
            reader, labels = _read(put_in(series, values), extra)
            found += [f"{board['uid']}/variable {name}: {fault}" for fault in reader.faults]
            if label not in labels:
                found.append(f"{board['uid']}/variable {name}: {label!r} is no label of its series")
    found += [fault for panel in panels(board) for fault in _link_faults(board, panel, values, extra)]
    return found


def metrics_of(panel: Json, values: dict[str, str], *, extra: frozenset[str] = frozenset()) -> set[str]:
    """Every series that the queries of *panel* name."""
    return set().union(*(_read(put_in(target["expr"], values), extra)[0].metrics for target in panel["targets"]))


def _read(expr: str, extra: frozenset[str]) -> tuple[Reader, frozenset[str]]:
    reader = Reader(extra)
    try:
        labels = reader.labels(promql.parse(expr))
    except ValueError as error:
        reader.faults.append(f"cannot be parsed: {error}")
        return reader, frozenset()
    return reader, labels


def _shown_faults(asked: Asked, labels: frozenset[str]) -> Iterator[str]:
    """Labels that a legend or a table names and the result does not have."""
    if asked.target is None or asked.panel is None:
        return
    for label in LEGEND_LABEL.findall(asked.target.get("legendFormat", "")):
        if label not in labels:
            yield f"the legend names {label!r}, which the result does not have"


def _link_faults(board: Json, panel: Json, values: dict[str, str], extra: frozenset[str]) -> Iterator[str]:
    """Labels that a link takes from a row or a series which does not have them."""
    labels: set[str] = set()
    for target in panel["targets"]:
        labels |= _read(put_in(target["expr"], values), extra)[1]
    shown = labels
    for step in panel.get("transformations", ()):
        if step["id"] == "organize":
            yield from _column_faults(board, panel, step["options"], labels)
            kept = labels - {name for name, hidden in step["options"]["excludeByName"].items() if hidden}
            shown = {step["options"]["renameByName"].get(label, label) for label in kept}
    for override in panel["fieldConfig"]["overrides"]:
        for one in override["properties"]:
            for link in one["value"] if one["id"] == "links" else ():
                for label in FIELD_LABEL.findall(link["url"]):
                    if label not in shown:
                        yield f"{board['uid']}/{panel['title']}: a link takes {label!r}, which no row has"


def _column_faults(board: Json, panel: Json, organize: Json, labels: set[str]) -> Iterator[str]:
    values = {f"Value #{target['refId']}" for target in panel["targets"]} | {"Value", "Time"}
    place = f"{board['uid']}/{panel['title']}"
    for part in ("excludeByName", "indexByName", "renameByName"):
        for name in organize[part]:
            if name not in labels | values:
                yield f"{place}: a column shows {name!r}, which no query gives"
    shown = {organize["renameByName"].get(name, name) for name in organize["indexByName"]}
    for override in panel["fieldConfig"]["overrides"]:
        if override["matcher"]["id"] == "byName" and override["matcher"]["options"] not in shown:
            yield f"{place}: an override for {override['matcher']['options']!r}, which is no column"


def emitted_names() -> set[str]:
    """Every series of a row that the code emits."""
    return {name for row in signals.METRICS if row.state is State.EMITTED for name in row.series}
