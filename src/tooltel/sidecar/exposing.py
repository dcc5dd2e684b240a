"""What a scrape of the sidecar shows: the committed counts, its gauges, and what the catalog says."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from tooltel import signals
from tooltel.signals import Kind, Metric

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric as Family

    from tooltel.exposition import CatalogCollector
    from tooltel.recorders.prometheus import Series
    from tooltel.sidecar.engine import Engine

# What a single process counts of itself means nothing here, and would stand beside its own zeros.
_HIDDEN: Final = (signals.CATALOG_RELOAD_FAILURES,)


Rows: TypeAlias = Sequence[tuple[tuple[str, ...], float]]  # label values in the row's order, and the number


class Scrape:
    """A collector that prometheus_client's encoders read like a registry."""

    def __init__(self, engine: Engine, catalog: CatalogCollector) -> None:
        self._engine = engine
        self._catalog = catalog

    def collect(self) -> Iterator[Family]:
        """Yield every family of the scrape, all of one commit."""
        for metric, rows in self.rows():
            yield _family(metric, rows)

    def rows(self) -> Iterator[tuple[Metric, Rows]]:
        """Yield each row of the signals that is shown, with its series."""
        shown = self._engine.shown
        yield from _counted(shown.values)
        for metric, values in (
            (signals.SIDECAR_LAG, shown.lag),
            (signals.SIDECAR_OPEN_FILES, shown.open_files),
            (signals.SIDECAR_LAST_READ, shown.last_read),
        ):
            yield metric, [((source,), value) for source, value in values.items()]
        yield from self._catalog.rows().items()

    def as_text(self) -> str:
        """
        Give the scrape in the format of Prometheus.

        The same samples as `prometheus_client.generate_latest` gives, whose import takes as long as reading 200 MiB.
        """
        return "".join(_text(metric, rows) for metric, rows in self.rows())

    def restricted_registry(self, names: Iterable[str]) -> _Restricted:
        """The same scrape, of the series called *names* only."""
        return _Restricted(self, frozenset(names))


class _Restricted:
    def __init__(self, scrape: Scrape, names: frozenset[str]) -> None:
        self._scrape = scrape
        self._names = names

    def collect(self) -> Iterator[Family]:
        for family in self._scrape.collect():
            family.samples = [sample for sample in family.samples if sample.name in self._names]
            if family.samples:
                yield family


def _counted(values: Mapping[Series, float]) -> Iterator[tuple[Metric, Rows]]:
    """Counts by row, in the order of the table of signals."""
    rows: dict[Metric, list[tuple[tuple[str, ...], float]]] = {}
    for series, value in values.items():
        rows.setdefault(series.metric, []).append((series.values, value))
    for metric in signals.METRICS:
        if metric in rows and metric not in _HIDDEN:
            yield metric, sorted(rows[metric])


def _family(metric: Metric, rows: Rows) -> Family:
    from prometheus_client.metrics_core import Metric as Family

    family = Family(metric.family, metric.help, metric.kind.value)
    for values, value in rows:
        family.add_sample(metric.name, dict(zip(metric.labels, values, strict=True)), value)
    return family


_IN_HELP: Final = str.maketrans({"\\": r"\\", "\n": r"\n"})
_IN_LABEL: Final = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


def _text(metric: Metric, rows: Rows) -> str:
    kind = Kind.GAUGE if metric.kind is Kind.INFO else metric.kind
    lines = [f"# HELP {metric.name} {metric.help.translate(_IN_HELP)}", f"# TYPE {metric.name} {kind.value}"]
    for values, value in rows:
        pairs = sorted(zip(metric.labels, values, strict=True))
        labels = ",".join(f'{label}="{text.translate(_IN_LABEL)}"' for label, text in pairs)
        lines.append(f"{metric.name}{{{labels}}} {float(value)!r}" if labels else f"{metric.name} {float(value)!r}")
    return "".join(f"{line}\n" for line in lines)


def matches_as_json(engine: Engine) -> bytes:
    """The last matches, newest first: names and reasons, never what else stood in the line."""
    last = [match._asdict() for match in reversed(engine.shown.last)]
    return json.dumps({"matches": last}).encode()


def readiness_as_json(engine: Engine) -> tuple[bool, bytes]:
    """Whether the counts can be relied on, and why not. Missing files are named, and waited for."""
    readiness = engine.readiness
    said = {
        "ready": readiness.is_ready,
        "problems": list(readiness.problems),
        "waiting_for": list(readiness.missing),
        "cannot_read": dict(readiness.failing),
    }
    return readiness.is_ready, json.dumps(said).encode()
