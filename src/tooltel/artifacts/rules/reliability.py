"""Alerts about tools that fail, are slow, fall silent, or leave work half done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from tooltel import signals
from tooltel.artifacts.dashboards import links
from tooltel.artifacts.rules import recordings
from tooltel.artifacts.rules.book import OWNED, OWNER, TOOL, Alert, Book, Group, Panel, Variant
from tooltel.artifacts.rules.texts import (
    COUNT,
    PERCENT,
    asked,
    evidence,
    of_tool,
    owned_holes,
    said,
    version_news,
)
from tooltel.promql import Expr, Match, Recorded, compare, either, number, over, renamed, seconds

TOOL_PANEL: Final = Panel(links.TOOL, OWNED)
SLOW_EVERY: Final = "2m"  # how often long windows are recorded: often enough for a lookup, seldom enough to be cheap

# Pairs of windows and how fast each may burn, relative to the faster pair of its alert.
PAGE_PAIRS: Final = (("1h", "5m", 1.0), ("6h", "30m", 6 / 14.4))
TICKET_PAIRS: Final = (("1d", "2h", 1.0), ("3d", "6h", 1 / 3))

PRESENT: Final = 0.75  # share of the points of a silent window that must be there: absence of data is no silence


def groups(book: Book) -> Iterator[Group]:
    """The groups of this theme: recorded series first, as the alerts read them."""
    interval = book.options.group_interval
    slow = max(interval, SLOW_EVERY, key=seconds)
    yield Group("tooltel-burn-rates", interval, _recorded(book, recordings.FAST, first=True))
    yield Group("tooltel-burn-rates-long", slow, _recorded(book, recordings.SLOW, first=False))
    yield Group("tooltel-reliability", interval, alerts=(*_fast_burn(book), *_latency(book), *_partial(book)))
    yield Group("tooltel-reliability-long", slow, alerts=(*_slow_burn(book), *_silent(book)))


def _recorded(book: Book, windows: tuple[str, ...], *, first: bool) -> tuple[Recorded, ...]:
    rates = (recordings.calls_rate, recordings.judged_rate, recordings.bad_rate, recordings.budget)
    return (
        *(rate(book) for rate in rates if first),
        *(recordings.bad_ratio(book, window) for window in windows),
        *(recordings.bad_count(book, window) for window in windows if window in recordings.LONG),
    )


# --- error budgets -----------------------------------------------------------------------------------


def _fast_burn(book: Book) -> Iterator[Alert]:
    for each in book.variants("ToolErrorBudgetBurn"):
        yield Alert(
            "ToolErrorBudgetBurn", each, _burning(book, each, PAGE_PAIRS),
            f"{said(TOOL)} burns its error budget fast",
            f"{PERCENT} of the calls of {of_tool()} failed, {_objective(book)}. "
            f"{evidence(book)}",
            TOOL_PANEL,
        )  # fmt: skip


def _slow_burn(book: Book) -> Iterator[Alert]:
    for each in book.variants("ToolErrorBudgetBurnSlow"):
        yield Alert(
            "ToolErrorBudgetBurnSlow", each, _burning(book, each, TICKET_PAIRS),
            f"{said(TOOL)} burns its error budget slowly",
            f"{PERCENT} of the calls of {of_tool()} failed over a day or more, {_objective(book)}. "
            f"{evidence(book)}",
            TOOL_PANEL,
        )  # fmt: skip


def _burning(book: Book, variant: Variant, pairs: tuple[tuple[str, str, float], ...]) -> Expr:
    fastest = variant.settings.threshold or 0.0
    arms = (_pair(book, variant, long, short, fastest * share) for long, short, share in pairs)
    return book.live(either(*arms))


def _pair(book: Book, variant: Variant, long: str, short: str, factor: float) -> Expr:
    scope, where = book.scope, variant.matching()
    allowed = scope.recorded(recordings.budget(book), **where)
    limit = Expr(f"{number(round(factor, 6))} * {allowed.text}", allowed.labels, loose=True, reads=allowed.reads)
    spent, now = (
        scope.join(scope.recorded(recordings.bad_ratio(book, window), **where), ">", limit, *OWNED)
        for window in (long, short)
    )
    errors = scope.recorded(recordings.bad_count(book, long), **where)
    enough = compare(errors, ">=", variant.settings.minimum or 0)
    return scope.join(scope.join(spent, "and", now, *OWNED), "and", enough, *OWNED)


def _objective(book: Book) -> str:
    where = owned_holes(book)
    promised = book.scope.total(book.scope.series(signals.TOOL_OBJECTIVE, **where), function="max")
    promise = f"{{{{ with {asked(promised)} }}}}{{{{ . | first | value | humanizePercentage }}}}{{{{ end }}}}"
    return f"where {promise} without error are promised"


# --- latency -------------------------------------------------------------------------------------------


def _latency(book: Book) -> Iterator[Alert]:
    for each in _latency_variants(book):
        yield Alert(
            "ToolLatencyHigh", each, _slow_share(book, each),
            f"{said(TOOL)} is slow",
            f"{PERCENT} of the calls of {of_tool()} took more than {number(each.bound or 0)} s within "
            f"{each.settings.window}, its latency bound; up to {_percent(each.settings.ratio)} are "
            f"tolerated. {evidence(book)}",
            TOOL_PANEL,
        )  # fmt: skip


def _latency_variants(book: Book) -> Iterator[Variant]:
    """One rule for each bound: a query can compare with one bucket only, so it has to name its tools."""
    tools = book.catalog.tools
    for variant in book.variants("ToolLatencyHigh"):
        names = variant.tools or sorted(set(tools) - set(variant.without))
        bounds = sorted({bound for name in names if (bound := tools[name].latency_bound) is not None})
        for bound in bounds:
            of_bound = tuple(name for name in names if tools[name].latency_bound == bound)
            yield replace(variant, tools=of_bound, without=(), bound=bound)


def _slow_share(book: Book, variant: Variant) -> Expr:
    scope, settings, row = book.scope, variant.settings, signals.DURATION
    name = row.labels[0]
    by = (OWNER, name)
    window = settings.window or ""
    where: dict[str, str | Match] = {**variant.matching(name)}
    quick = scope.total(scope.rate(row, window, "_bucket", **where, le=_bucket(variant.bound)), *by)
    every = scope.total(scope.rate(row, window, "_count", **where), *by)
    share = scope.join(quick, "/", every, *by)
    slow = Expr(f"1 - {share.operand}", share.labels, loose=True, reads=share.reads)
    enough = scope.total(scope.increase(row, window, "_count", **where), *by)
    many = scope.join(compare(slow, ">", settings.ratio or 0), "and", compare(enough, ">=", settings.minimum or 0), *by)
    # Everything else, routes included, knows the tool by our own label.
    return book.live(scope.total(renamed(many, name, TOOL), *OWNED))


def _bucket(bound: float | None) -> str:
    # As clients write it: the shortest text that is this float, always with a fraction.
    return repr(float(bound or 0))


# --- silence, and work left undone ---------------------------------------------------------------------


def _silent(book: Book) -> Iterator[Alert]:
    for each in book.variants("ToolSilent"):
        window = each.settings.window or ""
        yield Alert(
            "ToolSilent", each, _gone_quiet(book, each),
            f"{said(TOOL)} is not called any more",
            f"{of_tool()} had {COUNT} calls in the same {window} of yesterday and none in the last {window}, "
            "while its process is up. Is it still declared to the model, and under this name? "
            f"{version_news(book)}",
            TOOL_PANEL,
        )  # fmt: skip


def _gone_quiet(book: Book, variant: Variant) -> Expr:
    scope, settings, where = book.scope, variant.settings, variant.matching()
    rate, window = recordings.calls_rate(book), settings.window or ""
    # The same hours of yesterday, not all of it: a desk that sleeps at night is not reported every night.
    before = recordings.counted(book, rate, window, offset="1d", where=where)
    used = compare(before, ">=", settings.minimum or 0)
    silent = compare(recordings.added(book, rate, window, where=where), "==", 0)
    width = recordings.step(window)
    points = over("count_over_time", scope.recorded(rate, **where), f"{window}:{width}")
    watched = compare(points, ">=", int(PRESENT * seconds(window) / seconds(width)))
    return book.live(scope.join(scope.join(used, "and", silent, *OWNED), "and", watched, *OWNED))


def _partial(book: Book) -> Iterator[Alert]:
    row = signals.BATCH_ITEMS
    for each in book.variants("PartialResultsOutstanding"):
        window = each.settings.window or ""
        left = book.gained(row, OWNED, window, **each.matching(), status=signals.ItemStatus.OUTSTANDING)
        where = owned_holes(book)
        done = book.scope.total(book.scope.increase(row, window, **where, status=signals.ItemStatus.FAILED))
        failed = f'{{{{ with {asked(done)} }}}}{{{{ . | first | value | printf "%.0f" }}}}{{{{ else }}}}0{{{{ end }}}}'
        yield Alert(
            "PartialResultsOutstanding", each, book.live(compare(left, ">", 0)),
            f"{said(TOOL)} left items undone",
            f"Items of batches of {of_tool()} left outstanding within {window}: {COUNT}; failed: {failed}. "
            f"Somebody has to finish or undo them. {evidence(book, signals.Status.PARTIAL)}",
            TOOL_PANEL,
        )  # fmt: skip


def _percent(ratio: float | None) -> str:
    return f"{number(round((ratio or 0) * 100, 6))} %"
