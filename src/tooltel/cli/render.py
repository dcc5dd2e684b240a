"""`tooltel render`: write what goes with a catalog, or check that what is committed still does."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tooltel.artifacts import KINDS, find_artifact_problems
from tooltel.artifacts import render as render_files
from tooltel.artifacts.differences import diff_lines
from tooltel.artifacts.folder import Change, Difference, compare, write
from tooltel.artifacts.options import RenderOptions
from tooltel.cli import FINE, PROBLEMS
from tooltel.cli.codes import epilog
from tooltel.cli.completion import complete_files
from tooltel.cli.formats import format_options
from tooltel.cli.terminal import working
from tooltel.errors import CatalogError, Level
from tooltel.loading import is_spec, locate, read_catalog
from tooltel.text import clean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tooltel.catalog import Catalog

DEFAULT_FILE: Final = "tools.toml"
LINES_PER_FILE: Final = 40
FILES_SHOWN: Final = 10  # files whose difference is shown; the others are only named
PLACEHOLDERS: Final = {key: getattr(RenderOptions(), key) for key in ("dashboards_url", "runbooks_url")}
_WIDTH: Final = 200  # characters of one line of a file

_EXAMPLES: Final = """
tooltel render                                    dashboards/ and alerts/ for tools.toml, in this folder
tooltel render --catalog ops/tools.toml --out ops
tooltel render --catalog app.tools:CATALOG --only rules --only routes
tooltel render --check                            in CI: fails when a committed file is stale
"""


@click.command(epilog=epilog("render", _EXAMPLES))
@click.option(
    "--catalog",
    "source",
    metavar="FILE|MODULE:ATTRIBUTE",
    default=DEFAULT_FILE,
    show_default=True,
    shell_complete=complete_files,
)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=".", show_default=True)
@click.option("--check", "checking", is_flag=True, help="Write nothing; fail when a file is not as rendered.")
@click.option("--only", multiple=True, type=click.Choice(KINDS), help="Render only these. Repeatable.")
@format_options
def render(source: str, out: Path, only: tuple[str, ...], form: str, *, checking: bool) -> int:
    """
    Write the dashboards, rules and routes of a catalog.

    Only files that changed are written. Files that somebody else wrote are never touched.
    """
    with working(f"rendering {clean(source)}"):
        files = render_files(_read(source), only=only)
        changes = compare(files, out, leftovers=not only)
        if not checking:
            write(changes, out)
    if form == "json":
        click.echo(json.dumps(_report(source, out, files, changes, checking=checking), indent=2))
    elif checking:
        _print_check(changes, len(files), source)
    else:
        _print_written(changes, len(files), out)
    if not checking:
        _note_placeholders(files)
    return PROBLEMS if checking and changes else FINE


def _read(source: str) -> Catalog:
    """The catalog, or one CatalogError with everything that keeps it from being rendered, line by line."""
    if is_spec(source):
        sys.path.insert(0, str(Path.cwd()))  # a console script has its own folder there instead
    catalog, problems = read_catalog(source)
    if catalog is not None:
        problems = [*problems, *locate(find_artifact_problems(catalog, known=problems), source)]
    errors = sorted(
        (problem for problem in problems if problem.level is Level.ERROR),
        key=lambda problem: (problem.file != source, problem.line or 0),
    )
    if catalog is None or errors:
        raise CatalogError(errors, source=source)
    return replace(catalog, source=source)  # one made in code does not know what it was asked for by


def _report(
    source: str, out: Path, files: dict[str, str], changes: Sequence[Change], *, checking: bool
) -> dict[str, Any]:
    by_difference = {
        difference.name.lower(): [change.path for change in changes if change.difference is difference]
        for difference in Difference
    }
    return {"source": source, "out": str(out), "files": len(files), "checked": checking, **by_difference}


def _print_written(changes: Sequence[Change], files: int, out: Path) -> None:
    for change in changes:
        if change.new is not None:
            click.echo(f"{'new' if change.old is None else 'changed'}  {clean(out / change.path, limit=_WIDTH)}")
    _print_left_over(changes)
    written = sum(change.new is not None for change in changes)
    click.echo(f"{files} files: {written} written, {files - written} unchanged")


def _note_placeholders(files: Mapping[str, str]) -> None:
    """Say, aside, which links of the alerts lead nowhere: who is paged at night must not be the first to see it."""
    rules = "".join(text for path, text in files.items() if path.startswith("alerts/rules/"))
    unset = {key: url for key, url in PLACEHOLDERS.items() if url in rules}
    if unset:
        urls, keys = " and ".join(unset.values()), " and ".join(unset)
        click.echo(f"note: pages link to {urls}, which lead nowhere: say yours in [render] {keys}", err=True)


def _print_check(changes: Sequence[Change], files: int, source: str) -> None:
    differing = [change for change in changes if change.new is not None]
    for shown, change in enumerate(differing):
        click.echo(f"{change.difference}: {clean(change.path, limit=_WIDTH)}")
        if change.old is not None and change.new is not None and shown < FILES_SHOWN:
            for line in diff_lines(change.old, change.new, path=change.path, limit=LINES_PER_FILE):
                click.echo(f"  {clean(line, limit=_WIDTH)}")
    _print_left_over(changes)
    if changes:
        click.echo(f"not as rendered from {clean(source, limit=_WIDTH)}: run tooltel render and commit what it wrote")
    else:
        click.echo(f"{files} files: all as rendered")


def _print_left_over(changes: Sequence[Change]) -> None:
    for change in changes:
        if change.difference is Difference.LEFT_OVER:
            click.echo(f"left over: {clean(change.path, limit=_WIDTH)}: no longer rendered, delete it")
