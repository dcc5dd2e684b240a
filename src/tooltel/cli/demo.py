"""The verb `demo`: the whole story on one machine, told to a person."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from tooltel.cli import FINE, PROBLEMS
from tooltel.demo.closing import close
from tooltel.demo.pace import RealTime, SimulatedTime
from tooltel.demo.plots import CALM
from tooltel.demo.script import LEAST
from tooltel.demo.stage import open_stage
from tooltel.demo.summary import summarize

if TYPE_CHECKING:
    from tooltel.demo.stage import Stage
    from tooltel.demo.steps import Visit

SEED: Final = 7
SESSIONS: Final = 300
PORT: Final = 9464
WIDEST: Final = 100  # columns: tables do not get better beyond

_EPILOG: Final = """
\b
Examples:
  tooltel demo                         a shift of 300 sessions, in some fifteen seconds
  tooltel demo --serve                 the same, and /metrics stays at http://127.0.0.1:9464/metrics
  tooltel demo --fast --json | jq .equal
"""


@click.command(epilog=_EPILOG)
@click.option("--sessions", type=click.IntRange(min=LEAST, max=100_000), default=SESSIONS, show_default=True)
@click.option("--seed", type=int, default=SEED, show_default=True, help="The same seed tells the same story.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for spans, logs and metrics; a new temporary one by default.",
)
@click.option("--serve", is_flag=True, help="Keep /metrics up until Ctrl-C.")
@click.option(
    "--port", type=click.IntRange(0, 65535), help=f"Port of /metrics; with --serve {PORT} by default."
)
@click.option("--fast", is_flag=True, help="Only add waiting times up; spans are then short.")
@click.option("--no-servers", is_flag=True, help="Start no Prometheus and Alertmanager, even where they are.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the summary.")
def demo(**options: Any) -> int:
    """Play a shift of a support desk through real wrappers, show what was recorded, and check it."""
    return _play(Choices(**options))


@dataclass(frozen=True, slots=True)
class Choices:
    """What was asked for on the command line; the options' help says what each means."""

    sessions: int
    seed: int
    out: Path | None
    serve: bool
    port: int | None
    fast: bool
    no_servers: bool
    as_json: bool


def _play(choices: Choices) -> int:
    said = Console(highlight=False)
    said.width = min(said.width, WIDEST)
    pace = SimulatedTime() if choices.fast else RealTime()
    port = choices.port if choices.port is not None else (PORT if choices.serve else 0)
    with open_stage(choices.seed, choices.sessions, pace, out=choices.out, port=port) as stage:
        _show_progress(stage)
        report = stage.report()
        url = stage.url if choices.serve else None
        if choices.as_json:
            print(json.dumps(report.as_json()), flush=True)
        else:
            said.print(summarize(report))
            said.print(close(report, url=url), soft_wrap=True)  # a path is there to be copied: never cut it
        if choices.serve:
            _wait(stage.url)
    return FINE if report.is_equal else PROBLEMS


def _show_progress(stage: Stage) -> None:
    """Play the shift; a terminal sees it move, a pipe sees nothing."""
    console = Console(stderr=True, highlight=False)
    latest = TextColumn("sessions  [dim]{task.fields[trouble]}")
    columns = (TextColumn("{task.description}"), BarColumn(20), MofNCompleteColumn(), latest)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("playing the shift", total=len(stage.script.visits), trouble="")

        def done(visit: Visit) -> None:
            if visit.plot not in CALM:
                progress.update(task, trouble=visit.plot.replace("_", " "))
            progress.advance(task)

        stage.play(done)


def _wait(url: str) -> None:
    print(f"\n{url} is up; Ctrl-C ends the demo.", file=sys.stderr, flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        threading.Event().wait()
