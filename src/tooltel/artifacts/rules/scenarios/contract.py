"""Unit tests of the alerts about names and declarations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from tooltel import signals
from tooltel.artifacts.rules.book import OUTCOME, OWNER, PROFILE, TOOL, VERSION, Alert, Book
from tooltel.artifacts.rules.scenarios.events import play_events
from tooltel.artifacts.rules.scenarios.stage import HOUR, Stage, absent, counter, flat
from tooltel.signals import NOT_FOUND, TOOL_CALLS, Reason, Status

EVENT: Final = "fires on any call, also the first, not on a gap in scraping, and resolves"


# --- names -----------------------------------------------------------------------------------------------


def _misdirected(reason: Reason) -> Callable[[Book, Alert], Iterator[Stage]]:
    def stages(book: Book, alert: Alert) -> Iterator[Stage]:
        stage = Stage(book, alert, EVENT)

        def labels(owner: str) -> dict[str, str]:
            return {OWNER: owner, PROFILE: "sample_profile", "requested": f"{owner}_name"}

        def play(owner: str, values: str) -> None:
            stage.add(NOT_FOUND, values, calm=flat(0, 10), **labels(owner), reason=reason)

        play_events(stage, play, labels)
        for other in Reason:
            if other is not reason:
                stage.add(NOT_FOUND, counter((999, 1)), **labels(f"asked_{other}"), reason=other)
        yield stage

    return stages


def _invented(book: Book, alert: Alert) -> Iterator[Stage]:
    stage = Stage(book, alert, "fires on a few made-up or empty names, also the first, and resolves")

    def labels(owner: str) -> dict[str, str]:
        reason = Reason.EMPTY if owner == "first" else Reason.UNKNOWN
        return {OWNER: owner, PROFILE: "sample_profile", "reason": str(reason)}

    def play(owner: str, values: str) -> None:
        stage.add(NOT_FOUND, values, calm=flat(0, 10), **labels(owner), requested=signals.OTHER)

    play_events(stage, play, labels, least=int(alert.settings.minimum or 0))
    for reason in (Reason.RENAMED, Reason.NOT_IN_PROFILE):
        where = {**labels("known"), "reason": str(reason)}
        stage.add(NOT_FOUND, counter((999, 1)), **where, requested="known_name")
    yield stage


# --- declarations ----------------------------------------------------------------------------------------


def _over_budget(book: Book, alert: Alert) -> Iterator[Stage]:
    stage = Stage(book, alert, "fires above the budget, not at it, and resolves")
    start, bad = 5, stage.wait + 10
    rest = stage.keep + 10

    def play(profile: str, chars: int, budget: int) -> None:
        labels = {OWNER: f"{profile}_owner", PROFILE: profile}
        small = flat(budget, 500)
        grown = f"{flat(budget, start)} {flat(chars, bad)} {flat(budget, rest)}"
        stage.add(signals.DECLARATION_CHARS, grown, calm=small, **labels)
        stage.add(signals.DECLARATION_BUDGET, small, calm=small, **labels)

    play("large", 6001, 6000)
    play("full", 6000, 6000)
    firing = {OWNER: "large_owner", PROFILE: "large"}
    stage.expect(start - 1)
    stage.expect_nothing_yet(start + stage.wait - 1)
    stage.expect(start + stage.wait + 2, firing)
    stage.expect(start + bad + stage.keep + 2)
    yield stage


def _changed(book: Book, alert: Alert) -> Iterator[Stage]:
    title = "fires while a changed declaration keeps its version, not after a bump"
    stage = Stage(book, alert, title, step=HOUR, pace=HOUR)
    change, window = 10, stage.window
    bump = change + window // 2

    def declare(owner: str, version: str, *shas: str, tool: str = "") -> None:
        for sha, values in zip(("aa", "bb"), shas, strict=False):
            where = {OWNER: owner, TOOL: tool or stage.tool, VERSION: version}
            stage.add(signals.TOOL_DECLARATION_INFO, values, calm="_", **where, sha=sha)

    def hold(owner: str, version: str, values: str, *, tool: str = "") -> None:
        where = {OWNER: owner, TOOL: tool or stage.tool, VERSION: version}
        stage.add(signals.TOOL_INFO, values, **where, risk="read")

    always, late = flat(1, 2 * window), f"{absent(change)} {flat(1, 2 * window)}"
    first, then = f"{flat(1, change)} stale", f"{absent(change)} {flat(1, bump - change)} stale"
    bumped = f"{absent(bump)} {flat(1, 2 * window)}"
    declare("silent", "1", first, then)
    declare("silent", "2", "_", bumped)
    hold("silent", "1", f"{flat(1, bump)} stale")
    hold("silent", "2", bumped)
    declare("honest", "1", first)
    declare("honest", "2", "_", late)
    declare("steady", "1", always)
    # Not in use any more, or not in the catalog: whatever another tool or version of that owner does.
    declare("idle", "1", first, f"{absent(change - 1)} 1 stale")
    declare("removed", "1", first, f"{absent(change)} {flat(1, 2 * window)}")
    for owner in ("honest", "steady", "idle", "removed"):
        declare(owner, "1", always, tool=stage.spare_tool)
        declare(owner, "9", always)
        hold(owner, "1", always, tool=stage.spare_tool)
        hold(owner, "9", always)
        hold(owner, "1", "_" if owner == "removed" else always)
    # Long forgotten: the earlier declaration was last seen before the window.
    declare("forgotten", "1", first, f"{absent(change + window + 2)} {flat(1, 30)}")
    hold("forgotten", "1", always)
    firing = {OWNER: "silent", TOOL: stage.tool, VERSION: "1"}
    stage.expect(change - 2)
    stage.expect_nothing_yet(change + stage.wait - 1)
    stage.expect(change + stage.wait + stage.keep + 2, firing)
    stage.expect(bump - 1, firing)
    stage.expect(bump + stage.keep + 1)
    stage.expect(change + window + stage.wait + 4)
    yield stage


def _unowned(book: Book, alert: Alert) -> Iterator[Stage]:
    stage = Stage(book, alert, "fires for a tool that the catalog does not hold, and resolves once it does")
    start = 5
    known = start + stage.wait + 10

    def play(tool: str, owner: str, values: str) -> None:
        where = {TOOL: tool, OWNER: owner, OUTCOME: str(Status.OK), PROFILE: signals.NO_PROFILE}
        stage.add(TOOL_CALLS, values, **where, version="", risk=signals.UNKNOWN_RISK)

    lost, uncalled = f"{stage.tool}_lost", f"{stage.tool}_uncalled"
    stage.add_tool("sample_owner", "owned")
    play(lost, signals.UNOWNED, counter((start, 0), (500, 1)))
    play(uncalled, signals.UNOWNED, flat(0, 500))
    play("owned", "sample_owner", counter((500, 1)))
    stage.add(
        signals.TOOL_INFO, f"{absent(known)} {flat(1, 500)}", calm="_",
        **{TOOL: lost, OWNER: "sample_owner", VERSION: "1"}, risk="read",
    )  # fmt: skip
    firing = {TOOL: lost}
    stage.expect(start)
    stage.expect_nothing_yet(start + stage.wait)
    stage.expect(start + stage.wait + 2, firing)
    stage.expect(known + stage.keep + 2)
    yield stage


SCENARIOS: Final[Mapping[str, Callable[[Book, Alert], Iterator[Stage]]]] = MappingProxyType(
    {
        "ToolRenamedCalled": _misdirected(Reason.RENAMED),
        "ToolNotInProfile": _misdirected(Reason.NOT_IN_PROFILE),
        "ToolInvented": _invented,
        "DeclarationOverBudget": _over_budget,
        "DeclarationChangedWithoutVersionBump": _changed,
        "ToolWithoutOwner": _unowned,
    }
)
