"""Unit tests of the alerts about failing, slow, silent and unfinished tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import ceil
from types import MappingProxyType
from typing import Final

from tooltel import signals
from tooltel.artifacts.rules.book import OUTCOME, OWNED, OWNER, PROFILE, TOOL, Alert, Book
from tooltel.artifacts.rules.scenarios.events import play_events
from tooltel.artifacts.rules.scenarios.stage import FIVE, Stage, absent, counter, flat
from tooltel.promql import LE
from tooltel.signals import BATCH_ITEMS, DURATION, TOOL_CALLS, ItemStatus, Status


def _calls(stage: Stage, owner: str, outcome: Status, values: str, *, calm: str = "") -> None:
    labels = {OWNER: owner, TOOL: stage.tool, OUTCOME: str(outcome), PROFILE: signals.NO_PROFILE}
    stage.add(TOOL_CALLS, values, calm=calm or flat(0, 10), **labels, version="1", risk="read")


def _of(stage: Stage, owner: str) -> dict[str, str]:
    return dict(zip(OWNED, (stage.tool, owner) if OWNED[0] == TOOL else (owner, stage.tool), strict=True))


# --- error budgets -----------------------------------------------------------------------------------


def _fast_burn(book: Book, alert: Alert) -> Iterator[Stage]:
    both = Stage(book, alert, "fires on either pair of windows, not just below, and resolves")
    yield _burn(both, slower=6 / 14.4, short=30)
    yield _earlier(Stage(book, alert, "fires on the faster pair alone"), busy=120, bad=75)


def _slow_burn(book: Book, alert: Alert) -> Iterator[Stage]:
    both = Stage(book, alert, "fires on either pair of windows, not just below, and resolves", pace=FIVE)
    yield _burn(both, slower=1 / 3, short=360)
    alone = Stage(book, alert, "fires on the faster pair alone", pace=FIVE)
    yield _earlier(alone, busy=720, bad=1440 + 30)


def _burn(stage: Stage, *, slower: float, short: int) -> Stage:
    """
    Several owners have a tool of the same name, which is first called at the same time.

    `slower` is the burn rate of the slower pair relative to the faster one, `short` its short
    window in steps.
    """
    fastest, least = stage.alert.settings.threshold or 0, stage.alert.settings.minimum or 0
    share = _budget(fastest)
    start, bad = 10, stage.wait + 10
    end, rest = start + bad, short + stage.keep + 20
    many = max(1000.0, 100 * least)  # calls per step: enough errors at the first sample

    def play(owner: str, burn: float, *, status: Status = Status.ERROR, neutral: float = 0) -> None:
        gain = burn * share * many
        _calls(stage, owner, status, counter((start, 0), (bad, gain), (rest, 0)))
        _calls(stage, owner, Status.OK, counter((start, 0), (bad, many - gain), (rest, many)))
        for each in signals.NEUTRAL if neutral else ():
            _calls(stage, owner, each, counter((start, 0), (bad + rest, neutral * many)))
        _promise(stage, owner, share)

    play("fast", 1.5 * fastest)
    _errors(stage, "fast", start)
    play("slow", 1.2 * fastest * slower, status=Status.TIMEOUT)
    play("fine", 0.9 * fastest * slower)
    play("refusing", 0.9 * fastest * slower, neutral=1)  # neutral outcomes burn nothing
    play("hidden", 1.5 * fastest, neutral=9)  # and hide nothing
    play("removed", 1.5 * fastest)
    play("moved", 1.5 * fastest)
    _few(stage, "few", start, share)
    for owner in ("fast", "slow", "fine", "refusing", "hidden", "few", "heir"):
        stage.add_tool(owner)
    firing = [_of(stage, owner) for owner in ("fast", "slow", "hidden")]
    stage.expect(start)
    stage.expect_nothing_yet(start + stage.tick + stage.wait - 1)
    stage.expect(start + 2 * stage.tick + stage.wait, *firing)
    stage.expect(end + 1, *firing)
    stage.expect(end + short + stage.keep + 5)
    return stage


def _earlier(stage: Stage, *, busy: int, bad: int) -> Stage:
    """Much healthy traffic first, then little and bad: the longer windows still look well."""
    fastest = stage.alert.settings.threshold or 0
    share = _budget(fastest)
    calls = max(100.0, 10 * (stage.alert.settings.minimum or 0))
    gain = 1.2 * fastest * share * calls
    _calls(stage, "late", Status.ERROR, counter((busy, 0), (bad, gain)))
    _calls(stage, "late", Status.OK, counter((busy, 1000 * calls), (bad, calls - gain)))
    stage.add_tool("late")
    _promise(stage, "late", share)
    stage.expect(busy)
    stage.expect(busy + bad, _of(stage, "late"))
    return stage


def _few(stage: Stage, owner: str, start: int, share: float) -> None:
    """Half of very few calls fail: just fewer than are worth waking anybody up for."""
    # Five minutes of one-minute samples are read up to a quarter larger than they are.
    errors = 0.75 * (stage.alert.settings.minimum or 0)
    for status in (Status.ERROR, Status.OK):
        _calls(stage, owner, status, counter((start, 0), (1, errors), (1000, 0)))
    _promise(stage, owner, share)


def _errors(stage: Stage, owner: str, start: int) -> None:
    """What the alert's text lists: the most frequent errors, not those that no budget is about."""
    name, error_type, *_ = DURATION.labels
    counts = {"ConnectionError": 30, signals.ERROR_TIMEOUT: 20, "KeyError": 10, "OSError": 1}
    for error, gain in {**counts, signals.ERROR_INVALID: 99, "": 999}.items():
        where = {name: stage.tool, OWNER: owner, "risk": "read", **({error_type: error} if error else {})}
        stage.add(DURATION, counter((start, 0), (100, gain)), "_count", **where)


def _budget(fastest: float) -> float:
    """A budget that the rule's burn rate can exceed without more than every call failing."""
    return min(0.01, 0.5 / max(fastest, 1))


def _promise(stage: Stage, owner: str, budget: float) -> None:
    values = flat(1 - budget, 5000)
    stage.add(signals.TOOL_OBJECTIVE, values, calm=values, **{TOOL: stage.tool, OWNER: owner})


# --- latency -------------------------------------------------------------------------------------------


def _latency(book: Book, alert: Alert) -> Iterator[Stage]:
    stage = Stage(book, alert, "fires, not just below, and resolves")
    settings, window = alert.settings, stage.window
    ratio, least = settings.ratio or 0, settings.minimum or 0
    start, bad = 5, stage.wait + 5
    rest = window + stage.keep + 10
    many = max(100.0, 2 * least)

    def play(owner: str, slow: float, *, info: bool = True) -> None:
        _timed(stage, owner, (start, 0, 0), (bad, many, slow), (rest, many, 0))
        if info:
            stage.add_tool(owner)

    play("slow", min(1, 1.5 * ratio))
    play("fine", 0.9 * ratio)
    play("removed", min(1, 1.5 * ratio), info=False)
    play("moved", min(1, 1.5 * ratio), info=False)
    stage.add_tool("heir")
    _timed(stage, "few", (start, 0, 0), (1, 0.4 * least, 1), (rest + bad, 0, 0))  # of two error types each
    stage.add_tool("few")
    stage.expect_nothing_yet(start + stage.wait)
    stage.expect(start + stage.wait + 3, _of(stage, "slow"))
    stage.expect(start + bad + window + stage.keep + 3)
    yield stage


def _timed(stage: Stage, owner: str, *stretches: tuple[int, float, float]) -> None:
    """A histogram with (steps, calls per step, share of them that is over the bound)."""
    name, error_type = DURATION.labels[:2]
    bound = repr(float(stage.alert.variant.bound or 0))
    calls = counter(*((steps, gain) for steps, gain, _ in stretches))
    quick = counter(*((steps, gain * (1 - slow)) for steps, gain, slow in stretches))
    # Two error types: what a tool took is the sum over all of them.
    for labels in ({}, {error_type: signals.ERROR_TIMEOUT}):
        where = {name: stage.tool, OWNER: owner, "risk": "read", **labels}
        stage.add(DURATION, calls, "_count", **where)
        stage.add(DURATION, quick, "_bucket", **where, **{LE: bound})
        stage.add(DURATION, calls, "_bucket", **where, **{LE: "+Inf"})


# --- silence, and work left undone ---------------------------------------------------------------------


def _silent(book: Book, alert: Alert) -> Iterator[Stage]:
    stage = Stage(book, alert, "fires after a silent window that was busy yesterday, and resolves", pace=FIVE)
    window, day = stage.window, stage.steps("1d")
    busy = 1.3 * max(alert.settings.minimum or 0, 1) / window  # calls per step
    last = stage.tick * ceil((max(day, window) + window // 2) / stage.tick)  # the last call
    fires = last + window + stage.tick + stage.wait
    again = fires + 3 * stage.tick
    rest = stage.keep + window

    def play(owner: str, *stretches: tuple[int, float], info: bool = True) -> None:
        _calls(stage, owner, Status.OK, counter((last, busy), *stretches), calm=counter((again + rest, busy)))
        if info:
            stage.add_tool(owner)

    play("silent", (again - last, 0), (rest, busy))
    # Not at a step at which rules are evaluated: there a window of few samples may miss it.
    play("calling", (window // 2 + stage.tick // 2, 0), (1, 1), (again + rest, 0))
    play("removed", (again - last + rest, 0), info=False)
    stage.add_tool("unwatched")
    unwatched = f"{counter((last, busy))} {absent(ceil(window * 0.5))} {flat(9999, window + rest)}"
    _calls(stage, "unwatched", Status.OK, unwatched)
    stage.add_tool("rare")
    _calls(stage, "rare", Status.OK, counter((last, 0.6 * busy), (again - last + rest, 0)))
    stage.expect(last + window - 2)
    stage.expect_nothing_yet(fires - stage.tick - 2)
    stage.expect(fires + 2 * stage.tick, _of(stage, "silent"))
    stage.expect(again + 2 * stage.tick + stage.keep + 1)
    yield stage


def _partial(book: Book, alert: Alert) -> Iterator[Stage]:
    stage = Stage(book, alert, "fires on any item, also the first, not on a gap in scraping, and resolves")

    def play(owner: str, values: str) -> None:
        labels = {OWNER: owner, TOOL: stage.tool, "status": str(ItemStatus.OUTSTANDING)}
        stage.add(BATCH_ITEMS, values, calm=flat(0, 10), **labels)
        stage.add_tool(owner)

    play_events(stage, play, lambda owner: _of(stage, owner))
    for owner, status in (("failing", ItemStatus.FAILED), ("removed", ItemStatus.OUTSTANDING)):
        stage.add(BATCH_ITEMS, counter((99, 1)), **{OWNER: owner, TOOL: stage.tool, "status": str(status)})
    stage.add_tool("failing")
    yield stage


SCENARIOS: Final[Mapping[str, Callable[[Book, Alert], Iterator[Stage]]]] = MappingProxyType(
    {
        "ToolErrorBudgetBurn": _fast_burn,
        "ToolErrorBudgetBurnSlow": _slow_burn,
        "ToolLatencyHigh": _latency,
        "ToolSilent": _silent,
        "PartialResultsOutstanding": _partial,
    }
)
