"""Alerts about tools that are slow, or leave work half done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from tooltel import signals
from tooltel.artifacts.dashboards import links
from tooltel.artifacts.rules.book import OWNED, OWNER, TOOL, Alert, Book, Group, Panel, Variant
from tooltel.artifacts.rules.texts import COUNT, PERCENT, asked, evidence, of_tool, owned_holes, said
from tooltel.promql import Expr, Match, compare, number, renamed

TOOL_PANEL: Final = Panel(links.TOOL, OWNED)


def groups(book: Book) -> Iterator[Group]:
    """The group of this theme."""
    yield Group("tooltel-reliability", book.options.group_interval, alerts=(*_latency(book), *_partial(book)))


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
