"""What happens to a catalog's problems: read, sorted, raised all at once or warned about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, fspath
from typing import Any, Literal

from tooltel import declarations as declared
from tooltel.catalog import Catalog, find_problems
from tooltel.errors import CatalogError, Level, Problem
from tooltel.loading import read

CatalogLike = Catalog | str | PathLike[str] | None


def read_catalog(
    given: CatalogLike, declarations: Mapping[str, Sequence[Any]] | None
) -> tuple[Catalog | None, list[Problem]]:
    """
    The catalog that *given* means, with every problem of it; None where not even its file could be read.

    None means an open catalog: tools are declared where they are wrapped.
    """
    catalog: Catalog | None
    if given is None:
        catalog, problems = Catalog(open=True), []
    elif isinstance(given, Catalog):
        catalog, problems = given, find_problems(given)
    else:
        catalog, problems = read(fspath(given))
    if catalog is not None and declarations:
        problems = [*problems, *declared.find_problems(catalog, declarations)]
    return catalog, problems


def admit(problems: Iterable[Problem], on_problem: Literal["raise", "warn"], *, source: str) -> list[Problem]:
    """
    Raise CatalogError when any problem is an error; give the warnings.

    With `on_problem="warn"` the errors that are only house rules count as warnings. When it raises, it lists all.
    """
    found = list(problems)
    fatal = [
        problem for problem in found if problem.level is Level.ERROR and not (problem.house and on_problem == "warn")
    ]
    if fatal:
        raise CatalogError(found, source=source)
    return [problem for problem in found if problem.level is not Level.OFF]
