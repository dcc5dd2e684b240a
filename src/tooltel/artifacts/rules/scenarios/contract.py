"""Unit tests of the alerts about names, arguments and declarations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from tooltel import signals
from tooltel.artifacts.rules.book import OUTCOME, OWNER, PROFILE, TOOL, VERSION, Alert, Book
from tooltel.artifacts.rules.scenarios.events import play_events
from tooltel.artifacts.rules.scenarios.stage import HOUR, Stage, absent, counter, flat
from tooltel.signals import NOT_FOUND, REJECTIONS, TOOL_CALLS, Reason, RejectionKind, RejectionSource, Status

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
                stage.add(NOT_FOUND, counter((99, 1)), **labels(f"asked_{other}"), reason=other)
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
        stage.add(NOT_FOUND, counter((99, 1)), **where, requested="known_name")
    yield stage


# --- arguments -------------------------------------------------------------------------------------------


def _rejections(kind: RejectionKind) -> Callable[[Book, Alert], Iterator[Stage]]:
    def stages(book: Book, alert: Alert) -> Iterator[Stage]:
        stage = Stage(book, alert, "fires on a share of the calls, not just below, and resolves")
        _play_rejections(stage, kind)
        yield stage

    return stages


def _play_rejections(stage: Stage, kind: RejectionKind) -> None:
    settings = stage.alert.settings
    ratio, least = settings.ratio or 0, settings.minimum or 0
    start, bad = 5, stage.wait + 5
    rest = stage.window + stage.keep + 10
    many = max(100.0, 3 * least / ratio)  # calls per step: enough rejections at the first sample
    structural = (RejectionSource.FRAMEWORK, RejectionSource.SCHEMA)
    sources = structural if kind is RejectionKind.STRUCTURAL else (RejectionSource.TOOL,)
    other = next(each for each in RejectionKind if each is not kind)

    def play(owner: str, share: float, calls: float = many, *, of: RejectionKind = kind) -> None:
        steps = 1 if calls < many else bad
        where = {OWNER: owner, TOOL: stage.tool}
        for source in sources:
            values = counter((start, 0), (steps, share * calls), (rest, 0))
            stage.add(REJECTIONS, values, calm=flat(0, 10), **where, kind=of, source=source)
        outcome = {OUTCOME: str(Status.INVALID_ARGUMENTS), PROFILE: "sample_profile"}
        values = counter((start, 0), (steps, calls), (rest, 0 if calls < many else calls))
        stage.add(TOOL_CALLS, values, calm=flat(0, 10), **where, **outcome, version="1", risk="read")

    play("wrong", min(1, 1.5 * ratio))
    play("fine", 0.7 * ratio)  # twice that, both sources added up, would be too much
    play("few", 1, calls=0.8 * least)
    play("other", 1, of=other)
    play("removed", 1)
    play("moved", 1)
    for owner in ("wrong", "fine", "few", "other", "heir"):
        stage.add_tool(owner)
    firing = {OWNER: "wrong", TOOL: stage.tool}
    stage.expect(start)
    stage.expect_nothing_yet(start + stage.wait)
    stage.expect(start + stage.wait + 3, firing)
    stage.expect(start + bad + stage.window + stage.keep + 3)


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
    stage = Stage(
        book,
        alert,
        "fires while a changed declaration keeps its version, not after a bump",
        step=HOUR,
        pace=HOUR,
    )
    window = stage.window
    change, bump = 10, 14 + stage.wait

    def declare(owner: str, version: str, sha: str, values: str, *, info: bool = True) -> None:
        where = {OWNER: owner, TOOL: stage.tool, VERSION: version}
        stage.add(signals.TOOL_DECLARATION_INFO, values, calm="_", **where, sha=sha)
        if info:
            stage.add(signals.TOOL_INFO, values, **where, risk="read")

    declare("silent", "1", "aa", f"{flat(1, change)} stale")
    declare("silent", "1", "bb", f"{absent(change)} {flat(1, bump - change)} stale")
    declare("silent", "2", "bb", f"{absent(bump)} {flat(1, 30)}")
    declare("honest", "1", "aa", f"{flat(1, change)} stale")
    declare("honest", "2", "bb", f"{absent(change)} {flat(1, 2000)}")
    declare("steady", "1", "aa", flat(1, 2000))
    declare("removed", "1", "aa", flat(1, change), info=False)
    declare("removed", "1", "bb", f"{absent(change)} {flat(1, 2000)}", info=False)
    # Long forgotten: the earlier declaration was last seen before the window.
    declare("forgotten", "1", "aa", f"{flat(1, change)} stale")
    declare("forgotten", "1", "bb", f"{absent(change + window + 2)} {flat(1, 30)}")
    firing = {OWNER: "silent", TOOL: stage.tool, VERSION: "1"}
    stage.expect(change - 1)
    stage.expect(change + stage.wait + 1, firing)
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
        "StructuralRejections": _rejections(RejectionKind.STRUCTURAL),
        "DomainRejections": _rejections(RejectionKind.DOMAIN),
        "DeclarationOverBudget": _over_budget,
        "DeclarationChangedWithoutVersionBump": _changed,
        "ToolWithoutOwner": _unowned,
    }
)
