"""Unit tests of the alerts about rejected arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from tooltel.artifacts.rules.book import OUTCOME, OWNER, PROFILE, TOOL, Alert, Book
from tooltel.artifacts.rules.scenarios.stage import Stage, counter, flat
from tooltel.signals import REJECTIONS, TOOL_CALLS, RejectionKind, RejectionSource, Status

Stretch = tuple[int, float, float]  # steps, calls per step, and the share of them that is rejected

SOURCES: Final[Mapping[RejectionKind, tuple[RejectionSource, ...]]] = MappingProxyType(
    {
        RejectionKind.STRUCTURAL: (RejectionSource.FRAMEWORK, RejectionSource.SCHEMA),
        RejectionKind.DOMAIN: (RejectionSource.TOOL,),
    }
)


@dataclass(frozen=True)
class Caller:
    """Plays calls whose arguments are rejected, once per source that can reject them for a reason of this kind."""

    stage: Stage
    kind: RejectionKind

    def play(self, owner: str, *stretches: Stretch, kind: RejectionKind | None = None, tool: str = "") -> None:
        """Play calls of a tool of *owner*."""
        where = {OWNER: owner, TOOL: tool or self.stage.tool}
        kind = kind or self.kind
        rejected = counter(*((steps, calls * share) for steps, calls, share in stretches))
        for source in SOURCES[kind]:
            self.stage.add(REJECTIONS, rejected, calm=flat(0, 10), **where, kind=kind, source=source)
        outcome = {OUTCOME: str(Status.INVALID_ARGUMENTS), PROFILE: "sample_profile"}
        settled = counter(*((steps, calls) for steps, calls, _ in stretches))
        self.stage.add(TOOL_CALLS, settled, calm=flat(0, 10), **where, **outcome, version="1", risk="read")


def _rejections(kind: RejectionKind) -> Callable[[Book, Alert], Iterator[Stage]]:
    def stages(book: Book, alert: Alert) -> Iterator[Stage]:
        shares = Stage(book, alert, "fires on a share of the calls, not just below, and resolves")
        yield _play_shares(Caller(shares, kind))
        yield _play_counts(Caller(Stage(book, alert, "fires on few rejections, not on fewer"), kind))

    return stages


def _play_shares(caller: Caller) -> Stage:
    stage = caller.stage
    ratio, least, window = stage.alert.settings.ratio or 0, stage.alert.settings.minimum or 0, stage.window
    start, bad = 5, stage.wait + 5
    rest = window + stage.keep + 10
    many = max(100.0, 3 * least / ratio)  # calls per step: enough rejections at the first sample
    wrong = min(1, 1.5 * ratio)
    other = next(each for each in RejectionKind if each is not caller.kind)

    def play(owner: str, share: float, kind: RejectionKind | None = None) -> None:
        caller.play(owner, (start, 0, 0), (bad, many, share), (rest, many, 0), kind=kind)
        stage.add_tool(owner)

    play("wrong", wrong)
    play("fine", 0.7 * ratio)  # twice that, both sources added up, would be too much
    play("other", 1, other)
    for owner in ("removed", "moved"):
        caller.play(owner, (start, 0, 0), (bad, many, 1), (rest, many, 0))
    stage.add_tool("heir")
    stage.add_removed("removed")
    ended = int(min(window * (1 - ratio / wrong), bad * (wrong / ratio - 1)))
    stage.expect(start)
    stage.expect_nothing_yet(start + stage.wait)
    stage.expect(start + stage.wait + 3, stage.of("wrong"))
    stage.expect_kept(start + bad + ended, stage.of("wrong"))
    stage.expect(start + bad + window + stage.keep + 3)
    return stage


def _play_counts(caller: Caller) -> Stage:
    """Every call is rejected; of some tools there are half as many as it takes. What was before does not matter."""
    stage = caller.stage
    ratio, least, window = stage.alert.settings.ratio or 0, stage.alert.settings.minimum or 0, stage.window
    before, after = 5 * window, 4 * window + stage.wait
    end = before + after
    for owner, calls in (("enough", 1.5), ("few", 0.5)):
        caller.play(owner, (before, 1000 * least, 0), (after, calls * least / window, 1))
        stage.add_tool(owner)
    caller.play("calmed", (end - window, 1000 * least, 0.8 * ratio), (window, least, 0.8 * ratio))
    stage.add_tool("calmed")
    # Many rejections of another tool, and few of its calls.
    caller.play("few", (end, 10 * least, 0.5 * ratio), tool=stage.spare_tool)
    stage.expect(end, stage.of("enough"))
    return stage


SCENARIOS: Final[Mapping[str, Callable[[Book, Alert], Iterator[Stage]]]] = MappingProxyType(
    {
        "StructuralRejections": _rejections(RejectionKind.STRUCTURAL),
        "DomainRejections": _rejections(RejectionKind.DOMAIN),
    }
)
