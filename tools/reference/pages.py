"""The pages, each a pure function of the tables that it is about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from tools.reference import sentences
from tools.reference.alerts import alerts_page
from tools.reference.catalog import catalog_page
from tools.reference.commands import commands_page
from tools.reference.frameworks import frameworks_page
from tools.reference.markdown import code, codes, page, table
from tooltel import signals
from tooltel.settings import PREFIX, ROWS
from tooltel.signals import Event, Kind, Metric

FOLDER: Final = "docs/reference"
RUNBOOKS: Final = "alerts/runbooks"

_UNITS: Final = frozenset({"seconds", "bytes"})  # the others are things, which the sentence names


def render(runbooks: Mapping[str, str]) -> dict[str, str]:
    """Every page of the reference: {path: text}. *runbooks* are the texts of the runbooks, by alert."""
    pages = {name: write() for name, write in _PAGES.items()}
    pages["alerts"] = alerts_page(runbooks)
    return {f"{FOLDER}/{name}.md": text for name, text in sorted(pages.items())}


def metrics_page() -> str:
    """Every series that a process or a sidecar shows, and what its labels may say."""
    return page(
        "Metrics",
        "Every series that tooltel writes. Label values are bounded: what a model makes up is never one. A series that "
        "is *at 0 from the start* exists before anything happened, so that its first event is an increase; read the "
        "others through `(m unless present_over_time(m[1d] offset 15m)) or increase(m[15m])`, as the rules do.",
        "## In the agent's process",
        _metric_table(signals.IN_PROCESS),
        f"Bounds of the histograms, in seconds: {', '.join(map(str, signals.BUCKETS))}.",
        "## In a sidecar",
        "A sidecar shows the counters above that a log line can tell of, and these of its own.",
        _metric_table(tuple(each for each in signals.EMITTED if each.where == signals.SIDECAR)),
        "## Label values",
        "Labels that are not here hold names of the catalog, versions, exception classes and the like.",
        table(("label", "value", "meaning"), _label_rows()),
        "## Series of others",
        "Dashboards and alerts also read these, which Prometheus itself writes.",
        table(("metric", "meaning"), ((code(each.name), each.help) for each in signals.EXTERNAL)),
    )


def _metric_table(metrics: tuple[Metric, ...]) -> str:
    return table(("metric", "kind", "labels", "meaning"), map(_metric_row, metrics))


def _metric_row(metric: Metric) -> tuple[str, ...]:
    born = {"": "", "yes": " Always there."}.get(metric.born, f" At 0 from the start: {metric.born}.")
    if metric.kind in (Kind.INFO, Kind.GAUGE):
        born = {"": "", "yes": " Always there."}.get(metric.born, f" There from the start: {metric.born}.")
    unit = f" In {metric.unit}." if metric.unit in _UNITS and metric.kind is not Kind.COUNTER else ""
    return (code(metric.name), metric.kind.value, codes(metric.labels), f"{metric.help}{unit}{born}")


def _label_rows() -> Iterator[tuple[str, ...]]:
    for label, values in sentences.LABEL_VALUES.items():
        for value, sentence in values.items():
            yield code(label), code(str(value)), sentence


def spans_page() -> str:
    """Every attribute of a tool span."""
    keys = {row.default: row.variable for row in ROWS if row.name.startswith("attribute_")}
    rows = []
    for name in signals.ATTRIBUTES:
        when, sentence = sentences.ATTRIBUTES[name]
        renamed = f" `{keys[name]}` gives it another name." if name in keys else ""
        rows.append((code(name), when, f"{sentence}{renamed}"))
    return page(
        "Spans",
        f"A call's span is named `{signals.EXECUTE_TOOL} TOOL` and has the kind INTERNAL, as OpenTelemetry's GenAI "
        f"conventions (status: Development) have it. A call that reached no tool has a span named just "
        f"`{signals.EXECUTE_TOOL}`. Where a framework already made a tool span, that one is tagged, and no second is "
        "made. The status of a failed call has no description, as an exception's text may hold a user's data.",
        table(("attribute", "set", "meaning"), rows),
        "Arguments and results are kept only with `TOOLTEL_CAPTURE_PAYLOADS=1`.",
    )


def events_page() -> str:
    """Every log event, with its keys."""
    own = (signals.OWNER, signals.VERSION, signals.RISK, signals.PROFILE)
    rows = []
    for event in Event:
        if event not in sentences.WAITING_EVENTS:
            level, keys, sentence = sentences.EVENTS[event]
            rows.append((code(event.value), level, codes(keys), sentence))
    return page(
        "Log events",
        f"Events go to the host's structlog where it is configured, else to the logger `{signals.LOGGER}` as "
        "`event key=value` with every value escaped. An event about a call carries the keys of its span "
        f"({codes((signals.TOOL_NAME, *own, signals.OUTCOME))} and so on, [spans](spans.md)), and "
        f"{codes((signals.KEY_TRACE_ID, signals.KEY_SPAN_ID))}; the keys below come on top.",
        table(("event", "level", "keys", "meaning"), rows),
        f"A record of somebody else's log that told of a drop gets `{signals.KEY_COUNTED}`, so that no other reader of "
        "the log counts it again.",
    )


def settings_page() -> str:
    """Every setting, as environment variable and as argument."""
    rows = [(code(row.variable), code(row.name), code(_default(row.default)), row.sentence) for row in ROWS]
    return page(
        "Settings",
        f"A process reads them from its environment, when `tooltel.configure` or `Tooltel` is called; an unknown "
        f"variable that begins with `{PREFIX}` is an error. In code they are "
        "`tooltel.configure(..., settings=Settings(name=value))`, with `Settings` from `tooltel.settings`; that reads "
        "no environment. `Settings.read(os.environ, name=value)` does both.",
        table(("variable", "name in code", "default", "meaning"), rows),
    )


def _default(value: object) -> str:
    match value:
        case bool():
            return str(int(value))
        case float():
            return f"{value:g}"
    return str(value)


_PAGES: Final[Mapping[str, Callable[[], str]]] = MappingProxyType({
    "metrics": metrics_page,
    "spans": spans_page,
    "events": events_page,
    "settings": settings_page,
    "catalog": catalog_page,
    "cli": commands_page,
    "frameworks": frameworks_page,
})  # fmt: skip
