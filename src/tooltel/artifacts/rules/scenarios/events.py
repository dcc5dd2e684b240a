"""The test that alerts about single events share: any one fires, a gap in scraping does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tooltel.artifacts.rules.scenarios.stage import absent, counter, flat

if TYPE_CHECKING:
    from collections.abc import Callable

    from tooltel.artifacts.rules.scenarios.stage import Stage

Labels = dict[str, str]
OLD: Final = 7  # events of long ago, which a gap in scraping must not bring back
GAPS: Final = {"unscraped": 10, "asleep": 170}  # steps without a scrape


def play_events(
    stage: Stage, play: Callable[[str, str], None], labels: Callable[[str], Labels], *, least: int = 1
) -> int:
    """
    Play *least* events to a rule that must fire on so many.

    `play(name, values)` adds the counter of the actor *name*; `labels(name)` are the labels of its alert.
    Gives the number of steps that are played.
    """
    window, wait, keep = stage.window, stage.wait, stage.keep
    start = window + max(GAPS.values()) + 5
    end = start + window + wait + keep + 10
    rest = end - start
    # Within a window of one-minute samples an increase is read up to a fifth larger than it is.
    below = min(least - 1, int(least * 0.8))
    play("often", counter((start, 0), (1, least), (rest, 0)))
    play("first", f"{absent(start + 1)} {flat(least, rest)}")
    play("seldom", counter((start, 0), (1, below), (rest, 0)))
    play("never", flat(0, end))
    for name, gap in GAPS.items():
        play(name, f"{flat(OLD + least, start - gap)} {absent(gap)} {flat(OLD + least, rest)}")
    stage.expect(start)
    stage.expect_nothing_yet(start + wait)
    stage.expect(start + wait + 2, labels("often"), labels("first"))
    stage.expect_kept(start + window, labels("often"), labels("first"))
    stage.expect(start + window + keep + 3)
    return end
