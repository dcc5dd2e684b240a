"""
What a series adds to: the few counters that a row is made of, whatever their other labels.

A `Gains` is a plain mapping that adds up, so a scrape, a window of scrapes and the answers of Prometheus are one
thing to whoever makes rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from tooltel import signals
from tooltel.promql import LE
from tooltel.signals import Kind, Metric

# Label names come from the rows of the table, by their place there.
TOOL, OWNER, _, _, _, OUTCOME = signals.TOOL_CALLS.labels
TOOL_OF_DURATION: Final = signals.DURATION.labels[0]  # the one metric whose label names are a standard's
REQUESTED: Final = signals.NOT_FOUND.labels[-1]
KIND, SOURCE = signals.REJECTIONS.labels[-2:]

NO_TOOL: Final = ""  # `tool` of calls to a name that no catalog holds


class Key(NamedTuple):
    """Whose numbers they are. `tool` is empty for calls that reached none."""

    tool: str
    owner: str


class What(StrEnum):
    """What is counted."""

    CALLS = "calls"  # detail: the outcome
    DURATION = "duration"  # detail: the bucket's upper bound
    REJECTED = "rejected"  # details: kind and source
    NOT_FOUND = "not_found"


class Part(NamedTuple):
    """One counter of a row. Its details are those of `What`."""

    key: Key
    what: What
    detail: str = ""
    source: str = ""
    bound: float = 0.0


Gains = Mapping[Part, float]

ROWS: Final[Mapping[What, Metric]] = {
    What.CALLS: signals.TOOL_CALLS,
    What.DURATION: signals.DURATION,
    What.REJECTED: signals.REJECTIONS,
    What.NOT_FOUND: signals.NOT_FOUND,
}
# Of a histogram only its buckets: they hold the count as well.
SERIES: Final[Mapping[str, What]] = {
    row.name + ("_bucket" if row.kind is Kind.HISTOGRAM else ""): what for what, row in ROWS.items()
}


def part_of(what: What, labels: Mapping[str, str]) -> Part | None:
    """The counter that a series with these *labels* adds to; None where the labels say too little to tell."""
    owner = labels.get(OWNER) or signals.UNOWNED
    if what is What.NOT_FOUND:
        requested = labels.get(REQUESTED, "")
        return Part(Key(NO_TOOL if requested == signals.OTHER else requested, owner), what)
    tool = labels.get(TOOL_OF_DURATION if what is What.DURATION else TOOL)
    if not tool:
        return None
    key = Key(tool, owner)
    if what is What.DURATION:
        bound = as_bound(labels.get(LE, ""))
        return None if bound is None else Part(key, what, bound=bound)
    if what is What.CALLS:
        return Part(key, what, labels.get(OUTCOME, ""))
    return Part(key, what, labels.get(KIND, ""), labels.get(SOURCE, ""))


def as_bound(text: str) -> float | None:
    """The upper bound of a bucket; None for text that is none."""
    try:
        bound = float(text)
    except ValueError:
        return None
    return None if math.isnan(bound) else bound


def add_up(many: Iterable[Gains]) -> dict[Part, float]:
    """The sum of *many* gains."""
    total: dict[Part, float] = {}
    for gains in many:
        for part, gain in gains.items():
            total[part] = total.get(part, 0.0) + gain
    return total
