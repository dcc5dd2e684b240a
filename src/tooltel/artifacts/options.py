"""
Options of the rendered artifacts: what a fleet sets in the `[render]` table of its catalog.

Every key is known here with its type, default and check; what is unknown or unreadable becomes a Problem.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from tooltel import signals
from tooltel.artifacts.defaults import ALERTS, INFO, PAGE, TICKET, AlertOptions
from tooltel.errors import CatalogError, Problem
from tooltel.promql import Scope, seconds

if TYPE_CHECKING:
    from tooltel.catalog import Catalog

LABEL: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
SEVERITIES: Final = (PAGE, TICKET, INFO)

# Labels to which alerts, routes or Prometheus give a meaning: a static one would override the series'.
RESERVED: Final = frozenset(
    {
        "alertname",
        "alertstate",
        "severity",
        "settings",
        "tool_owner",
        "le",
        "quantile",
        "pid",
        *signals.TARGET_LABELS,
    }
    | {label for metric in signals.METRICS for label in metric.labels}
)


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """
    What a fleet needs of its dashboards, rules and routes.

    `labels` are put on every rule; `selector` into every query; `cluster_label` names a label that every
    aggregation keeps. `alerts` holds overrides by alert name without prefix: ask `alert()` for merged values.
    `deadman` is the receiver of the dead-man's switch, `alertmanager` what is passed on at the top of
    Alertmanager's configuration (`global`, `templates`). URLs have no trailing slash; durations are Prometheus' own.
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
    retention: str = "45d"
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
    return list(_render_problems(table))


def find_override_problems(catalog: Catalog) -> list[Problem]:
    """Find everything wrong with the alert options that single tools override."""
    return [
        problem
        for tool in catalog.tools.values()
        for problem in _alerts_problems(tool.alerts, f"tools.{tool.name}.alerts", per_tool=True)
    ]


# --- checks: each gives what is wrong, or None ---------------------------------------------------------


def _text(value: object) -> str | None:
    if not isinstance(value, str) or not value or not value.isprintable():
        return "must be one line of text"
    return "must not contain {{: rule files are templates" if "{{" in value else None


def _url(value: object) -> str | None:
    if not isinstance(value, str) or not re.fullmatch(r"https?://[^\s{}\"\\]+[^\s{}\"\\/]", value):
        return "must be a URL such as https://grafana.example.com, without a trailing slash"
    return None


def _duration(value: object) -> str | None:
    try:
        length = seconds(value) if isinstance(value, str) else 0
    except ValueError:
        length = 0
    return None if length > 0 else "must be a duration such as 15m or 1d12h"


def _waiting(value: object) -> str | None:
    return None if value in {"0", "0s"} else _duration(value)


def _label(value: object) -> str | None:
    if not isinstance(value, str) or not LABEL.fullmatch(value) or value.startswith("__"):
        return "must be a label name: letters, digits and underscores"
    return f"must not be {value}, which the rules give a meaning of their own" if value in RESERVED else None


def _labels(value: object) -> str | None:
    if not isinstance(value, Mapping):
        return "must be a table of label names and texts"
    return next(
        (f"{key}: {said}" for key, text in value.items() if (said := _label(key) or _text(text))), None
    )


def _prefix(value: object) -> str | None:
    return (
        None
        if isinstance(value, str) and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,31}", value)
        else ("must be a word of at most 32 letters, digits and underscores")
    )


def _version(least: tuple[int, int]) -> Callable[[object], str | None]:
    def check(value: object) -> str | None:
        found = re.fullmatch(r"(\d+)\.(\d+)(\.\d+)?", value) if isinstance(value, str) else None
        if found and (int(found[1]), int(found[2])) >= least:
            return None
        return f"must be a version in quotes, {least[0]}.{least[1]} or later"

    return check


def _amount(value: object) -> str | None:
    usable = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e15
    return None if usable else "must be a number, not below 0"


def _ratio(value: object) -> str | None:
    return None if not _amount(value) and 0 < float(str(value)) < 1 else "must be between 0 and 1"


def _severity(value: object) -> str | None:
    return None if value in SEVERITIES else f"must be one of {', '.join(SEVERITIES)}"


def _switch(value: object) -> str | None:
    return None if isinstance(value, bool) else "must be true or false"


def _receiver(value: object) -> str | None:
    return None if isinstance(value, Mapping) else "must be a receiver of Alertmanager's without a name"


def _alertmanager(value: object) -> str | None:
    if not isinstance(value, Mapping) or set(value) - {"global", "templates"}:
        return "must be a table with global, templates or both, as Alertmanager's configuration has them"
    if not isinstance(value.get("global", {}), Mapping):
        return "global must be a table"
    templates = value.get("templates", [])
    listed = isinstance(templates, list) and all(isinstance(path, str) for path in templates)
    return None if listed else "templates must be a list of paths"


_OPTIONS: Final[Mapping[str, Callable[[object], str | None]]] = MappingProxyType({
    "labels": _labels, "selector": _labels, "cluster_label": _label, "job": _text, "dashboards_url": _url,
    "runbooks_url": _url, "group_interval": _duration, "alert_prefix": _prefix,
    "prometheus_version": _version((2, 42)), "alertmanager_version": _version((0, 25)),
    "retention": _duration, "deadman": _receiver, "alertmanager": _alertmanager,
})  # fmt: skip
_ALERT_OPTIONS: Final[Mapping[str, Callable[[object], str | None]]] = MappingProxyType({
    "threshold": _amount, "ratio": _ratio, "minimum": _amount, "window": _duration, "for": _waiting,
    "keep_firing_for": _waiting, "severity": _severity, "enabled": _switch,
})  # fmt: skip


def _render_problems(table: Mapping[str, Any]) -> Iterator[Problem]:
    for key, value in table.items():
        path = f"render.{key}"
        if key == "alerts":
            yield from _alerts_problems(value, path, per_tool=False)
        elif check := _OPTIONS.get(key):
            if said := check(value):
                yield Problem("bad_option", path, said, f"correct it or leave it out, now {value!r}")
        else:
            yield Problem(
                "unknown_key", path, "no such option", f"use one of {', '.join((*_OPTIONS, 'alerts'))}"
            )


def _alerts_problems(alerts: object, path: str, *, per_tool: bool) -> Iterator[Problem]:
    if not isinstance(alerts, Mapping):
        yield Problem(
            "bad_option", path, "must be a table by alert name", "write ToolSilent = { window = '12h' }"
        )
        return
    known = [name for name, options in ALERTS.items() if options.per_tool or not per_tool]
    for name, table in alerts.items():
        if name not in known:
            scope = "alert that one tool may override" if per_tool else "alert"
            yield Problem(
                "unknown_alert", f"{path}.{name}", f"no such {scope}", f"use one of {', '.join(known)}"
            )
        elif not isinstance(table, Mapping):
            yield Problem("bad_option", f"{path}.{name}", "must be a table", "write { threshold = 20 }")
        else:
            yield from _alert_problems(table, f"{path}.{name}", ALERTS[name])


def _alert_problems(table: Mapping[str, Any], path: str, defaults: AlertOptions) -> Iterator[Problem]:
    known = defaults.adjustable()
    for key, value in table.items():
        if key not in known:
            yield Problem(
                "unknown_key", f"{path}.{key}", "this alert has no such option", f"use {', '.join(known)}"
            )
        elif said := _ALERT_OPTIONS[key](value):
            yield Problem("bad_option", f"{path}.{key}", said, f"correct it or leave it out, now {value!r}")
