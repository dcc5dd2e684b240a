"""
What a text log's header may be, where none of the usual layouts explains a line: read word by word.

A formatter puts level, logger, thread, process and place in any order and between any marks. Every word of such a
header could be its last, so each start that a message may have is offered; a signature is anchored there, so that a
wrong one fits none. A header holds one logger: two words that could be one are a sentence, and end it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tooltel.match import Record
from tooltel.sidecar.formats import level_named, trimmed

_WORDS: Final = 10  # of a header
_LENGTH: Final = 400  # characters of a header

_MARKS: Final = re.compile(r"[\s|:\]>\u2013\u2014-]*")
_WORD: Final = re.compile(
    r"""
    \d{2,4}[-/]\d\d[-/]\d{2,4}[T ]\S+ | \d+(?=[\s:\]|]) # a time, a number
    | [0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?=\s) # a request's id, as AWS Lambda writes it
    | in\s+[\w.-]+(?=:) | \w+\s+\d+\s+\d{6,}(?=\s) # a module, as Flask and Django write it: no logger
    | \[(?P<square>[^\[\]\n]{0,200})\] | \{(?P<brace>[^{}\n]{0,200})\} | \([^()\n]{0,200}\)
    | (?P<name>(?![\w$./-]*(?:Error|Exception)\b(?!\.))[A-Za-z_$][\w$./-]*)(?:(?::[\w<>]+)?:\d+(?=[\s:\]|]))?
    """,
    re.VERBOSE,
)
_LOGGER: Final = re.compile(r"(?P<name>[A-Za-z_$][\w$.-]*)(?::[\w<>]+)?(?::\d+)?")
_THREAD: Final = re.compile(r"main|.*[Tt]hread.*|.*[Pp]rocess.*|.*[-_]\d+")


def readings(text: str) -> Iterator[Record]:
    """
    Give the records that a line, after its time, may be: one for each place where its message may begin.

    There is none where no level is named.
    """
    level: str | None = None
    logger: str | None = None
    names = 0  # that could be the logger, before the level or after it
    at = 0
    for _ in range(_WORDS):
        at = _end(_MARKS.match(text, at))
        if level is not None:
            yield Record(trimmed(text[at:]), logger, level)
        found = _WORD.match(text, at, _LENGTH)
        if found is None:
            return
        at = found.end()
        words = found.groupdict()
        name = words["name"] or _named(words["square"] or words["brace"])
        if name is None:
            continue
        if level is None and (level := _level(name, in_brackets=words["name"] is None)) is not None:
            names = 1 if logger is not None and "." in logger else 0  # without a dot it may be a thread
            continue
        if logger is not None and words["name"] is None and name.endswith(".py"):
            continue  # the file, beside the logger
        names += 1
        if names > 1:
            return
        logger = name


def _end(found: re.Match[str] | None) -> int:
    return found.end() if found is not None else 0


def _named(inner: str | None) -> str | None:
    """The level or logger between brackets; None where it is a thread, a number or anything else."""
    if inner is None:
        return None
    inner = inner.strip()
    found = _LOGGER.fullmatch(inner.partition("/")[0])
    if found is None or ("." not in inner and _THREAD.fullmatch(inner)):
        return None
    return found["name"]


def _level(word: str, *, in_brackets: bool) -> str | None:
    first = word.partition("/")[0]  # celery writes LEVEL/process
    return level_named(first) if in_brackets or (first.isupper() and len(first) > 1) else None
