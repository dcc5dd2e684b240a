"""Alerts built from recorded rates: tools that burn their error budget, and tools that fell silent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltel import signals
from tooltel.artifacts.dashboards import links
from tooltel.artifacts.rules import recordings
from tooltel.artifacts.rules.book import OWNED, TOOL, Alert, Book, Group, Panel, Variant
from tooltel.artifacts.rules.texts import COUNT, PERCENT, asked, evidence, of_tool, owned_holes, said, version_news
from tooltel.promql import Expr, Recorded, compare, either, number, over, seconds

TOOL_PANEL: Final = Panel(links.TOOL, OWNED)

# Pairs of windows and how fast each may burn, relative to the faster pair of its alert.
PAGE_PAIRS: Final = (("1h", "5m", 1.0), ("6h", "30m", 6 / 14.4))
TICKET_PAIRS: Final = (("1d", "2h", 1.0), ("3d", "6h", 1 / 3))

PRESENT: Final = 0.75  # share of the points of a silent window that must be there: absence of data is no silence


def groups(book: Book) -> Iterator[Group]:
    """The groups of this theme: recorded series first, as the alerts read them."""
    fast, slow = book.options.group_interval, recordings.seldom(book)
    yield Group("tooltel-burn-rates", fast, _recorded(book, recordings.FAST, first=True))
    yield Group("tooltel-burn-rates-long", slow, _recorded(book, recordings.SLOW, first=False))
    yield Group("tooltel-budgets", fast, alerts=tuple(_fast_burn(book)))
    yield Group("tooltel-budgets-long", slow, alerts=(*_slow_burn(book), *_silent(book)))


def _recorded(book: Book, windows: tuple[str, ...], *, first: bool) -> tuple[Recorded, ...]:
    """Rates, then what is added up of them: counts before the ratios that are made of counts."""
    judged, bad = recordings.judged_rate(book), recordings.bad_rate(book)
    rates = (
        (recordings.calls_rate(book), judged, bad, recordings.budget(book))
        if first
        else (recordings.sparse(book, judged), recordings.sparse(book, bad))
    )
    counts = (recordings.bad_count(book, window) for window in windows if window in recordings.LONG)
    return (*rates, *counts, *(recordings.bad_ratio(book, window) for window in windows))


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


# --- silence -------------------------------------------------------------------------------------------


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
