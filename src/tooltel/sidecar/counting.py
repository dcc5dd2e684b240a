"""
The sidecar's own counts: a plain dict, which becomes visible only once it is part of a commit.

Labels and their bounds are those of the in-process recorder, which writes here instead of into prometheus_client.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tooltel import signals
from tooltel.recorders.prometheus import PrometheusRecorder, Series
from tooltel.signals import Kind, Metric, RejectionKind, RejectionSource, SkipCause, Status

if TYPE_CHECKING:
    from tooltel.catalog import Catalog
    from tooltel.outcome import Outcome
    from tooltel.sidecar.records import Matched

LAST_MATCHES: Final = 100
REPEATS: Final = 256  # names of which another line is awaited
_KNOWN: Final = 4096

# A log line tells neither how long a call took nor when it began.
_UNTOLD: Final = (signals.DURATION, signals.FIRST_ITEM, signals.ACTIVE)
_PER_SOURCE: Final = (
    signals.SIDECAR_LINES,
    signals.SIDECAR_BYTES,
    signals.SIDECAR_SKIPPED_BYTES,
    signals.SIDECAR_TRUNCATIONS,
    signals.SIDECAR_ROTATIONS,
    signals.SIDECAR_CHECKPOINT_FAILURES,
)
# Every outcome that a log line can tell of.
_TOLD: Final = (Status.ERROR, Status.INVALID_ARGUMENTS, Status.REFUSED)


class LastMatch(NamedTuple):
    """What was matched lately: names and reasons, never a payload. `times` is how often it came in one commit."""

    source: str
    signature: str
    status: str
    name: str
    reason: str
    owner: str
    times: int
    seen: float


class Ledger:
    """Counts by series. `exposed` to nobody: what is shown is a copy of `values` that was committed."""

    def __init__(self, catalog: Catalog) -> None:
        self.values: dict[Series, float] = {}
        self.repeats: dict[str, int] = {}  # lines of a call that was counted, and will have more
        self.last: deque[LastMatch] = deque(maxlen=LAST_MATCHES)
        self._catalog = catalog
        self._written: list[tuple[Series, float]] | None = None
        self._known: dict[int, tuple[Matched, list[tuple[Series, float]]]] = {}  # what a match adds, by its identity
        self._recorder = PrometheusRecorder(self)  # type: ignore[arg-type]  # of Instruments it uses `child` alone
        self._recorder.bear_catalog(catalog)
        for series in self._recorder.born():  # in multiprocess mode it leaves the zeros to the exposition
            self.values.setdefault(series, 0.0)

    # --- what the recorder asks of its instruments ---

    def child(self, series: Series) -> Any:
        """What the recorder writes to."""
        if series.metric in _UNTOLD:
            return _IGNORED
        if self._written is None:
            self.values.setdefault(series, 0.0)
        return _Child(self, series)

    def write(self, series: Series, amount: float) -> None:
        """Take what the recorder counted."""
        if self._written is None:
            self.values[series] = self.values.get(series, 0.0) + amount
        else:
            self._written.append((series, amount))

    # --- what the sidecar asks ---

    def bear_source(self, source: str, profile: str, signatures: Iterable[str]) -> None:
        """Let every series that a source lets us enumerate start at 0."""
        for metric in _PER_SOURCE:
            self.count(metric, source, amount=0)
        for cause in SkipCause:
            self.count(signals.SIDECAR_SKIPPED_LINES, source, cause.value, amount=0)
        for signature in signatures:
            self.count(signals.SIDECAR_MATCHES, source, signature, amount=0)
        for tool in self._catalog.tools.values():
            if profile not in (signals.NO_PROFILE, *tool.profiles):
                continue
            facts = (tool.name, tool.owner, tool.version, tool.risk, profile)
            for status in _TOLD:
                self.count(signals.TOOL_CALLS, *facts, status.value, amount=0)
            kind, by = RejectionKind.STRUCTURAL.value, RejectionSource.FRAMEWORK.value
            self.count(signals.REJECTIONS, tool.name, tool.owner, kind, by, amount=0)

    def count(self, metric: Metric, *values: str, amount: float = 1) -> None:
        """Add *amount* to a series."""
        series = Series(metric, values)
        self.values[series] = self.values.get(series, 0.0) + amount

    def count_match(self, source: str, matched: Matched, times: int, *, now: float) -> None:
        """Count a match that came *times* times."""
        self.count(signals.SIDECAR_MATCHES, source, matched.rule.id, amount=times)
        calls = self._calls(source, matched, times)
        if calls:
            for series, amount in self._increments(matched):
                self.values[series] = self.values.get(series, 0.0) + amount * calls
            self.last.append(_last_match(source, matched, calls, now))

    def _calls(self, source: str, matched: Matched, lines: int) -> int:
        """How many calls *lines* tell of: some frameworks write a line more than once for each."""
        times = getattr(matched.rule, "times", 1)
        if times == 1:
            return lines
        key = f"{source} {matched.rule.id} {_name_and_reason(matched.outcome)[0]}"
        # The first of each group counts: the others may have been cut off.
        before = self.repeats.pop(key, 0)
        if rest := (before + lines) % times:
            self.repeats[key] = rest
            if len(self.repeats) > REPEATS:
                del self.repeats[next(iter(self.repeats))]
        return -(-(before + lines) // times) - -(-before // times)

    def _increments(self, matched: Matched) -> list[tuple[Series, float]]:
        """What one such match adds, and to which series. That stays so: a label that was bounded once always is."""
        known = self._known.get(id(matched))
        if known is not None:
            return known[1]
        written: list[tuple[Series, float]] = []
        self._written = written
        try:
            self._recorder.settled(matched.outcome)
        finally:
            self._written = None
        if len(self._known) >= _KNOWN:
            self._known.clear()
        self._known[id(matched)] = matched, written  # held, so that its identity stays its own
        return written

    def restore(self, values: Iterable[tuple[Series, float]]) -> None:
        """Go on from counts of an earlier process; what its bounded labels held stays known."""
        found = dict(values)
        self.values.update(found)
        self._recorder.remember(found)


class _Child:
    """One series, as far as a recorder uses it."""

    __slots__ = ("_ledger", "_series")

    def __init__(self, ledger: Ledger, series: Series) -> None:
        self._ledger = ledger
        self._series = series

    def inc(self, amount: float = 1) -> None:
        self._ledger.write(self._series, amount)


class _Ignored:
    """Takes what a log line cannot tell."""

    def __getattr__(self, _name: str) -> Any:
        return lambda *_args, **_kwargs: None


_IGNORED: Final = _Ignored()


def _last_match(source: str, matched: Matched, count: int, seen: float) -> LastMatch:
    outcome = matched.outcome
    name, reason, owner = _name_and_reason(outcome)
    return LastMatch(source, str(matched.rule.id), outcome.status.value, name, reason, owner, count, seen)


def _name_and_reason(outcome: Outcome) -> tuple[str, str, str]:
    """The tool's or the requested name, why it went wrong, and whose it is."""
    missing = outcome.missing
    if missing is not None:
        return missing.requested, missing.reason.value, missing.owner
    tool = outcome.tool
    name, owner = (tool.name, tool.owner) if tool is not None else ("", signals.UNOWNED)
    return name, outcome.alias or outcome.policy or outcome.error_type, owner


def dump_counts(values: dict[Series, float]) -> dict[str, list[list[Any]]]:
    """Counts as plain data: by metric, each with its label values and the number."""
    dumped: dict[str, list[list[Any]]] = {}
    for series, value in values.items():
        dumped.setdefault(series.metric.name, []).append([*series.values, value])
    return dumped


def load_counts(dumped: object) -> Iterator[tuple[Series, float]]:
    """What `dump_counts` gave. Rows that this version does not know, or that do not fit, are left out."""
    for name, rows in dumped.items() if isinstance(dumped, dict) else ():
        metric = signals.BY_NAME.get(name)
        if metric is None or metric.kind is not Kind.COUNTER or not isinstance(rows, list):
            continue
        for row in rows:
            if not isinstance(row, list) or len(row) != len(metric.labels) + 1:
                continue
            *labels, value = row
            if all(isinstance(label, str) for label in labels) and isinstance(value, (int, float)) and value >= 0:
                yield Series(metric, tuple(labels)), float(value)
