"""From text to plain tables: what is no TOML, and what is declared twice, as problems."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import tomli

from tooltel.catalog.checks.names import duplicate
from tooltel.catalog.paths import key_path
from tooltel.errors import Problem
from tooltel.loading.places import Places
from tooltel.text import clean

if TYPE_CHECKING:
    from tooltel.loading.places import Statement

Document = Mapping[str, Any]

_PLACE: Final = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_FIXES: Final = (
    ("Invalid value", 'write text in double quotes (owner = "orders"), and true or false in small letters'),
    (
        "Expected '='",
        "write key = value, and quote a key that holds other signs than letters, digits, _ and -",
    ),
    ("Unescaped '\\'", "write the text in single quotes, where a backslash is a backslash"),
    ("Unclosed array", "close the list with ]"),
    ("Unclosed inline table", "close the table with } in the same line"),
    ("Unterminated string", "close the quotes"),
    ("Illegal character '\\n'", "close the quotes, or use three of them for text of many lines"),
    ("Expected newline", "write one key = value in a line"),
    ("Expected ']'", "close the table's name with ]"),
)
_NOT_BREAK: Final = re.compile(r"[^\n]")
_REPEATED: Final = ("declare", "overwrite", "mutate", "redefine", "Duplicate", "twice")


def parse(text: str) -> tuple[Document | None, list[Problem]]:
    """
    Parse *text*, and say what keeps it from being TOML; the document is None where nothing could be read.

    A table or key that stands twice is reported with both lines, and with both owners where there are such;
    the later one is left out, so that the rest of the file can still be judged.
    """
    document, error = _loaded(text)
    if error is None:
        return document, []
    places = Places(text)
    problems: list[Problem] = []
    if any(word in str(error) for word in _REPEATED):
        problems, text = _without_repetitions(text, places)
        document, error = _loaded(text)
    if error is not None:
        problems.append(_syntax_problem(error, text))
    return document, problems


def _loaded(text: str) -> tuple[Document | None, Exception | None]:
    try:
        return tomli.loads(text), None
    except (ValueError, RecursionError) as error:  # also: numbers of thousands of digits, endless nesting
        return None, error


def _syntax_problem(error: Exception, text: str) -> Problem:
    if isinstance(error, RecursionError):
        return Problem("syntax", "file", "lists are nested too deeply", "write tables instead")
    found = _PLACE.search(str(error))
    message = clean(str(error)[: found.start()] if found else str(error))
    line = int(found[1]) if found and found[1] else text.count("\n") + 1
    fix = next((fix for start, fix in _FIXES if message.startswith(start)), "correct the TOML in this line")
    return Problem("syntax", "file", f"is no TOML: {message}", fix, line=line)


def _without_repetitions(text: str, places: Places) -> tuple[list[Problem], str]:
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
    found = duplicate(
        path, _owner(before, text, places), _owner(statement, text, places), first_line=first_line
    )
    return Problem(found.rule, path, found.what, found.fix, line=line)


def _owner(statement: Statement, text: str, places: Places) -> str | None:
    """The owner that a table names, read from its own lines."""
    if statement.is_header:
        table = _loaded(text[statement.end : places.end_of_table(statement)])[0]
    else:
        table = _loaded(text[statement.start : statement.end])[0]
        while isinstance(table, Mapping) and len(table) == 1 and "owner" not in table:
            table = next(iter(table.values()))  # the keys that lead to an inline table
    owner = table.get("owner") if isinstance(table, Mapping) else None
    return owner if isinstance(owner, str) else None
