"""
Prometheus metrics: the only accumulators on the hot path, exactly the rows of `tooltel.signals`.

Children are cached per tool, as looking one up by its labels costs more than counting. In one process every
series that can be enumerated is born at 0 when its tool is wrapped, since `increase()` cannot see a series born
at 1. In multiprocess mode children are made when first needed, because a forked worker re-opens all of them at
its first call; there the exposition adds the zeros (`born`).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tooltel import signals
from tooltel.errors import RegistryError, SettingError
from tooltel.recorders.forks import GATE, wait_at_forks
from tooltel.signals import Kind, Metric, Reason, RejectionKind, RejectionSource, Status
from tooltel.text import clean

if TYPE_CHECKING:
    from opentelemetry.trace import Span
    from prometheus_client.metrics import MetricWrapperBase
    from prometheus_client.registry import Collector, CollectorRegistry

    from tooltel.call import Call
    from tooltel.catalog import Catalog, Missing, Tool
    from tooltel.outcome import Outcome, Rejection

VALUES_PER_TOOL: Final = 50  # of error_type and policy, each; then `other`
UNOWNED_TOOLS: Final = 200  # tools outside the catalog that keep their own name; then `other`
TOOLS_WITH_FIELDS: Final = 20_000  # declarations name tools that no catalog holds, as many as a server likes
FIELDS_PER_TOOL: Final = 200  # properties that may become a label: a server may declare new ones for ever

# What the catalog says is read from the catalog at each scrape, so that a reload leaves no old series.
FROM_CATALOG: Final = (
    signals.TOOL_INFO,
    signals.TOOL_OBJECTIVE,
    signals.CATALOG_INFO,
    signals.BUILD_INFO,
    signals.CATALOG_LOADED,
)
# Info rows that are written like gauges: in multiprocess mode each worker declares for itself.
WRITTEN_INFO: Final = (signals.TOOL_DECLARATION_INFO,)
BOUNDED: Final = (signals.TOOL_CALLS, signals.DURATION, signals.POLICY_REFUSALS)

_BORN_REJECTIONS: Final = (
    (RejectionKind.STRUCTURAL, RejectionSource.FRAMEWORK),
    (RejectionKind.STRUCTURAL, RejectionSource.SCHEMA),
    (RejectionKind.DOMAIN, RejectionSource.TOOL),
)


class Series(NamedTuple):
    """One series, by its row and its label values in the row's order."""

    metric: Metric
    values: tuple[str, ...]


def is_multiprocess() -> bool:
    """Whether prometheus_client keeps its values in files that several processes share."""
    return multiprocess_directory() is not None


def multiprocess_directory() -> str | None:
    """Where those files are; None in an ordinary process. The lower-case name is prometheus_client's old one."""
    names = ("PROMETHEUS_MULTIPROC_DIR", "prometheus_multiproc_dir")
    found = next((os.environ[name] for name in names if name in os.environ), None)
    if found is None:
        return None
    from prometheus_client import values  # late: a sidecar that only prints its counts does without

    # Otherwise the variable was set after prometheus_client had been imported.
    return found if values.ValueClass is not values.MutexValue else None


class Instruments:
    """
    The metric objects of every row of a process but those read from the catalog, on one registry.

    *beside* is the collector of the others. Raises RegistryError when the registry holds any of the series already,
    and SettingError when several processes share values in a directory that cannot be written; nothing is left then.
    """

    def __init__(self, registry: CollectorRegistry, *, beside: Collector | None = None) -> None:
        self.registry = registry
        self._made: dict[Metric, MetricWrapperBase] = {}
        self._registered: list[Collector] = []
        wait_at_forks()
        try:
            for row in signals.IN_PROCESS:
                if row not in FROM_CATALOG:
                    made = self._made[row] = _instrument(row, registry)
                    self._registered.append(made)
            if beside is not None:
                registry.register(beside)
                self._registered.append(beside)
        except ValueError as error:
            self.unregister()
            raise RegistryError(
                "this Prometheus registry already holds tooltel's series: use one Tooltel per registry, or close() "
                f"the old one first ({error})"
            ) from error
        except OSError as error:  # values are written to files
            self.unregister()
            problem = f"no values can be written there ({error}): make the directory before the process starts"
            raise SettingError("PROMETHEUS_MULTIPROC_DIR", problem) from error

    def child(self, series: Series) -> Any:
        """The child of *series*; made at 0 when it is new."""
        made = self._made[series.metric]
        if not series.values:
            return made
        with GATE:
            return made.labels(*series.values)

    def count(self, metric: Metric, *values: str) -> None:
        """Add one to a counter."""
        with GATE:
            self.child(Series(metric, values)).inc()

    def put(self, value: float, metric: Metric, *values: str) -> None:
        """Set a gauge."""
        with GATE:
            self.child(Series(metric, values)).set(value)

    def remove(self, series: Series) -> None:
        """Forget a series. Does nothing in multiprocess mode, where prometheus_client cannot."""
        if not is_multiprocess():
            with GATE:
                self._made[series.metric].remove(*series.values)

    def unregister(self) -> None:
        """Take everything off the registry; what still counts is seen by nobody. Twice is as good as once."""
        while self._registered:
            self.registry.unregister(self._registered.pop())


def _instrument(row: Metric, registry: CollectorRegistry) -> MetricWrapperBase:
    from prometheus_client import Counter, Gauge, Histogram

    if row.kind is Kind.COUNTER:
        return Counter(row.family, row.help, row.labels, registry=registry)
    if row.kind is Kind.HISTOGRAM:
        return Histogram(row.name, row.help, row.labels, buckets=signals.BUCKETS, registry=registry)
    mode: Any = row.multiprocess_mode or "mostrecent"
    return Gauge(row.name, row.help, row.labels, multiprocess_mode=mode, registry=registry)


class _ToolSeries:
    """
    The children of one tool, found once. `tool` is what the labels say: itself, or `other` over the bound.

    `source` is the tool they were found for. `good` holds, by profile, what a call that went well counts into.
    `running` is as long as there are open calls: appending to a list is atomic, and costs a tenth of moving a gauge
    twice. `active` is the gauge where several processes share one, else None.
    """

    __slots__ = ("active", "calls", "durations", "good", "running", "source", "tool")

    def __init__(self, source: Tool, tool: Tool, active: Any, running: list[None]) -> None:
        self.source = source
        self.tool = tool
        self.active = active
        self.running = running
        self.good: dict[str, tuple[Callable[[], None], Callable[..., None]]] = {}
        self.calls: dict[tuple[str, Status], Any] = {}
        self.durations: dict[str, Any] = {}


class PrometheusRecorder:
    """
    Counts calls. `opened` is told of a call's start, calling it of its outcome.

    `fields` maps a tool's name to the properties of its declared schema: only these become label values.
    """

    def __init__(self, instruments: Instruments, *, exemplars: bool = False) -> None:
        self.instruments = instruments
        self.fields: dict[str, frozenset[str]] = {}
        self._exemplars = exemplars
        self._shared = is_multiprocess()
        self._tools: dict[str, _ToolSeries] = {}
        self._running: dict[tuple[str, str], list[None]] = {}  # by labels: a reload must not lose open calls
        self._born: dict[Series, None] = {}
        self._unowned: set[str] = set()
        self._values: dict[tuple[str, str], set[str]] = {}  # by metric and tool; a reload does not widen the bound
        self.on_first_use: Callable[[], None] | None = None  # called whenever a tool's children are looked up
        self._lock = threading.RLock()  # reentrant, as a signal handler or a finalizer may call a tool

    # --- births ---

    def bear_catalog(self, catalog: Catalog) -> None:
        """Every series that the catalog alone lets us enumerate starts at 0."""
        self._bear(_catalog_series(catalog))

    def bear_tool(self, tool: Tool) -> None:
        """Every series that a wrapped tool lets us enumerate starts at 0."""
        self._bear(_tool_series(tool))

    def _bear(self, born: Iterable[Series]) -> None:
        for series in born:
            self._born[series] = None
            if not self._shared:
                self.instruments.child(series)

    def born(self) -> Iterator[Series]:
        """Every series that is to be shown at 0 even when no file holds it."""
        yield from tuple(self._born)

    def know_fields(self, tool: str, names: frozenset[str]) -> None:
        """
        Allow *names* as values of the label `field` for *tool*; names are only ever added, to a bound.

        A name that is not clean is left out: a foreign server writes schemas too, and a label must be valid text.
        """
        known = self.fields.get(tool, frozenset())
        if not known and len(self.fields) >= TOOLS_WITH_FIELDS:
            return
        new = sorted(name for name in names - known if name and clean(name) == name)
        self.fields[tool] = known | frozenset(new[: max(0, FIELDS_PER_TOOL - len(known))])

    def forget_children(self) -> None:
        """Drop the cache after a fork, so that the next call looks its children up again."""
        self._tools = {}
        self._lock = threading.RLock()  # another thread may have held it when the process forked

    def remember(self, counted: Iterable[Series]) -> None:
        """Know the values of bounded labels in what an earlier process *counted*: a restart does not widen a bound."""
        for metric, given in counted:
            labels = dict(zip(metric.labels, given, strict=True))
            if metric is signals.TOOL_CALLS and labels["owner"] == signals.UNOWNED and labels["tool"] != signals.OTHER:
                self._unowned.add(labels["tool"])
            elif metric is signals.POLICY_REFUSALS and labels["policy"] != signals.OTHER:
                self._values.setdefault((metric.name, labels["tool"]), set()).add(labels["policy"])

    # --- the hot path ---

    def opened(self, call: Call) -> None:
        """Count a call as running."""
        tool = call.tool
        mine = self._tools.get(tool.name)
        if mine is None or mine.source is not tool:
            if tool.owner == signals.UNOWNED and tool.name not in self._unowned:
                return  # a model may have made this name up: it gets series once a call of it has settled
            mine = self._find(tool)
        call.mark = mine
        if mine.active is None:
            mine.running.append(None)
        else:
            mine.active.inc()

    def went_well(self, call: Call, seconds: float) -> None:
        """Count *call*, of which there is nothing to tell but its time."""
        mine: _ToolSeries | None = call.mark
        if mine is None:
            mine = self._find(call.tool)
        elif mine.active is None:
            mine.running.pop()
        else:
            mine.active.dec()
        profile = call.session.origin.profile
        count, observe = mine.good.get(profile) or self._good(mine, profile)
        count()
        if self._exemplars:
            observe(seconds, _exemplar(call.span))
        else:
            observe(seconds)

    def settled(self, outcome: Outcome) -> None:
        """Count a settled call, or a drop."""
        tool = outcome.tool
        mine: _ToolSeries | None = outcome.mark
        if mine is not None:
            if mine.active is None:
                mine.running.pop()
            else:
                mine.active.dec()
        if tool is None:
            if outcome.missing is not None and not outcome.missing.is_counted:
                self._count_missing(outcome.missing, outcome.origin.profile)
            return
        if mine is None:
            mine = self._find(tool)
        self._count(outcome, mine)

    # --- the rest ---

    def _count(self, outcome: Outcome, mine: _ToolSeries) -> None:
        tool, key = mine.tool, (outcome.origin.profile, outcome.status)
        counter = mine.calls.get(key)
        if counter is None:
            counter = mine.calls[key] = self.instruments.child(_calls(tool, *key))
        counter.inc()
        duration = mine.durations.get(outcome.error_type) or self._duration(mine, outcome.error_type)
        if self._exemplars:
            duration.observe(outcome.seconds, _exemplar(outcome.span))
        else:
            duration.observe(outcome.seconds)
        stream = outcome.stream
        if stream is not None and stream.first_item is not None:
            self._child(signals.FIRST_ITEM, tool.name, tool.owner).observe(stream.first_item)
        if outcome.alias is not None:
            self._child(signals.ALIAS_CALLS, outcome.alias, tool.name, tool.owner).inc()
        self._count_trouble(outcome, mine)

    def _good(self, mine: _ToolSeries, profile: str) -> tuple[Callable[[], None], Callable[..., None]]:
        counter = self.instruments.child(_calls(mine.tool, profile, Status.OK))
        pair = mine.good[profile] = (counter.inc, self._duration(mine, "").observe)
        return pair

    def _child(self, metric: Metric, *values: str) -> Any:
        return self.instruments.child(Series(metric, values))

    def _find(self, tool: Tool) -> _ToolSeries:
        labeled = self._labeled(tool)
        with self._lock:
            mine = self._tools.get(tool.name)
            if mine is not None and mine.source == tool:
                mine.source = tool  # an equal tool, read again or made anew
                return mine
            gauge = self._child(signals.ACTIVE, labeled.name, labeled.owner)
            running = self._running.setdefault((labeled.name, labeled.owner), [])
            mine = _ToolSeries(tool, labeled, gauge if self._shared else None, running)
            if labeled is tool:  # what is over the bound shares labels, and is not worth remembering
                self._tools[tool.name] = mine
            if not self._shared:
                gauge.set_function(partial(len, running))
        if self.on_first_use is not None:  # last, as a warning may be an error
            self.on_first_use()
        return mine

    def _labeled(self, tool: Tool) -> Tool:
        if tool.owner != signals.UNOWNED or tool.name in self._unowned:
            return tool
        with self._lock:
            if len(self._unowned) < UNOWNED_TOOLS:
                self._unowned.add(tool.name)
                return tool
        self._child(signals.LABEL_OVERFLOW, signals.TOOL_CALLS.name).inc()
        return replace(tool, name=signals.OTHER)

    def _duration(self, mine: _ToolSeries, error_type: str) -> Any:
        # The empty type of a good call is no value to bound.
        label = self._bounded(signals.DURATION, mine.tool, error_type) if error_type else ""
        child = self._child(signals.DURATION, mine.tool.name, label, mine.tool.owner, mine.tool.risk)
        if label == error_type:
            mine.durations[error_type] = child
        return child

    def _count_trouble(self, outcome: Outcome, mine: _ToolSeries) -> None:
        tool = mine.tool
        if outcome.rejections:
            self._count_rejections(outcome.rejections, tool)
        if outcome.policy is not None:
            row = signals.POLICY_REFUSALS
            policy = self._bounded(row, tool, outcome.policy) if outcome.policy else signals.OTHER
            self._child(row, tool.name, tool.owner, tool.risk, policy).inc()
        for status, count in (outcome.items or {}).items():
            self._child(signals.BATCH_ITEMS, tool.name, tool.owner, status).inc(count)
        if outcome.repeated is not None:
            self._child(signals.REPEATED_CALLS, tool.name, tool.owner, tool.risk).inc()

    def _bounded(self, row: Metric, tool: Tool, value: str) -> str:
        """*value*, or `other` where its tool has had as many as it may."""
        with self._lock:
            known = self._values.setdefault((row.name, tool.name), set())
            if value in known or len(known) < VALUES_PER_TOOL:
                known.add(value)
                return value
        self._child(signals.LABEL_OVERFLOW, row.name).inc()
        return signals.OTHER

    def count_rejection(self, rejection: Rejection, tool: Tool) -> None:
        """Count a rejection that belongs to no call: the arguments were judged before anything ran."""
        self._count_rejections((rejection,), self._find(tool).tool)

    def _count_rejections(self, rejections: Iterable[Rejection], tool: Tool) -> None:
        sources: set[RejectionSource] = set()
        fields: set[tuple[str, str]] = set()
        for rejection in rejections:
            kind = rejection.kind.value
            if rejection.source not in sources:
                sources.add(rejection.source)
                self._child(signals.REJECTIONS, tool.name, tool.owner, kind, rejection.source.value).inc()
            fields.update((kind, self._field(tool, fault.field)) for fault in rejection.faults)
        for kind, field in fields:
            self._child(signals.REJECTED_FIELDS, tool.name, tool.owner, kind, field).inc()

    def _field(self, tool: Tool, field: str) -> str:
        known = self.fields.get(tool.name, frozenset())
        # A field may be named with a path (`items[0].sku`); the schema's own property is its root.
        root = field.replace("[", ".").partition(".")[0]
        return next((name for name in (field, root) if name in known), signals.OTHER)

    def _count_missing(self, missing: Missing, profile: str) -> None:
        requested = missing.requested if missing.known else signals.OTHER
        self._child(signals.NOT_FOUND, profile, missing.owner, missing.reason.value, requested).inc()


class SharedRecorder(PrometheusRecorder):
    """Counts calls where several processes share their values: behind one lock, hence the gate at each step."""

    def opened(self, call: Call) -> None:
        """Count a call as running."""
        with GATE:
            super().opened(call)

    def went_well(self, call: Call, seconds: float) -> None:
        """Count *call*, of which there is nothing to tell but its time."""
        with GATE:
            super().went_well(call, seconds)

    def settled(self, outcome: Outcome) -> None:
        """Count a settled call, or a drop."""
        with GATE:
            super().settled(outcome)


def make_recorder(instruments: Instruments, *, exemplars: bool = False) -> PrometheusRecorder:
    """The recorder that fits this process: alone, or sharing its values with others (then without exemplars)."""
    return SharedRecorder(instruments) if is_multiprocess() else PrometheusRecorder(instruments, exemplars=exemplars)


def _exemplar(span: Span | None) -> dict[str, str] | None:
    context = span.get_span_context() if span is not None else None
    if context is None or not context.trace_flags.sampled:
        return None
    return {signals.KEY_TRACE_ID: f"{context.trace_id:032x}", signals.KEY_SPAN_ID: f"{context.span_id:016x}"}


def _calls(tool: Tool, profile: str, status: Status) -> Series:
    return Series(signals.TOOL_CALLS, (tool.name, tool.owner, tool.version, tool.risk, profile, status.value))


def _catalog_series(catalog: Catalog) -> Iterator[Series]:
    for profile in catalog.profiles.values():
        for reason in (Reason.UNKNOWN, Reason.EMPTY):
            yield Series(signals.NOT_FOUND, (profile.name, profile.owner, reason.value, signals.OTHER))
    for old, tool in catalog.retired.items():
        for name in tool.profiles:
            yield Series(signals.NOT_FOUND, (name, tool.owner, Reason.RENAMED.value, old))
    for alias in catalog.aliases.values():
        yield Series(signals.ALIAS_CALLS, (alias.name, alias.tool, alias.owner))
    for component in signals.Component:
        yield Series(signals.INTERNAL_ERRORS, (component.value,))
    for metric in BOUNDED:
        yield Series(signals.LABEL_OVERFLOW, (metric.name,))


def _tool_series(tool: Tool) -> Iterator[Series]:
    for profile in (*tool.profiles, signals.NO_PROFILE):
        for status in signals.BORN_OUTCOMES:
            yield _calls(tool, profile, status)
    yield Series(signals.ACTIVE, (tool.name, tool.owner))
    for kind, source in _BORN_REJECTIONS:
        yield Series(signals.REJECTIONS, (tool.name, tool.owner, kind.value, source.value))
    if tool.counts_repeats:
        yield Series(signals.REPEATED_CALLS, (tool.name, tool.owner, tool.risk))
    yield Series(signals.BATCH_ITEMS, (tool.name, tool.owner, signals.ItemStatus.OUTSTANDING.value))
