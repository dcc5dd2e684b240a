"""
Finding the few lines worth judging, without looking at lines.

A chunk is searched at once for short strings of which every line that counts holds at least one. With
`ahocorasick_rs` that runs at a tenth of a second per GiB; without it `bytes.find` gives the same lines, slower.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

Hit: TypeAlias = tuple[int, int, int]  # which string, where it begins, where it ends
Search: TypeAlias = Callable[[memoryview], list[Hit]]  # hits in order of their place, none inside another

ANCHOR: Final = 8  # bytes of a literal that are searched: more is slower, fewer hit too often

_COMPARED: Final = 3  # bytes
# An encoder may write any character as an escape. Only those that the literals are made of need a look; a bare
# `\u00` would stop at every color code.
ESCAPES: Final = tuple(rf"\u{code}".encode() for code in ("004", "005", "006", "007", "0020", "002"))

# From common to rare in log files. What is not here (capitals, digits apart) counts as rarer than all of it.
_COMMON: Final = b" eaotinrslcdmupgfhbv0123456789:.-ywk_/TSIEANORDFCLMPxqjz"
_RANK: Final = {byte: place for place, byte in enumerate(reversed(_COMMON), start=1)}


def anchor(literal: bytes) -> bytes:
    """
    Give the part of *literal* that is least likely in a log: at most ANCHOR bytes.

    Its first bytes weigh more, as a vectorized search compares those, and looks closer where they fit.
    """
    places = range(max(1, len(literal) - ANCHOR + 1))
    at = min(places, key=lambda place: _likeliness(literal[place : place + ANCHOR]))
    return literal[at : at + ANCHOR]


def _likeliness(part: bytes) -> int:
    return sum(_RANK.get(byte, 0) ** 2 * (4 if place < _COMPARED else 1) for place, byte in enumerate(part))


def make_search(literals: Iterable[bytes], *, also: Iterable[bytes] = (), fast: bool = True) -> Search:
    """
    Make the search for *literals* (by their anchors) and for the strings *also* (whole).

    *fast* asks for `ahocorasick_rs` where it is installed.
    """
    wanted = sorted({*(anchor(literal) for literal in literals), *also})
    if not wanted:
        return lambda _view: []
    return (_fast_search(wanted) if fast else None) or _plain_search(wanted)


def is_fast() -> bool:
    """Whether the fast matcher is installed."""
    return _fast_search([b"x"]) is not None


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
    def search(view: memoryview) -> list[Hit]:
        text = bytes(view)
        hits = []
        for which, literal in enumerate(wanted):
            at = text.find(literal)
            while at >= 0:
                hits.append((which, at, at + len(literal)))
                at = text.find(literal, at + 1)
        hits.sort(key=lambda hit: hit[1])
        return hits

    return search


def make_counter() -> Callable[[Any], int]:
    """
    Make what counts the newlines of a buffer.

    Up to Python 3.12 `bytes.count` looks at one byte at a time and costs as much as all the rest; `stringzilla` does
    it at the speed of memory.
    """
    try:
        import stringzilla
    except ImportError:
        return _count_newlines
    count: Callable[[Any, bytes], int] = stringzilla.count
    return lambda view: count(view, b"\n")


def _count_newlines(view: Any) -> int:
    return bytes(view).count(b"\n")
