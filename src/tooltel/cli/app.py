"""The table of verbs, and a click group that imports a verb only when it is asked for."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from tooltel._version import version
from tooltel.cli import CANNOT_RUN, FINE, INTERRUPTED
from tooltel.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Verb(NamedTuple):
    """
    One verb: `target` is `module:attribute` of its click command, `extra` what pip must have installed.

    A command returns its exit code (None is 0) and raises TooltelError for a user's mistake.
    """

    target: str
    summary: str
    extra: str = "cli"


VERBS: Final[Mapping[str, Verb]] = MappingProxyType(
    {
        "check": Verb("tooltel.cli.check:check", "Find every problem of a catalog."),
        "render": Verb("tooltel.cli.render:render", "Write dashboards, rules and routes of a catalog.", "cli,render"),
        "sidecar": Verb("tooltel.cli.sidecar:sidecar", "Count what an agent's logs tell, beside it.", "cli,sidecar"),
        "demo": Verb("tooltel.cli.demo:demo", "Play a shift of a support desk and show what was recorded."),
        "pager": Verb("tooltel.cli.pager:pager", "Show who is paged, where routes are tried out."),
    }
)

_EPILOG: Final = """
\b
Examples:
  tooltel check                           tools.toml of this folder
  tooltel check --strict ops/tools.toml   warnings fail, too
  tooltel check --catalog app.tools:CATALOG --format json
  tooltel VERB --help                     a verb's own options and examples

\b
Exit codes:
  0  fine
  1  problems were found
  2  wrong usage, or something kept the verb from running
"""


class LazyGroup(click.Group):
    """A click group whose commands stand in VERBS; listing them imports none."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The verbs whose modules are installed."""
        return [name for name, verb in VERBS.items() if _is_there(verb)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of one verb, imported now; raises MissingExtraError where its packages are missing."""
        verb = VERBS.get(cmd_name)
        return _load(cmd_name, verb) if verb is not None and _is_there(verb) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs with their summaries."""
        if rows := [(name, VERBS[name].summary) for name in self.list_commands(ctx)]:
            with formatter.section("Verbs"):
                formatter.write_dl(rows)


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog=_EPILOG,
    subcommand_metavar="VERB [ARGS]...",
)
@click.version_option(version, prog_name="tooltel", message="%(prog)s %(version)s")
@click.pass_context
def app(ctx: click.Context) -> None:
    """Observability and alerting for the tool calls of LLM agents."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(CANNOT_RUN)


def run(argv: Sequence[str] | None) -> int:
    """Run the app with *argv*; returns the exit code, raises TooltelError and OSError for `main` to tell."""
    try:
        code = app.main(None if argv is None else list(argv), prog_name="tooltel", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return CANNOT_RUN
    except click.Abort:
        click.echo("Interrupted.", err=True)
        return INTERRUPTED
    return code if isinstance(code, int) else FINE


def _is_there(verb: Verb) -> bool:
    return find_spec(verb.target.partition(":")[0]) is not None


def _load(name: str, verb: Verb) -> click.Command:
    module, _, attribute = verb.target.partition(":")
    try:
        command: click.Command = getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if missing.partition(".")[0] == "tooltel":
            raise
        raise MissingExtraError(missing, extra=verb.extra, purpose=f"tooltel {name}") from None
    return command
