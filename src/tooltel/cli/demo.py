"""The verb `demo`: the whole story on one machine, told to a person."""

from __future__ import annotations

import json
import os
import threading
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from tooltel.cli import FINE, INTERRUPTED, PROBLEMS
from tooltel.cli.codes import epilog
from tooltel.demo.closing import Surroundings, close, tell_end
from tooltel.demo.endless import open_endless_desk
from tooltel.demo.live import Live
from tooltel.demo.pace import RealTime, SimulatedTime, Unhurried
from tooltel.demo.plots import CALM
from tooltel.demo.script import LEAST
from tooltel.demo.shift import UnexpectedEndError
from tooltel.demo.stack import HOW_TO_GET, ServerError, Stack, find_binaries
from tooltel.demo.stage import open_stage
from tooltel.demo.stopping import sigterm_interrupts
from tooltel.demo.summary import about, summarize
from tooltel.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tooltel.demo.delivery import Delivery, Told
    from tooltel.demo.report import Report
    from tooltel.demo.stage import Stage
    from tooltel.demo.steps import Visit

SEED: Final = 7
SESSIONS: Final = 300
PORT: Final = 9464
HOST: Final = "127.0.0.1"
EVERY: Final = 1.0  # seconds between two customers of a desk that never closes: some three calls a second
WIDEST: Final = 100  # columns: tables do not get better beyond

_EXAMPLES: Final = """
tooltel demo                         a shift of 300 sessions, in less than a minute
tooltel demo --serve                 the same, and /metrics stays at http://127.0.0.1:9464/metrics
tooltel demo --forever               shift after shift, for dashboards; spans and logs go to
                                     $OTEL_EXPORTER_OTLP_ENDPOINT where that is set
tooltel demo --fast --json | jq .equal
"""


@click.command(epilog=epilog("demo", _EXAMPLES))
@click.option(
    "--sessions",
    type=click.IntRange(min=LEAST, max=100_000),
    default=SESSIONS,
    show_default=True,
    help="Conversations of the two agents.",
)
@click.option("--seed", type=int, default=SEED, show_default=True, help="The same seed tells the same story.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for spans, logs and metrics; a new temporary one by default.",
)
@click.option("--serve", is_flag=True, help="Keep /metrics up until Ctrl-C.")
@click.option("--forever", is_flag=True, help="Play shift after shift until Ctrl-C, unhurried, and keep no files.")
@click.option("--port", type=click.IntRange(0, 65535), help=f"Port of /metrics; {PORT} by default where it stays up.")
@click.option("--host", help=f"Address of /metrics, with --forever; {HOST} by default, which nobody else reaches.")
@click.option("--fast", is_flag=True, help="Only add waiting times up; spans are then short.")
@click.option("--no-servers", is_flag=True, help="Start no Prometheus and Alertmanager, even where they are.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the summary.")
def demo(**options: Any) -> int:
    """Play a shift of a support desk through real wrappers, show what was recorded, and check it."""
    choices = Choices(**options)
    if choices.forever:
        return _play_forever(choices)
    if choices.host is not None:
        raise click.UsageError("--host is for --forever; a single shift serves on loopback")
    return _play(choices)


@dataclass(frozen=True, slots=True)
class Choices:
    """What was asked for on the command line; the options' help says what each means."""

    sessions: int
    seed: int
    out: Path | None
    serve: bool
    forever: bool
    port: int | None
    host: str | None
    fast: bool
    no_servers: bool
    as_json: bool


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Raise it, as everywhere: rich would exit with 1, which says that the counts differ."""
        raise BrokenPipeError


def _play(choices: Choices) -> int:
    said = _Console(highlight=False)
    said.width = min(said.width, WIDEST)
    aside = _Console(stderr=True, highlight=False)
    pace = SimulatedTime() if choices.fast else RealTime()
    port = choices.port if choices.port is not None else (PORT if choices.serve else 0)
    with ExitStack() as opened:
        stage = opened.enter_context(
            open_stage(choices.seed, choices.sessions, pace, out=choices.out, port=port, environ=os.environ)
        )
        try:
            servers = _start_servers(choices, stage, opened, aside)
            _show_progress(stage, servers, aside)
            report = _tell(stage, servers, choices, said=said, aside=aside)
        except KeyboardInterrupt:
            aside.print(f"\nStopped. What was recorded until now is in {stage.folder.path}", soft_wrap=True)
            return INTERRUPTED
        except UnexpectedEndError as error:
            aside.print(f"A call did not end as the script says: {error}", soft_wrap=True, markup=False)
            return PROBLEMS
        if choices.serve:
            _wait(servers.urls, aside)
    return FINE if report.is_equal and not report.misdirected else PROBLEMS


def _play_forever(choices: Choices) -> int:
    for name, given in (("--out", choices.out), ("--fast", choices.fast), ("--json", choices.as_json)):
        if given:
            raise click.UsageError(f"{name} and --forever do not go together: there is no end, and no report")
    aside = _Console(stderr=True, highlight=False)
    host, port = choices.host or HOST, PORT if choices.port is None else choices.port

    def done(number: int, calls: int) -> None:
        aside.print(f"shift {number} is over: {choices.sessions} sessions, {calls} calls", soft_wrap=True)

    with suppress(KeyboardInterrupt), sigterm_interrupts():
        desk = open_endless_desk(Unhurried(EVERY), sessions=choices.sessions, host=host, port=port, environ=os.environ)
        with desk as opened:
            aside.print(f"/metrics      {opened.url}\nCtrl-C ends the demo.", soft_wrap=True)
            try:
                opened.play(choices.seed, done)
            except UnexpectedEndError as error:
                aside.print(f"A call did not end as the script says: {error}", soft_wrap=True, markup=False)
                return PROBLEMS
    return FINE


@dataclass(frozen=True, slots=True)
class Servers:
    """The live part: `live` is None where there is none, and `note` says why; `urls` are what can be visited."""

    live: Live | None
    note: str
    urls: Mapping[str, str]


def _start_servers(choices: Choices, stage: Stage, opened: ExitStack, aside: Console) -> Servers:
    urls = {"/metrics": stage.url}
    if choices.no_servers:
        return Servers(None, "as asked, no servers ran", urls)
    if find_binaries() is None:
        return Servers(None, f"to see a page really arrive, {HOW_TO_GET}", urls)
    with _status(aside, "starting Prometheus and Alertmanager"):
        try:
            stack = opened.enter_context(Stack(stage.catalog, metrics_port=stage.port))
        except ServerError as error:
            return Servers(None, f"no servers ran: {error}", urls)
        except ModuleNotFoundError as error:
            missing = MissingExtraError(error.name or "PyYAML", extra="render", purpose="rendering the rules")
            return Servers(None, f"no servers ran: {missing}", urls)
    urls |= {"Prometheus": stack.prometheus_url, "Alertmanager": stack.alertmanager_url}
    return Servers(Live(stage, stack), "", urls)


def _tell(stage: Stage, servers: Servers, choices: Choices, *, said: Console, aside: Console) -> Report:
    """Print what came of the shift: the pages as soon as they are there, for a person, and their end after that."""
    live = servers.live
    if live is not None:
        with _status(aside, "waiting for the pages"):
            live.await_pages()
            if choices.as_json:
                live.await_end()
    report = stage.report(live.deliveries() if live else None)
    if choices.as_json:
        print(json.dumps(report.as_json()), flush=True)
        return report
    said.print(summarize(report))
    # A path is there to be copied: never cut it.
    said.print(close(report, Surroundings(servers.note, servers.urls, choices.serve)), soft_wrap=True)
    if live is not None:
        waiting = _status(aside, "waiting until the end of the errors is noticed; Ctrl-C does not wait")
        with suppress(KeyboardInterrupt), waiting:
            live.await_end()
        said.print(tell_end(live.deliveries()))
    return report


def _status(console: Console, words: str) -> AbstractContextManager[object]:
    return console.status(words) if console.is_terminal else nullcontext()


def _show_progress(stage: Stage, servers: Servers, aside: Console) -> None:
    """Play the shift; a terminal sees it move and pages arrive, a pipe sees nothing."""
    latest = TextColumn("sessions  [dim]{task.fields[trouble]}")
    columns = (TextColumn("{task.description}"), BarColumn(20), MofNCompleteColumn(), latest)
    paged: set[Told] = set()
    with Progress(*columns, console=aside, transient=True, disable=not aside.is_terminal) as progress:
        task = progress.add_task("playing the shift", total=len(stage.script.visits), trouble="")

        def done(visit: Visit) -> None:
            if visit.plot not in CALM:
                progress.update(task, trouble=visit.plot.replace("_", " "))
            progress.advance(task)
            for page in _new_pages(servers, paged) if aside.is_terminal else ():
                progress.console.print(Text.assemble((page.told.receiver, "red"), f" {about(page)}"))

        stage.play(done)


def _new_pages(servers: Servers, paged: set[Told]) -> list[Delivery]:
    if servers.live is None:
        return []
    found = [each for each in servers.live.deliveries() if each.is_page and each.told not in paged]
    paged.update(each.told for each in found)
    return found


def _wait(urls: Mapping[str, str], aside: Console) -> None:
    for what, url in urls.items():
        aside.print(f"{what:<13} {url}", soft_wrap=True)
    aside.print("Ctrl-C ends the demo.")
    with suppress(KeyboardInterrupt):
        threading.Event().wait()
