"""The two spellings of one choice: text for a person, JSON for a script."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

_ASKED: Final = "tooltel.json"
_Command = TypeVar("_Command", bound=Callable[..., Any])


def format_options(command: _Command) -> _Command:
    """Give a verb `--format text|json`, as the parameter `form`, and `--json` for short."""
    short = click.option(
        "--json",
        is_flag=True,
        is_eager=True,  # before --format, whose default it takes the place of
        expose_value=False,
        callback=_remember,
        help="The same as --format json.",
    )
    both = click.option(
        "--format",
        "form",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        callback=_choose,
    )
    return both(short(command))


def _remember(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's signature
    ctx.meta[_ASKED] = value


def _choose(ctx: click.Context, _parameter: click.Parameter, value: str) -> str:
    return "json" if ctx.meta.get(_ASKED) else value
