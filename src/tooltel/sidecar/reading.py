"""
Reading a file: chunks of whole lines, each checked to be of the file it is thought to be.

Every read brings the KiB before it along, and the head is read after it: when both still fit, what stands between
was written to this file and no other. That makes a truncation between two system calls harmless.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, NamedTuple

from tooltel import signals
from tooltel.sidecar.logfile import HEAD, MARK, LogFile, fingerprint
from tooltel.sidecar.prefilter import make_counter
from tooltel.signals import SkipCause

if TYPE_CHECKING:
    from tooltel.sidecar.counting import Ledger
    from tooltel.sidecar.disk import Disk
    from tooltel.sidecar.judging import LineJudge

_PEEK: Final = 64 * 1024  # bytes read to see whether an unfinished line has got its newline


class Limits(NamedTuple):
    """
    Sizes in bytes and times in seconds.

    `line` is the longest line that is judged, at least as long as a `chunk`; `turn` is read of one file before the
    next has its turn; `patience` is waited for the second line of a record, `quiet` before a rotated file is done.
    """

    chunk: int = 512 * 1024
    line: int = 1024 * 1024
    turn: int = 16 * 1024 * 1024
    patience: float = 1.0
    quiet: float = 5.0


class _Chunk(NamedTuple):
    """What was read: context, then new bytes from `begin` to `end`; `wanted` bytes were asked for."""

    buffer: bytearray
    begin: int
    end: int
    wanted: int
    final: bool
    now: float


class End(Enum):
    """Why reading stopped."""

    REACHED = auto()  # the file's end, for now
    MORE = auto()  # others should have their turn
    REPLACED = auto()  # this is not the file that was read before


class Reader:
    """Reads files into one buffer that all share. *judges* are the sources', by name."""

    def __init__(self, disk: Disk, ledger: Ledger, judges: dict[str, LineJudge], limits: Limits) -> None:
        self._disk = disk
        self._ledger = ledger
        self._judges = judges
        self._limits = limits
        # One for all: a new one for each chunk would be new memory, which costs as much as all the rest.
        self._buffer = bytearray(MARK + limits.chunk)
        self._lines = self._bytes = 0  # of the read that is going on
        self._count_lines: Callable[[memoryview], int] = make_counter()

    def read(self, log: LogFile, *, final: bool, now: float) -> End:
        """
        Read *log*, which is open, to its end or for one turn.

        *final* says that nothing more will be written: then the last line needs no newline, and no line waits.
        Raises OSError; then nothing that was not checked has been counted.
        """
        if not final and self._still_unfinished(log):
            return End.REACHED
        self._lines = self._bytes = 0
        left = self._limits.turn
        end = End.MORE
        try:
            while end is End.MORE and left > 0:
                before = log.offset
                end = self._step(log, self._buffer, final=final, now=now)
                left -= max(1, log.offset - before)
        finally:
            self._ledger.count(signals.SIDECAR_LINES, log.source, amount=self._lines)
            self._ledger.count(signals.SIDECAR_BYTES, log.source, amount=self._bytes)
        return end

    def _still_unfinished(self, log: LogFile) -> bool:
        """Whether what came since the last look goes on with a line that has no end yet: then read no more of it."""
        if log.scanned <= log.offset or log.scanned - log.offset > self._limits.line:
            return False
        more = self._disk.read(log.descriptor, _PEEK, log.scanned)
        if not more or len(more) == _PEEK or b"\n" in more:
            log.scanned = 0
            return False
        log.scanned += len(more)
        return True

    def _step(self, log: LogFile, buffer: bytearray, *, final: bool, now: float) -> End:
        """One chunk of at most as many bytes as *buffer* has beside the context."""
        context = min(log.offset, MARK)
        wanted = len(buffer) - MARK
        end = self._fill(log, buffer, context + wanted, log.offset - context)
        if not self._is_same(log, bytes(buffer[: min(context, end)])):
            return End.REPLACED
        if end == context:
            return End.REACHED
        chunk = _Chunk(buffer, context, end, wanted, final, now)
        if log.skipping:
            return self._skip(log, chunk)
        last = buffer.rfind(b"\n", context, end) + 1
        return self._judge(log, chunk, last) if last else self._unfinished(log, chunk)

    def _fill(self, log: LogFile, buffer: bytearray, size: int, offset: int) -> int:
        """Read *size* bytes from *offset* on; returns how many there are."""
        end = 0
        with memoryview(buffer) as view:
            while end < size:
                with view[end:size] as rest:
                    got = self._disk.read_into(log.descriptor, rest, offset + end)
                if not got:
                    break
                end += got
        return end

    def _is_same(self, log: LogFile, before: bytes) -> bool:
        """Whether the file still is the one that was read up to `offset`, *before* which these bytes stand now."""
        if not log.offset:
            return True
        if len(before) < min(log.offset, MARK) or not log.is_marked_by(before):
            return False
        head = self._disk.read_whole(log.descriptor, HEAD, 0)
        if not log.is_headed_by(head):
            return False
        log.head_bytes = head
        return True

    def _skip(self, log: LogFile, chunk: _Chunk) -> End:
        """Leave out the rest of a line that is too long."""
        newline = chunk.buffer.find(b"\n", chunk.begin, chunk.end)
        to = newline + 1 or chunk.end
        log.skipping = newline < 0
        self._ledger.count(signals.SIDECAR_SKIPPED_BYTES, log.source, amount=to - chunk.begin)
        self._advance(log, chunk, to)
        return End.MORE

    def _judge(self, log: LogFile, chunk: _Chunk, last: int) -> End:
        judge = self._judges[log.source]
        waited = 0.0 if log.waiting_since is None else chunk.now - log.waiting_since
        is_patient = not chunk.final and waited < self._limits.patience
        took = judge.take(chunk.buffer, chunk.begin, last, log.pieces, is_patient=is_patient)
        self._advance(log, chunk, took)
        if took == last:
            log.waiting_since = None
            return End.MORE
        if log.waiting_since is None or took > chunk.begin:
            log.waiting_since = chunk.now
        return End.REACHED

    def _unfinished(self, log: LogFile, chunk: _Chunk) -> End:
        """The chunk holds no newline: a hole, a long line, or one that is still being written."""
        size = chunk.end - chunk.begin
        if chunk.buffer[chunk.begin] == 0:
            return self._pass_hole(log, chunk)
        if size > self._limits.line:
            self._ledger.count(signals.SIDECAR_SKIPPED_LINES, log.source, SkipCause.TOO_LONG.value)
            log.skipping = True
            return self._skip(log, chunk)
        if size == chunk.wanted and size <= self._limits.line:
            longest = self._limits.line + 1
            return self._step(log, bytearray(MARK + longest), final=chunk.final, now=chunk.now)
        if not chunk.final:
            log.scanned = log.offset + size
            return End.REACHED
        self._judges[log.source].take(chunk.buffer, chunk.begin, chunk.end, log.pieces, is_patient=False)
        self._advance(log, chunk, chunk.end)
        self._lines += 1
        return End.REACHED

    def _pass_hole(self, log: LogFile, chunk: _Chunk) -> End:
        """Leave out the zeros that a writer leaves before it when its file was truncated under it."""
        rest = bytes(chunk.buffer[chunk.begin : chunk.end]).lstrip(b"\0")
        zeros = chunk.end - chunk.begin - len(rest)
        self._advance(log, chunk, chunk.begin + zeros)
        if not rest and log.head.length == HEAD:
            hole = self._disk.next_data(log.descriptor, log.offset) - log.offset
            if hole > MARK:  # it reads as zeros, and so the mark before its end is zeros
                log.offset += hole
                log.mark_bytes = bytes(MARK)
                self._bytes += hole
        return End.MORE

    def _advance(self, log: LogFile, chunk: _Chunk, to: int) -> None:
        """Everything before *to* has been judged: move on, and take the new fingerprints. The chunk is used up."""
        buffer, begin = chunk.buffer, chunk.begin
        if to == begin:
            return
        log.offset += to - begin
        log.scanned = 0
        if log.head.length < HEAD:
            begun = log.head_bytes[: log.head.length] + bytes(buffer[begin : min(to, begin + HEAD)])
            log.head_bytes = begun[:HEAD]
            log.head = fingerprint(log.head_bytes)
        log.mark_bytes = bytes(buffer[max(0, to - MARK) : to])
        with memoryview(buffer) as view, view[begin:to] as taken:
            self._lines += self._count_lines(taken)  # last, as it may overwrite them
        self._bytes += to - begin
