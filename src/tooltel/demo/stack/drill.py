"""A fire drill: one tool of the catalog fails, and the time is taken until its team, and nobody else, is told."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from tooltel.artifacts.routes.config import RESOLVED
from tooltel.demo.stack.stack import WATCHDOG, is_page

if TYPE_CHECKING:
    from tooltel.demo.stack.pager import Notification
    from tooltel.demo.stack.stack import Stack
    from tooltel.runtime import Tooltel

Found = TypeVar("Found")

QUIET: Final = 1.0  # seconds of calm before the trouble: several scrapes
PAUSE: Final = 0.05  # seconds between two rounds of calls
PATIENCE: Final = 60.0  # seconds for a page or its end; how long it really took is in the report


class DrillError(RuntimeError):
    """What the failing tool raises."""


@dataclass(frozen=True, slots=True)
class Report:
    """
    How a drill went; times in seconds, None where it never happened.

    `paged` is from the first failure to the page, `resolved` from the last failure to the news that it is over.
    `told` are the receivers that got anything, the dead-man's switch aside; `page_receivers` those that got a page.
    """

    paged: float | None
    resolved: float | None
    told: frozenset[str]
    page_receivers: frozenset[str]


def run_drill(tel: Tooltel, stack: Stack, tool: str) -> Report:
    """Call every tool of the catalog through its wrapper, and let *tool* fail until it pages and then recover."""
    receiver = f"{tel.catalog.tools[tool].owner}-page"
    calls = _Calls(tel, tool)
    calls.play(stack, lambda _: None, seconds=QUIET)
    calls.failing = True
    began = time.monotonic()
    page = calls.play(stack, _first(receiver, is_page), seconds=PATIENCE)
    calls.failing = False
    ended = time.monotonic()
    over = page and calls.play(stack, _first(receiver, lambda each: each.status == RESOLVED), seconds=PATIENCE)
    told = [each for each in stack.pager.notifications if each.receiver != WATCHDOG]
    return Report(
        paged=page.at - began if page else None,
        resolved=over.at - ended if over else None,
        told=frozenset(each.receiver for each in told),
        page_receivers=frozenset(each.receiver for each in told if is_page(each)),
    )


class _Calls:
    """Calls of every tool of a catalog, round after round, of which one may fail."""

    def __init__(self, tel: Tooltel, tool: str) -> None:
        self.failing = False
        self._numbers = itertools.count()
        self._tools = [self._wrapped(tel, name, fails=name == tool) for name in tel.catalog.tools]

    def play(
        self, stack: Stack, look: Callable[[Sequence[Notification]], Found | None], *, seconds: float
    ) -> Found | None:
        """Call until *look* finds something at the pager, and give that; None after *seconds*."""
        give_up = time.monotonic() + seconds
        while time.monotonic() < give_up:
            self._call_each()
            if found := stack.pager.wait_for(look, seconds=PAUSE):
                return found
        return None

    def _call_each(self) -> None:
        for tool in self._tools:
            try:
                tool(next(self._numbers))
            except DrillError:
                continue

    def _wrapped(self, tel: Tooltel, name: str, *, fails: bool) -> Callable[[int], int]:
        def work(number: int) -> int:
            if fails and self.failing:
                raise DrillError("the drill lets this tool fail")
            return number

        return tel.tool(work, name=name)


def _first(
    receiver: str, fits: Callable[[Notification], bool]
) -> Callable[[Sequence[Notification]], Notification | None]:
    def look(everything: Sequence[Notification]) -> Notification | None:
        matching: Iterator[Notification] = (each for each in everything if each.receiver == receiver and fits(each))
        return next(matching, None)

    return look
