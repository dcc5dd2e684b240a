"""`tooltel sidecar`: count what an agent's logs tell, beside the agent."""

from __future__ import annotations

import gc
import re
import sys
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tooltel.catalog.hints import Hints
from tooltel.catalog.paths import shown
from tooltel.cli import FINE, PROBLEMS
from tooltel.cli.codes import epilog
from tooltel.cli.completion import complete_files
from tooltel.cli.terminal import working
from tooltel.errors import CatalogError, Level
from tooltel.loading import is_spec, read_catalog
from tooltel.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from tooltel.catalog import Catalog, Source
    from tooltel.match import Judge
    from tooltel.sidecar.engine import Engine, Job

DEFAULT_FILE: Final = "tools.toml"
LISTEN: Final = "127.0.0.1:9464"
FORMATS: Final = ("auto", "text", "json", "docker", "cri")
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")

_EXAMPLES: Final = """
tooltel sidecar                                      the [sidecar.sources] of tools.toml
tooltel sidecar --file 'agent=/var/log/agent/*.log' --state /var/lib/tooltel
tooltel sidecar --file agent.log --once              read it to its end, and print the counts
journalctl -fu agent -o cat | tooltel sidecar --stdin --profile support
tooltel sidecar --profile support -- python -m agent start the agent, and count what it says
"""

_NOTES: Final = """
It serves /metrics, /healthz and /readyz, and on the machine itself /matches, the last lines that counted.
Without --state, every start is the first one: lines are counted again, or not at all.
"""


@dataclass(frozen=True, slots=True)
class Choices:
    """What was asked for on the command line; the options' help says what each means."""

    catalog: str
    file: tuple[str, ...]
    stdin: bool
    state: Path | None
    listen: str
    format: str
    once: bool
    begin: str
    profile: str | None
    framework: str | None
    command: tuple[str, ...]


@click.command(epilog=epilog("sidecar", _EXAMPLES, _NOTES), context_settings={"ignore_unknown_options": False})
@click.option(
    "--catalog",
    metavar="FILE|MODULE:ATTRIBUTE",
    default=DEFAULT_FILE,
    show_default=True,
    shell_complete=complete_files,
)
@click.option(
    "--file",
    multiple=True,
    metavar="[NAME=]GLOB",
    help="Files to read. Repeatable; one NAME may have many.",
    shell_complete=complete_files,
)
@click.option("--stdin", is_flag=True, help="Read standard input.")
@click.option("--state", type=click.Path(file_okay=False, path_type=Path), help="Folder for what survives a restart.")
@click.option("--listen", metavar="HOST:PORT", default=LISTEN, show_default=True)
@click.option("--format", type=click.Choice(FORMATS), default="auto", show_default=True, help="What lines look like.")
@click.option("--once", is_flag=True, help="Read to the end, print the counts as Prometheus text, exit.")
@click.option(
    "--from", "begin", type=click.Choice(["start", "end"]), default="start", show_default=True,
    help="Where files begin that are there at the very first start.",
)  # fmt: skip
@click.option("--profile", metavar="NAME", help="Whose sessions the logs are about.")
@click.option("--framework", metavar="NAME", help="Whose logs they are: only its signatures count.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND ARGS...]")
def sidecar(**options: Any) -> int:
    """Count what the logs of an agent tell, each line exactly once."""
    choices = Choices(**options)
    catalog = _read_catalog(choices.catalog)
    sources = _sources(choices, catalog)
    return _run(choices, catalog, sources)


def _read_catalog(spec: str) -> Catalog:
    if is_spec(spec):
        sys.path.insert(0, str(Path.cwd()))  # a console script has its own folder there instead
    catalog, problems = read_catalog(spec)
    errors = [problem for problem in problems if problem.level is Level.ERROR and not problem.house]
    if catalog is None or errors:
        raise CatalogError(errors or problems, source=spec)
    return catalog


# --- what to read ------------------------------------------------------------------------------------


def _sources(choices: Choices, catalog: Catalog) -> list[Source]:
    """The sources of the command line; without any, the catalog's."""
    from tooltel.catalog import Source
    from tooltel.match import FRAMEWORKS

    if bool(choices.file) + choices.stdin + bool(choices.command) > 1:
        raise click.UsageError("give one of --file, --stdin and a COMMAND: each is a sidecar of its own")
    if choices.profile is not None and choices.profile not in catalog.profiles and not catalog.open:
        raise click.UsageError(f"--profile: {_misnamed('profile', choices.profile, catalog.profiles)}")
    if choices.framework is not None and choices.framework not in FRAMEWORKS:
        raise click.UsageError(f"--framework: {_misnamed('framework', choices.framework, FRAMEWORKS)}")

    def source(name: str, files: Sequence[str] = ()) -> Source:
        return Source(name, tuple(files), choices.format, choices.profile, choices.framework)

    if choices.command:
        return [source("stdout"), source("stderr")]
    if choices.stdin:
        return [source("stdin")]
    if choices.file:
        return [source(name, files) for name, files in _named(choices.file).items()]
    if not catalog.sources:
        hint = "give --file, --stdin or a COMMAND, or add [sidecar.sources] to the catalog"
        raise click.UsageError(f"nothing to read: {hint}")
    return [
        replace(each, profile=choices.profile or each.profile, framework=choices.framework or each.framework)
        for each in catalog.sources.values()
    ]


def _misnamed(what: str, name: str, known: Collection[str]) -> str:
    """That there is no such *what*, and which one was probably meant."""
    return f"no {what} {shown(name)}; {Hints(known).fix(name)}"


def _named(arguments: Sequence[str]) -> dict[str, list[str]]:
    """Globs by name. One without a name is called by its place, never by its path: that would be a label."""
    found: dict[str, list[str]] = {}
    for place, argument in enumerate(arguments, start=1):
        name, equals, pattern = argument.partition("=")
        if not equals or not _NAME.fullmatch(name):
            name, pattern = f"file{place}", argument
        if not pattern:
            raise click.UsageError(f"--file {clean(argument)}: names no file")
        found.setdefault(name, []).append(str(Path.cwd() / pattern))
    return found


def _judge_of(catalog: Catalog) -> Callable[[Source], Judge]:
    """The judge of each source. Where a plug-in counts what its framework logs, the log does not count it again."""
    from tooltel.match import Judge, rules_of_catalog

    rules = rules_of_catalog(catalog)

    def judge(source: Source) -> Judge:
        counted = {source.framework} if source.framework else {rule.framework for rule in rules if rule.framework}
        kept = [rule for rule in rules if not (source.plugin and rule.framework in counted)]
        return Judge(kept, catalog, source.profile, source.framework, suggest=False)

    return judge


# --- running -----------------------------------------------------------------------------------------


def _run(choices: Choices, catalog: Catalog, sources: list[Source]) -> int:
    from tooltel.sidecar.disk import Disk
    from tooltel.sidecar.engine import Engine, Job
    from tooltel.sidecar.slots import Slots
    from tooltel.sidecar.state import Forgetting
    from tooltel.sidecar.waiting import SystemClock, descriptors_for_files

    host, port = _address(choices.listen)
    job = Job(catalog, sources, _judge_of(catalog), choices.begin == "end", descriptors_for_files())
    keeping = Slots(choices.state) if choices.state is not None else Forgetting()
    engine = Engine(job, disk=Disk(), keeping=keeping, clock=SystemClock(), say=_say)
    gc.freeze()  # what is loaded by now stays: no collection need look through it ever again
    with ExitStack() as opened:
        if not choices.once:
            _serve(engine, catalog, opened, host, port)
            if choices.state is None:
                _say("warning", "no --state: after a restart lines count again, or not at all")
        if choices.command:
            return _follow_child(engine, choices, job)
        if choices.stdin:
            return _follow_stdin(engine, choices, catalog, job)
        return _follow_files(engine, choices, catalog)


def _serve(engine: Engine, catalog: Catalog, opened: ExitStack, host: str, port: int) -> None:
    import time

    from tooltel.sidecar.exposing import Scrape
    from tooltel.sidecar.serving import Server

    server = Server(engine, Scrape(engine, _about(catalog)), host=host, port=port, monotonic=time.monotonic)
    opened.enter_context(server)
    _say("info", f"listening on {server.url}")


def _about(catalog: Catalog) -> Any:
    import time

    from tooltel._version import version
    from tooltel.exposition import CatalogCollector

    loaded_at = time.time()
    return CatalogCollector(lambda: catalog, lambda: loaded_at, version)


def _follow_files(engine: Engine, choices: Choices, catalog: Catalog) -> int:
    from tooltel.sidecar.waiting import SignalWaker

    if not choices.once:
        waker = SignalWaker()
        waker.listen()
        engine.run(waker)
        return FINE
    with working("reading to the end"):
        engine.run_once()
    _print_counts(engine, catalog)
    engine.finish()
    missing = engine.readiness.missing
    for pattern in missing:
        _say("error", f"{pattern}: no such file")
    return PROBLEMS if missing and not engine.follower.logs else FINE


def _follow_stdin(engine: Engine, choices: Choices, catalog: Catalog, job: Job) -> int:
    from tooltel.sidecar.piping import Pipe, Pump
    from tooltel.sidecar.streams import Stream
    from tooltel.sidecar.waiting import SignalWaker

    waker = SignalWaker()
    waker.listen()
    pump = Pump(engine, [Pipe(0, Stream("stdin", limits=job.limits))], goes_on=lambda: waker.wait(0))
    pump.run()
    pump.end()
    engine.commit()
    if choices.once:
        _print_counts(engine, catalog)
    engine.finish()
    return FINE


def _follow_child(engine: Engine, choices: Choices, job: Job) -> int:
    from tooltel.sidecar.piping import run_child

    try:
        return run_child(engine, choices.command, limits=job.limits)
    finally:
        engine.finish()


def _print_counts(engine: Engine, catalog: Catalog) -> None:
    from tooltel.sidecar.exposing import Scrape

    click.echo(Scrape(engine, _about(catalog)).as_text(), nl=False)


def _address(listen: str) -> tuple[str, int]:
    host, colon, port = listen.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise click.UsageError(f"--listen {clean(listen)}: write HOST:PORT, as in {LISTEN}")
    return host.strip("[]") or "0.0.0.0", int(port)  # noqa: S104 - ":9464" asks for it


def _say(level: str, sentence: str) -> None:
    print(f"tooltel sidecar: {level}: {clean(sentence, limit=1000)}", file=sys.stderr, flush=True)
