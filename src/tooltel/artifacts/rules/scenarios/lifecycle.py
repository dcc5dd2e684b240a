"""Unit tests of the alert about old names that may go."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from tooltel.artifacts.rules.book import OWNER, TOOL, Alert, Book
from tooltel.artifacts.rules.scenarios.stage import HOUR, Stage, absent, counter, flat
from tooltel.promql import duration
from tooltel.signals import ALIAS_CALLS


def _removable(book: Book, alert: Alert) -> Iterator[Stage]:
    """Each test has few series: promtool holds ten thousand samples of a query, and a month has 720 hours."""
    unused = Watch(book, alert, "fires after watched silence, not after a call, and resolves with one")
    # Not at a step at which rules are evaluated: there a window of few samples may miss it.
    unused.play("seldom", counter((unused.kept // 2 + 1, 0), (1, 1), (unused.end, 0)))
    again = unused.again  # and the last call before was longer ago than sessions are kept
    unused.play("unused", counter((1, 0), (1, 1), (again - 2, 0), (unused.end - again, 1)))
    for alias in ("seldom", "unused"):
        unused.stage.add_tool(alias, steps=unused.end)
    unused.stage.expect(unused.kept - unused.stage.tick)
    unused.stage.expect_nothing_yet(unused.kept + unused.stage.tick)
    unused.stage.expect(unused.fires, {"alias": "unused", TOOL: unused.stage.tool, OWNER: "unused"})
    unused.stage.expect(again + 3 * unused.stage.tick + unused.stage.keep)
    yield unused.stage
    gone = Watch(book, alert, "does not fire for a removed tool")
    gone.play("removed", flat(0, gone.end))
    gone.stage.add_removed("removed")
    gone.stage.add_tool("heir")
    gone.stage.expect(gone.fires)
    yield gone.stage
    kept, end, tick = gone.kept, gone.end, gone.stage.tick
    for alias, values in {
        "young": f"{flat(0, tick + 1)} {absent(gone.fires - kept + 2 * tick)} {flat(0, end)}",
        "unwatched": f"{flat(0, kept // 2)} {absent(kept // 10)} {flat(0, end)}",  # who knows who called meanwhile
        "dropped": f"{flat(0, kept)} stale",
    }.items():
        doubt = Watch(book, alert, f"does not fire for a name that is {alias}, whatever is known of others")
        doubt.play(alias, values)
        doubt.stage.add_tool(alias, steps=end)
        for label in ("alias", TOOL, OWNER):
            doubt.play(alias, counter((end, 1)), {label: "other"})
        doubt.stage.expect(doubt.fires)
        yield doubt.stage


class Watch:
    """One test of old names that are watched for as long as sessions are kept."""

    def __init__(self, book: Book, alert: Alert, title: str) -> None:
        # Samples every twenty minutes, or an hour of them would hold no increase.
        self.stage = Stage(book, alert, title, step=1200, pace=HOUR)
        tick = self.stage.tick
        self.kept = self.stage.steps(duration(book.catalog.session_retention))
        self.fires = self.kept + 3 * tick + self.stage.wait
        self.again = self.fires + 6 * tick
        self.end = self.again + 12 * tick + self.stage.keep

    def play(self, alias: str, values: str, other: Mapping[str, str] = MappingProxyType({})) -> None:
        """Play calls by an old name of a tool, whose owner is called as the name is, but for *other* labels."""
        labels = {"alias": alias, TOOL: self.stage.tool, OWNER: alias, **other}
        self.stage.add(ALIAS_CALLS, values, calm=counter((self.end, 1)), **labels)


SCENARIOS: Final[Mapping[str, Callable[[Book, Alert], Iterator[Stage]]]] = MappingProxyType(
    {"AliasSafeToRemove": _removable}
)
