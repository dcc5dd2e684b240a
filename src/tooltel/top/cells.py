"""One row as cells of text: what each column is called, holds, and may be cut to."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from rich.cells import cell_len, set_cell_size

from tooltel import signals
from tooltel.text import ELLIPSIS, clean
from tooltel.top.rows import By, Row, Sort

NOTHING: Final = "-"  # not known, or no calls to tell it from
NO_TOOL: Final = "(no tool)"
OTHER_TOOLS: Final = "(other tools)"
NARROW: Final = 100  # columns of a terminal: below, headings are short and alerts are counted by severity
_NAME: Final = 128  # characters of a name
_LEAST_NAME: Final = 8
_FAIR = (20, 10)  # cells of the first name and of the others, from which on both give way alike


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `sort` is what sorts by it; `cell` gives its text, and `short` that for a narrow terminal."""

    sort: Sort | None
    heading: str
    cell: Callable[[Row], str]
    short_heading: str = ""
    short: Callable[[Row], str] | None = None
    right: bool = True


@dataclass(frozen=True, slots=True)
class Laid:
    """A column as it is shown: its heading, and how many cells of the terminal it takes."""

    column: Column
    heading: str
    width: int
    is_short: bool

    def text(self, row: Row) -> str:
        """The cell of *row*, cut and padded to the column's width."""
        column = self.column
        return fit((column.short if self.is_short and column.short else column.cell)(row), self.width, column.right)

    def title(self) -> str:
        """The heading, padded to the column's width."""
        return fit(self.heading, self.width, self.column.right)


# --- what is in a cell -------------------------------------------------------------------------------


def name(row: Row) -> str:
    """A tool's name, safe for a terminal; what stands for none or for many is in parentheses."""
    if not row.tool:
        return NO_TOOL
    return OTHER_TOOLS if row.is_overflow else clean(row.tool, limit=_NAME)


def owner(row: Row) -> str:
    """An owner's name, safe for a terminal."""
    return clean(row.owner, limit=_NAME)


def rate(row: Row) -> str:
    """Calls per second."""
    value = row.per_second
    if value is None:
        return NOTHING
    if value >= 100:
        return f"{value:,.0f}"
    if 0 < value < 0.01:
        return "<0.01"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def ratio(row: Row) -> str:
    """Share of calls that failed."""
    value = row.error_ratio
    if value is None:
        return NOTHING
    if 0 < value < 0.001:
        return "<0.1%"
    return f"{value:.0%}" if value in {0, 1} else f"{value:.1%}"


def quantile(row: Row) -> str:
    """The 95th percentile of a call's duration; beyond the last bucket nobody knows it better."""
    value = row.p95
    if value is None:
        return NOTHING
    if value >= signals.BUCKETS[-1]:
        return f">{signals.BUCKETS[-1]:.0f}s"
    return f"{value * 1000:.0f}ms" if value < 0.9995 else f"{value:.3g}s"


def count(value: float) -> str:
    """A number of events. Prometheus extrapolates: a fraction of one still is one."""
    return f"{max(1, round(value)) if value > 0 else 0:,}"


def alerts(row: Row) -> str:
    """The alerts that fire, by name."""
    return " ".join(dict.fromkeys(clean(each.alert, limit=_NAME) for each in row.firing)) or NOTHING


def severities(row: Row) -> str:
    """How many alerts fire with the worst severity, and how many beside them."""
    found = Counter(clean(each.severity or "alert", limit=16) for each in row.firing)
    if not found:
        return NOTHING
    worst, number = next(iter(found.items()))  # alerts come with the worst first
    others = found.total() - number
    return f"{number} {worst} +{others}" if others else f"{number} {worst}"


_TOOL: Final = Column(Sort.NAME, "TOOL", name, right=False)
_OWNER: Final = Column(None, "OWNER", owner, right=False)
_TOOLS: Final = Column(None, "TOOLS", lambda row: count(row.tools))
_RATE: Final = Column(Sort.CALLS, "CALLS/S", rate)
_CALLS: Final = Column(Sort.CALLS, "CALLS", lambda row: count(row.calls))
_ERRORS: Final = Column(Sort.ERRORS, "ERRORS", ratio)
_P95: Final = Column(Sort.P95, "P95", quantile)
_NOT_FOUND: Final = Column(Sort.NOT_FOUND, "NOT FOUND", lambda row: count(row.not_found), "NOTFND")
_REJECTED: Final = Column(Sort.REJECTED, "REJECTED", lambda row: count(row.rejected), "REJECT")
_FIRING: Final = Column(Sort.FIRING, "FIRING", alerts, short=severities, right=False)

# What goes first where a terminal has no room for all.
_DISPENSABLE: Final = (_TOOLS, _REJECTED, _NOT_FOUND, _P95, _OWNER, _FIRING, _ERRORS)


def columns_of(by: By, *, timed: bool = True, firing: bool = True) -> list[Column]:
    """The columns; calls are per second where the time is known (*timed*), *firing* where alerts are."""
    names = [_TOOL, _OWNER] if by is By.TOOL else [replace(_OWNER, sort=Sort.NAME), _TOOLS]
    return [*names, _RATE if timed else _CALLS, _ERRORS, _P95, _NOT_FOUND, _REJECTED, *([_FIRING] if firing else [])]


def marked(column: Column, sort: Sort, *, reverse: bool) -> Column:
    """The *column* with a mark at its heading where rows are sorted by it."""
    if column.sort is not sort:
        return column
    mark = "▲" if reverse else "▼"
    headings = [f"{mark}{text}" if column.right else f"{text}{mark}" for text in (column.heading, column.short_heading)]
    return replace(column, heading=headings[0], short_heading=headings[1] if column.short_heading else "")


def lay_out(columns: Sequence[Column], rows: Sequence[Row], width: int | None) -> list[Laid]:
    """
    Give every column its place within *width* cells, or all that it wants when None.

    Numbers are never cut. Names give way first, then the columns that can best be done without.
    """
    laid = [_natural(column, rows, narrow=width is not None and width < NARROW) for column in columns]
    if width is None:
        return laid
    for dispensable in (None, *_DISPENSABLE):
        if dispensable is not None:
            laid = [laid[0], *(each for each in laid[1:] if each.column.cell is not dispensable.cell)]
        if _total(laid) <= width:
            return laid
        least = sum(min(each.width, _LEAST_NAME) if not each.column.right else each.width for each in laid)
        if least + _gap(laid) * (len(laid) - 1) <= width or len(laid) <= 2:
            break
    return _squeezed(laid, _total(laid) - width)


def fit(text: str, width: int, right: bool) -> str:  # noqa: FBT001 - one of two sides
    """Cut or pad *text* to *width* cells of a terminal, where a wide character takes two."""
    length = cell_len(text)
    if length > width:
        return set_cell_size(set_cell_size(text, max(width - 1, 0)) + ELLIPSIS, width) if width > 0 else ""
    return " " * (width - length) + text if right else text + " " * (width - length)


def join(cells: Iterable[str], laid: Sequence[Laid]) -> str:
    """One line of *cells*, with room between them."""
    return (" " * _gap(laid)).join(cells).rstrip()


def _gap(laid: Sequence[Laid]) -> int:
    return 1 if laid and laid[0].is_short else 2


def _natural(column: Column, rows: Sequence[Row], *, narrow: bool) -> Laid:
    heading = column.short_heading if narrow and column.short_heading else column.heading
    cell = column.short if narrow and column.short is not None else column.cell
    width = max([cell_len(heading), *(cell_len(cell(row)) for row in rows)])
    return Laid(column, heading, width, narrow)


def _total(laid: Sequence[Laid]) -> int:
    return sum(each.width for each in laid) + _gap(laid) * max(len(laid) - 1, 0)


def _squeezed(laid: Sequence[Laid], over: int) -> list[Laid]:
    """The columns with *over* cells fewer: names give way, the longest first, and none below what can be read."""
    widths = [each.width for each in laid]
    names = [place for place, each in enumerate(laid) if not each.column.right]
    for _ in range(over):
        wide = [place for place in names if widths[place] > _LEAST_NAME]
        if not wide:
            break
        widths[max(wide, key=lambda place: widths[place] - _FAIR[place > 0])] -= 1
    if names:
        rest = sum(widths) - (sum(each.width for each in laid) - over)
        widths[names[0]] = max(1, widths[names[0]] - max(rest, 0))
    return [Laid(each.column, each.heading, width, each.is_short) for each, width in zip(laid, widths, strict=True)]


def seconds(length: float) -> str:
    """A stretch of time in the words of a person: `42 s`, `5 min`, `3 h 20 min`, `2 d 3 h`."""
    whole = max(1, math.floor(length + 0.5))
    if whole < 120:
        return f"{whole} s"
    minutes = whole // 60
    if minutes < 120:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"
