"""
The guard and the fan-out: telemetry never breaks the tool.

Whatever goes wrong inside tooltel is contained here: counted, logged at a limited rate, and raised only where
a test kit asked for it. `BaseException`s that are not `Exception`s (an interrupt, an exit) always pass.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from tooltel.signals import Component

if TYPE_CHECKING:
    from tooltel.outcome import Outcome, Recorder

SECONDS_BETWEEN_LOGS: Final = 60.0  # per component: enough to be seen, too little to flood

Listener = Callable[[Component, Exception, int], None]
Brief = Callable[[Any, float], None]  # told of a Call that simply went well, and of its seconds


class Guard:
    """
    Contains failures of telemetry.

    `count` is called for every failure; `say` at most once a minute per component, with the number of
    failures kept silent since. With `strict`, a contained failure is raised to the caller: for tests only.
    """

    def __init__(self, *, strict: bool = False) -> None:
        self.strict = strict
        self.count: Callable[[Component], None] | None = None
        self.say: Listener | None = None
        self._said: dict[Component, float] = {}
        self._silent: dict[Component, int] = {}

    def contain(self, component: Component, error: Exception) -> None:
        """Take note of *error*; re-raise it only when strict."""
        # The guard is the last line: nothing is behind it. Where counting is what fails, the log still says so.
        with suppress(Exception):
            if self.count is not None:
                self.count(component)
        with suppress(Exception):
            self._log(component, error)
        if self.strict:
            raise error

    def _log(self, component: Component, error: Exception) -> None:
        now = time.monotonic()
        last = self._said.get(component)
        if self.say is None or (last is not None and now - last < SECONDS_BETWEEN_LOGS):
            self._silent[component] = self._silent.get(component, 0) + 1
            return
        self._said[component] = now
        self.say(component, error, self._silent.pop(component, 0))


class FanOut:
    """
    Hands an outcome to every recorder, in order; a recorder that fails keeps no other from its outcome.

    `plain` are those that also want calls that simply went well. `briefs` are their short ways, one for each of
    `plain`, which spare such a call its Outcome; None where one of them has none, and wants the Outcome.
    """

    __slots__ = ("_known", "briefs", "guard", "plain", "recorders")

    def __init__(self, guard: Guard, recorders: tuple[tuple[Component, Recorder], ...] = ()) -> None:
        self.guard = guard
        self._known: Mapping[Recorder, Brief] = {}
        self.tell(recorders, recorders)

    def tell(
        self, recorders: tuple[tuple[Component, Recorder], ...], plain: tuple[tuple[Component, Recorder], ...]
    ) -> None:
        """Hand outcomes to *recorders* from now on, and those of calls that simply went well to *plain*."""
        self.recorders, self.plain = recorders, plain
        self.briefs: tuple[tuple[Component, Brief], ...] | None = None
        with suppress(Exception):  # a recorder may be any object: one that cannot be hashed, too, has no short way
            self.briefs = tuple((component, self._known[recorder]) for component, recorder in plain)

    def shorten(self, known: Mapping[Recorder, Brief]) -> None:
        """Know the short ways of recorders."""
        self._known = known
        self.tell(self.recorders, self.plain)

    def spare(self, recorder: Recorder) -> None:
        """Tell *recorder* no more of calls that simply went well."""
        self.tell(self.recorders, tuple(each for each in self.plain if each[1] != recorder))

    def publish(self, outcome: Outcome) -> None:
        """Hand *outcome* to every recorder that wants it."""
        failed: list[tuple[Component, Exception]] | None = None
        for component, record in self.plain if outcome.is_plain else self.recorders:
            try:
                record(outcome)
            except Exception as error:  # noqa: BLE001 - any recorder, any failure
                failed = failed or []
                failed.append((component, error))
        if failed:
            self.contain(failed)

    def close(self, outcome: Outcome) -> None:
        """Let what was opened for *outcome* be closed, which was counted before: its span, and its running call."""
        wanted = (Component.METRICS,) if outcome.span is None else (Component.METRICS, Component.SPANS)
        only = tuple(each for each in self.recorders if each[0] in wanted)
        FanOut(self.guard, only).publish(outcome)

    def contain(self, failed: Iterable[tuple[Component, Exception]]) -> None:
        """Contain what recorders raised, once all of them have had their outcome."""
        for component, failure in failed:
            self.guard.contain(component, failure)
