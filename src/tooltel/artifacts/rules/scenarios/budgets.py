"""Unit tests of the alerts that are built from recorded rates: error budgets and silence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import ceil
from types import MappingProxyType
from typing import Final

from tooltel import signals
from tooltel.artifacts.rules.book import OUTCOME, OWNER, PROFILE, TOOL, Alert, Book
from tooltel.artifacts.rules.scenarios.stage import FIVE, Stage, absent, counter, flat
from tooltel.signals import DURATION, TOOL_CALLS, Status

Stretch = tuple[int, float, float]  # steps, calls per step, and how fast they burn, relative to the fastest pair


@dataclass(frozen=True)
class Windows:
    """The two pairs of an alert, in minutes: long and short, slower long and short, how fast the slower one burns."""

    long: int
    short: int
    longer: int
    shorter: int
    slower: float


PAGE: Final = Windows(60, 5, 360, 30, 6 / 14.4)
TICKET: Final = Windows(1440, 120, 4320, 360, 1 / 3)


def calls(stage: Stage, owner: str, outcome: Status, values: str, *, calm: str = "", tool: str = "") -> None:
    """Play settled calls of a tool of *owner*."""
    labels = {OWNER: owner, TOOL: tool or stage.tool, OUTCOME: str(outcome), PROFILE: signals.NO_PROFILE}
    stage.add(TOOL_CALLS, values, calm=calm or flat(0, 10), **labels, version="1", risk="read")


@dataclass(frozen=True)
class Burn:
    """Plays tools that burn their budget, at rates relative to the threshold of the faster pair."""

    stage: Stage
    windows: Windows

    @property
    def least(self) -> float:
        """The number of errors that the rule asks for."""
        return self.stage.alert.settings.minimum or 0

    @property
    def many(self) -> float:
        """Calls per step of which any share worth a test is enough errors at once."""
        return max(1000.0, 100 * self.least)

    @property
    def budget(self) -> float:
        """A budget that can be burnt so fast without more than every call failing."""
        return min(0.01, 0.5 / max(self._threshold, 1))

    def share(self, burn: float) -> float:
        """The share of calls that fail at a burn rate."""
        return burn * self._threshold * self.budget

    def play(
        self, owner: str, *stretches: Stretch, bad: Status = Status.ERROR, neutral: float = 0, tool: str = ""
    ) -> None:
        """Play calls that go well or badly, and with each of them *neutral* ones of every kind."""
        errors = counter(*((steps, gain * self.share(burn)) for steps, gain, burn in stretches))
        fine = counter(*((steps, gain * (1 - self.share(burn))) for steps, gain, burn in stretches))
        calls(self.stage, owner, bad, errors, tool=tool)
        calls(self.stage, owner, Status.OK, fine, tool=tool)
        for status in signals.NEUTRAL if neutral else ():
            values = counter(*((steps, gain * neutral) for steps, gain, _ in stretches))
            calls(self.stage, owner, status, values, tool=tool)
        promise = flat(1 - self.budget, 5000)
        labels = {TOOL: tool or self.stage.tool, OWNER: owner}
        self.stage.add(signals.TOOL_OBJECTIVE, promise, calm=promise, **labels)

    @property
    def _threshold(self) -> float:
        return self.stage.alert.settings.threshold or 0


# --- error budgets -----------------------------------------------------------------------------------


def _burning(windows: Windows, pace: int) -> Callable[[Book, Alert], Iterator[Stage]]:
    def stages(book: Book, alert: Alert) -> Iterator[Stage]:
        both = Stage(book, alert, "fires on either pair of windows, not just below, and resolves", pace=pace)
        yield _play_both(Burn(both, windows))
        alone = Stage(book, alert, "fires on the faster pair alone, each tool and window for itself", pace=pace)
        yield _play_alone(Burn(alone, windows))

    return stages


def _play_both(burn: Burn) -> Stage:
    """Several owners have a tool of the same name, which is first called at the same time."""
    stage, windows, many = burn.stage, burn.windows, burn.many
    start, bad = 10, max(stage.wait + 10, windows.shorter * 3 // 10)
    end, rest = start + bad, windows.shorter + stage.keep + 20

    def play(owner: str, rate: float, *, status: Status = Status.ERROR, neutral: float = 0, tool: str = "") -> None:
        stretches = ((start, 0, 0), (bad, many, rate), (rest, many, 0))
        burn.play(owner, *stretches, bad=status, neutral=neutral, tool=tool)

    play("fast", 1.5)
    play("slow", 1.2 * windows.slower, status=Status.TIMEOUT)
    play("fine", 0.9 * windows.slower)
    play("refusing", 0.9 * windows.slower, neutral=1)  # neutral outcomes burn nothing
    play("hidden", 1.5, neutral=9)  # and hide nothing
    play("removed", 1.5)
    play("moved", 1.5)
    # Half of very few calls fail. Five minutes of one-minute samples read up to a quarter more than there is.
    few = 1.5 * burn.least
    burn.play("few", (start + 1, 0, 0), (1, few, 0.5 / burn.share(1)), (bad + rest, 0, 0))
    play("few", 0.3 * windows.slower, tool=stage.spare_tool)  # many errors, of another tool
    _list_errors(stage, "fast", start)
    for owner in ("fast", "slow", "fine", "refusing", "hidden", "few", "heir"):
        stage.add_tool(owner)
    stage.add_removed("removed")
    fast, slow, hidden = (stage.of(owner) for owner in ("fast", "slow", "hidden"))
    # The slower pair ends when its short window, or all calls so far, have healed enough.
    ended = int(min(windows.shorter * (1 - windows.slower / 1.5), bad * (1.5 / windows.slower - 1)))
    stage.expect(start)
    stage.expect_nothing_yet(start + stage.tick + stage.wait - 1)
    stage.expect(start + 2 * stage.tick + stage.wait, fast, slow, hidden)
    stage.expect(end + 1, fast, slow, hidden)
    stage.expect_kept(end + ended + 2 * stage.tick, fast, hidden)
    stage.expect(end + ended + stage.keep + 5 + 2 * stage.tick)
    return stage


def _play_alone(burn: Burn) -> Stage:
    """Traffic that changed long ago: each window sees another part of it."""
    stage, windows, many = burn.stage, burn.windows, burn.many
    end = windows.longer + 40
    bad = windows.longer * 5 // 9 if stage.tick == 1 else windows.longer * 13 // 15
    burning, last = 1.2, end + windows.short // 6 + 5 + stage.keep + 5 * stage.tick
    heal = last - end + stage.wait + 10 * stage.tick
    # Much goes well, then little does not, so that the slower pair still looks well. There are as many errors
    # within the long window as it takes to fire, or half as many.
    for owner, errors in (("late", 1.5), ("thin", 0.5)):
        gain = errors * burn.least / windows.long / burn.share(burning)
        burn.play(owner, (end - bad, 1000 * many, 0), (bad, gain, burning), (heal, gain, 0))
        stage.add_tool(owner)
    _play_past(burn, end, heal)
    _play_mixed(burn, end, heal)
    _play_slowly(burn, last, heal)
    healed = windows.short * (1 - 1 / burning)
    stage.expect(end - bad)
    stage.expect(end, stage.of("late"))
    if healed > 2 * stage.tick:
        stage.expect_kept(end + int(healed * 0.7) + stage.tick, stage.of("late"))
    stage.expect(last)
    stage.expect(last + stage.wait + 8 * stage.tick, stage.of("slowly"))
    return stage


def _play_past(burn: Burn, end: int, heal: int) -> None:
    """What a window must not see any more, and what is too short for it: none of these fires."""
    stage, windows, many = burn.stage, burn.windows, burn.many
    brief, below = windows.shorter * 16 // 30, 0.9 * windows.slower
    burn.play(
        "brief", (end - windows.long, 10 * many, below * 0.9), (windows.long - brief, many, 0.2), (brief, many, 1.5),
        (heal, many, 0),
    )  # fmt: skip
    before, short = end - windows.longer, windows.shorter
    now = 1.2 * windows.slower
    burn.play(
        "past", (before, 1000 * many, below), (windows.longer - short, many, below * 0.8), (short + heal, many, now)
    )
    # Half as many errors as it takes, and more than enough before.
    few = 0.5 * burn.least / windows.longer / burn.share(1.5 * windows.slower)
    burn.play("scant", (before, 1000 * many, below), (windows.longer + heal, few, 1.5 * windows.slower))
    for owner in ("brief", "past", "scant"):
        stage.add_tool(owner)


def _play_slowly(burn: Burn, last: int, heal: int) -> None:
    """Just as many errors as it takes for the slower pair, once much that went well has left its long window."""
    stage, windows = burn.stage, burn.windows
    before, well = last + stage.tick - windows.longer, windows.longer // 6
    rate = (1 + windows.slower) / 2
    gain = 1.5 * burn.least / (windows.longer - well) / burn.share(rate)
    burn.play("slowly", (before, 1000 * burn.many, 0), (well, gain, 0), (windows.longer - well + heal, gain, rate))
    stage.add_tool("slowly")


def _play_mixed(burn: Burn, end: int, heal: int) -> None:
    """
    One tool of an owner has a bad long window and the other a bad short one: neither may fire for it.

    The long window turns bad only once much traffic that went well has left it.
    """
    stage, windows, many = burn.stage, burn.windows, burn.many
    brief = windows.shorter * 16 // 30
    for owner, long, healed, rates in (
        ("mixed", windows.long, windows.long // 3, (1.8, 0.3)),
        ("blended", windows.longer, windows.shorter * 4 // 3, (0.8, 0.2)),
    ):
        before = end - long - 5
        bad, calmed = rates
        burn.play(
            owner, (before, 1000 * many, 0), (long + 5 - healed, many, bad), (healed, many, calmed), (heal, many, 0)
        )
        burn.play(owner, (end - brief, many, 0), (brief, many, 1.5), (heal, many, 0), tool=stage.spare_tool)
        stage.add_tool(owner)
        stage.add_removed(owner)


def _list_errors(stage: Stage, owner: str, start: int) -> None:
    """What the alert's text lists: the most frequent errors, not those that no budget is about."""
    name, error_type, *_ = DURATION.labels
    counts = {"ConnectionError": 30, signals.ERROR_TIMEOUT: 20, "KeyError": 10, "OSError": 1}
    for error, gain in {**counts, signals.ERROR_INVALID: 99, "": 999}.items():
        where = {name: stage.tool, OWNER: owner, "risk": "read", **({error_type: error} if error else {})}
        stage.add(DURATION, counter((start, 0), (100, gain)), "_count", **where)


# --- silence -------------------------------------------------------------------------------------------


def _silent(book: Book, alert: Alert) -> Iterator[Stage]:
    stage = Stage(book, alert, "fires after a silent window that was busy yesterday, and resolves", pace=FIVE)
    window, day = stage.window, stage.steps("1d")
    busy = 1.3 * max(alert.settings.minimum or 0, 1) / window  # calls per step
    last = stage.tick * ceil((max(day, window) + window // 2) / stage.tick)  # the last call
    fires = last + window + stage.tick + stage.wait
    again = fires + 3 * stage.tick
    rest = stage.keep + window

    def play(owner: str, *stretches: tuple[int, float], tool: str = "", rate: float = busy) -> None:
        values = counter((last, rate), *stretches)
        calls(stage, owner, Status.OK, values, calm=counter((again + rest, rate)), tool=tool)

    play("silent", (again - last, 0), (rest, busy))
    # Not at a step at which rules are evaluated: there a window of few samples may miss it.
    play("calling", (window // 2 + stage.tick // 2, 0), (1, 1), (again + rest, 0))
    play("removed", (again - last + rest, 0))
    play("rare", (again - last + rest, 0), rate=0.6 * busy)
    # Half of the last window is missing when the others fire: absence of data is no silence.
    missing = fires + 2 * stage.tick - window // 2 - last
    calls(stage, "unwatched", Status.OK, f"{counter((last, busy))} {absent(missing)} {flat(9999, window + rest)}")
    # What another tool of the same owner does is not this one's doing.
    play("calling", (again - last + rest, 0), rate=0.6 * busy, tool=stage.spare_tool)
    for owner in ("rare", "unwatched"):
        play(owner, (again - last + rest, busy), tool=stage.spare_tool)
    for owner in ("silent", "calling", "rare", "unwatched"):
        stage.add_tool(owner)
    stage.add_removed("removed")
    stage.expect(last + window - 2)
    stage.expect_nothing_yet(fires - stage.tick - 2)
    stage.expect(fires + 2 * stage.tick, stage.of("silent"))
    stage.expect_kept(again + stage.tick, stage.of("silent"))
    stage.expect(again + 2 * stage.tick + stage.keep + 1)
    yield stage


SCENARIOS: Final[Mapping[str, Callable[[Book, Alert], Iterator[Stage]]]] = MappingProxyType(
    {
        "ToolErrorBudgetBurn": _burning(PAGE, 60),
        "ToolErrorBudgetBurnSlow": _burning(TICKET, FIVE),
        "ToolSilent": _silent,
    }
)
