"""A look at a fleet: what its counters gained in a stretch of time, and what is firing."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from tooltel.top.gains import Gains, Key, add_up
from tooltel.top.pages import Page, find_gains


class Firing(NamedTuple):
    """An alert that fires. `tool` is empty where it is about more than one."""

    alert: str
    severity: str
    owner: str
    tool: str


@dataclass(frozen=True, slots=True)
class Look:
    """
    What was seen at once.

    `gains` were made in `seconds`; None where nobody knows how long it took. `keys` are those who have numbers, also
    where nothing happened. `since_start` says that the stretch is the whole life of the process. `firing` is None
    where it cannot be known.
    """

    gains: Gains
    keys: frozenset[Key]
    seconds: float | None
    since_start: bool = False
    firing: tuple[Firing, ...] | None = None


class Source(Protocol):
    """Whatever can be looked at again and again."""

    @property
    def title(self) -> str:
        """What is looked at, for people: a URL without its secrets."""

    def look(self) -> Look:
        """Look now; raises NoMetricsError when there is nothing to be seen."""


@dataclass(slots=True)
class Window:
    """
    Pages of one process, one after the other: what it gained in the last *length* seconds.

    The first page alone tells of the process's whole life.
    """

    length: float
    _steps: deque[tuple[float, float, Gains]] = field(default_factory=deque)  # from when, until when, what
    _page: Page | None = None
    _at: float = 0.0

    @property
    def page(self) -> Page | None:
        """The newest page."""
        return self._page

    def add(self, page: Page, *, at: float, now: float) -> Look:
        """Take the next *page*, which was asked for at the monotonic time *at* and at Unix time *now*."""
        before, since = self._page, self._at
        self._page, self._at = page, at
        if before is None:
            age = None if page.started is None else max(now - page.started, 0.0) or None
            return Look(find_gains(None, page), frozenset(page.keys), age, since_start=True)
        gained = {part: gain for part, gain in find_gains(before, page).items() if gain}
        self._steps.append((since, at, gained))
        while self._steps[0][1] <= at - self.length:
            self._steps.popleft()
        total = add_up(gains for _, _, gains in self._steps)
        return Look(total, frozenset(page.keys), (at - self._steps[0][0]) or None)


def firing_of(samples: Iterable[Mapping[str, str]], names: tuple[str, str, str, str]) -> tuple[Firing, ...]:
    """The alerts in *samples*, whose labels are called *names* in the order of Firing's fields; each once."""
    found = {Firing(*(labels.get(name, "") for name in names)) for labels in samples}
    return tuple(sorted(found, key=lambda each: (each.severity != "page", each)))
