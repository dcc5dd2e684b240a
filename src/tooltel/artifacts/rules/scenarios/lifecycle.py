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
    # Samples every twenty minutes, or an hour of them would hold no increase.
    stage = Stage(book, alert, "fires after watched silence only, and resolves with a call", step=1200, pace=HOUR)
    kept = stage.steps(duration(book.catalog.session_retention))
    fires = kept + 3 * stage.tick + stage.wait
    again = fires + 8 * stage.tick
    end = again + 12 * stage.tick + stage.keep

    def play(alias: str, values: str, *, info: bool = True) -> None:
        labels = {"alias": alias, TOOL: stage.tool, OWNER: alias}
        stage.add(ALIAS_CALLS, values, calm=counter((end, 1)), **labels)
        if info:
            stage.add_tool(alias, steps=end)

    play("unused", counter((again, 0), (end - again, 1), start=5))
    # Not at a step at which rules are evaluated: there a window of few samples may miss it.
    play("seldom", counter((kept // 2 + 1, 0), (1, 1), (end, 0)))
    play("young", f"{absent(kept // 3)} {flat(0, end)}")
    # Unwatched for a tenth of the time: who knows who called meanwhile.
    play("unwatched", f"{flat(0, kept // 2)} {absent(kept // 10)} {flat(0, end)}")
    play("dropped", f"{flat(0, kept)} stale")
    play("removed", flat(0, end), info=False)
    firing = {"alias": "unused", TOOL: stage.tool, OWNER: "unused"}
    stage.expect(kept - stage.tick)
    stage.expect(fires + 2 * stage.tick, firing)
    stage.expect(again + 3 * stage.tick + stage.keep)
    yield stage


SCENARIOS: Final[Mapping[str, Callable[[Book, Alert], Iterator[Stage]]]] = MappingProxyType(
    {"AliasSafeToRemove": _removable}
)
