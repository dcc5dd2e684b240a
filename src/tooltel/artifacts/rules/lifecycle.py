"""What may be tidied up: old names that nobody uses any more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltel import signals
from tooltel.artifacts.dashboards import links
from tooltel.artifacts.rules import recordings
from tooltel.artifacts.rules.book import OWNED, OWNER, TOOL, Alert, Book, Group, Panel
from tooltel.artifacts.rules.texts import said
from tooltel.promql import Expr, compare, duration, over, seconds

EVERY: Final = "30m"  # a month of points at this distance is cheap to add up; an hour of calls stands in each
COMPLETE: Final = 0.95  # share of the hours that must have been watched before silence is believed


def groups(book: Book) -> Iterator[Group]:
    """The group of this theme."""
    recorded = (recordings.alias_gained(book),)
    yield Group("tooltel-lifecycle", EVERY, recorded, tuple(_removable(book)))


def _removable(book: Book) -> Iterator[Alert]:
    kept = duration(book.catalog.session_retention)
    for each in book.variants("AliasSafeToRemove"):
        yield Alert(
            "AliasSafeToRemove", each, _unused(book, kept),
            f"Old name {said('alias')} of {said(TOOL)} can go",
            f"Nobody called {said(TOOL)} (owner {said(OWNER)}) by its old name {said('alias')} for {kept}, "
            "longer than sessions are kept. Take it out of aliases; list it under retired, so that a late "
            "call is told apart from an invented name.",
            Panel(links.LIFECYCLE, OWNED),
        )  # fmt: skip


def _unused(book: Book, kept: str) -> Expr:
    scope = book.scope
    gained = recordings.alias_gained(book)
    by = ("alias", *OWNED)
    points = scope.recorded(gained)
    silent = compare(over("sum_over_time", points, kept), "==", 0)
    # Missing data reads as silence: the name was watched at the start, and nearly all the time since.
    before = over("present_over_time", points, "2h", offset=kept)
    hourly = over("present_over_time", points, "1h")
    watched = over("count_over_time", hourly, f"{kept}:1h")
    enough = compare(watched, ">=", int(COMPLETE * seconds(kept) / 3600))
    there = scope.series(signals.ALIAS_CALLS)
    expr = silent
    for arm in (before, enough, there):
        expr = scope.join(expr, "and", arm, *by)
    return book.live(expr)
