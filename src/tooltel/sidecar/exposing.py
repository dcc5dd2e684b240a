"""What a scrape of the sidecar shows: the committed counts, its gauges, and what the catalog says."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from prometheus_client.metrics_core import Metric as Family

from tooltel import signals

if TYPE_CHECKING:
    from tooltel.exposition import CatalogCollector
    from tooltel.recorders.prometheus import Series
    from tooltel.sidecar.engine import Engine
    from tooltel.signals import Metric

# What a single process counts of itself means nothing here, and would stand beside its own zeros.
_HIDDEN: Final = (signals.CATALOG_RELOAD_FAILURES,)


class Scrape:
    """A collector that prometheus_client's encoders read like a registry."""

    def __init__(self, engine: Engine, catalog: CatalogCollector) -> None:
        self._engine = engine
        self._catalog = catalog

    def collect(self) -> Iterator[Family]:
        """Yield every family of the scrape, all of one commit."""
        shown = self._engine.shown
        yield from families(shown.values)
        for metric, values in (
            (signals.SIDECAR_LAG, shown.lag),
            (signals.SIDECAR_OPEN_FILES, shown.open_files),
            (signals.SIDECAR_LAST_READ, shown.last_read),
        ):
            yield _family(metric, (((source,), value) for source, value in values.items()))
        yield from self._catalog.collect()

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


def families(values: Mapping[Series, float]) -> Iterator[Family]:
    """Counts as families, in the order of the table of signals."""
    rows: dict[Metric, list[tuple[tuple[str, ...], float]]] = {}
    for series, value in values.items():
        rows.setdefault(series.metric, []).append((series.values, value))
    for metric in signals.METRICS:
        if metric in rows and metric not in _HIDDEN:
            yield _family(metric, sorted(rows[metric]))


def _family(metric: Metric, rows: Iterable[tuple[tuple[str, ...], float]]) -> Family:
    family = Family(metric.family, metric.help, metric.kind.value)
    for values, value in rows:
        family.add_sample(metric.name, dict(zip(metric.labels, values, strict=True)), value)
    return family


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
