"""Catalog files: read and judged, every problem with its file and line. Never evaluates code."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tooltel.catalog import Catalog, find_problems
from tooltel.catalog.paths import shown
from tooltel.errors import CatalogError, Level, Problem
from tooltel.loading.durations import parse_duration
from tooltel.loading.specs import UNIMPORTABLE, import_catalog, is_spec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from os import PathLike

__all__ = [
    "UNREADABLE",
    "assert_catalog",
    "is_spec",
    "load",
    "load_catalog",
    "locate",
    "parse_duration",
    "read",
    "read_catalog",
]

UNOPENED: Final = "unreadable_file"
SIZE_LIMIT: Final = 64 * 2**20  # bytes; a catalog of 10,000 tools has 3 million
# Rules of problems because of which nothing could be looked into at all.
UNREADABLE: Final = frozenset({UNOPENED, UNIMPORTABLE})
# Where a whole section was not understood, what refers to it says nothing new.
_FOLLOWS: Final = {"owners": "unknown_owner", "profiles": "unknown_profile"}


def load(path: str | PathLike[str]) -> Catalog:
    """
    Load the catalog file at *path*; warnings are passed over, see `read`.

    Raises one CatalogError with every problem, each with file and line, when at least one is an error.
    """
    catalog, problems = read(path)
    return _unless_wrong(catalog, problems, os.fspath(path))


def read(path: str | PathLike[str]) -> tuple[Catalog | None, list[Problem]]:
    """
    Read the catalog file at *path*, and give it with all its problems in the order of the file.

    The catalog is None where the file could not be read or is no TOML. Where a problem is an error, the
    catalog lacks what was wrong: look at it, but do not run with it. Never raises for what the file says.
    """
    # Late, as in the functions below: who makes a catalog in code needs none of it.
    from tooltel.loading.syntax import parse
    from tooltel.loading.tables import build

    source = os.fspath(path)
    text, problem = _read_text(source)
    if text is None:
        return None, [replace(problem, file=source)] if problem else []
    document, problems, text = parse(text)
    if document is None:
        return None, locate(problems, source, text)
    unread = {problem.path for problem in problems}
    built = build(document, source=source)
    problems += [each for each in built.problems if each.path not in unread]
    settled = built.settled | unread
    quiet = {rule for section, rule in _FOLLOWS.items() if section in settled}
    found = find_problems(built.catalog)
    problems += [each for each in found if each.path not in settled and each.rule not in quiet]
    return built.catalog, locate(problems, source, text) if problems else []


def load_catalog(spec: str | PathLike[str] | Catalog) -> Catalog:
    """
    Load what *spec* means: a path, `module:attribute` of a Catalog made in code, or the Catalog itself.

    Raises CatalogError with every problem, when at least one is an error.
    """
    catalog, problems = read_catalog(spec)
    return _unless_wrong(catalog, problems, _name(spec))


def read_catalog(spec: str | PathLike[str] | Catalog) -> tuple[Catalog | None, list[Problem]]:
    """Read as `read` does, whatever *spec* means: a path, `module:attribute`, or a Catalog made in code."""
    if isinstance(spec, Catalog):
        return spec, find_problems(spec)
    if isinstance(spec, str) and is_spec(spec):
        catalog, problem = import_catalog(spec)
        return catalog, find_problems(catalog) if catalog is not None else [problem] if problem else []
    return read(spec)


def assert_catalog(
    spec: str | PathLike[str] | Catalog,
    *,
    declarations: Mapping[str, Sequence[Any]] | None = None,
    strict: bool = False,
) -> None:
    """
    Assert in a test that the catalog is fine: the same checks as at start-up and in `tooltel check`.

    *spec* is a path, `module:attribute` or a Catalog; *declarations* map a profile to what its model is sent;
    *strict* fails on warnings, too. Raises AssertionError with every problem in a line.
    """
    catalog, problems = read_catalog(spec)
    if catalog is not None and declarations:
        from tooltel import declarations as declared

        found = declared.find_problems(catalog, declarations)
        problems = [*problems, *(found if isinstance(spec, Catalog) else locate(found, os.fspath(spec)))]
    if any(problem.level is Level.ERROR or strict for problem in problems):
        raise AssertionError(str(CatalogError(problems, source=_name(spec))))


def locate(problems: Iterable[Problem], source: str, text: str | None = None) -> list[Problem]:
    """
    Give *problems* with the file and line at which their paths stand in *source*, in the order of the file.

    *text* spares reading the file again. A problem that already has a file keeps it, and its line.
    """
    from tooltel.loading.places import Places
    from tooltel.loading.syntax import parse

    problems = list(problems)
    if not problems:
        return []
    if text is None and not is_spec(source) and (raw := _read_text(source)[0]) is not None:
        text = parse(raw).text  # without what is no TOML, on which places would stumble
    if text is None:
        return problems
    places = Places(text)
    located = [
        problem
        if problem.file is not None
        else replace(problem, file=source, line=problem.line or places.line_of(problem.path))
        for problem in problems
    ]
    return sorted(located, key=lambda problem: (problem.file != source, problem.line or 0))


def _read_text(source: str) -> tuple[str | None, Problem | None]:
    try:
        with Path(source).open("rb") as file:
            data = file.read(SIZE_LIMIT + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        return None, _unreadable(source, error)
    if len(data) > SIZE_LIMIT:
        what = f"has more than {SIZE_LIMIT // 2**20} MiB"
        return None, Problem("too_large", "file", what, "is it a catalog? Give the path of a tools.toml")
    try:
        text = data.decode("utf-8-sig")  # editors on Windows mark UTF-8 with a sign that TOML does not know
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        what = f"is no UTF-8 text: byte 0x{data[error.start]:02x}"
        return None, Problem("not_utf8", "file", what, "save it as UTF-8", line=line)
    return text.replace("\r\n", "\n"), None


def _unreadable(source: str, error: Exception) -> Problem:
    if isinstance(error, FileNotFoundError):
        what = "there is no such file"
        fix = f"give the path of a catalog file, from {shown(str(Path.cwd()))}"
    elif isinstance(error, IsADirectoryError):
        what, fix = "is a directory", f"give a file in it: {shown(str(Path(source) / 'tools.toml'))}"
    elif isinstance(error, OSError):
        what, fix = f"cannot be read: {error.strerror}", "check its permissions"
    else:
        what, fix = f"cannot be opened: {error}", "give the path of a catalog file"
    return Problem(UNOPENED, "file", what, fix)


def _name(spec: str | PathLike[str] | Catalog) -> str:
    return spec.source if isinstance(spec, Catalog) else os.fspath(spec)


def _unless_wrong(catalog: Catalog | None, problems: list[Problem], source: str) -> Catalog:
    if catalog is None or any(problem.level is Level.ERROR for problem in problems):
        raise CatalogError(problems, source=source)
    return catalog
