"""Expressions as one dashboard sees them: variables and the fleet's own matchers are in every selector."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from tooltel import signals
from tooltel.artifacts.defaults import NONE
from tooltel.promql import Expr, Match, Scope, differs, over, regex

if TYPE_CHECKING:
    from tooltel.artifacts.options import RenderOptions
    from tooltel.catalog import Catalog
    from tooltel.signals import Metric

RATE: Final = "$__rate_interval"  # Grafana's window for a point of a graph: never shorter than four scrapes
RANGE: Final = "$__range"  # Grafana's window for one number: the whole chosen time range

OWNER, PROFILE, TOOL, RISK = "owner", "profile", "tool", "risk"
FILTERS: Final = (OWNER, PROFILE, TOOL, RISK)  # variables, in the order in which each narrows the next
TOOL_OF_DURATION: Final = signals.DURATION.labels[0]  # the standard's name for the tool

# Grafana replaces $name and [[name]] anywhere in a query. A static matcher's own $ and [ become PromQL
# escapes in the end; until then private characters stand for them, which quoting leaves alone.
_DOLLAR, _BRACKET = "\ue024", "\ue05b"


@dataclass(frozen=True, slots=True)
class View:
    """
    What the queries of one dashboard have in common.

    `filters` are the variables that the dashboard shows: each one narrows every series that has its label.
    Aggregations add up the chosen clusters; those made through `apart` keep them apart, as tables do.
    """

    catalog: Catalog
    options: RenderOptions
    filters: tuple[str, ...] = FILTERS
    keep: tuple[str, ...] = ()

    @property
    def cluster(self) -> str | None:
        """The label that tells clusters apart, where it is a variable: not where a static matcher pins it."""
        label = self.options.cluster_label
        return None if label in self.options.selector else label

    @property
    def apart(self) -> View:
        """The same view with every aggregation and join by cluster."""
        return replace(self, keep=(self.cluster,) if self.cluster else ())

    @property
    def scope(self) -> Scope:
        """What is added to every selector; a cluster is matched by its variable."""
        known = (self.options.cluster_label,) if self.options.cluster_label else ()
        return Scope(selector=_guarded(self.options.selector), keep=known)

    @property
    def _aggregating(self) -> Scope:
        return Scope(keep=self.keep)

    def series(self, metric: Metric, suffix: str = "", /, **matchers: str | Match) -> Expr:
        """Select the series of *metric* that the variables choose; *matchers* win over variables."""
        return self.scope.series(metric, suffix, **{**self._chosen(metric), **matchers})

    def rate(self, metric: Metric, suffix: str = "", /, *, window: str = RATE, **matchers: str | Match) -> Expr:
        """Increase per second of a counter, by default as a point of a graph."""
        return over("rate", self.series(metric, suffix, **matchers), window)

    def gained(self, metric: Metric, suffix: str = "", /, *, window: str = RANGE, **matchers: str | Match) -> Expr:
        """Increase of a counter that is born at 0, by default over the chosen time range."""
        return over("increase", self.series(metric, suffix, **matchers), window)

    def appeared(self, metric: Metric, /, *, window: str = RANGE, **matchers: str | Match) -> Expr:
        """Increase of a counter whose series may be born with their first event."""
        return self.scope.first_seen_or_increase(metric, window, **{**self._chosen(metric), **matchers})

    def total(self, expr: Expr, /, *by: str, function: str = "sum") -> Expr:
        """Aggregate *expr* by the labels *by*, and by cluster in a view that keeps them apart."""
        return self._aggregating.total(expr, *by, function=function)

    def join(self, left: Expr, operator: str, right: Expr, /, *on: str, bring: Iterable[str] | None = None) -> Expr:
        """Combine two aggregations that agree on the labels *on*."""
        return self._aggregating.join(left, operator, right, *on, bring=bring)

    def alerts(self, **matchers: str | Match) -> Expr:
        """
        Select tooltel's alerts, of the chosen owner and tool unless *matchers* say otherwise.

        Rules carry the static matchers as labels of their own, so these hold for alerts too.
        """
        own: dict[str, str | Match] = {
            "alertname": regex(f"{self.options.alert_prefix}.+"),
            "severity": differs(NONE),  # the dead-man's switch concerns nobody
        }
        chosen = {name: match for name, match in self._chosen(signals.ALERTS).items() if name != PROFILE}
        return self.scope.series(signals.ALERTS, **{**own, **chosen, **matchers})

    def everywhere(self, metric: Metric, /, **matchers: str | Match) -> Expr:
        """Select series of the fleet, whatever the variables say."""
        return self.scope.series(metric, **matchers)

    def foreign(self, metric: Metric, /, **matchers: str | Match) -> Expr:
        """Select series of somebody else's process, which has none of the fleet's labels."""
        return Scope().series(metric, **matchers)

    def _chosen(self, metric: Metric) -> dict[str, str | Match]:
        matchers: dict[str, str | Match] = {self.cluster: variable(self.cluster)} if self.cluster else {}
        for name in self.filters:
            label = TOOL_OF_DURATION if name == TOOL and metric is signals.DURATION else name
            if label in metric.labels:
                matchers[label] = variable(name)
        return matchers


def variable(name: str) -> Match:
    """Match a label by what is chosen for variable *name*: one value, many, or all."""
    return regex(f"${name}")


def spelled(expr: Expr) -> str:
    """The text of *expr* as a dashboard holds it: nothing but variables looks like one."""
    return expr.text.replace(_DOLLAR, r"\x24").replace(_BRACKET, r"\x5b")


def _guarded(selector: Mapping[str, str]) -> dict[str, str]:
    return {label: text.replace("$", _DOLLAR).replace("[", _BRACKET) for label, text in selector.items()}
