"""
Where everything stands in a catalog file: the line of each key, and what stands there twice.

A light scanner of TOML. It only runs when there is something to report, on text that a real parser accepts
but for repetitions, so it may be simple where the parser must be strict; at a loss it stops and knows less.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

import tomli

from tooltel.catalog.paths import key_path

if TYPE_CHECKING:
    from collections.abc import Iterator

_SPACE: Final = re.compile(r"[ \t]*")
_GAP: Final = re.compile(r"(?:[ \t\n]+|#[^\n]*)*")
_KEY: Final = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'""")
_STRING: Final = re.compile(
    r'''"""(?:[^"\\]|\\[\s\S]|"(?!""))*"{3,5}|\'{3}(?:[^']|'(?!''))*'{3,5}'''
    r"""|"(?:[^"\\\n]|\\.)*"|'[^'\n]*\'"""
)
_SCALAR: Final = re.compile(r"[^,\]}#\n]+")
# Nine lines of ten: a bare key with a string, a scalar or a list of strings in one line. Just for speed.
_PLAIN: Final = re.compile(
    r"""([A-Za-z0-9_-]{1,80})[ \t]*=[ \t]*"""
    r"""(?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[^\s"'\[{#,][^\n#]*|\[(?:[^\[\]{}"'#\n]|"(?:[^"\\\n]|\\.)*")*\])"""
    r"""(?=[ \t]*(?:#[^\n]*)?(?:\n|\Z))"""
)

Path = tuple[str | int, ...]


class Statement(NamedTuple):
    """A table's header, or a key with its value, and the characters from `start` to `end` that it takes."""

    path: Path
    start: int
    end: int
    is_header: bool


class LostError(Exception):
    """The scanner cannot make sense of the text."""


class Places:
    """The lines of all keys of *text*, by their path as problems write it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._breaks = [found.start() for found in re.finditer("\n", text)]
        self._lines: dict[str, int] = {}
        self._at = 0
        self._understood = 0  # up to here
        self._arrays: dict[Path, int] = {}
        self.statements: list[Statement] = []
        with suppress(LostError, RecursionError):  # what was found until then is still right
            for statement in self._statements():
                self.statements.append(statement)
        self._headers = [statement.start for statement in self.statements if statement.is_header]

    def line_at(self, offset: int) -> int:
        """The line, from 1, of a character."""
        return bisect_right(self._breaks, offset - 1) + 1

    def line_of(self, path: str) -> int | None:
        """The line of *path*, or of the innermost table around it that stands in the file."""
        while path:
            if path in self._lines:
                return self._lines[path]
            # A dot within quotes splits, too: such a prefix is in no file, and the next one is tried.
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return None

    def end_of_table(self, header: Statement) -> int:
        """Where the lines that belong to *header* end: at the next header, or where the text ends."""
        place = bisect_right(self._headers, header.start)
        return self._headers[place] if place < len(self._headers) else self._understood

    def _statements(self) -> Iterator[Statement]:
        table: Path = ()
        prefix = ""
        while True:
            self._skip(_GAP)
            start = self._understood = self._at
            if start >= len(self._text):
                return
            if self._text[start] == "[":
                table = self._header(start)
                prefix = f"{key_path(*table)}."
                yield Statement(table, start, self._at, is_header=True)
            elif plain := _PLAIN.match(self._text, start):
                self._at = plain.end()
                self._lines.setdefault(prefix + plain[1], self.line_at(start))
                yield Statement((*table, plain[1]), start, self._at, is_header=False)
            else:
                yield Statement(self._pair(table), start, self._at, is_header=False)

    def _header(self, start: int) -> Path:
        is_array = self._text.startswith("[[", start)
        self._at += 2 if is_array else 1
        path = self._resolved(self._dotted())
        self._expect("]]" if is_array else "]")
        if is_array:
            place = self._arrays.get(path, -1) + 1
            self._arrays[path] = place
            self._note(path, start)
            path = (*path, place)
        self._note(path, start)
        return path

    def _resolved(self, keys: tuple[str, ...]) -> Path:
        """The path with the number of the last element behind each key that names an array of tables."""
        path: Path = ()
        for place, key in enumerate(keys):
            path = (*path, key)
            if path in self._arrays and place < len(keys) - 1:
                path = (*path, self._arrays[path])
        return path

    def _pair(self, table: Path) -> Path:
        start = self._at
        path = (*table, *self._dotted())
        self._note(path, start)
        self._expect("=")
        self._skip(_SPACE)
        self._value(path)
        return path

    def _dotted(self) -> tuple[str, ...]:
        keys = []
        while True:
            self._skip(_SPACE)
            found = _KEY.match(self._text, self._at)
            if found is None:
                raise LostError
            self._at = found.end()
            keys.append(_unquoted(found.group()))
            self._skip(_SPACE)
            if not self._text.startswith(".", self._at):
                return tuple(keys)
            self._at += 1

    def _value(self, path: Path) -> None:
        opening = self._text[self._at : self._at + 1]
        if opening == "[":
            self._items(path)
        elif opening == "{":
            self._inline_table(path)
        else:
            found = (_STRING if opening in ('"', "'") else _SCALAR).match(self._text, self._at)
            if found is None:
                raise LostError
            self._at = found.end()

    def _items(self, path: Path) -> None:
        self._at += 1
        place = 0
        while not self._closed("]"):
            self._note((*path, place), self._at)
            self._value((*path, place))
            place += 1
            self._skip(_GAP)
            if self._text.startswith(",", self._at):
                self._at += 1

    def _inline_table(self, path: Path) -> None:
        self._at += 1
        while not self._closed("}"):
            self._pair(path)
            self._skip(_GAP)
            if self._text.startswith(",", self._at):
                self._at += 1

    def _closed(self, closing: str) -> bool:
        self._skip(_GAP)
        if self._at >= len(self._text):
            raise LostError
        if self._text.startswith(closing, self._at):
            self._at += 1
            return True
        return False

    def _expect(self, sign: str) -> None:
        self._skip(_SPACE)
        if not self._text.startswith(sign, self._at):
            raise LostError
        self._at += len(sign)

    def _skip(self, pattern: re.Pattern[str]) -> None:
        found = pattern.match(self._text, self._at)
        self._at = found.end() if found else self._at

    def _note(self, path: Path, offset: int) -> None:
        line = self.line_at(offset)
        for length in range(len(path), 0, -1):
            written = key_path(*path[:length])
            if written in self._lines:
                break
            self._lines[written] = line


def _unquoted(key: str) -> str:
    if key[0] == '"' and "\\" in key:
        try:
            return next(iter(tomli.loads(f"{key} = 0")))
        except ValueError:
            raise LostError from None
    return key[1:-1] if key[0] in "\"'" else key
