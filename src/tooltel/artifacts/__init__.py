"""What a catalog becomes besides code: rules, routes, dashboards and an index of runbooks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from tooltel.artifacts.options import RenderOptions, find_option_problems, find_override_problems
from tooltel.artifacts.routes import find_receiver_problems
from tooltel.catalog import find_problems
from tooltel.errors import CatalogError, Level, Problem

if TYPE_CHECKING:
    from tooltel.catalog import Catalog

__all__ = ["KINDS", "RenderOptions", "find_artifact_problems", "render"]

Renderer = Callable[["Catalog", RenderOptions], dict[str, str]]


# Each room is imported when it renders: rules need no dashboard package, and the other way round.


def _rules(catalog: Catalog, options: RenderOptions) -> dict[str, str]:
    from tooltel.artifacts.rules import render_rule_tests, render_rules

    return {**render_rules(catalog, options), **render_rule_tests(catalog, options)}


def _routes(catalog: Catalog, options: RenderOptions) -> dict[str, str]:
    from tooltel.artifacts.routes import render_routes

    return render_routes(catalog, options)


def _dashboards(catalog: Catalog, options: RenderOptions) -> dict[str, str]:
    from tooltel.artifacts.dashboards import render_dashboards

    return render_dashboards(catalog, options)


def _runbooks(catalog: Catalog, options: RenderOptions) -> dict[str, str]:
    from tooltel.artifacts.runbooks import render_runbook_index

    return render_runbook_index(catalog, options)


RENDERERS: Final[Mapping[str, Renderer]] = MappingProxyType(
    {"rules": _rules, "routes": _routes, "dashboards": _dashboards, "runbooks": _runbooks}
)
KINDS: Final = tuple(RENDERERS)


def render(catalog: Catalog, options: RenderOptions | None = None, *, only: Collection[str] = ()) -> dict[str, str]:
    """
    Render everything that goes with *catalog*: {path below the repository's root: text}.

    *options* default to the catalog's `[render]` table; *only* names some of KINDS. The same catalog gives
    the same bytes. Raises CatalogError with every problem of catalog, options and receivers, and
    MissingExtraError where the packages of `tooltel[render]` are missing.
    """
    problems = [problem for problem in find_problems(catalog) if problem.level is Level.ERROR]
    if problems := [*problems, *find_artifact_problems(catalog, options, known=problems)]:
        raise CatalogError(problems, source=catalog.source)
    settled = options or RenderOptions.from_catalog(catalog)
    files: dict[str, str] = {}
    for kind, renderer in RENDERERS.items():
        if not only or kind in only:
            files.update(renderer(catalog, settled))
    return files


def find_artifact_problems(
    catalog: Catalog, options: RenderOptions | None = None, *, known: Collection[Problem] = ()
) -> list[Problem]:
    """
    Find what keeps *catalog* from being rendered: options, overrides of single tools, receivers.

    *options* are taken as they are; without them the `[render]` table is judged. What *known* says of the
    same place is not said twice.
    """
    problems = [] if options else [*find_option_problems(catalog.render), *find_override_problems(catalog)]
    found = [*problems, *find_receiver_problems(catalog, options or _readable(catalog, problems))]
    places = {problem.path for problem in known}
    return [problem for problem in found if problem.path not in places]


def _readable(catalog: Catalog, problems: Collection[Problem]) -> RenderOptions:
    """The options that receivers are judged by, as far as the table can be read."""
    wrong = {problem.path for problem in problems}
    names = {each.name for each in fields(RenderOptions)} - {"alerts"}
    return RenderOptions(
        **{key: value for key, value in catalog.render.items() if key in names and f"render.{key}" not in wrong}
    )
