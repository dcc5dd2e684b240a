"""A difference between two texts, short enough to read and quick to find however long they are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import unified_diff
from itertools import takewhile
from typing import Final

COMPARED: Final = 400  # lines looked at on each side: difflib is quadratic
CONTEXT: Final = 2

_HUNK: Final = re.compile(r"^@@ -(\d+)(\S*) \+(\d+)(\S*) @@")


def diff_lines(old: str, new: str, *, path: str, limit: int) -> Iterator[str]:
    """Give a unified diff of at most *limit* lines from *old* to *new*; a last line says that it was cut."""
    before, after = old.splitlines(), new.splitlines()
    # Equal ends are taken off first: what differs is mostly small, and what is compared has to be.
    head = max(_equal(before, after) - CONTEXT, 0)
    before, after = before[head:], after[head:]
    tail = max(_equal(before[::-1], after[::-1]) - CONTEXT, 0)
    before, after = before[: len(before) - tail], after[: len(after) - tail]
    names = (f"{path} (now)", f"{path} (rendered)")
    lines = [*unified_diff(before[:COMPARED], after[:COMPARED], *names, lineterm="", n=CONTEXT)]
    yield from (_HUNK.sub(lambda hunk: _moved(hunk, head), line) for line in lines[:limit])
    if len(lines) > limit or max(len(before), len(after)) > COMPARED:
        yield "... and more"


def _equal(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines are the same from the start on."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _moved(hunk: re.Match[str], lines: int) -> str:
    return f"@@ -{int(hunk[1]) + lines}{hunk[2]} +{int(hunk[3]) + lines}{hunk[4]} @@"
