"""
What a scrape sees: the host's registry, with tooltel's catalog beside it.

In one process the registry holds everything; only prometheus_client's `_created` samples are left out, as they
double the series and no dashboard reads them. In multiprocess mode the values of all workers are read from their
files, the files of dead workers' live gauges are dropped, and series that no worker has touched yet are shown at 0.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from tooltel import late, signals
from tooltel.recorders.prometheus import FROM_CATALOG, WRITTEN_INFO, Series, is_multiprocess, multiprocess_directory
from tooltel.signals import Kind, Metric

# prometheus_client is imported where it is used: its import takes longer than a sidecar needs for a small log.
if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric as Family
    from prometheus_client.registry import CollectorRegistry
    from prometheus_client.samples import Sample

    from tooltel.catalog import Catalog

_BOUND_ZERO: Final = 0.0


class CatalogCollector:
    """
    The info and gauge families that follow from the catalog in use, read anew at each scrape.

    A host that exposes its own multiprocess registry registers this beside its MultiProcessCollector.
    """

    def __init__(self, catalog: Callable[[], Catalog], loaded_at: Callable[[], float], version: str) -> None:
        self._catalog = catalog
        self._loaded_at = loaded_at
        self._version = version

    def describe(self) -> Iterable[Family]:
        """Name the families, so that a registry can find clashes without collecting."""
        return [_family(row) for row in FROM_CATALOG]

    def collect(self) -> Iterator[Family]:
        """Yield the families with what the catalog says now."""
        late.catch_up()
        for row, series in self.rows().items():
            family = _family(row)
            for values, value in series:
                family.add_sample(row.name, dict(zip(row.labels, values, strict=True)), value)
            yield family

    def rows(self) -> dict[Metric, list[tuple[tuple[str, ...], float]]]:
        """Give what the catalog says now: for each row of the signals its series, as label values and number."""
        catalog = self._catalog()
        return {
            signals.TOOL_INFO: [((t.name, t.owner, t.version, t.risk), 1.0) for t in catalog.tools.values()],
            signals.TOOL_OBJECTIVE: [
                ((t.name, t.owner), t.objective) for t in catalog.tools.values() if t.objective is not None
            ],
            signals.CATALOG_INFO: [((catalog.sha,), 1.0)],
            signals.BUILD_INFO: [((self._version,), 1.0)],
            signals.CATALOG_LOADED: [((), self._loaded_at())],
        }


def _bare_family(name: str, documentation: str, kind: str, unit: str = "") -> Family:
    from prometheus_client.metrics_core import Metric as Family

    return Family(name, documentation, kind, unit)


def _family(row: Metric) -> Family:
    from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily

    if row.kind is Kind.INFO:
        return InfoMetricFamily(row.family, row.help)
    return GaugeMetricFamily(row.name, row.help)


class View:
    """
    A read-only registry for exposition: give it to `generate_latest`, or to an exporter's `registry=`.

    In multiprocess mode `born` yields the series to show at 0 where no file holds them, and `contain` is told of files
    that cannot be read.
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        *,
        catalog: CatalogCollector,
        born: Callable[[], Iterator[Series]],
        contain: Callable[[Exception], None],
        names: frozenset[str] | None = None,
    ) -> None:
        self._registry = registry
        self._catalog = catalog
        self._born = born
        self._contain = contain
        self._names = names

    def collect(self) -> Iterator[Family]:
        """Yield every family of the scrape."""
        late.catch_up()
        for family in self._multiprocess() if is_multiprocess() else self._registry.collect():
            shown = _as_declared(_without_created(family))
            if self._names is None:
                yield shown
            elif samples := [sample for sample in shown.samples if sample.name in self._names]:
                yield _with_samples(shown, samples)

    def restricted_registry(self, names: Iterable[str]) -> View:
        """The same view, of the series called *names* only."""
        only = frozenset(names)
        return View(self._registry, catalog=self._catalog, born=self._born, contain=self._contain, names=only)

    def _multiprocess(self) -> Iterator[Family]:
        from tooltel.recorders.workers import read_workers

        zeros: dict[str, list[Series]] = {}
        for series in self._born():
            zeros.setdefault(series.metric.family, []).append(series)
        for family in read_workers(Path(multiprocess_directory() or ""), self._contain):
            _add_zeros(family, zeros.pop(family.name, ()))
            yield family
        for left in zeros.values():
            row = left[0].metric
            family = _bare_family(row.family, row.help, row.kind.value)
            _add_zeros(family, left)
            yield family
        yield from self._catalog.collect()


_WRITTEN_INFO_NAMES: Final = {row.name: row for row in WRITTEN_INFO}


def _as_declared(family: Family) -> Family:
    """Info rows are written as gauges: here they become infos. One that a worker took back reads 0, and is gone."""
    row = _WRITTEN_INFO_NAMES.get(family.name)
    if row is None:
        return family
    info = _bare_family(row.family, row.help, row.kind.value)
    info.samples = [sample for sample in family.samples if sample.value]
    return info


def _add_zeros(family: Family, zeros: Iterable[Series]) -> None:
    held = {tuple(sorted(sample.labels.items())) for sample in family.samples}
    for metric, values in zeros:
        labels = dict(zip(metric.labels, values, strict=True))
        if tuple(sorted(labels.items())) not in held:
            family.add_sample(metric.name, labels, _BOUND_ZERO)


def _without_created(family: Family) -> Family:
    name = f"{family.name}_created"  # the host's own gauge of such a name is its family's own
    if not any(sample.name == name for sample in family.samples):
        return family
    return _with_samples(family, [sample for sample in family.samples if sample.name != name])


def _with_samples(family: Family, samples: list[Sample]) -> Family:
    """A copy of *family* with other samples: the host's collectors may give the same object at each scrape."""
    copy = _bare_family(family.name, family.documentation, family.type, family.unit)
    copy.samples = samples
    return copy


class Exposition:
    """A running /metrics endpoint. Close it, or use it as a context manager."""

    def __init__(self, view: View, *, host: str, port: int) -> None:
        from prometheus_client import start_http_server

        try:
            self._server, self._thread = start_http_server(port, addr=host, registry=_as_registry(view))
        except (OSError, OverflowError) as error:  # a port over 65535 is an OverflowError
            raise OSError(
                getattr(error, "errno", None) or errno.EINVAL,
                f"cannot serve /metrics on {host}:{port}: {getattr(error, 'strerror', None) or error}; "
                "give another port (0 takes any that is free) or host, or stop what listens there",
            ) from error
        self.host = host
        self.port: int = self._server.server_port

    @property
    def url(self) -> str:
        """Where to scrape."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/metrics"

    def close(self) -> None:
        """Stop serving; returns when the port is free."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def wsgi_app(view: View) -> Callable[..., Any]:
    """A WSGI application that answers scrapes."""
    from prometheus_client import make_wsgi_app

    return make_wsgi_app(_as_registry(view))


def asgi_app(view: View) -> Callable[..., Any]:
    """An ASGI application that answers scrapes."""
    from prometheus_client import make_asgi_app

    return make_asgi_app(_as_registry(view))


def _as_registry(view: View) -> Any:
    # prometheus_client asks for a CollectorRegistry and uses `collect` and `restricted_registry` only.
    return view


def default_registry() -> CollectorRegistry:
    """The host's own registry."""
    from prometheus_client import REGISTRY

    return REGISTRY
