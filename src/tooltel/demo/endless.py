"""A desk that never closes: shift after shift, for dashboards that want to be looked at."""

from __future__ import annotations

import asyncio
import itertools
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from tooltel.demo.desk import Desk
from tooltel.demo.script import write_script
from tooltel.demo.shift import Shift
from tooltel.demo.telemetry import watched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tooltel.demo.pace import Pace
    from tooltel.demo.telemetry import Telemetry
    from tooltel.exposition import Exposition


class EndlessDesk:
    """Shifts of *sessions* each, of which every one is another story. Memory does not grow with them."""

    def __init__(self, telemetry: Telemetry, pace: Pace, exposition: Exposition, *, sessions: int) -> None:
        self._telemetry = telemetry
        self._pace = pace
        self._exposition = exposition
        self._sessions = sessions

    @property
    def url(self) -> str:
        """Where /metrics is served."""
        return self._exposition.url

    def play(self, seed: int, done: Callable[[int, int], None]) -> None:
        """
        Play shift after shift until an interrupt; *done* is told each one's number, from 1, and its calls.

        Raises UnexpectedEndError when a call ends otherwise than the script says.
        """
        for number in itertools.count():
            done(number + 1, self._play_shift(seed + number, first=number * self._sessions))

    def _play_shift(self, seed: int, *, first: int) -> int:
        script = write_script(seed, self._sessions, first=first)
        tel = self._telemetry.tel
        desk = Desk(tel, script.books, self._pace)
        desk.declare()
        shift = Shift(tel, desk, self._pace, tracer=self._telemetry.tracer)
        asyncio.run(shift.play(script.visits))
        return shift.ledger.calls


@contextmanager
def open_endless_desk(
    pace: Pace, *, sessions: int, host: str, port: int, environ: Mapping[str, str]
) -> Iterator[EndlessDesk]:
    """
    Set everything up for the block; /metrics is at *host* and *port*.

    Spans and logs go to the collector that *environ* names, or nowhere. Raises OSError for a port in use.
    """
    with ExitStack() as stack:
        telemetry = stack.enter_context(watched(pace, spans=None, logs=None, environ=environ))
        exposition = stack.enter_context(telemetry.tel.serve(port, host=host))
        yield EndlessDesk(telemetry, pace, exposition, sessions=sessions)
