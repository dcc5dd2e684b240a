"""A shift as history: what a Prometheus would hold, had it scraped the desk for hours."""

from __future__ import annotations

import asyncio
import io
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from prometheus_client.metrics_core import Metric as Family
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.samples import Sample

from tooltel import signals
from tooltel.demo.desk import Desk
from tooltel.demo.pace import SimulatedTime
from tooltel.demo.script import write_script
from tooltel.demo.shift import Shift
from tooltel.demo.telemetry import watched

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tooltel.demo.ledger import Ledger

TARGET: Final[Mapping[str, str]] = MappingProxyType({"job": "tooltel", "instance": "support-desk:9464"})
Group = tuple[tuple[str, str], ...]


class History:
    """Families of samples with their times, as `promtool tsdb create-blocks-from openmetrics` reads them."""

    def __init__(self, target: Mapping[str, str]) -> None:
        self._target = dict(target)
        self._families: dict[str, tuple[Family, dict[Group, list[Sample]]]] = {}

    def add(self, families: Iterable[Family], at: float, *, loaded: float) -> None:
        """Keep a scrape made *at* that Unix time; the catalog was *loaded* then, whatever the clock says."""
        up = Family(signals.UP.name, "Whether a scrape worked.", "gauge")
        up.add_sample(signals.UP.name, {}, 1.0)
        for family in (*families, up):
            named = Family(family.name, family.documentation, family.type)
            _, groups = self._families.setdefault(family.name, (named, {}))
            for sample in family.samples:
                value = loaded if sample.name == signals.CATALOG_LOADED.name else sample.value
                group = tuple(sorted((key, text) for key, text in sample.labels.items() if key != "le"))
                kept = Sample(sample.name, {**sample.labels, **self._target}, value, at)
                groups.setdefault(group, []).append(kept)

    def collect(self) -> Iterator[Family]:
        """The families, each with all of its samples: what prometheus_client's writer asks a registry for."""
        for family, groups in self._families.values():
            # OpenMetrics wants a series' samples one after the other, and a histogram's buckets together.
            family.samples = [sample for samples in groups.values() for sample in samples]
            yield family

    def text(self) -> str:
        """Everything in OpenMetrics' text format."""
        text: bytes = generate_latest(self)  # type: ignore[no-untyped-call]  # asks for `collect` only
        return text.decode("utf-8")


def play_history(
    seed: int,
    sessions: int,
    *,
    start: float,
    seconds: float = 3 * 3600.0,
    step: float = 30.0,
    target: Mapping[str, str] = TARGET,
) -> tuple[History, Ledger]:
    """
    Play a shift that lasts *seconds* from *start* (Unix time), scraped every *step* seconds.

    The shift is really played, a slice between each two scrapes, in simulated time; the first scrape comes
    before the first call. *target* are the labels that a scrape adds. Equal arguments give equal samples.
    """
    scrapes = max(1, round(seconds / step))
    script, pace, history = write_script(seed, sessions), SimulatedTime(), History(target)
    with watched(pace, spans=io.StringIO(), logs=io.StringIO()) as telemetry:
        tel = telemetry.tel
        desk = Desk(tel, script.books, pace)
        desk.declare()
        shift = Shift(tel, desk, pace, tracer=telemetry.tracer)

        async def play_slices() -> None:
            history.add(tel.view.collect(), start, loaded=start)
            for place in range(scrapes):
                begin, end = (round(len(script.visits) * at / scrapes) for at in (place, place + 1))
                await shift.play(script.visits[begin:end])
                history.add(tel.view.collect(), start + (place + 1) * step, loaded=start)

        asyncio.run(play_slices())
    return history, shift.ledger
