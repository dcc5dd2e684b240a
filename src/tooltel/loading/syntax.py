"""From text to plain tables; what is no TOML becomes problems, and as little as possible hides the rest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import tomli

from tooltel.catalog.paths import key_path
from tooltel.errors import Problem
from tooltel.loading.places import Places
from tooltel.loading.repetitions import without_repetitions
from tooltel.text import clean

Document = Mapping[str, Any]

_FIXES: Final = (
    ("Invalid value", 'write text in double quotes (owner = "orders"), and true or false in small letters'),
    ("Expected '='", "write key = value; a key of other signs than letters, digits, _ and - needs quotes"),
    ("Unescaped '\\'", "write the text in single quotes, where a backslash is a backslash"),
    ("Unclosed array", "close the list with ]"),
    ("Unclosed inline table", "close the table with }"),
    ("Unterminated string", "close the quotes"),
    ("Illegal character '\\n'", "close the quotes, or use three of them for text of many lines"),
    ("Expected newline", "write one key = value in a line"),
    ("Expected ']'", "close the table's name with ]"),
)
_REPEATED: Final = ("declare", "overwrite", "mutate", "redefine", "Duplicate")
# Errors within one line's value: with another value in its place the rest can be read.
_LOCAL: Final = ("Invalid", "Expected newline", "Illegal character", "Unescaped")
_ASSIGNMENT: Final = re.compile(r"(\s*[^=#\[\s][^=\n]*=).*")
_CONFLICT: Final = re.compile(r"(?:<{7}|={7}|>{7})(?: .*)?$")
_HEADER: Final = re.compile(r"\s*\[{1,2}[^\[\],]+\]{1,2}\s*(?:#.*)?")
_PATIENCE: Final = 10_000_000  # characters parsed again and again before the rest of a broken file is given up


class Parsed(NamedTuple):
    """What a text says, what is wrong with it, and the text without that, its lines where they were."""

    document: Document | None
    problems: list[Problem]
    text: str


def parse(text: str) -> Parsed:
    """
    Parse *text*, and say what keeps it from being TOML; the document is None where it could not be read on.

    A table or key that stands twice is reported with both lines, and with both owners where there are such;
    the later one is left out. A value that cannot be read is reported, and taken as empty.
    """
    problems: list[Problem] = []
    broken: dict[int, str] = {}  # line -> what is wrong with its value
    patience = _PATIENCE
    document, error = _loaded(text)
    while error is not None:
        patience -= len(text)
        mended = _mended(text, error, broken, problems) if patience > 0 else None
        if mended is None:
            problems.append(_problem(error, text))
            break
        text = mended
        document, error = _loaded(text)
    if broken:
        problems.extend(_value_problems(broken, Places(text)))
    return Parsed(document, problems, text)


def _loaded(text: str) -> tuple[Document | None, Exception | None]:
    try:
        return tomli.loads(text), None
    except (ValueError, RecursionError) as error:  # also: numbers of thousands of digits, endless nesting
        return None, error


def _mended(text: str, error: Exception, broken: dict[int, str], problems: list[Problem]) -> str | None:
    """The text without what caused *error*, which is noted; None where that would be a guess."""
    if not isinstance(error, tomli.TOMLDecodeError):
        return None
    if error.msg.startswith(_REPEATED) or any(word in error.msg for word in _REPEATED):
        found, text = without_repetitions(text)
        problems.extend(found)
        return text if found else None
    lines = text.split("\n")
    place = error.lineno - 1
    if place >= len(lines) or error.lineno in broken:
        return None
    if _CONFLICT.match(lines[place]):
        what = "a merge conflict is not resolved"
        problems.append(Problem("syntax", "file", what, "keep one side, and remove the marks", line=error.lineno))
        lines[place] = ""
    elif error.msg.startswith(_LOCAL) and (assignment := _ASSIGNMENT.match(lines[place])):
        broken[error.lineno] = error.msg
        lines[place] = f'{assignment[1]} ""'
    else:
        return None
    return "\n".join(lines)


def _value_problems(broken: Mapping[int, str], places: Places) -> list[Problem]:
    paths = {places.line_at(each.start): key_path(*each.path) for each in places.statements if not each.is_header}
    return [_syntax(paths.get(line, "file"), message, line) for line, message in broken.items()]


def _problem(error: Exception, text: str) -> Problem:
    if isinstance(error, RecursionError):
        return Problem("syntax", "file", "lists are nested too deeply", "write tables instead")
    if not isinstance(error, tomli.TOMLDecodeError):
        return Problem("syntax", "file", f"is no TOML: {clean(error)}", "look for a number that has no end")
    lines = text.split("\n")
    line = min(error.lineno, len(lines))
    if error.msg == "Invalid value" and _HEADER.fullmatch(lines[line - 1]):
        return _syntax("file", "Unclosed array before this table", line)
    return _syntax("file", error.msg, line)


def _syntax(path: str, message: str, line: int) -> Problem:
    fix = next((fix for start, fix in _FIXES if message.startswith(start)), "correct the TOML in this line")
    return Problem("syntax", path, f"is no TOML: {clean(message)}", fix, line=line)
