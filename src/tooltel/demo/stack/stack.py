"""The stack: Prometheus, Alertmanager and a pager, up while a context is open."""

from __future__ import annotations

import json
import signal
import socket
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from tooltel import signals
from tooltel.artifacts import RenderOptions
from tooltel.artifacts.routes.config import FIRING, SEVERITY
from tooltel.demo.stack.binaries import HOW_TO_GET, Binaries, find_binaries
from tooltel.demo.stack.children import PORT_TAKEN, Child, ServerError
from tooltel.demo.stack.files import Files, Ports, build_files, write_files
from tooltel.demo.stack.pager import Notification, Pager
from tooltel.promql import Scope

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from tooltel.catalog import Catalog

PAGE: Final = "page"
WATCHDOG: Final = "watchdog"
ATTEMPTS: Final = 5  # free ports are found by asking, and somebody else may be quicker to take them

_POLL: Final = 0.05  # seconds between two questions whether Prometheus has scraped
# Alerts are sent again this often, and end four times as much later when Prometheus falls silent: short, so that one
# which Alertmanager missed arrives soon; not so short that a busy machine resolves what still burns.
_RESEND: Final = "3s"


class Stack:
    """
    Runs *catalog*'s own rules and routes against the /metrics on loopback at *metrics_port*.

    Time is squeezed: five minutes of the rules last two seconds. Entering the context takes about six seconds, most
    of them Prometheus' own until it scrapes; then the dead-man's switch has arrived, so scraping, rules and routes
    work. Whatever serves /metrics must be up before, and until the context has ended, else Prometheus pages the
    platform's team, and rightly.

    *binaries* default to what `find_binaries()` finds, *options* to the catalog's own. Raises ServerError when there
    are no binaries, when one does not start within *seconds*, or at the end of the context when one has ended by
    itself. The context must end in the thread that opened it; on Linux the servers end with that thread. In the main
    thread SIGTERM ends the block as Ctrl-C does.
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        metrics_port: int,
        options: RenderOptions | None = None,
        binaries: Binaries | None = None,
        seconds: float = 60.0,
    ) -> None:
        self.pager = Pager()
        self._catalog = catalog
        self._options = options or RenderOptions.from_catalog(catalog)
        self._binaries = binaries
        self._seconds = seconds
        self._ports = Ports(0, 0, metrics_port)
        self._children: tuple[Child, ...] = ()
        self._exit = ExitStack()

    def __enter__(self) -> Self:
        binaries = self._binaries or find_binaries()
        if binaries is None:
            raise ServerError(f"no Prometheus and Alertmanager here: {HOW_TO_GET}")
        give_up = time.monotonic() + self._seconds
        with ExitStack() as opened:
            opened.enter_context(_sigterm_ends_the_block())
            opened.enter_context(self.pager)
            folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="tooltel-stack-")))
            files = self._start(binaries, folder, opened)
            self._wait_for_scrape(give_up)
            self._load_rules(files, folder, give_up)
            self._exit = opened.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._exit:
            if kind is None:
                self.demand_alive()

    @property
    def prometheus_url(self) -> str:
        """Where Prometheus' pages and API are."""
        return f"http://127.0.0.1:{self._ports.prometheus}"

    @property
    def alertmanager_url(self) -> str:
        """Where Alertmanager's pages and API are."""
        return f"http://127.0.0.1:{self._ports.alertmanager}"

    @property
    def pages(self) -> tuple[Notification, ...]:
        """Notifications with a firing page in them, in the order of arrival, whoever got them."""
        return tuple(each for each in self.pager.notifications if is_page(each))

    def demand_alive(self) -> None:
        """Raise ServerError, with its last words, when one of the servers has ended."""
        for child in self._children:
            child.demand_alive()

    def query(self, expression: str) -> list[dict[str, Any]]:
        """What Prometheus answers to an instant query: samples with `metric` and `value`."""
        url = f"{self.prometheus_url}/api/v1/query?{urllib.parse.urlencode({'query': expression})}"
        with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - our own server on loopback
            result: list[dict[str, Any]] = json.load(answer)["data"]["result"]
        return result

    def _start(self, binaries: Binaries, folder: Path, opened: ExitStack) -> Files:
        for attempt in range(1, ATTEMPTS + 1):
            self._ports = replace(self._ports, prometheus=_free_port(), alertmanager=_free_port())
            files = build_files(self._catalog, self._options, pager=self.pager, ports=self._ports)
            write_files(files.configs, folder)
            self._children = _servers(binaries, folder, self._ports)
            with ExitStack() as started:
                try:
                    for child in self._children:
                        started.enter_context(child)
                        child.wait_until_ready(seconds=self._seconds)
                except ServerError:
                    if attempt < ATTEMPTS and any(PORT_TAKEN in child.log for child in self._children):
                        continue
                    raise
                opened.push(started.pop_all())
                return files
        raise AssertionError("the last attempt returns or raises")

    def _wait_for_scrape(self, give_up: float) -> None:
        # Until the first scrape the whole fleet is absent: rules that are loaded now would say so.
        up = Scope().series(signals.UP, job=self._options.job)
        while not any(sample["value"][1] == "1" for sample in self.query(up.text)):
            self.demand_alive()
            if time.monotonic() > give_up:
                raise ServerError(
                    f"Prometheus scraped nothing from port {self._ports.metrics}: is /metrics served there?"
                )
            time.sleep(_POLL)

    def _load_rules(self, files: Files, folder: Path, give_up: float) -> None:
        write_files(files.rules, folder)
        *_, prometheus = self._children
        prometheus.reload()
        arrived = self.pager.wait_for(
            lambda everything: any(each.receiver == WATCHDOG for each in everything),
            seconds=give_up - time.monotonic(),
        )
        self.demand_alive()
        if not arrived:
            raise ServerError(f"no dead-man's switch arrived; Prometheus said last:\n{prometheus.last_words()}")


def is_page(notification: Notification) -> bool:
    """Whether one of its alerts is a page that fires."""
    return any(alert["status"] == FIRING and alert["labels"].get(SEVERITY) == PAGE for alert in notification.alerts)


def _servers(binaries: Binaries, folder: Path, ports: Ports) -> tuple[Child, Child]:
    """Alertmanager first: an alert that fires before it listens waits until it is sent again."""
    alertmanager = Child(
        "Alertmanager",
        [
            binaries.alertmanager,
            f"--config.file={folder / 'alertmanager.yml'}",
            f"--storage.path={folder / 'alertmanager'}",
            f"--web.listen-address=127.0.0.1:{ports.alertmanager}",
            "--cluster.listen-address=",
        ],
        log=folder / "alertmanager.log",
        ready=f"http://127.0.0.1:{ports.alertmanager}/-/ready",
    )
    prometheus = Child(
        "Prometheus",
        [
            binaries.prometheus,
            f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'prometheus'}",
            f"--web.listen-address=127.0.0.1:{ports.prometheus}",
            f"--rules.alert.resend-delay={_RESEND}",
        ],
        log=folder / "prometheus.log",
        ready=f"http://127.0.0.1:{ports.prometheus}/-/ready",
    )
    return alertmanager, prometheus


@contextmanager
def _sigterm_ends_the_block() -> Iterator[None]:
    """Let SIGTERM raise SystemExit, so that contexts end; only where nobody else has a say about it."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _exit)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _exit(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as asked:
        port: int = asked.getsockname()[1]
    return port
