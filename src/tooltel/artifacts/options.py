"""
Options of the rendered artifacts: what a fleet sets in the `[render]` table of its catalog.

Every key is known here with its type, default and check; what is unknown or unreadable becomes a Problem.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from tooltel.artifacts.defaults import ALERTS, AlertOptions
from tooltel.artifacts.option_values import ALERT_OPTIONS, OPTIONS, burn_problem, is_no_duration
from tooltel.errors import CatalogError, Problem
from tooltel.promql import Scope, duration, seconds

if TYPE_CHECKING:
    from tooltel.catalog import Catalog

RETENTION: Final = "45d"


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """
    What a fleet needs of its dashboards, rules and routes.

    `labels` are put on every rule; `selector` into every query; `cluster_label` names a label that every
    aggregation keeps. `alerts` holds overrides by alert name without prefix: ask `alert()` for merged values.
    `deadman` is the receiver of the dead-man's switch, `alertmanager` what is passed on at the top of
    Alertmanager's configuration (`global`, `templates`). URLs have no trailing slash; durations are
    Prometheus' own.
    """

    labels: Mapping[str, str] = field(default_factory=dict)
    selector: Mapping[str, str] = field(default_factory=dict)
    cluster_label: str | None = None
    job: str = "tooltel"
    dashboards_url: str = "https://grafana.example.com"
    runbooks_url: str = "https://runbooks.example.com/tooltel"
    group_interval: str = "30s"
    alert_prefix: str = "Tooltel"
    prometheus_version: str = "2.42"
    alertmanager_version: str = "0.25"
    retention: str = RETENTION
    deadman: Mapping[str, Any] = field(default_factory=dict)
    alertmanager: Mapping[str, Any] = field(default_factory=dict)
    alerts: Mapping[str, AlertOptions] = field(default_factory=dict)

    @classmethod
    def from_catalog(cls, catalog: Catalog) -> RenderOptions:
        """Read the options of *catalog*; raises CatalogError with every problem, also in tools' overrides."""
        problems = [*find_option_problems(catalog.render), *find_override_problems(catalog)]
        if problems:
            raise CatalogError(problems, source=catalog.source)
        given = dict(catalog.render)
        alerts = {name: AlertOptions.read(table) for name, table in given.pop("alerts", {}).items()}
        return cls(**{**given, "alerts": MappingProxyType(alerts)})

    @property
    def scope(self) -> Scope:
        """What these options add to every query."""
        return Scope(selector=self.selector, keep=(self.cluster_label,) if self.cluster_label else ())

    def alert(self, name: str, override: Mapping[str, Any] | None = None) -> AlertOptions:
        """The settings of alert *name*: defaults, then the fleet's, then those of one tool's *override*."""
        fleet = ALERTS[name].over(self.alerts.get(name, AlertOptions()))
        return fleet.over(AlertOptions.read(override)) if override else fleet

    def alert_name(self, name: str) -> str:
        """The name under which alert *name* is known outside; two alerts of different speed may share one."""
        return f"{self.alert_prefix}{name.removesuffix('Slow')}"


def find_option_problems(table: Mapping[str, Any]) -> list[Problem]:
    """Find everything wrong with the `[render]` *table*: unknown keys, and values that cannot be used."""
    return [*_render_problems(table), *_conflicts(table)]


def find_override_problems(catalog: Catalog) -> list[Problem]:
    """Find what the rest of the catalog gets wrong: options that single tools override, and the retention."""
    overrides = (
        problem
        for tool in catalog.tools.values()
        for problem in _alerts_problems(tool.alerts, f"tools.{tool.name}.alerts", per_tool=True)
    )
    return [*overrides, *_retention_problems(catalog)]


# --- problems -------------------------------------------------------------------------------------------


def _render_problems(table: Mapping[str, Any]) -> Iterator[Problem]:
    for key, value in table.items():
        path = f"render.{key}"
        if key == "alerts":
            yield from _alerts_problems(value, path, per_tool=False)
        elif check := OPTIONS.get(key):
            if said := check(value):
                yield Problem("bad_option", path, said, f"correct it or leave it out, now {value!r}")
        else:
            yield Problem("unknown_key", path, "no such option", f"use one of {', '.join((*OPTIONS, 'alerts'))}")


def _conflicts(table: Mapping[str, Any]) -> Iterator[Problem]:
    """Labels that would say two things: a static label takes the place of the series' own."""
    labels, selector = (value if isinstance(value := table.get(key), Mapping) else {} for key in ("labels", "selector"))
    for label in labels:
        if label == table.get("cluster_label"):
            yield Problem(
                "label_conflict", f"render.labels.{label}", "would hide the cluster that the series come from",
                "leave it out: cluster_label keeps that label on every alert",
            )  # fmt: skip
        elif selector.get(label, labels[label]) != labels[label]:
            yield Problem(
                "label_conflict", f"render.labels.{label}", "contradicts the static matcher of that label",
                "leave it out: static matchers become labels by themselves",
            )  # fmt: skip


def _retention_problems(catalog: Catalog) -> Iterator[Problem]:
    kept = catalog.render.get("retention", RETENTION)
    if catalog.aliases and not is_no_duration(kept) and seconds(kept) < catalog.session_retention + 2 * 3600:
        yield Problem(
            "short_retention", "render.retention",
            f"Prometheus keeps {kept}, and old names may go after {duration(catalog.session_retention)} unused",
            "keep data for longer than sessions, or nobody will ever be told",
        )  # fmt: skip


def _alerts_problems(alerts: object, path: str, *, per_tool: bool) -> Iterator[Problem]:
    if not isinstance(alerts, Mapping):
        yield Problem("bad_option", path, "must be a table by alert name", "write ToolSilent = { window = '12h' }")
        return
    known = [name for name, options in ALERTS.items() if options.per_tool or not per_tool]
    for name, table in alerts.items():
        if name not in known:
            scope = "alert that one tool may override" if per_tool else "alert"
            yield Problem("unknown_alert", f"{path}.{name}", f"no such {scope}", f"use one of {', '.join(known)}")
        elif not isinstance(table, Mapping):
            yield Problem("bad_option", f"{path}.{name}", "must be a table", "write { threshold = 20 }")
        else:
            yield from _alert_problems(table, f"{path}.{name}", ALERTS[name])


def _alert_problems(table: Mapping[str, Any], path: str, defaults: AlertOptions) -> Iterator[Problem]:
    known = defaults.adjustable()
    for key, value in table.items():
        if key not in known:
            yield Problem("unknown_key", f"{path}.{key}", "this alert has no such option", f"use {', '.join(known)}")
        elif said := ALERT_OPTIONS[key](value) or burn_problem(path, key, value):
            yield Problem("bad_option", f"{path}.{key}", said, f"correct it or leave it out, now {value!r}")
