"""
Records that rich's handler wrapped: into a column beside time, level and place, of 80 characters where no terminal is.

    [11/30/26 17:49:25] WARNING  Tool 'order_fnd' not listed, no       server.py:543
                                 validation will be performed

A wrapped line that another word would have fitted on ended in a newline of the message's own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tooltel.match import Record
from tooltel.sidecar.formats import level_named

# What most such records of a drop begin with, as the signatures' own strings may be torn apart. Two strings more cost
# nothing; with three there are more than 32, and the search of all lines takes twice as long.
BEGINNINGS: Final = (b"  Tool ", b"  tool_name=<")
LINES: Final = 12  # further lines that are looked at

_LEAST_INDENT: Final = 9  # without time: the level and a space
_HEAD: Final = re.compile(r"\s*(?P<level>DEBUG {4}|INFO {5}|WARNING {2}|ERROR {4}|CRITICAL )(?=\S)")
_PLACE: Final = re.compile(r"(?<=\s)(?P<file>[\w-]+\.py):\d+$")
_PLACE_LENGTH: Final = 120


def is_head(text: str) -> bool:
    """Whether a line, after its time, may be the first one of such a record."""
    return _HEAD.match(text) is not None


def goes_on(line: str) -> bool:
    """Whether a line may be a further one of such a record."""
    return line[:_LEAST_INDENT].isspace() and not is_head(line)


def unwrapped(text: str, following: Sequence[str]) -> list[Record]:
    """
    Give the records that the line *text* may begin, of which *following* may be further lines.

    There is none where rich left the line as it was.

    Where a word that was not fitting came next, a newline cannot be told from a space: one record has spaces there, the
    other has newlines. The file that rich names stands for the logger, which it does not.
    """
    found = _HEAD.match(text)
    if found is None:
        return []
    body = text[found.end() :]
    message, width, file = body.rstrip(), len(body), None
    place = _PLACE.search(message, max(0, len(message) - _PLACE_LENGTH))
    if place is None and not following:
        return []
    if place is not None:
        file, width = place["file"], place.start() - 1
        message = message[: place.start()].rstrip()
    parts, lines, last, indent = [message], [message], message, 0
    for line in following:
        begin = len(line) - len(line.lstrip(" "))
        if begin < len(line) and (begin < indent or not goes_on(line)):
            break
        indent = indent or begin
        segment = line[indent:].rstrip()
        parts += [_between(last, segment, width), segment]
        lines.append(segment)
        last = segment
    return [Record(text, file, level_named(found["level"])) for text in ("".join(parts), "\n".join(lines))]


def _between(last: str, segment: str, width: int) -> str:
    """What stood between two lines before they were wrapped."""
    if len(last) >= width and " " not in last:
        return ""  # a word too long for the column
    return " " if len(last) + 1 + len(segment.partition(" ")[0]) > width else "\n"
