"""
A past made from the table of signals: every emitted row, and the foreign ones, for a small fleet.

The series of a row are all combinations of its labels that make sense together; a label that this module does
not know stops the tests, so that a new row cannot go without data. Everything is deterministic.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tooltel import signals
from tooltel.signals import ItemStatus, Kind, Metric, Reason, RejectionKind, RejectionSource, Risk, Status

Labels = dict[str, str]

END: Final = 1_760_000_400  # a full hour, so that hourly looks stand on samples
DENSE: Final = (2 * 3600, 30)  # the last two hours, one sample each half minute
SPARSE: Final = (32 * 86400, 3600)  # the month before, one each hour, for what is looked at over weeks
DAY: Final = 86400


@dataclass(frozen=True)
class Subject:
    """A tool of the synthetic fleet. `old` are its aliases with the days since their last call."""

    owner: str
    risk: Risk
    versions: tuple[str, ...]
    profiles: tuple[str, ...]
    old: Mapping[str, float | None]
    streams: bool = False
    objective: float | None = None


TOOLS: Final[dict[str, Subject]] = {
    "order_lookup": Subject(
        "orders",
        Risk.READ,
        ("3",),
        ("support", "back_office"),
        {"get_order": 3.5, "find_order": None},
        objective=0.99,
    ),
    "article_read": Subject("knowledge", Risk.READ, ("2",), ("support",), {}, streams=True, objective=0.98),
    "payment_refund": Subject("payments", Risk.IRREVERSIBLE, ("5", "6"), ("support",), {}, objective=0.99),
    "order_bulk_tag": Subject("orders", Risk.WRITE, ("1",), ("back_office",), {}),
}
PROFILES: Final = {"support": "platform", "back_office": "orders"}
STRANGER: Final = ("shadow_tool", signals.UNOWNED)  # run by a framework, and not in the catalog
INSTANCES: Final = ("agent-1:9464", "agent-2:9464")
POLICY: Final = "refunds_need_approval"
WATCHDOG: Final = "TooltelWatchdog"  # the dead-man's switch, which always fires and concerns nobody

SLOW: Final = {
    signals.ALIAS_CALLS, signals.NOT_FOUND, signals.TOOL_DECLARATION_INFO, signals.DECLARATION_CHARS,
}  # fmt: skip


@dataclass(frozen=True)
class Weather:
    """
    What happened to the fleet.

    `eventful` has a bit of everything that can go wrong; a healthy one has only what is there on a good day:
    calls that succeed, and counters that were born at 0. `rename` writes a series under another name.
    """

    eventful: bool = True
    rename: Mapping[str, str] | None = None
    extra: Mapping[str, str] | None = None

    def name(self, series: str) -> str:
        """The name under which a series is written."""
        return (self.rename or {}).get(series, series)


def label_sets(metric: Metric) -> list[Labels]:
    """Every combination of labels that *metric* can have in the synthetic fleet, without target labels."""
    sets: list[Labels] = [{}]
    for label in sorted(metric.labels, key=_dependence):
        if label not in VALUES:
            raise KeyError(f"{metric.name}: the synthetic fleet has no values for the label {label!r}")
        sets = [{**each, label: value} for each in sets for value in VALUES[label](metric, each)]
    return sets


def openmetrics(weather: Weather | None = None) -> str:
    """The past of the fleet as OpenMetrics text, every emitted and foreign row in it."""
    return "\n".join([*_lines(weather or Weather()), "# EOF", ""])


# --- which series there are ----------------------------------------------------------------------------


def _dependence(label: str) -> tuple[int, str]:
    order = (
        "alertname",
        "tool",
        signals.DURATION.labels[0],
        "alias",
        "profile",
        "reason",
        "owner",
        "version",
        "risk",
        "kind",
    )
    return (order.index(label) if label in order else len(order), label)


def _tools(metric: Metric, have: Labels) -> list[str]:
    if metric is signals.FIRST_ITEM:
        return [name for name, tool in TOOLS.items() if tool.streams]
    if metric is signals.TOOL_OBJECTIVE:
        return [name for name, tool in TOOLS.items() if tool.objective]
    if metric is signals.REPEATED_CALLS:
        return [name for name, tool in TOOLS.items() if tool.risk is not Risk.READ]
    if metric is signals.ALIAS_CALLS:
        return [name for name, tool in TOOLS.items() if tool.old]
    if metric is signals.TOOL_CALLS:
        return [*TOOLS, STRANGER[0]]
    if metric is signals.ALERTS:
        return [""] if have["alertname"] == WATCHDOG else ["payment_refund"]
    return list(TOOLS)


def _owner(metric: Metric, have: Labels) -> list[str]:
    if metric is signals.ALERTS:
        return ["" if have["alertname"] == WATCHDOG else "payments"]
    tool = have.get("tool") or have.get(signals.DURATION.labels[0])
    if tool:
        return [TOOLS[tool].owner if tool in TOOLS else STRANGER[1]]
    if have.get("reason") in (Reason.RENAMED, Reason.NOT_IN_PROFILE):
        return ["payments"]
    return [PROFILES[have["profile"]]]


def _profile(metric: Metric, have: Labels) -> list[str]:
    if metric is signals.TOOL_CALLS:
        tool = TOOLS.get(have["tool"])
        return [*(tool.profiles if tool else ()), signals.NO_PROFILE]
    if metric is signals.ALERTS:
        return [""]
    return list(PROFILES)


def _version(_: Metric, have: Labels) -> list[str]:
    tool = TOOLS.get(have.get("tool", ""))
    return list(tool.versions) if tool else ["1.0.0"]


def _risk(_: Metric, have: Labels) -> list[str]:
    tool = TOOLS.get(have.get("tool") or have.get(signals.DURATION.labels[0], ""))
    return [tool.risk if tool else signals.UNKNOWN_RISK]


def _sha(_: Metric, have: Labels) -> list[str]:
    # One tool was shown in two forms under one version.
    return ["3fa2c1d0", "77b0e4aa"] if have.get("tool") == "order_lookup" else ["3fa2c1d0"]


def _requested(_: Metric, have: Labels) -> list[str]:
    known = {Reason.RENAMED: "refund_order", Reason.NOT_IN_PROFILE: "payment_refund"}
    return [known.get(Reason(have["reason"]), signals.OTHER)]


def _source(metric: Metric, have: Labels) -> list[str]:
    if metric.where == signals.SIDECAR:
        return ["agent", "gateway"]
    if have["kind"] == RejectionKind.DOMAIN:
        return [RejectionSource.TOOL]
    return [RejectionSource.FRAMEWORK, RejectionSource.SCHEMA]


VALUES: Final[dict[str, Callable[[Metric, Labels], list[str]]]] = {
    "tool": _tools,
    signals.DURATION.labels[0]: _tools,
    "owner": _owner,
    "profile": _profile,
    "version": _version,
    "risk": _risk,
    "outcome": lambda *_: [status for status in Status if status is not Status.NOT_FOUND],
    "error_type": lambda *_: ["", signals.ERROR_TIMEOUT, "ConnectionError"],
    "reason": lambda *_: list(Reason),
    "requested": _requested,
    "alias": lambda _, have: list(TOOLS[have["tool"]].old),
    "kind": lambda *_: list(RejectionKind),
    "source": _source,
    "field": lambda *_: ["order_id", signals.OTHER],
    "policy": lambda *_: [POLICY],
    "status": lambda *_: list(ItemStatus),
    "sha": _sha,
    "component": lambda *_: list(signals.Component),
    "metric": lambda *_: [signals.TOOL_CALLS.name, signals.NOT_FOUND.name],
    "signature": lambda *_: ["google-adk-java.not_found"],
    "cause": lambda *_: list(signals.SkipCause),
    "rule_group": lambda *_: ["/etc/prometheus/rules/tooltel.yml;tooltel-reliability"],
    "alertname": lambda *_: ["TooltelToolErrorBudgetBurn", WATCHDOG],
    "alertstate": lambda *_: ["firing"],
    "severity": lambda _, have: ["none" if have["alertname"] == WATCHDOG else "page"],
}


# --- what their values are ---------------------------------------------------------------------------


def _lines(weather: Weather) -> Iterator[str]:
    for metric in (*signals.EMITTED, *signals.EXTERNAL):
        kind = {Kind.INFO: "gauge", Kind.HISTOGRAM: "histogram"}.get(metric.kind, metric.kind.value)
        family = weather.name(metric.name)
        yield f"# TYPE {family.removesuffix('_total')} {kind}"
        for labels in label_sets(metric):
            if not _there(metric, labels, weather):
                continue
            for target in _targets(metric):
                random_ = random.Random(f"{metric.name} {sorted(labels.items())} {target}")
                yield from _series(weather, metric, {**labels, **target, **(weather.extra or {})}, random_)


def _targets(metric: Metric) -> list[Labels]:
    """Labels of the scrapes; alerts are made by Prometheus itself and have none."""
    return [{}] if metric is signals.ALERTS else [{"job": "tooltel", "instance": name} for name in INSTANCES]


def _there(metric: Metric, labels: Labels, weather: Weather) -> bool:
    """Whether a series exists at all: what nobody enumerates is born with its first event."""
    if weather.eventful:
        return True
    match metric:
        case signals.ALERTS:
            return labels["alertname"] == WATCHDOG
        case signals.TOOL_CALLS:
            return labels["outcome"] in signals.BORN_OUTCOMES and labels["tool"] in TOOLS
        case signals.DURATION:
            return labels["error_type"] == ""
        case signals.NOT_FOUND:
            return labels["reason"] != Reason.NOT_IN_PROFILE
        case signals.REJECTED_FIELDS | signals.POLICY_REFUSALS:
            return False
        case signals.BATCH_ITEMS:
            return labels["status"] == ItemStatus.OUTSTANDING
        case signals.TOOL_DECLARATION_INFO:
            return labels["sha"] == "3fa2c1d0"
    return True


def _series(weather: Weather, metric: Metric, labels: Labels, random_: random.Random) -> Iterator[str]:
    if metric.kind is Kind.HISTOGRAM:
        yield from _histogram(weather, metric, labels, random_)
        return
    text = _braces(labels)
    name = weather.name(metric.name)
    for at, value in _values(metric, labels, weather, random_):
        yield f"{name}{text} {value:g} {at}"


def _times(metric: Metric) -> list[int]:
    length, step = DENSE
    dense = range(END - length, END + 1, step)
    if metric not in SLOW:
        return list(dense)
    before, pause = SPARSE
    return [*range(END - before, END - length, pause), *dense]


def _values(metric: Metric, labels: Labels, weather: Weather, random_: random.Random) -> Iterator[tuple[int, float]]:
    if metric.kind is not Kind.COUNTER:
        for at in _times(metric):
            yield at, _level(metric, labels, weather, at)
        return
    if metric is signals.ALIAS_CALLS:
        yield from _alias_values(labels)
        return
    rate = _rate(metric, labels, weather)
    total = 0.0
    before = None
    for at in _times(metric):
        if before is not None:
            total += _happened(rate * (at - before), random_)
        yield at, total
        before = at


def _happened(expected: float, random_: random.Random) -> int:
    whole, rest = divmod(expected, 1)
    return int(whole) + (random_.random() < rest)


def _alias_values(labels: Labels) -> Iterator[tuple[int, float]]:
    """Calls of an alias: one each hour until the day of the last one."""
    days = TOOLS[labels["tool"]].old[labels["alias"]]
    total = 0
    for at in _times(signals.ALIAS_CALLS):
        total += days is not None and at <= END - days * DAY
        yield at, total


def _rate(metric: Metric, labels: Labels, weather: Weather) -> float:
    """Events per second of one series."""
    if metric is signals.TOOL_CALLS:
        often = {Status.OK: 1.0, Status.ERROR: 0.02, Status.TIMEOUT: 0.01}.get(Status(labels["outcome"]), 0.005)
        return often if weather.eventful or labels["outcome"] == Status.OK else 0
    if metric is signals.RULE_FAILURES and labels["instance"] != INSTANCES[0]:
        return 0
    return 0.004 if weather.eventful else 0


def _level(metric: Metric, labels: Labels, weather: Weather, at: int) -> float:
    """The value of a gauge."""
    if metric is signals.UP and weather.eventful and labels["instance"] == INSTANCES[1]:
        return 0
    if metric.kind is Kind.INFO or metric in (signals.UP, signals.ALERTS):
        return 1
    if metric is signals.TOOL_OBJECTIVE:
        return TOOLS[labels["tool"]].objective or 0
    if metric is signals.CATALOG_LOADED:
        return END - 3 * 3600
    if metric is signals.DECLARATION_BUDGET:
        return 6000
    if metric is signals.DECLARATION_CHARS:
        return 6600 if weather.eventful and labels["profile"] == "support" else 3200
    if metric is signals.ACTIVE:
        return round(1 + math.sin(at / 600))
    return {signals.PROFILE_TOOLS: 6, signals.DECLARATION_TOKENS: 1500}.get(metric, 640)


def _histogram(weather: Weather, metric: Metric, labels: Labels, random_: random.Random) -> Iterator[str]:
    bounds = [*signals.BUCKETS, math.inf]
    counts = [0] * len(bounds)
    total = 0.0
    rows: list[tuple[int, list[int], float]] = []
    often = 3 if labels.get("error_type", "") == "" else 0.2
    for at in _times(metric):
        for _ in range(_happened(often, random_)):
            took = random_.lognormvariate(-1.2, 0.8)
            total += took
            for place, bound in enumerate(bounds):
                counts[place] += took <= bound
        rows.append((at, list(counts), total))
    name = weather.name(metric.name)
    for place, bound in enumerate(bounds):
        text = _braces({**labels, "le": "+Inf" if bound == math.inf else str(bound)})
        yield from (f"{name}_bucket{text} {bucket[place]} {at}" for at, bucket, _ in rows)
    text = _braces(labels)
    yield from (f"{name}_count{text} {bucket[-1]} {at}" for at, bucket, _ in rows)
    yield from (f"{name}_sum{text} {total:g} {at}" for at, _, total in rows)


def _braces(labels: Labels) -> str:
    return "{" + ",".join(f'{label}="{value}"' for label, value in labels.items() if value) + "}"
