"""
A /metrics page read: Prometheus' text or OpenMetrics, of which only our own few series are looked at.

prometheus_client's parser takes most of a second for a thousand tools, and refuses a whole page for one bad line of
somebody else's. So lines that begin with one of our names are read here, and all others are passed over.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tooltel import signals
from tooltel.promql import LE
from tooltel.top.gains import SERIES, Key, Part, What, as_bound, part_of

# Of prometheus_client's process collector, where there is one: when the counters began.
STARTED: Final = "process_start_time_seconds"
NAMES: Final = (*SERIES, STARTED, signals.BUILD_INFO.name)

# Possessive throughout: no page, however made, costs more than its length. Of what follows the value (a timestamp,
# an exemplar) nothing is needed. An escaped line break is two characters, so a sample is one line in both formats.
_SAMPLE: Final = re.compile(
    rf'^({"|".join(NAMES)})(?:\{{((?:[^"\n}}]*+"(?:[^"\\\n]++|\\.)*+")*+[^"\n}}]*+)\}})?[ \t]++([^\s]++)', re.MULTILINE
)
_LABEL: Final = re.compile(r'([a-zA-Z_]\w*+)[ \t]*+=[ \t]*+"((?:[^"\\]++|\\.)*+)"', re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_COMMENT: Final = re.compile(r"^# (?:HELP|TYPE|EOF)|^[a-zA-Z_:][\w:]*+(?:\{[^\n]*\})?[ \t]+[^\s]", re.MULTILINE)
_LE: Final = f',{LE}="'


class Series(NamedTuple):
    """One series, as the page writes it: its name, and the text between the braces."""

    name: str
    labels: str


@dataclass(frozen=True, slots=True)
class Page:
    """
    The values of one page by series, and what each adds to.

    `started` is when the process began, as Unix time, where the page tells. `known` says that tooltel wrote the page,
    even where no tool was called yet. `absent` are values of the page before for series that this one does not show.
    """

    values: Mapping[Series, float]
    parts: Mapping[Series, Part]
    started: float | None = None
    known: bool = False
    absent: Mapping[Series, float] = field(default_factory=dict)

    @property
    def keys(self) -> set[Key]:
        """Tools and owners that the page has numbers of, also where nothing happened; not names that are no tools."""
        return {part.key for part in self.parts.values() if part.what is not What.NOT_FOUND}


def looks_like_metrics(text: str) -> bool:
    """Whether *text* is an exposition at all, be it of other series."""
    return _COMMENT.search(text[:65536]) is not None


def read_page(text: str, before: Page | None = None) -> Page:
    """
    Read the exposition *text*; lines that cannot be read count as not there.

    With the page *before* it, a value that is missing or no number is still the one of then, once.
    """
    values: dict[Series, float] = {}
    parts: dict[Series, Part] = {}
    bases: dict[tuple[str, str], Key | None] = {}
    started, known = None, False
    for name, labels, number in _SAMPLE.findall(text):
        what = SERIES.get(name)
        value = _as_number(number)
        if what is None:
            started = value if name == STARTED else started
            known = known or name != STARTED
            continue
        known = True
        series = Series(name, labels)
        part = before.parts.get(series) if before is not None else None
        if part is None:
            part = _duration_part(labels, bases) if what is What.DURATION else part_of(what, read_labels(labels))
        if part is None or (value is not None and value < 0):
            continue
        if value is None:
            value = before.values.get(series) if before is not None else None
            if value is None:
                continue
        values[series], parts[series] = value, part
    absent = {} if before is None else {each: old for each, old in before.values.items() if each not in values}
    return Page(values, parts, started, known, absent)


def read_labels(text: str) -> dict[str, str]:
    r"""The labels of a sample, from the text between its braces; `\\`, `\"` and `\n` are read back."""
    found = dict(_LABEL.findall(text))
    if "\\" in text:
        found = {name: _ESCAPE.sub(_unescaped, value) for name, value in found.items()}
    return found


def find_gains(before: Page | None, now: Page) -> dict[Part, float]:
    """
    What each counter gained between two pages of one process; all that it holds, without a page *before*.

    A counter that fell began anew, as all do when the process did. A series that the page before did not show was
    born since.
    """
    again = before is None or before.started != now.started
    gains: dict[Part, float] = {}
    for series, value in now.values.items():
        old = 0.0
        if before is not None and not again:
            old = before.values.get(series) or before.absent.get(series, 0.0)
        gain = value - old if value >= old else value
        part = now.parts[series]
        gains[part] = gains.get(part, 0.0) + gain
    return gains


def _as_number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _duration_part(labels: str, bases: dict[tuple[str, str], Key | None]) -> Part | None:
    """What a bucket adds to. A histogram's samples differ in `le` alone, so the rest is read once."""
    start, found, rest = labels.partition(_LE)
    if not found:
        return part_of(What.DURATION, read_labels(labels))
    text, _, end = rest.partition('"')
    bound = as_bound(text)
    base = (start, end)
    if base not in bases:
        part = part_of(What.DURATION, {**read_labels(start + end), LE: "0"})
        bases[base] = None if part is None else part.key
    key = bases[base]
    return None if key is None or bound is None else Part(key, What.DURATION, bound=bound)


def _unescaped(match: re.Match[str]) -> str:
    return "\n" if match[1] == "n" else match[1]
