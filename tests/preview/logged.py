"""The sidecar's past: a real one reads the log of an agent that is not wrapped, as it grows over some hours."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tooltel import signals
from tooltel._version import version
from tooltel.catalog import Source
from tooltel.demo.telemetry import CATALOG
from tooltel.demo.timeline import History
from tooltel.exposition import CatalogCollector
from tooltel.loading import load
from tooltel.match import Judge, rules_of_catalog
from tooltel.sidecar.disk import Disk
from tooltel.sidecar.engine import Engine, Job
from tooltel.sidecar.exposing import Scrape
from tooltel.sidecar.state import Forgetting
from tooltel.sidecar.waiting import SystemClock

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric as Family

TARGET: Final = {"job": "tooltel", "instance": "night-agent:9465"}
SOURCE: Final = "night-agent"
# As google-adk for Java logs it: two old names and an invention, each now and then.
ASKED: Final = ("order_find", "refund_order", "send_email")
BURST: Final = 400  # lines


class _Hours(SystemClock):
    """The machine's clock, in which a scrape's pause takes no time."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def monotonic(self) -> float:
        """Seconds that only go on, the pauses among them."""
        return super().monotonic() + self.ahead


def logged_past(*, start: float, end: float, step: float) -> str:
    """Let the log grow from *start* to *end* (Unix time), and scrape the sidecar every *step* seconds."""
    catalog = load(CATALOG)
    history, clock, chance = History(TARGET), _Hours(), random.Random("night-agent")
    about = CatalogCollector(lambda: catalog, lambda: start, version)
    rules = rules_of_catalog(catalog)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "agent.log")
        job = Job(
            catalog,
            [Source(SOURCE, (str(log),), "text", "back_office")],
            lambda source: Judge(rules, catalog, source.profile, source.framework, suggest=False),
        )
        engine = Engine(job, disk=Disk(), keeping=Forgetting(), clock=clock, say=lambda *_: None)
        scrape, read = Scrape(engine, about), start
        for place in range(round((end - start) / step) + 1):
            now = start + place * step
            with log.open("ab") as file:
                file.write("".join(_lines(now, chance)).encode())
            read = now
            for _ in range(3):
                clock.ahead += 2.0
                while engine.turn():
                    pass
            history.add(_read_at(scrape.collect(), read), now, loaded=start)
        engine.finish()
    return history.text()


def _read_at(families: Iterable[Family], now: float) -> Iterator[Family]:
    """The families, with the time of the last read in the past that is played."""
    for family in families:
        if family.name == signals.SIDECAR_LAST_READ.name:
            family.samples = [sample._replace(value=now) for sample in family.samples]
        yield family


def _lines(now: float, chance: random.Random) -> Iterator[str]:
    """What the agent logs in one pause between two scrapes."""
    for place in range(chance.randint(20, 60)):
        at = datetime.fromtimestamp(now - 20 + place / 4, UTC).isoformat(sep=" ", timespec="milliseconds")[:23]
        yield f"{at} [main] INFO com.example.Night - step {place} done\n"
        if chance.random() < 0.0008:
            name = chance.choice(ASKED)
            yield f"{at} [main] WARN com.google.adk.flows.llmflows.Functions - Tool not found: {name}\n"
