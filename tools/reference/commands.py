"""The page about the command line: what each verb's own help says."""

from __future__ import annotations

from typing import Final

import click

from tools.reference.markdown import listing, page
from tooltel.cli import CANNOT_RUN, FINE, INTERRUPTED, PROBLEMS
from tooltel.cli.app import VERBS, app

_WIDTH: Final = 100


def commands_page() -> str:
    """The verbs, each with its options, examples and exit codes."""
    return page(
        "Command line",
        f"Exit codes of every verb: {FINE} fine, {PROBLEMS} problems were found, {CANNOT_RUN} wrong usage or something "
        f"that keeps it from running, {INTERRUPTED} interrupted. Errors go to standard error in one sentence. "
        "`NO_COLOR=1` turns colors off.",
        listing(_help(app, "tooltel")),
        *(part for name in VERBS for part in (f"## tooltel {name}", _installed_by(name), listing(_verb_help(name)))),
    )


def _installed_by(name: str) -> str:
    return f"Comes with `tooltel[{VERBS[name].extra}]`."


def _verb_help(name: str) -> str:
    with click.Context(app, info_name="tooltel", **app.context_settings) as parent:
        command = app.get_command(parent, name)
        assert command is not None, f"the verb {name} has no module"  # noqa: S101 - the table and the code agree
        return _help(command, name, parent)


def _help(command: click.Command, name: str, parent: click.Context | None = None) -> str:
    # A fixed width: the page must not depend on the terminal of whoever renders it.
    settings = {**command.context_settings, "terminal_width": _WIDTH, "max_content_width": _WIDTH}
    with click.Context(command, info_name=name, parent=parent, **settings) as context:
        return command.get_help(context)
