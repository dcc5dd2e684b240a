"""`tooltel check`: every problem of a catalog, for people and for pipelines."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tooltel import declarations as declared
from tooltel.artifacts import find_artifact_problems
from tooltel.catalog.hints import Hints
from tooltel.catalog.paths import shown
from tooltel.cli import CANNOT_RUN, FINE, PROBLEMS
from tooltel.cli.codes import epilog
from tooltel.cli.completion import complete_files
from tooltel.cli.formats import format_options
from tooltel.cli.terminal import working
from tooltel.errors import Level
from tooltel.loading import UNREADABLE, is_spec, locate, read_catalog
from tooltel.text import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tooltel.catalog import Catalog
    from tooltel.errors import Problem

DEFAULT_FILE: Final = "tools.toml"
_LINE: Final = 1000  # characters of one problem; it quotes names, which may be anything
_COLORS: Final = {Level.ERROR: "red", Level.WARN: "yellow", Level.OFF: "cyan"}

# Without these nothing can be rendered, and a process that only records runs well.
_TO_RENDER: Final = frozenset({"no_platform_owner", "no_platform_receiver"})

_EXAMPLES: Final = """
tooltel check                                   tools.toml of this folder
tooltel check ops/tools.toml --strict           warnings fail, too
tooltel check --catalog app.tools:CATALOG       a Catalog made in code
tooltel check --declarations support=sent.json  budgets and names of what the model is sent
tooltel check --format json | jq '.problems[].path'
"""


@click.command(epilog=epilog("check", _EXAMPLES))
@click.argument("file", required=False, metavar="[FILE]", shell_complete=complete_files)
@click.option(
    "--catalog",
    "spec",
    metavar="FILE|MODULE:ATTRIBUTE",
    help="The same as FILE, or a Catalog in code.",
    shell_complete=complete_files,
)
@format_options
@click.option("--strict", is_flag=True, help="Warnings fail, too.")
@click.option(
    "--declarations",
    "sent",
    multiple=True,
    metavar="[PROFILE=]FILE.json",
    help="Declarations that a profile sends to its model; PROFILE defaults to the file's name. Repeatable.",
)
def check(file: str | None, spec: str | None, form: str, sent: tuple[str, ...], *, strict: bool) -> int:
    """
    Find every problem of a catalog, default: tools.toml.

    Each has file and line, what is wrong, and what to write instead.
    """
    if file is not None and spec is not None:
        raise click.UsageError("give FILE or --catalog, not both")
    source = spec or file or DEFAULT_FILE
    if is_spec(source):
        sys.path.insert(0, str(Path.cwd()))  # a console script has its own folder there instead
    with working(f"checking {clean(source)}"):
        catalog, problems = _find_problems(source, sent)
    if catalog is None and sent:
        click.echo("the declarations were not checked: there is no catalog to hold them against", err=True)
    if form == "json":
        click.echo(json.dumps(_report(source, catalog, problems), indent=2))
    else:
        _print_text(source, catalog, problems)
    return _exit_code(problems, strict=strict)


def _find_problems(source: str, sent: Sequence[str]) -> tuple[Catalog | None, Sequence[Problem]]:
    catalog, problems = read_catalog(source)
    if catalog is None:
        return None, problems
    more = [*_artifact_problems(catalog, problems), *_declaration_problems(catalog, sent)]
    more += _signature_problems(catalog, problems)
    return catalog, locate([*problems, *more], source)


def _exit_code(problems: Sequence[Problem], *, strict: bool) -> int:
    if any(problem.rule in UNREADABLE for problem in problems):
        return CANNOT_RUN
    failing = any(problem.level is Level.ERROR or strict for problem in problems)
    return PROBLEMS if failing else FINE


def _artifact_problems(catalog: Catalog, known: Sequence[Problem]) -> list[Problem]:
    """What is wrong with what the catalog says of its artifacts; what it lacks for rendering only warns."""
    found = find_artifact_problems(catalog, known=known)
    return [replace(each, level=Level.WARN) if each.rule in _TO_RENDER else each for each in found]


def _signature_problems(catalog: Catalog, known: Sequence[Problem]) -> list[Problem]:
    """What is wrong with log signatures, beyond what the catalog's own checks have said of the same key."""
    from tooltel.match import find_signature_problems

    said = {problem.path for problem in known}
    return [each for each in find_signature_problems(catalog) if each.path not in said]


def _declaration_problems(catalog: Catalog, given: Sequence[str]) -> list[Problem]:
    declarations: dict[str, list[Any]] = {}
    for argument in given:
        profile, path = _split(argument, catalog)
        try:
            text = Path(path).read_text(encoding="utf-8")
            sent = json.loads(text)
        except OSError as error:
            raise click.UsageError(f"--declarations {path}: {error.strerror}") from None
        except (ValueError, RecursionError) as error:
            raise click.UsageError(f"--declarations {path}: is no JSON: {clean(error)}") from None
        declarations.setdefault(profile, []).append(sent)
    return declared.find_problems(catalog, declarations)


def _split(argument: str, catalog: Catalog) -> tuple[str, str]:
    """The profile and the path of one --declarations; without PROFILE= it is the file's name."""
    profile, equals, path = argument.partition("=")
    if not equals:
        profile, path = Path(argument).stem, argument
    if profile not in catalog.profiles and not catalog.open:
        fix = Hints(tuple(catalog.profiles)).fix(profile)
        hint = fix if equals else f"{fix}, as in --declarations PROFILE={clean(path)}"
        raise click.UsageError(f"--declarations: no profile {shown(profile)}; {hint}")
    return profile, path


def _report(source: str, catalog: Catalog | None, problems: Sequence[Problem]) -> dict[str, Any]:
    counts = {level: sum(problem.level is level for problem in problems) for level in Level}
    return {
        "source": source,
        "errors": counts[Level.ERROR],
        "warnings": counts[Level.WARN],
        "tools": len(catalog.tools) if catalog else 0,
        "owners": len(catalog.owners) if catalog else 0,
        "profiles": len(catalog.profiles) if catalog else 0,
        "problems": [asdict(problem) for problem in problems],
    }


def _print_text(source: str, catalog: Catalog | None, problems: Sequence[Problem]) -> None:
    for problem in problems:
        place = ":".join(str(part) for part in (problem.file, problem.line) if part is not None)
        level = click.style(problem.level.value, fg=_COLORS[problem.level], bold=True)
        rule = click.style(f"[{problem.rule}]", dim=True)
        said = clean(f"{problem.path}: {problem.what}; {problem.fix}", limit=_LINE)
        click.echo(f"{clean(place, limit=_LINE)}{': ' if place else ''}{level}: {said} {rule}")
    report = _report(source, catalog, problems)
    name = clean(source, limit=_LINE)
    if problems:
        counts = [_counted(report[f"{noun}s"], noun) for noun in ("error", "warning") if report[f"{noun}s"]]
        click.echo(f"{', '.join(counts)} in {name}")
    else:
        counts = [_counted(report[f"{noun}s"], noun) for noun in ("tool", "owner", "profile")]
        click.echo(f"{name}: {', '.join(counts)}: no problems")


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
