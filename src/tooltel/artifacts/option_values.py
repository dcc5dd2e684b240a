"""Checks of single options: each gives what is wrong with a value, or None."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from tooltel import signals
from tooltel.artifacts.defaults import INFO, PAGE, TICKET
from tooltel.promql import seconds

LABEL: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
LONGEST_INTERVAL: Final = 240  # seconds between evaluations
SEVERITIES: Final = (PAGE, TICKET, INFO)

# Labels to which alerts, routes or Prometheus give a meaning: a static one would override the series'. The first
# two are a variable and a column of the dashboards, and a cluster's label is a variable and a column too.
RESERVED: Final = frozenset(
    {
        "datasource",
        "alert",
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


def _text(value: object) -> str | None:
    if not isinstance(value, str) or not value or not value.isprintable():
        return "must be one line of text"
    return "must not contain {{: rule files are templates" if "{{" in value else None


def _url(value: object) -> str | None:
    if not isinstance(value, str) or not re.fullmatch(r"https?://[^\s{}\"\\?#]+[^\s{}\"\\/?#]", value):
        return "must be a URL such as https://grafana.example.com, without query and trailing slash"
    return None


def is_no_duration(value: object) -> str | None:
    """What is wrong with *value* as a duration."""
    try:
        length = seconds(value) if isinstance(value, str) else 0
    except ValueError:
        length = 0
    return None if length > 0 else "must be a duration such as 15m or 1d12h"


def _interval(value: object) -> str | None:
    # Recorded series are looked up five minutes back, which a later Prometheus reads as less than five.
    return is_no_duration(value) or (None if seconds(str(value)) <= LONGEST_INTERVAL else "must be at most 4m")


def _window(value: object) -> str | None:
    if said := is_no_duration(value):
        return said
    return None if seconds("5m") <= seconds(str(value)) <= seconds("30d") else "must be between 5m and 30d"


def _waiting(value: object) -> str | None:
    return None if value in {"0", "0s"} else is_no_duration(value)


def _label(value: object) -> str | None:
    if not isinstance(value, str) or not LABEL.fullmatch(value) or value.startswith("__"):
        return "must be a label name: letters, digits and underscores"
    return f"must not be {value}, which the rules give a meaning of their own" if value in RESERVED else None


def _labels(value: object) -> str | None:
    if not isinstance(value, Mapping):
        return "must be a table of label names and texts"
    return next((f"{key}: {said}" for key, text in value.items() if (said := _label(key) or _text(text))), None)


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


def _count(value: object) -> str | None:
    return _amount(value) or (None if float(str(value)) >= 1 else "must be at least 1")


def _ratio(value: object) -> str | None:
    return None if not _amount(value) and 0 < float(str(value)) < 1 else "must be between 0 and 1"


def burn_problem(path: str, key: str, value: object) -> str | None:
    """What is wrong with a burn rate: it is a threshold, of the alerts about error budgets only."""
    slow = key == "threshold" and "Burn" in path.rpartition(".")[2] and float(str(value)) < 1
    return "must be at least 1: below, no budget is burnt" if slow else None


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


OPTIONS: Final[Mapping[str, Callable[[object], str | None]]] = MappingProxyType({
    "labels": _labels, "selector": _labels, "cluster_label": _label, "job": _text, "dashboards_url": _url,
    "runbooks_url": _url, "group_interval": _interval, "alert_prefix": _prefix,
    "prometheus_version": _version((2, 42)), "alertmanager_version": _version((0, 25)),
    "retention": is_no_duration, "deadman": _receiver, "alertmanager": _alertmanager,
})  # fmt: skip
ALERT_OPTIONS: Final[Mapping[str, Callable[[object], str | None]]] = MappingProxyType({
    "threshold": _amount, "ratio": _ratio, "minimum": _count, "window": _window, "for": _waiting,
    "keep_firing_for": _waiting, "severity": _severity, "enabled": _switch,
})  # fmt: skip
