"""Reads PromQL, and says which names in it nothing emits, and where a fleet's own labels are missing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import promql_parser as promql

from tooltel import signals

SET_LEFT: Final = {"and", "unless"}
ASKED: Final = re.compile(r'printf ("(?:[^"\\]|\\.)*")((?: \$labels\.\w+)*) \| query')
SHOWN: Final = re.compile(r"\$labels\.(\w+)")


def known_series(*, waiting: bool = False) -> dict[str, frozenset[str]]:
    """Every series that a rule may read, with its labels."""
    rows = (*(signals.METRICS if waiting else signals.EMITTED), *signals.EXTERNAL)
    series = {}
    for row in rows:
        for name in row.series:
            extra = {"le"} if name.endswith("_bucket") else set()
            series[name] = frozenset({*row.labels, *signals.TARGET_LABELS, *extra})
    return series


@dataclass
class Reader:
    """
    Walks expressions and gathers what is wrong with their names in `faults`.

    `series` are the known ones with their labels; `extra` are labels that are on every series. `matchers` must
    be in every selector, and `kept` in every `by` and `on`.
    """

    series: dict[str, frozenset[str]]
    extra: frozenset[str] = frozenset()
    matchers: Mapping[str, str] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()
    faults: list[str] = field(default_factory=list)
    windows: list[tuple[str, float]] = field(default_factory=list)  # series and seconds of every raw range

    def read(self, expr: str) -> frozenset[str]:
        """The labels that the result of *expr* may carry."""
        try:
            return self._labels(promql.parse(expr))
        except ValueError as error:
            self.faults.append(f"cannot be parsed: {error}: {expr}")
            return frozenset()

    def _labels(self, node: Any) -> frozenset[str]:
        match node:
            case promql.VectorSelector():
                return self._selected(node)
            case promql.MatrixSelector():
                self.windows.append((str(node.vector_selector.name), node.range.total_seconds()))
                return self._selected(node.vector_selector)
            case promql.ParenExpr() | promql.UnaryExpr() | promql.SubqueryExpr():
                return self._labels(node.expr)
            case promql.AggregateExpr():
                return self._aggregated(node)
            case promql.BinaryExpr():
                return self._combined(node)
            case promql.Call():
                return self._called(node)
        return frozenset()

    def _selected(self, node: Any) -> frozenset[str]:
        if node.name not in self.series:
            self.faults.append(f"no metric {node.name!r}")
        labels = self.series.get(node.name, frozenset()) | self.extra
        given = {matcher.name: matcher.value for matcher in node.matchers.matchers}
        self._demand(given, labels, f"{node.name} matches")
        foreign = node.name == signals.RULE_FAILURES.name  # Prometheus' own: the fleet's matchers do not hold
        if not foreign and (lost := {key for key, value in self.matchers.items() if given.get(key) != value}):
            self.faults.append(f"{node.name} lacks the static matchers {sorted(lost)}")
        return labels

    def _aggregated(self, node: Any) -> frozenset[str]:
        inner = self._labels(node.expr)
        if str(node.op) == "topk":
            return inner
        named = frozenset(node.modifier.labels) if node.modifier else frozenset()
        self._demand(named, inner, "by")
        self._keep(named, f"{node.op} by")
        return named

    def _combined(self, node: Any) -> frozenset[str]:
        left, right = self._labels(node.lhs), self._labels(node.rhs)
        on = node.modifier.matching if node.modifier else None
        if on is None:
            return left | right
        named = frozenset(on.labels)
        self._demand(named, left, f"{node.op} on, left side,")
        self._demand(named, right, f"{node.op} on, right side,")
        self._keep(named, f"{node.op} on")
        return left if str(node.op) in SET_LEFT else named

    def _called(self, node: Any) -> frozenset[str]:
        inner = frozenset[str]().union(*(self._labels(argument) for argument in node.args))
        if node.func.name == "absent":  # gives the labels of its equality matchers
            return frozenset(each.name for each in node.args[0].matchers.matchers)
        if node.func.name == "label_replace":
            self._demand({node.args[3].val}, inner, "label_replace reads")
            return inner | {node.args[1].val}
        return inner

    def _demand(self, labels: Iterable[str], known: frozenset[str], place: str) -> None:
        self.faults += [f"{place} {label!r}, which is no label there" for label in sorted(set(labels) - known)]

    def _keep(self, named: frozenset[str], place: str) -> None:
        if lost := self.kept - named:
            self.faults.append(f"{place} ({', '.join(sorted(named))}) drops {sorted(lost)}")


def queries_of(template: str) -> Iterator[tuple[str, list[str]]]:
    """Every query in a text template, its holes filled with a word, and the labels that fill them."""
    for asked in ASKED.finditer(template):
        text, labels = json.loads(asked[1]), SHOWN.findall(asked[2])
        assert text.replace("%%", "").count("%q") == len(labels), template
        yield text.replace("%q", '"x"').replace("%%", "%"), labels
