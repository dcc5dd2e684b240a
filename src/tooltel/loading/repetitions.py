"""What stands twice in a catalog file: reported with both lines and both owners, and left out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import tomli

from tooltel.catalog.checks.names import duplicate
from tooltel.catalog.paths import key_path
from tooltel.errors import Problem
from tooltel.loading.places import Places, Statement

_NOT_BREAK: Final = re.compile(r"[^\n]")


def without_repetitions(text: str) -> tuple[list[Problem], str]:
    """
    Give *text* without the tables and keys that stand there a second time, blanked, and a problem for each.

    Lines stay where they are, and so does the rest of the file: it can still be judged.
    """
    places = Places(text)
    problems: list[Problem] = []
    first: dict[object, Statement] = {}
    kept, until = [], 0  # pieces of text; up to `until` it is taken or left out
    for statement in places.statements:
        if statement.start < until:  # below a table that is left out
            continue
        before = first.setdefault(statement.path, statement)
        if before is statement:
            continue
        problems.append(_repetition(statement, before, text, places))
        end = places.end_of_table(statement) if statement.is_header else statement.end
        kept += [text[until : statement.start], _NOT_BREAK.sub(" ", text[statement.start : end])]
        until = end
    return problems, "".join([*kept, text[until:]])


def _repetition(statement: Statement, before: Statement, text: str, places: Places) -> Problem:
    path, first_line = key_path(*statement.path), places.line_at(before.start)
    line = places.line_at(statement.start)
    if not statement.is_header:
        what = f"is written twice, first in line {first_line}"
        return Problem("duplicate_key", path, what, "keep one of the two", line=line)
    found = duplicate(path, _owner(before, text, places), _owner(statement, text, places), first_line=first_line)
    return Problem(found.rule, path, found.what, found.fix, line=line)


def _owner(statement: Statement, text: str, places: Places) -> str | None:
    """The owner that a table names, read from its own lines."""
    if statement.is_header:
        table = _parsed(text[statement.end : places.end_of_table(statement)])
    else:
        table = _parsed(text[statement.start : statement.end])
        while isinstance(table, Mapping) and len(table) == 1 and "owner" not in table:
            table = next(iter(table.values()))  # the keys that lead to an inline table
    owner = table.get("owner") if isinstance(table, Mapping) else None
    return owner if isinstance(owner, str) else None


def _parsed(text: str) -> object:
    try:
        return tomli.loads(text)
    except (ValueError, RecursionError):
        return None
