"""
Finding the few lines worth judging, without looking at lines.

A chunk is searched at once for short strings of which every line that counts holds at least one. With
`ahocorasick_rs` that runs at a fifteenth of a second per GiB; without it `bytes.find` gives the same lines, slower.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

from tooltel.sidecar.anchors import choose_anchors

Buffer: TypeAlias = bytes | bytearray
Hit: TypeAlias = tuple[int, int, int]  # which string, where it begins, where it ends
Search: TypeAlias = Callable[[memoryview], list[Hit]]  # hits in order of their place, none inside another

# An encoder may write any character as an escape. Only those that the literals are made of need a look; a bare
# `\u00` would stop at every color code, and `\u002` or `\u003` at every quote and bracket of some.
ESCAPES: Final = tuple(
    rf"\u00{code}".encode() for code in ("4", "5", "6", "7", "20", "2d", "2D", "2e", "2E", "3a", "3A")
)


class Prefilter:
    """
    The search for *literals* (by parts of them) and for the strings *also* (whole).

    *fast* asks for `ahocorasick_rs` where it is installed. `search` gives what it found in a view.
    """

    def __init__(self, literals: Iterable[bytes], *, also: Iterable[bytes] = (), fast: bool = True) -> None:
        self._literals = tuple(literals)
        self._also = frozenset(also)
        self._anchors = choose_anchors(self._literals, also=self._also)
        self._reach = max(map(len, self._literals), default=0)
        self._near: dict[int, tuple[bytes, ...]] = {}
        self.search: Search = _search(self._anchors, fast=fast)

    def confirms(self, hit: Hit, buffer: Buffer, at: int, line: tuple[int, int]) -> bool:
        """
        Whether *hit*, which begins at *at* of *buffer*, may be of a literal that stands whole on its *line*.

        Looks at a few bytes only, however long the line is.
        """
        which = hit[0]
        if which < 0 or self._anchors[which] in self._also:
            return True
        near = self._near.get(which)
        if near is None:
            near = self._near[which] = self._literals_near(self._anchors[which])
        first, last = line
        window = buffer[max(first, at - self._reach) : min(last, at + 2 * self._reach)]
        return any(literal in window for literal in near)

    def _literals_near(self, anchor: bytes) -> tuple[bytes, ...]:
        """The literals that *anchor* may be a part of, or whose own anchor it hid by beginning before that."""
        hidden = [other for other in self._anchors if other in anchor or _runs_into(anchor, other)]
        return tuple(each for each in self._literals if any(part in each for part in (anchor, *hidden)))


def _runs_into(one: bytes, other: bytes) -> bool:
    """Whether *other* can begin where *one* stands and end behind it."""
    return any(other.startswith(one[at:]) for at in range(len(one)))


def is_fast() -> bool:
    """Whether the fast matcher is installed."""
    return _fast_search([b"x"]) is not None


def _search(wanted: list[bytes], *, fast: bool) -> Search:
    if not wanted:
        return lambda _view: []
    return (_fast_search(wanted) if fast else None) or _plain_search(wanted)


def _fast_search(wanted: list[bytes]) -> Search | None:
    try:
        import ahocorasick_rs
    except ImportError:
        return None
    # LeftmostFirst is what turns on the vectorized search; the default costs five times as much.
    made: Any = ahocorasick_rs.BytesAhoCorasick(wanted, matchkind=ahocorasick_rs.MatchKind.LeftmostFirst)
    search: Search = made.find_matches_as_indexes
    return search


def _plain_search(wanted: list[bytes]) -> Search:
    places = {literal: which for which, literal in enumerate(wanted)}

    def search(view: memoryview) -> list[Hit]:
        text = bytes(view)
        hits = []
        for literal, which in places.items():
            at = text.find(literal)
            while at >= 0:
                hits.append((which, at, at + len(literal)))
                at = text.find(literal, at + 1)
        hits.sort(key=lambda hit: hit[1])
        return hits

    return search


def make_counter() -> Callable[[memoryview], int]:
    """
    Make what counts the newlines of a view. It may overwrite what it has counted.

    Up to Python 3.12 `bytes.count` looks at one byte at a time and costs as much as all the rest; `stringzilla` does
    it at the speed of memory: every newline becomes a one, every other byte a zero, and then they are summed.
    """
    try:
        from stringzilla import bytesum, translate
    except ImportError:
        return _count_newlines
    ones = bytes(byte == ord("\n") for byte in range(256))

    def count(view: memoryview) -> int:
        translate(view, ones, inplace=True)
        return int(bytesum(view))

    return count


def _count_newlines(view: memoryview) -> int:
    return bytes(view).count(b"\n")
