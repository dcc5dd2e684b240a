"""`tooltel completion`: what makes a shell complete verbs, options and values."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from click.shell_completion import CompletionItem, get_completion_class

from tooltel.cli import FINE
from tooltel.cli.codes import epilog

if TYPE_CHECKING:
    from click import Context, Parameter

SHELLS: Final = ("bash", "zsh", "fish")

_EXAMPLES: Final = """
mkdir -p ~/.local/share/bash-completion/completions
tooltel completion bash > ~/.local/share/bash-completion/completions/tooltel
tooltel completion zsh > "${fpath[1]}/_tooltel"
tooltel completion fish > ~/.config/fish/completions/tooltel.fish
eval "$(tooltel completion bash)"     only for the shell that you are in
"""


@click.command(epilog=epilog("completion", _EXAMPLES, "A new shell completes: tooltel ch<TAB>, tooltel top --s<TAB>."))
@click.argument("shell", type=click.Choice(SHELLS), required=False)
def completion(shell: str | None) -> int:
    """Print the completion script of SHELL; by default, of the shell that you use."""
    from tooltel.cli.app import PROGRAM, VARIABLE, app

    if shell is None:
        shell = Path(os.environ.get("SHELL", "")).name
        if shell not in SHELLS:
            raise click.UsageError(f"which shell? name one of {', '.join(SHELLS)}")
    kind = get_completion_class(shell)
    assert kind is not None, shell  # noqa: S101 - click brings all of SHELLS
    click.echo(kind(app, {}, PROGRAM, VARIABLE).source())
    return FINE


def complete_files(_ctx: Context, _parameter: Parameter, incomplete: str) -> list[CompletionItem]:
    """Let the shell complete a file's name, for an option that takes one among other things."""
    return [CompletionItem(incomplete, type="file")]
