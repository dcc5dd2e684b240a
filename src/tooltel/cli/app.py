"""The table of verbs, and a click group that imports a verb only when it is asked for."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

import click
from click.shell_completion import shell_complete

from tooltel._version import version
from tooltel.cli import CANNOT_RUN, FINE
from tooltel.cli.codes import epilog
from tooltel.cli.terminal import wants_color
from tooltel.errors import MissingExtraError
from tooltel.text import clean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


PROGRAM: Final = "tooltel"
VARIABLE: Final = "_TOOLTEL_COMPLETE"  # click's own convention: a shell that completes asks the program itself
_LINE: Final = 1000  # characters: a mistake quotes what was given


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
        "top": Verb("tooltel.cli.top:top", "Watch what the tools do now, in the terminal."),
        "demo": Verb("tooltel.cli.demo:demo", "Play a shift of a support desk and show what was recorded."),
        "completion": Verb("tooltel.cli.completion:completion", "Print what makes a shell complete all this."),
        "pager": Verb("tooltel.cli.pager:pager", "Show who is paged, where routes are tried out."),
    }
)

_EXAMPLES: Final = """
tooltel check                           tools.toml of this folder
tooltel check --strict ops/tools.toml   warnings fail, too
tooltel check --catalog app.tools:CATALOG --format json
tooltel top http://127.0.0.1:9464       what an agent's tools do now
tooltel VERB --help                     a verb's own options and examples
"""

_NOTES: Final = """
Shell completion: tooltel completion --help says how to install it, e.g.
  eval "$(tooltel completion bash)"
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

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb that the arguments name; one that is not there is told with the nearest that is."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None and not ctx.resilient_parsing:
            from difflib import get_close_matches

            verbs = self.list_commands(ctx)
            nearest = get_close_matches(name, verbs, n=1)
            hint = f"did you mean {nearest[0]}?" if nearest else f"there are {', '.join(verbs)}"
            raise click.UsageError(f"no verb '{clean(name)}': {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs with their summaries."""
        if rows := [(name, VERBS[name].summary) for name in self.list_commands(ctx)]:
            with formatter.section("Verbs"):
                formatter.write_dl(rows)


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog=epilog("", _EXAMPLES, _NOTES),
    subcommand_metavar="VERB [ARGS]...",
)
@click.version_option(version, prog_name="tooltel", message="%(prog)s %(version)s")
@click.pass_context
def app(ctx: click.Context) -> None:
    """Observability and alerting for the tool calls of LLM agents."""
    ctx.color = wants_color()
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(CANNOT_RUN)


def run(argv: Sequence[str] | None) -> int:
    """
    Run the app with *argv*; returns the exit code.

    Raises TooltelError, OSError and KeyboardInterrupt for `main` to tell. It does what click's own `main` would,
    which hides a broken pipe and tells a mistake in three lines.
    """
    if instruction := os.environ.get(VARIABLE):
        return shell_complete(app, {}, PROGRAM, VARIABLE, instruction)
    try:
        with app.make_context(PROGRAM, sys.argv[1:] if argv is None else list(argv)) as ctx:
            code = app.invoke(ctx)
    except click.exceptions.Exit as left:
        return left.exit_code
    except click.Abort as error:
        raise KeyboardInterrupt from error
    except click.ClickException as error:
        click.echo(_sentence(error), err=True)
        return CANNOT_RUN
    return code if isinstance(code, int) else FINE


def _sentence(error: click.ClickException) -> str:
    """What is wrong with the command line, and where its help is, in one line."""
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    verb = ctx.command_path if ctx is not None else PROGRAM
    said = " ".join(error.format_message().split())
    said = said if said.endswith("...") else said.removesuffix(".")
    said = said[:1].lower() + said[1:] if said[1:2].islower() else said
    return f"{verb}: {clean(said, limit=_LINE)}{'' if said.endswith('?') else ';'} see {verb} --help"


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
