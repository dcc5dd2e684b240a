"""The variables of a dashboard: each narrows the next, and each holds everything until somebody chooses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tooltel import signals
from tooltel.artifacts.dashboards.links import DATASOURCE
from tooltel.artifacts.dashboards.queries import SOURCE
from tooltel.artifacts.dashboards.sdk import dashboard
from tooltel.artifacts.dashboards.view import FILTERS, OWNER, PROFILE, View, spelled, variable
from tooltel.promql import Expr, Match

if TYPE_CHECKING:
    from tooltel.signals import Metric

ALL: Final = "$__all"  # Grafana's value for everything
EVERYTHING: Final = ".*"  # what All stands for in a query; also a series without the label matches it

# Where the values of a variable come from: tools of the catalog, tools that were only ever called (owner
# unowned), and profiles that were asked for what they do not have.
_WHERE: Final = {
    "owner": (signals.TOOL_INFO, signals.TOOL_CALLS, signals.NOT_FOUND, signals.DECLARATION_CHARS),
    "profile": (signals.TOOL_CALLS, signals.NOT_FOUND, signals.DECLARATION_CHARS),
    "tool": (signals.TOOL_INFO, signals.TOOL_CALLS),
    "risk": (signals.TOOL_INFO, signals.TOOL_CALLS),
}
_LABELS: Final = {"owner": "Owner", "profile": "Profile", "tool": "Tool", "risk": "Risk"}
_SAYS: Final = {
    "owner": "The team that answers for a tool, or for a profile.",
    "profile": "The set of tools that one kind of agent may see; none: calls outside any session.",
    "tool": "One tool, or several side by side.",
    "risk": "How much harm a wrong call can do: read, write or irreversible.",
}


def variable_models(view: View) -> list[dashboard.VariableModel]:
    """
    All variables of a dashboard, in the order in which they narrow each other.

    Those that the view does not filter by are there too, but hidden: links carry them to the next dashboard.
    """
    models = [_datasource()]
    chosen: dict[str, str | Match] = {}
    if label := view.cluster:
        models.append(_query(label, label.capitalize(), "The cluster.", _values(view, "owner", label, {})))
        chosen[label] = variable(label)
    for name in FILTERS:
        hidden = name not in view.filters
        query = _values(view, name, name, chosen)
        models.append(_query(name, _LABELS[name], _SAYS[name], query, hidden=hidden))
        if name in (OWNER, PROFILE, "tool"):
            chosen[name] = variable(name)
    return models


def _datasource() -> dashboard.VariableModel:
    return dashboard.VariableModel(
        type_val=dashboard.VariableType.DATASOURCE,
        name=DATASOURCE,
        label="Data source",
        description="The Prometheus that scrapes the agents.",
        query="prometheus",
        current=dashboard.VariableOption(selected=False, text="Prometheus", value="prometheus"),
        hide=dashboard.VariableHide.DONT_HIDE,
        multi=False,
        include_all=False,
    )


def _values(view: View, name: str, label: str, chosen: dict[str, str | Match]) -> str:
    series = _any_of(view, _WHERE[name], chosen)
    return f"label_values({spelled(series)}, {label})"


def _any_of(view: View, metrics: tuple[Metric, ...], chosen: dict[str, str | Match]) -> Expr:
    """Select the series of several rows at once; a chosen label that a row lacks matches there as empty."""
    labels = frozenset().union(*(metric.labels for metric in metrics))
    first = signals.Metric("", signals.Kind.GAUGE, tuple(sorted(labels)), "")
    names = "|".join(metric.name for metric in metrics)
    rest = view.scope.series(first, **chosen).text.strip("{}")
    return Expr(f'{{__name__=~"{names}"{", " if rest else ""}{rest}}}', labels)


def _query(name: str, label: str, says: str, query: str, *, hidden: bool = False) -> dashboard.VariableModel:
    return dashboard.VariableModel(
        type_val=dashboard.VariableType.QUERY,
        name=name,
        label=label,
        description=says,
        datasource=SOURCE,
        query=query,
        definition=query,
        refresh=dashboard.VariableRefresh.ON_TIME_RANGE_CHANGED,
        sort=dashboard.VariableSort.ALPHABETICAL_ASC,
        hide=dashboard.VariableHide.HIDE_VARIABLE if hidden else dashboard.VariableHide.DONT_HIDE,
        multi=True,
        include_all=True,
        all_value=EVERYTHING,
        current=dashboard.VariableOption(selected=True, text="All", value=ALL),
    )
