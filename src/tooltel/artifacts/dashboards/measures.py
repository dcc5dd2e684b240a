"""What more than one dashboard measures, said once: failed calls, quantiles, rejections, ages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tooltel import signals
from tooltel.artifacts.dashboards.view import RANGE, RATE, TOOL, TOOL_OF_DURATION, View
from tooltel.promql import LE, Expr, Match, call, compare, either, none_of, one_of, over, renamed, seconds

if TYPE_CHECKING:
    from tooltel.signals import Metric

HOUR: Final = "1h"
LAST_HOUR: Final = "65m"  # an hour and some scrapes, so that hourly looks leave no gap between them
BURN_WINDOW: Final = HOUR  # the longer window of the fastest burn alert
SHOWN: Final = 5  # series that a reader can tell apart, and whose names fit under a third of a small screen

BAD: Final = one_of(*signals.BAD)
COUNTED: Final = none_of(*signals.NEUTRAL)


def at_least_zero(expr: Expr, among: Expr) -> Expr:
    """A single number, and 0 as long as there is anything *among* which it could have been counted."""
    return either(expr, Expr(f"0 * count({among.text})", frozenset(), loose=True))


def counted(expr: Expr, among: Expr) -> Expr:
    """
    The number of series in *expr*, and 0 as long as there is anything *among* which they could have been.

    A bare `or vector(0)` would also say 0 where nothing is measured at all.
    """
    return at_least_zero(call("count", expr), among)


def failed_share(view: View, *by: str, window: str = RANGE) -> Expr:
    """Share of failed calls among those that count, by *by*; nothing where there were no calls."""
    bad = view.total(view.rate(signals.TOOL_CALLS, window=window, outcome=BAD), *by)
    counted = view.total(view.rate(signals.TOOL_CALLS, window=window, outcome=COUNTED), *by)
    return view.join(bad, "/", compare(counted, ">", 0), *by)


def calls(view: View, *by: str) -> Expr:
    """Calls in the chosen time range, by *by*."""
    return view.total(view.gained(signals.TOOL_CALLS), *by)


def quantile(view: View, at: float, *by: str, window: str = RATE, metric: Metric = signals.DURATION) -> Expr:
    """Seconds that the share *at* of calls stayed below, by *by*; `tool` whatever the metric calls it."""
    buckets = view.rate(metric, "_bucket", window=window)
    if TOOL in by and TOOL not in buckets.labels:
        buckets = renamed(buckets, TOOL_OF_DURATION, TOOL)
    summed = view.total(buckets, LE, *by)
    # A tool without calls has rates of 0, whose quantile is no number: `> 0` leaves it out.
    value = call("histogram_quantile", at, summed)
    return compare(Expr(value.text, value.labels - {LE}), ">", 0)


def rejected(view: View, *by: str, window: str = RANGE, kind: str | Match | None = None) -> Expr:
    """
    Rejected calls over *window*, by *by*.

    A call counts once per source, so the source that saw the most tells the number of calls.
    """
    matchers: dict[str, str | Match] = {} if kind is None else {"kind": kind}
    gained = view.appeared(signals.REJECTIONS, window=window, **matchers)
    each = view.total(gained, "owner", "tool", "kind", "source")
    most = view.total(each, "owner", "tool", "kind", function="max")
    return view.total(most, *by)


def rejected_share(view: View, *by: str, kind: str | Match) -> Expr:
    """Rejected calls of *kind* for each call in the chosen time range, by *by*."""
    made = compare(view.total(view.gained(signals.TOOL_CALLS), *by), ">", 0)
    return view.join(rejected(view, *by, kind=kind), "/", made, *by)


def burn(view: View, *by: str) -> Expr:
    """How many times too fast the error budget is spent over the last hour, by owner and tool."""
    by = by or ("owner", "tool")
    promised = view.total(view.series(signals.TOOL_OBJECTIVE), *by, function="max")
    budget = Expr(f"1 - {promised.operand}", promised.labels, loose=True)
    return view.join(failed_share(view, *by, window=BURN_WINDOW), "/", budget, *by)


def budget_used(view: View, *by: str) -> Expr:
    """Declared characters over the budget of the profile; 1 is the budget."""
    by = by or ("profile", "owner")
    chars = view.total(view.series(signals.DECLARATION_CHARS), *by, function="max")
    budget = view.total(view.series(signals.DECLARATION_BUDGET), *by, function="max")
    return view.join(chars, "/", compare(budget, ">", 0), *by)


def leading(view: View, expr: Expr, ranking: Expr, *by: str) -> Expr:
    """The series of *expr* that lead a *ranking* of the whole range, by *by*: the same ones at every point."""
    at_end = ranking.text.replace(f"[{RANGE}]", f"[{RANGE}] @ end()")
    return view.join(expr, "and", Expr(f"topk({SHOWN}, {at_end})", frozenset(by)), *by)


def busiest(view: View, expr: Expr, *by: str) -> Expr:
    """The series of *expr* that had most calls in the whole range."""
    return leading(view, expr, calls(view, *by), *by)


def failing(view: View, expr: Expr, *by: str) -> Expr:
    """The series of *expr* that had most failed calls in the whole range."""
    return leading(view, expr, view.total(view.gained(signals.TOOL_CALLS, outcome=BAD), *by), *by)


def happened(expr: Expr) -> Expr:
    """
    Events without the points at which there were none.

    A series that never had one is not there at all: no legend lists it, and a quiet panel says that it is quiet.
    """
    return compare(expr, ">", 0)


def since_last(view: View, metric: Metric, *by: str, window: str, **matchers: str | Match) -> Expr:
    """
    Seconds since a counter last rose, looked at hour by hour over *window*; nothing where it never did.

    The last hour counts as 0, as the hourly looks stand at full hours.
    """
    rose = compare(view.total(view.gained(metric, window=LAST_HOUR, **matchers), *by), ">", 0)
    now = Expr(f"0 * {rose.operand}", rose.labels, loose=True)
    last = f"max_over_time(timestamp({rose.text})[{window}:{HOUR}])"
    return either(now, Expr(f"time() - {last}", rose.labels, loose=True))


def since_first(view: View, metric: Metric, *by: str, window: str) -> Expr:
    """Seconds since series were first seen, at most *window* and the retention of Prometheus."""
    series = view.series(metric)
    first = Expr(f"min_over_time(timestamp({series.text})[{window}:{HOUR}])", series.labels)
    oldest = view.total(first, *by, function="min")
    return Expr(f"time() - {oldest.operand}", oldest.labels, loose=True)


def watched(view: View, metric: Metric, *by: str, window: str) -> Expr:
    """Share of the hours of *window* in which series were there; a scrape gap and a young series lower it."""
    there = view.total(view.series(metric), *by)
    hours = max(1, seconds(window) // 3600)
    return Expr(f"count_over_time({there.text}[{window}:{HOUR}]) / {hours}", there.labels, loose=True)


def present_before(view: View, metric: Metric, *by: str, window: str) -> Expr:
    """Something where series were already there *window* ago."""
    return view.total(over("present_over_time", view.series(metric), "2h", offset=window), *by)
