"""Unit tests of the alerts about slow tools and unfinished work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from tooltel import signals
from tooltel.artifacts.rules.book import OWNER, TOOL, Alert, Book
from tooltel.artifacts.rules.scenarios.events import play_events
from tooltel.artifacts.rules.scenarios.stage import Stage, counter, flat
from tooltel.promql import LE
from tooltel.signals import BATCH_ITEMS, DURATION, ItemStatus

Stretch = tuple[int, float, float]  # steps, calls per step, and the share of them that is over the bound


def _latency(book: Book, alert: Alert) -> Iterator[Stage]:
    yield _play_shares(Stage(book, alert, "fires on a share of the calls, not just below, and resolves"))
    yield _play_counts(Stage(book, alert, "fires on few calls, not on fewer"))


def _play_shares(stage: Stage) -> Stage:
    window, ratio = stage.window, stage.alert.settings.ratio or 0
    start, bad = 5, stage.wait + 5
    rest = window + stage.keep + 10
    many = max(100.0, 2 * (stage.alert.settings.minimum or 0))

    def play(owner: str, slow: float) -> None:
        _timed(stage, owner, (start, 0, 0), (bad, many, slow), (rest, many, 0))

    slow = min(1, 1.5 * ratio)
    play("slow", slow)
    play("fine", 0.9 * ratio)
    play("removed", slow)
    play("moved", slow)
    for owner in ("slow", "fine", "heir"):
        stage.add_tool(owner)
    stage.add_removed("removed")
    ended = int(min(window * (1 - ratio / slow), bad * (slow / ratio - 1)))
    stage.expect_nothing_yet(start + stage.wait)
    stage.expect(start + stage.wait + 3, stage.of("slow"))
    stage.expect_kept(start + bad + ended, stage.of("slow"))
    stage.expect(start + bad + window + stage.keep + 3)
    return stage


def _play_counts(stage: Stage) -> Stage:
    """Every call is slow; of some tools there are half as many as it takes, for longer than the window."""
    window, least = stage.window, stage.alert.settings.minimum or 0
    end = 4 * window + stage.wait + 5
    for owner, calls in (("enough", 1.5), ("few", 0.5)):
        _timed(stage, owner, (end, calls * least / window, 1))
        stage.add_tool(owner)
    if other := stage.alert.variant.tools[1:2]:
        _timed(stage, "few", (end, 10 * least, 0), tool=other[0])
    stage.expect(end, stage.of("enough"))
    return stage


def _timed(stage: Stage, owner: str, *stretches: Stretch, tool: str = "") -> None:
    """A histogram of two error types, half of the calls each: what a tool took is the sum over all of them."""
    name, error_type = DURATION.labels[:2]
    bound = repr(float(stage.alert.variant.bound or 0))
    calls = counter(*((steps, gain / 2) for steps, gain, _ in stretches))
    quick = counter(*((steps, gain / 2 * (1 - slow)) for steps, gain, slow in stretches))
    for labels in ({}, {error_type: signals.ERROR_TIMEOUT}):
        where = {name: tool or stage.tool, OWNER: owner, "risk": "read", **labels}
        stage.add(DURATION, calls, "_count", **where)
        stage.add(DURATION, quick, "_bucket", **where, **{LE: bound})
        stage.add(DURATION, calls, "_bucket", **where, **{LE: "+Inf"})


def _partial(book: Book, alert: Alert) -> Iterator[Stage]:
    stage = Stage(book, alert, "fires on any item, also the first, not on a gap in scraping, and resolves")

    def play(owner: str, values: str, status: ItemStatus = ItemStatus.OUTSTANDING) -> None:
        labels = {OWNER: owner, TOOL: stage.tool, "status": str(status)}
        stage.add(BATCH_ITEMS, values, calm=flat(0, 10), **labels)
        stage.add_tool(owner)

    end = play_events(stage, play, stage.of)
    play("failing", counter((end, 1)), ItemStatus.FAILED)
    labels = {TOOL: stage.tool, "status": str(ItemStatus.OUTSTANDING)}
    stage.add(BATCH_ITEMS, counter((end, 1)), **{OWNER: "removed", **labels})
    stage.add_removed("removed")
    yield stage


SCENARIOS: Final[Mapping[str, Callable[[Book, Alert], Iterator[Stage]]]] = MappingProxyType(
    {"ToolLatencyHigh": _latency, "PartialResultsOutstanding": _partial}
)
