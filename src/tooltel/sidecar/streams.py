"""Counting what comes through a pipe: standard input, or a child's two outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tooltel import signals
from tooltel.sidecar.judging import CONTEXT
from tooltel.sidecar.reading import Limits
from tooltel.signals import SkipCause

if TYPE_CHECKING:
    from tooltel.sidecar.counting import Ledger
    from tooltel.sidecar.judging import LineJudge

_KEPT: Final = CONTEXT


class Stream:
    """
    The lines of one pipe. `write` takes bytes as they come, `Engine.feed` counts what has become whole.

    A line whose record may go on waits for the next one, until `close` or `let_go`.
    """

    def __init__(self, source: str, *, limits: Limits | None = None) -> None:
        self.source = source
        self._limits = limits if limits is not None else Limits()
        self._buffer = bytearray()
        self._start = 0  # before it stands context
        self._pieces: dict[str, bytes] = {}
        self._skipping = False
        self._is_over = False
        self._is_patient = True

    def write(self, data: bytes) -> None:
        """Take what the pipe gave."""
        self._buffer += data
        self._is_patient = True

    def close(self) -> None:
        """The pipe has ended: the last line needs no newline."""
        self._is_over = True

    def let_go(self) -> None:
        """Nothing came for a while: a record that may go on does not."""
        self._is_patient = False

    @property
    def is_waiting(self) -> bool:
        """Whether whole lines were left for later."""
        return self._buffer.find(b"\n", self._start) >= 0

    @property
    def held(self) -> int:
        """Bytes that are in memory."""
        return len(self._buffer)

    def count(self, ledger: Ledger, judge: LineJudge) -> bool:
        """Judge the lines that are whole by now. Whether there were any."""
        self._skip(ledger)
        end = len(self._buffer) if self._is_over else self._buffer.rfind(b"\n", self._start) + 1
        if end <= self._start:
            return self._give_up(ledger) or self._drop_pieces(ledger)
        is_patient = self._is_patient and not self._is_over
        took = judge.take(self._buffer, self._start, end, self._pieces, is_patient=is_patient)
        taken = bytes(self._buffer[self._start : took])
        ledger.count(signals.SIDECAR_BYTES, self.source, amount=len(taken))
        unended = self._is_over and took == end and not taken.endswith(b"\n")
        ledger.count(signals.SIDECAR_LINES, self.source, amount=taken.count(b"\n") + unended)
        self._forget(took)
        return self._drop_pieces(ledger) or bool(taken)

    def _drop_pieces(self, ledger: Ledger) -> bool:
        """Count records as skipped that nobody will finish. Whether there were any."""
        if not self._is_over or not self._pieces:
            return False
        for _ in self._pieces:
            ledger.count(signals.SIDECAR_SKIPPED_LINES, self.source, SkipCause.UNFINISHED.value)
        self._pieces = {}
        return True

    def _skip(self, ledger: Ledger) -> None:
        """Leave out the rest of a line that is too long."""
        if self._skipping and len(self._buffer) > self._start:
            newline = self._buffer.find(b"\n", self._start)
            to = newline + 1 or len(self._buffer)
            self._skipping = newline < 0
            ledger.count(signals.SIDECAR_BYTES, self.source, amount=to - self._start)
            ledger.count(signals.SIDECAR_SKIPPED_BYTES, self.source, amount=to - self._start)
            ledger.count(signals.SIDECAR_LINES, self.source, amount=int(newline >= 0))
            self._forget(to)

    def _give_up(self, ledger: Ledger) -> bool:
        waiting = len(self._buffer) - self._start
        if waiting <= self._limits.line:
            return False
        ledger.count(signals.SIDECAR_SKIPPED_LINES, self.source, SkipCause.TOO_LONG.value)
        self._skipping = True
        self._skip(ledger)
        return True

    def _forget(self, to: int) -> None:
        kept = max(0, to - _KEPT)
        del self._buffer[:kept]
        self._start = to - kept
