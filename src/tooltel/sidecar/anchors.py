"""
Which short strings to search a log for, so that a vectorized search runs at the speed of memory.

The search looks at the first four bytes of all strings at once. Where they might stand it has to look closer, which
takes as long as a hundred other bytes; and it tells bytes apart by halves, and strings by eight buckets. So: few
strings, each beginning with four rare bytes, and in one bucket only what begins alike. None of it decides what counts.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

START: Final = 4  # bytes that are compared at first
LENGTH: Final = 6  # bytes of a string at least, where its literal has so many: shorter ones stand in too many lines
LIMIT: Final = 32  # strings; the search for more takes half as long again

_BUCKETS: Final = 8
_COST_OF_START: Final = 1e-8  # each further start costs as much as one that is so likely

# Bytes of log files, from common to rare. What is not here counts as rarer than all of it.
_COMMON: Final = b" eaotinrslcd0um1p2g3f4h5b6v7:8.9-y\"wk_/,[]T(){}'=SIEANORDFCLMPxqjzBUGWVHKYJXQZ\\"


def _likeliness() -> list[float]:
    weights = [1 / (len(_COMMON) + 20)] * 256
    for place, byte in enumerate(_COMMON):
        weights[byte] = 1 / (place + 4)
    total = sum(weights)
    return [weight / total for weight in weights]


_LIKELY: Final = _likeliness()


def choose_anchors(literals: Iterable[bytes], *, also: Iterable[bytes] = ()) -> list[bytes]:
    """
    Give strings of which every one of *literals* holds one, and those of *also* unchanged, in the order to search in.

    There are at most LIMIT of them where that can be reached.
    """
    groups = _grouped(literals)
    fixed = sorted(set(also))
    _merge(groups, LIMIT - len(fixed))
    for whole in fixed:
        groups[whole[:START]].append(whole)
    return _ordered({start: list(dict.fromkeys(strings)) for start, strings in groups.items()})


def _grouped(literals: Iterable[bytes]) -> defaultdict[bytes, list[bytes]]:
    """The literals from a start on that is rare and that many of them have, by that start."""
    every = set(literals)
    left = {each for each in every if not any(other != each and other in each for other in every)}
    places: defaultdict[bytes, dict[bytes, int]] = defaultdict(dict)
    for literal in sorted(left):
        for at in range(max(1, len(literal) - LENGTH + 1)):
            places[literal[at : at + START]].setdefault(literal, at)
    cost = {start: math.prod(_LIKELY[byte] for byte in start) + _COST_OF_START for start in places}
    groups: defaultdict[bytes, list[bytes]] = defaultdict(list)
    while places:
        start = min(places, key=lambda each: (cost[each] / len(places[each]), each))
        taken = places.pop(start)
        groups[start] = _without_longer({literal[at:] for literal, at in taken.items()})
        for found in places.values():
            for literal in found.keys() & taken:
                del found[literal]
        for empty in [each for each, found in places.items() if not found]:
            del places[empty]
    return groups


def _without_longer(strings: Iterable[bytes]) -> list[bytes]:
    """*strings* but for those that begin with another."""
    kept: list[bytes] = []
    for string in sorted(strings):
        if not kept or not string.startswith(kept[-1]):
            kept.append(string)
    return kept


def _merge(groups: Mapping[bytes, list[bytes]], limit: int) -> None:
    """Search for what two strings of a group begin with, instead of both, until there are no more than *limit*."""
    while sum(map(len, groups.values())) > limit:
        pairs = [
            (_shared(one, two), strings)
            for strings in groups.values()
            for one, two in pairwise(strings)  # sorted: neighbors have the most in common
        ]
        if not pairs:
            return
        shared, strings = max(pairs, key=lambda pair: (len(pair[0]), pair[0]))
        strings[:] = _without_longer([shared, *strings])


def _shared(one: bytes, two: bytes) -> bytes:
    """What both begin with."""
    return next(one[:size] for size in range(min(len(one), len(two)), -1, -1) if two.startswith(one[:size]))


def _ordered(groups: Mapping[bytes, Sequence[bytes]]) -> list[bytes]:
    """
    All strings, ordered so that starts which look alike share a bucket.

    A string goes where its start is, and a new start to the bucket that follows from its place in the list. A place
    that has to be filled gets what was searched for anyway.
    """
    buckets = _filled(groups)
    spare = [string for strings in groups.values() for string in strings[1:]]
    order: list[bytes] = []
    while any(buckets):
        bucket = buckets[len(order) % _BUCKETS]
        if bucket:
            order.append(groups[bucket.pop(0)][0])
        else:
            known = {string[:START] for string in order}
            filler = next((string for string in spare if string[:START] in known), None)
            if filler is not None:
                spare.remove(filler)
            order.append(filler if filler is not None else order[0])
    order += spare
    every = list(dict.fromkeys(order))
    return order if len(order) <= LIMIT else every


def _filled(starts: Iterable[bytes]) -> list[list[bytes]]:
    """The starts by bucket; the likeliest choose first, each where it adds the least. The first bucket gets one."""
    buckets: list[list[bytes]] = [[] for _ in range(_BUCKETS)]
    likely = [0.0] * _BUCKETS
    for start in sorted(starts, key=lambda each: (-_confused([each]), each)):
        added = [_confused([*bucket, start]) - before for bucket, before in zip(buckets, likely, strict=True)]
        best = min(range(_BUCKETS), key=added.__getitem__)
        buckets[best].append(start)
        likely[best] += added[best]
    return buckets


def _confused(starts: Sequence[bytes]) -> float:
    """How likely a place of a log looks like one of *starts*, of which only the half-bytes at each place are known."""
    result = 1.0
    for place in range(min(map(len, starts))):
        lows = {start[place] & 15 for start in starts}
        highs = {start[place] & 240 for start in starts}
        result *= sum(_LIKELY[high | low] for high in highs for low in lows)
    return result
