"""
Recorded series: what long windows are built from.

Only five minutes are ever read from raw series. Every longer window adds up recorded points, so that an
evaluation reads a few thousand points per tool however many processes there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tooltel import signals
from tooltel.artifacts.rules.book import OWNED, Book
from tooltel.promql import Expr, Match, Recorded, none_of, one_of, over, scalar, seconds
from tooltel.signals import TOOL_CALLS

FAST: Final = ("5m", "30m", "1h")  # windows that must be fresh, because a page needs them
SLOW: Final = ("2h", "6h", "1d", "3d")
LONG: Final = ("1h", "6h", "1d", "3d")  # the long windows of the burn alerts, whose errors are counted

SELDOM: Final = "2m"  # how often long windows are recorded: often enough to be looked up, seldom enough to be cheap

BAD: Final = one_of(*signals.BAD)
JUDGED: Final = none_of(*signals.NEUTRAL)  # what an error budget is about: neither side counts the rest

Where = Mapping[str, str | Match]  # matchers by label
EVERY: Final[Where] = MappingProxyType({})

_LEVEL: Final = ":".join(("_".join(OWNED), TOOL_CALLS.family))  # owner_tool:tooltel_tool_calls


def seldom(book: Book) -> str:
    """The interval of groups that look back for hours or days."""
    return max(book.options.group_interval, SELDOM, key=seconds)


def calls_rate(book: Book) -> Recorded:
    """Calls per second, whatever became of them."""
    return Recorded(f"{_LEVEL}:rate5m", _rate(book))


def judged_rate(book: Book) -> Recorded:
    """Calls per second that an error budget is about."""
    return Recorded(f"{_LEVEL}_judged:rate5m", _rate(book, outcome=JUDGED))


def bad_rate(book: Book) -> Recorded:
    """Calls per second that burn an error budget."""
    return Recorded(f"{_LEVEL}_bad:rate5m", _rate(book, outcome=BAD))


def sparse(book: Book, rate: Recorded) -> Recorded:
    """The same rate, recorded seldom: a quarter of the points to read where a window is days long."""
    return Recorded(f"{rate.name}_sparse", book.scope.recorded(rate))


def bad_ratio(book: Book, window: str) -> Recorded:
    """Share of the judged calls of *window* that were bad."""
    judged = _source(book, judged_rate(book), window)
    if window in LONG:  # the bad ones have been counted already
        bad, whole = book.scope.recorded(bad_count(book, window)), counted(book, judged, window)
    else:
        bad, whole = added(book, bad_rate(book), window), added(book, judged, window)
    return Recorded(f"{_LEVEL}_bad:ratio{window}", book.scope.join(bad, "/", whole, *OWNED))


def bad_count(book: Book, window: str) -> Recorded:
    """Number of bad calls within *window*."""
    source = _source(book, bad_rate(book), window)
    return Recorded(f"{_LEVEL}_bad:increase{window}", counted(book, source, window))


def budget(book: Book) -> Recorded:
    """Share of calls that a tool may fail: one minus its objective."""
    objective = book.scope.total(book.scope.series(signals.TOOL_OBJECTIVE), *OWNED, function="max")
    return Recorded(
        f"{'_'.join(OWNED)}:{signals.TOOL_OBJECTIVE.name.removesuffix('_ratio')}_budget:ratio",
        Expr(f"1 - {objective.operand}", objective.labels, loose=True, reads=objective.reads),
    )


def added(book: Book, rate: Recorded, window: str, *, offset: str = "", where: Where = EVERY) -> Expr:
    """
    Add up the points of a recorded *rate* over *window*: a number that only ratios and zeros give a meaning.

    Points are taken at fixed steps, so that the result does not depend on how often rules are evaluated.
    """
    points = book.scope.recorded(rate, **where)
    if window == "5m":
        return points
    return over("sum_over_time", points, f"{window}:{step(window)}", offset=offset)


def counted(book: Book, rate: Recorded, window: str, *, offset: str = "", where: Where = EVERY) -> Expr:
    """How many events a recorded *rate* stands for: its points times the seconds between them."""
    points = added(book, rate, window, offset=offset, where=where)
    width = scalar(seconds(step(window)))
    return Expr(f"{width.text} * {points.text}", points.labels, loose=True, reads=points.reads)


def step(window: str) -> str:
    """Distance of the points of *window*: a minute, or five where an hour more or less does not matter."""
    return "1m" if seconds(window) <= seconds("6h") else "5m"


def declaration_seen(book: Book) -> Recorded:
    """Which fingerprints of declarations were in use."""
    row = signals.TOOL_DECLARATION_INFO
    labels = ("owner", "sha", "tool", "version")
    seen = book.scope.total(book.scope.series(row), *labels, function="max")
    return Recorded(f"{'_'.join(labels)}:{row.family}:max", seen)


def alias_gained(book: Book) -> Recorded:
    """Calls by an old name within an hour."""
    row = signals.ALIAS_CALLS
    labels = ("alias", "owner", "tool")
    gained = book.scope.total(book.scope.increase(row, "1h"), *labels)
    return Recorded(f"{'_'.join(labels)}:{row.family}:increase1h", gained)


def _source(book: Book, rate: Recorded, window: str) -> Recorded:
    return rate if step(window) == "1m" else sparse(book, rate)


def _rate(book: Book, **matchers: str | Match) -> Expr:
    return book.scope.total(book.scope.rate(TOOL_CALLS, "5m", **matchers), *OWNED)
