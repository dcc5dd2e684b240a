"""The stage: desk, telemetry and /metrics of one shift, open for as long as somebody looks."""

from __future__ import annotations

import asyncio
import http.client
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tooltel.demo.desk import Desk
from tooltel.demo.pace import SimulatedTime
from tooltel.demo.report import Folder, Played, write_report
from tooltel.demo.script import write_script
from tooltel.demo.shift import Shift
from tooltel.demo.telemetry import watched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tooltel.catalog import Catalog
    from tooltel.demo.delivery import Delivery
    from tooltel.demo.pace import Pace
    from tooltel.demo.report import Report
    from tooltel.demo.script import Script
    from tooltel.demo.steps import Visit
    from tooltel.demo.telemetry import Telemetry
    from tooltel.exposition import Exposition

SECONDS_TO_SCRAPE: Final = 10.0


class Stage:
    """A shift that is ready to be played, once, and can be looked at before, during and after."""

    def __init__(
        self, script: Script, telemetry: Telemetry, pace: Pace, *, exposition: Exposition, folder: Folder
    ) -> None:
        self.script = script
        self.folder = folder
        self._exposition = exposition
        self._telemetry = telemetry
        self._seconds = 0.0
        self._simulated = isinstance(pace, SimulatedTime)
        desk = Desk(telemetry.tel, script.books, pace)
        desk.declare()
        self._shift = Shift(telemetry.tel, desk, pace, tracer=telemetry.tracer)

    @property
    def catalog(self) -> Catalog:
        """The example catalog, as it is in use."""
        return self._telemetry.tel.catalog

    @property
    def url(self) -> str:
        """Where /metrics is served."""
        return self._exposition.url

    @property
    def port(self) -> int:
        """The port of /metrics."""
        return self._exposition.port

    def play(self, done: Callable[[Visit], None] = lambda _: None) -> None:
        """Play the shift; *done* is told of every session that is over. An interrupt ends it cleanly."""
        started = time.perf_counter()
        try:
            asyncio.run(self._shift.play(self.script.visits, done))
        finally:
            self._seconds = time.perf_counter() - started

    def scrape(self) -> str:
        """What /metrics answers now, over HTTP; raises OSError when it does not answer with 200."""
        connection = http.client.HTTPConnection(self._exposition.host, self._exposition.port, timeout=SECONDS_TO_SCRAPE)
        try:
            connection.request("GET", "/metrics")
            response = connection.getresponse()
            if response.status != http.HTTPStatus.OK:
                raise ConnectionError(f"{self.url} answered {response.status}")
            return response.read().decode("utf-8")
        finally:
            connection.close()

    @property
    def causes(self) -> Mapping[tuple[str, str], float]:
        """When each tool's trouble began, by tool and alert, as `time.monotonic()`."""
        return self._shift.causes

    def report(self, delivered: Iterable[Delivery] | None = None) -> Report:
        """
        Scrape, and read everything back that the shift has left behind.

        *delivered* are the alerts that real servers delivered, None where there were no servers.
        """
        self.folder.metrics.write_text(self.scrape(), "utf-8")
        return write_report(
            self._shift.ledger,
            self.catalog,
            self.folder,
            played=Played(self.script.seed, len(self.script.visits), self._seconds, self._simulated),
            delivered=None if delivered is None else tuple(delivered),
        )


@contextmanager
def open_stage(
    seed: int,
    sessions: int,
    pace: Pace,
    *,
    out: Path | None = None,
    port: int = 0,
    environ: Mapping[str, str] | None = None,
) -> Iterator[Stage]:
    """
    Set everything up for a shift of *sessions* and take it down after the block; the files stay.

    *out* is the folder for spans, logs and metrics (default: a new temporary one); /metrics is on loopback,
    at *port* or any free one; *environ* may name a collector for spans and logs, too. Raises ValueError for too few
    sessions, OSError for a folder or port in use.
    """
    script = write_script(seed, sessions)
    folder = Folder(Path(tempfile.mkdtemp(prefix="tooltel-demo-")) if out is None else out)
    folder.path.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        # Unbuffered by line: whoever follows the files sees each call when it is over.
        spans = stack.enter_context(folder.spans.open("w", buffering=1, encoding="utf-8"))
        logs = stack.enter_context(folder.logs.open("w", buffering=1, encoding="utf-8"))
        telemetry = stack.enter_context(watched(pace, spans=spans, logs=logs, environ=environ))
        exposition = stack.enter_context(telemetry.tel.serve(port))
        yield Stage(script, telemetry, pace, exposition=exposition, folder=folder)
