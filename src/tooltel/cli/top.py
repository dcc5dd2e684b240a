"""`tooltel top`: what the tools of an agent, or of a fleet, do now."""

from __future__ import annotations

import json
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tooltel import promql
from tooltel.cli import FINE
from tooltel.cli.codes import epilog
from tooltel.cli.formats import format_options
from tooltel.cli.terminal import is_interactive, working
from tooltel.errors import MissingExtraError, TooltelError
from tooltel.top import asking
from tooltel.top.board import Order, make_board, tone
from tooltel.top.cells import seconds as stretch
from tooltel.top.rows import By, Sort
from tooltel.top.sources import WINDOW_OF_PAGES, WINDOW_OF_QUERIES, MetricsPage, PrometheusServer, find_source

if TYPE_CHECKING:
    from tooltel.top.looks import Look

URL: Final = "http://127.0.0.1:9464"  # where tel.serve, the sidecar and the demo listen by themselves
INTERVAL: Final = "3s"  # as top has it
TIMEOUT: Final = f"{asking.TIMEOUT:.0f}s"
_STYLES: Final[dict[str, dict[str, Any]]] = {
    "page": {"fg": "red", "bold": True},
    "firing": {"fg": "yellow"},
    "idle": {"dim": True},
}

_EXAMPLES: Final = """
tooltel top                                     the agent of this machine, at port 9464
tooltel top http://prometheus:9090              a whole fleet, with what is firing
tooltel top http://prometheus:9090 --by owner --sort errors
tooltel top agent-3:9464 --once --limit 10      print ten lines, and go
tooltel top http://prometheus:9090 --json | jq '.rows[] | select(.firing != [])'
"""

_NOTES: Final = f"""
Keys: arrows move, s sorts by the next column, r turns the order, o goes from tools to owners,
/ filters, Escape shows all again, Space pauses, q quits.

\b
Counts are of the window: {stretch(WINDOW_OF_PAGES)} of a /metrics page, {stretch(WINDOW_OF_QUERIES)} of a Prometheus.
Printed once, a page tells of all the time since its process began, unless --window waits for two looks.
"""


def _as_seconds(ctx: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Read a length of time: `30s`, `5m`, `1h30m`, or a number of seconds."""
    if value is None:
        return None
    try:
        length = float(value) if value.isdecimal() else float(promql.seconds(value))
    except ValueError:
        length = 0.0
    if not 0 < length <= promql.SECONDS["y"]:
        raise click.BadParameter(f"{value!r} is no length of time such as 30s or 5m", ctx, parameter)
    return length


@click.command(epilog=epilog("top", _EXAMPLES, _NOTES))
@click.argument("url", default=URL, metavar="[URL]")
@click.option(
    "--by",
    type=click.Choice([each.value for each in By]),
    default=By.TOOL.value,
    show_default=True,
    help="What a row is about.",
)
@click.option("--sort", type=click.Choice([each.value for each in Sort]), default=Sort.CALLS.value, show_default=True)
@click.option("--reverse", is_flag=True, help="The other way around.")
@click.option("--filter", "wanted", default="", metavar="TEXT", help="Only what has it in tool, owner or alert.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most so many rows.")
@click.option("--once", is_flag=True, help="Print it and go; as it is where no terminal reads.")
@format_options
@click.option("--window", callback=_as_seconds, metavar="DURATION", help="Over how long to count, e.g. 30s or 1h.")
@click.option(
    "--interval",
    callback=_as_seconds,
    default=INTERVAL,
    show_default=True,
    metavar="DURATION",
    help="How often to look.",
)
@click.option(
    "--timeout",
    callback=_as_seconds,
    default=TIMEOUT,
    show_default=True,
    metavar="DURATION",
    help="How long an answer may take.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    help="File with a bearer token for the URL, e.g. of a hosted Prometheus.",
)
def top(**options: Any) -> int:
    """
    Watch what the tools do now.

    URL is the /metrics of an agent or a sidecar, or a Prometheus that scrapes many of them; which, is found out by
    asking. Calls per second, share of errors, 95th percentile of the time they take, calls to no tool and rejected
    calls, by tool or owner; from a Prometheus also the alerts that fire.
    """
    return _watch(Choices(**options))


@dataclass(frozen=True, slots=True)
class Choices:
    """What was asked for on the command line; the options' help says what each means."""

    url: str
    by: str
    sort: str
    reverse: bool
    wanted: str
    limit: int | None
    once: bool
    form: str
    window: float | None
    interval: float
    timeout: float
    token_file: Path | None

    @property
    def order(self) -> Order:
        """How rows are shown."""
        return Order(By(self.by), Sort(self.sort), self.reverse, self.wanted, self.limit)


def _watch(choices: Choices) -> int:
    token = _read_token(choices.token_file)
    live = choices.form == "text" and not choices.once and is_interactive()
    title = asking.read_address(choices.url, token=token).title
    with working(f"asking {title}"):
        source = find_source(choices.url, token=token, window=choices.window, timeout=choices.timeout)
        look = source.look()
    if live:
        return _show_live(source, look, choices)
    if choices.window is not None and look.since_start:
        with working(f"counting for {stretch(choices.window)}"):
            time.sleep(choices.window)
            look = source.look()
    if choices.form == "json":
        click.echo(json.dumps(make_board(look, choices.order).as_json(source.title, at=time.time()), indent=2))
    else:
        _print(look, choices.order, source.title)
    return FINE


def _read_token(path: Path | None) -> str:
    if path is None:
        return ""
    token = path.read_text(encoding="utf-8", errors="replace").strip()
    if not token or not token.isascii() or not token.isprintable():
        raise TooltelError(f"{path}: holds no token: it must be one line of letters, digits and signs")
    return token


def _print(look: Look, order: Order, title: str) -> None:
    width = shutil.get_terminal_size().columns if sys.stdout is not None and sys.stdout.isatty() else None
    board = make_board(look, order)
    laid = board.lay_out(width)
    lines = [board.headline(title), click.style(board.heading(laid), bold=True)]
    for row in board.rows:
        line, style = board.line(row, laid), _STYLES.get(tone(row))
        lines.append(line if style is None else click.style(line, **style))
    click.echo("\n".join(lines))


def _show_live(source: MetricsPage | PrometheusServer, look: Look, choices: Choices) -> int:
    try:
        from tooltel.top.screen import TopApp
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "tooltel":
            raise
        raise MissingExtraError(error.name or "textual", extra="cli", purpose="the live table") from None
    app = TopApp(source, first=look, order=choices.order, interval=choices.interval)
    app.run()
    if app.fault is not None:
        raise app.fault
    return app.return_code or FINE
