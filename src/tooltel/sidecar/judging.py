"""
Judging a chunk of whole lines: only those with a hit of the prefilter are ever cut out.

What most lines say after their time has been said before, so verdicts are remembered by that text; a known one costs
a microsecond. The memory is bounded and emptied when full.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from tooltel.match import Record
from tooltel.sidecar import columns, formats
from tooltel.sidecar.formats import STAMP, Piece
from tooltel.sidecar.headers import readings
from tooltel.sidecar.prefilter import ESCAPES, Buffer, Hit, Prefilter
from tooltel.signals import SkipCause

if TYPE_CHECKING:
    from tooltel.sidecar.records import Judging, Matched

CONTEXT: Final = 1024  # bytes before a line in which the line before it is looked for
JOINED_LIMIT: Final = 128 * 1024  # bytes of a record that a container runtime cut into pieces
_REMEMBERED: Final = 4096  # verdicts
_REMEMBERED_BYTES: Final = 1024  # of a text worth remembering
_CRI_PARTIAL: Final = (b" stdout P", b" stderr P")
_DIGITS: Final = bytes(ord("0") if chr(byte).isdecimal() else byte for byte in range(256))
_NO_SHAPE: Final = b"no line's"

Pieces: TypeAlias = dict[str, bytes]  # of records that are still incomplete, by stream


class Tally:
    """A verdict, and how often it was given since the last time somebody asked."""

    __slots__ = ("count", "matched")

    def __init__(self, matched: Matched | None) -> None:
        self.matched = matched
        self.count = 0


_NOTHING: Final = Tally(None)


class _Place(NamedTuple):
    """Where a line stands: from `first`, the next one from `then`, in a buffer of whole lines up to `end`."""

    buffer: Buffer
    first: int
    then: int
    end: int
    stream: str | None  # of a container: only lines of the same belong together
    is_patient: bool


class LineJudge:
    """
    The judge of one source's lines.

    *form* is one of the catalog's formats. `skipped` is called with the cause for each line that cannot be judged.
    """

    def __init__(
        self, judge: Judging, *, form: str = "auto", skipped: Callable[[SkipCause], None], fast: bool = True
    ) -> None:
        self._judge = judge
        self._skipped = skipped
        self._reads_json = form != "text"
        self._reads_docker = form in ("auto", "docker")
        self._reads_cri = form in ("auto", "cri")
        also = (
            *(ESCAPES if self._reads_json else ()),
            *(_CRI_PARTIAL if self._reads_cri else ()),
            *(columns.BEGINNINGS if form != "json" else ()),
        )
        self._filter = Prefilter(judge.literals, also=also if judge.literals else (), fast=fast)
        self._second = tuple(
            rule.literal for rule in getattr(judge, "rules", ()) if getattr(rule, "second", None) is not None
        )
        self._known: dict[bytes, Tally] = {}  # by what follows the time
        self._bare: dict[bytes, Tally] = {}  # by the whole line, where there is none
        self._records: dict[Record, Tally] = {}
        self._touched: list[Tally] = []
        # Lines of one file begin alike: how long the last one's time was, and how that and what follows looked.
        self._stamp = self._ahead = 0
        self._shape = _NO_SHAPE

    def drain(self) -> Iterable[tuple[Matched, int]]:
        """Give every match since the last call, with how often it came."""
        touched, self._touched = self._touched, []
        for tally in touched:
            if tally.matched is not None and tally.count:
                yield tally.matched, tally.count
            tally.count = 0
        if len(self._known) + len(self._bare) + len(self._records) > _REMEMBERED:
            self._known, self._bare, self._records = {}, {}, {}

    def take(self, buffer: Buffer, start: int, end: int, pieces: Pieces, *, is_patient: bool) -> int:
        """
        Judge the lines of `buffer[start:end]`, which ends after a newline or with the last line there will ever be.

        What stands before *start* is context. Returns where the first line begins that has to wait for its next one;
        that never happens unless *is_patient*.
        """
        done = base = self._join(buffer, start, end, pieces, is_patient=is_patient) if pieces else start
        if pieces and done < end:
            return done
        first, last, tail, is_stamped = start, -1, b"", False
        for hit in self._hits(buffer, base, end):
            at = base + hit[1]
            if at < done:
                continue
            tally = None
            if at > last:  # in a line that was not looked at yet
                first = buffer.rfind(b"\n", done, at) + 1 or done
                last = end if (newline := buffer.find(b"\n", at, end)) < 0 else newline
                is_alike = buffer[first : first + self._ahead].translate(_DIGITS) == self._shape
                stamp = self._stamp if is_alike else self._find_stamp(buffer, first, last)
                is_stamped = stamp > 0
                tail = bytes(buffer[first + stamp : last])
                tally = (self._known if is_stamped else self._bare).get(tail)
            if tally is None:
                if not self._filter.confirms(hit, buffer, at, (first, last)):
                    continue
                place = _Place(buffer, first, last + 1, end, None, is_patient)
                tally = self._look(tail, place, pieces, stamped=is_stamped)
                if tally is None:
                    return first
            done = last + 1
            if not tally.count:
                self._touched.append(tally)
            tally.count += 1
            if pieces:
                done = self._join(buffer, done, end, pieces, is_patient=is_patient)
                if pieces and done < end:
                    return done
        return end

    def _hits(self, buffer: Buffer, start: int, end: int) -> list[Hit]:
        with memoryview(buffer) as view, view[start:end] as searched:
            hits = self._filter.search(searched)
        return _with_long_lines(hits, buffer, start, end) if self._reads_docker else hits

    def _find_stamp(self, buffer: Buffer, first: int, last: int) -> int:
        """The length of the time that a line begins with; 0 where it begins with none."""
        found = STAMP.match(buffer, first, last)
        if found is None:
            return 0
        length = found.end() - first
        # Two more bytes tell that it ends there, unless they are the sign of an offset, which goes on.
        shape = bytes(buffer[first : first + length + 2]).translate(_DIGITS)
        if len(shape) == length + 2 and not set(b"+-") & set(shape[length:]):
            self._stamp, self._ahead, self._shape = length, len(shape), shape
        return length

    # --- one line ---

    def _look(self, tail: bytes, place: _Place, pieces: Pieces, *, stamped: bool) -> Tally | None:
        """The verdict on a line that was not seen before, or None where it has to wait. Never raises."""
        try:
            if not stamped and tail[:1] in (b"\0", b"\x1b"):  # a hole that a truncation left, or a color
                tail = formats.without_colors(tail.lstrip(b"\0"))
                stamp = STAMP.match(tail)
                tail, stamped = (tail[stamp.end() :], True) if stamp else (tail, False)
            if self._reads_json and not stamped and tail[:1] == b"{":
                return self._object(tail, place, pieces)
            if self._reads_cri and stamped and (piece := formats.unwrap_cri(tail)):
                return self._piece(piece, place, pieces)
            if piece := formats.unwrap_syslog(tail):
                return self._unwrapped(piece.text, place._replace(stream=piece.stream))
            return self._text(tail, place, stamped=stamped)
        except Exception:  # noqa: BLE001 - whatever a line holds, the next ones count
            self._skipped(SkipCause.MALFORMED)
            return _NOTHING

    def _object(self, line: bytes, place: _Place, pieces: Pieces) -> Tally | None:
        """The verdict on a line that looks like JSON."""
        fields = formats.read_json(line.strip(b"\0\r"))
        if fields is None:
            self._skipped(SkipCause.MALFORMED)
            return _NOTHING
        if self._reads_docker and (piece := formats.unwrap_docker(fields, len(line))):
            return self._piece(piece, place, pieces)
        return self._fields(fields)

    def _piece(self, piece: Piece, place: _Place, pieces: Pieces) -> Tally | None:
        if piece.is_whole and piece.stream not in pieces:
            return self._unwrapped(piece.text, place._replace(stream=piece.stream))
        text = pieces.pop(piece.stream, b"") + piece.text
        if len(text) > JOINED_LIMIT:
            if piece.is_whole:
                self._skipped(SkipCause.TOO_LONG)
                return _NOTHING
            text = text[: JOINED_LIMIT + 1]  # stays too long until its end comes
        if piece.is_whole:
            return self._unwrapped(text, place._replace(stream=piece.stream, is_patient=False))
        pieces[piece.stream] = text
        return _NOTHING

    def _unwrapped(self, text: bytes, place: _Place) -> Tally | None:
        if text[:1] == b"{":
            fields = formats.read_json(text.rstrip(b"\r"))
            if fields is not None:
                return self._fields(fields)
        stamp = STAMP.match(text)
        tail = text[stamp.end() :] if stamp else text
        tally = (self._known if stamp else self._bare).get(tail)
        return tally if tally is not None else self._text(tail, place, stamped=stamp is not None)

    def _fields(self, fields: dict[str, Any]) -> Tally:
        record = formats.record_of_json(fields)
        tally = self._remembered(record) if record is not None else _NOTHING
        if tally is not _NOTHING:
            return tally
        # It may carry an exception that tells of a call, as the lines of a stack trace do in a text log.
        told = (self._remembered(Record(line)) for line in formats.exceptions_of_json(fields))
        return next((each for each in told if each is not _NOTHING), _NOTHING)

    def _remembered(self, record: Record) -> Tally:
        return self._verdict(record)

    def _text(self, tail: bytes, place: _Place, *, stamped: bool) -> Tally | None:
        text = formats.decode(tail)
        record = formats.record_of_text(text, stamped=stamped)
        is_alone = not formats.needs_line_before(text, stamped=stamped)
        if not is_alone:
            record = formats.with_line_before(record, _before(place))
        others = list(readings(text)) if record.logger is None else []
        # A line with a header is none of those that a rule wants bare.
        records = [record, *others] if record.level is not None or not others else others
        if is_head := columns.is_head(text):
            following, is_complete = _following(place, columns.LINES)
            is_wrapped = bool(following) and columns.goes_on(following[0])
            if not is_complete and place.is_patient and (is_wrapped or not following):
                return None
            records = [*columns.unwrapped(text, following if is_wrapped else ()), *records]
            if is_wrapped:
                return self._first_verdict(records)
        tally = self._first_verdict(records)
        if tally is _NOTHING and any(literal in tail for literal in self._second):
            following, is_complete = _following(place)
            if not following and not is_complete and place.is_patient:
                return None
            if following:
                tally = self._first_verdict([each._replace(following=following) for each in records])
            return tally
        if is_head and tally is _NOTHING:
            return tally  # the next time it may go on
        if is_alone and len(tail) <= _REMEMBERED_BYTES:
            (self._known if stamped else self._bare)[tail] = tally
        return tally

    def _first_verdict(self, records: Iterable[Record]) -> Tally:
        return next((found for each in records if (found := self._verdict(each)) is not _NOTHING), _NOTHING)

    def _verdict(self, record: Record) -> Tally:
        tally = self._records.get(record)
        if tally is None:
            matched = self._judge.judge(record)
            tally = Tally(matched) if matched is not None else _NOTHING
            if len(record.message) <= _REMEMBERED_BYTES and not record.following:
                self._records[record] = tally
        return tally

    # --- records that a container runtime cut ---

    def _join(self, buffer: Buffer, start: int, end: int, pieces: Pieces, *, is_patient: bool) -> int:
        """Take line by line until no record is incomplete, or a line has to wait; returns where that was."""
        at = start
        while pieces and at < end:
            last = buffer.find(b"\n", at, end)
            if last < 0:
                last = end
            line = bytes(buffer[at:last])
            place = _Place(buffer, at, last + 1, end, None, is_patient)
            stamp = STAMP.match(line)
            tally = self._look(line[stamp.end() :] if stamp else line, place, pieces, stamped=stamp is not None)
            if tally is None:
                break
            if not tally.count:
                self._touched.append(tally)
            tally.count += 1
            at = min(last + 1, end)
        return at


def _with_long_lines(hits: list[Hit], buffer: Buffer, start: int, end: int) -> list[Hit]:
    """*hits*, and one for each line that docker may have cut, and a literal with it."""
    long: list[Hit] = []
    at = start  # always where a line begins
    while end - at >= formats.DOCKER_PIECE:
        newline = buffer.rfind(b"\n", at, at + formats.DOCKER_PIECE)
        if newline < 0:
            long.append((-1, at - start, at - start))
            newline = buffer.find(b"\n", at, end)
            if newline < 0:
                break
        at = newline + 1
    return sorted([*hits, *long], key=lambda hit: hit[1]) if long else hits


def _before(place: _Place) -> str:
    """The line before, of the same stream where it is wrapped; empty where there is none near."""
    lowest, end = max(0, place.first - 1 - CONTEXT), place.first - 1
    while end > lowest:
        begin = place.buffer.rfind(b"\n", lowest, end) + 1 or lowest
        text = _bare_line(bytes(place.buffer[begin:end]), place.stream)
        if text is not None:
            return text
        end = begin - 1
    return ""


def _following(place: _Place, limit: int = formats.FOLLOWING) -> tuple[tuple[str, ...], bool]:
    """The further lines of a record, and whether it is known that there are no more."""
    found: list[str] = []
    at = place.then
    while len(found) < limit and at < place.end:
        last = place.buffer.find(b"\n", at, place.end)
        if last < 0:
            last = place.end
        text = _bare_line(bytes(place.buffer[at : min(last, at + CONTEXT)]), place.stream)
        if text is not None:
            if formats.begins_record(text):
                return tuple(found), True
            found.append(text)
        at = last + 1
    return tuple(found), len(found) == limit


def _bare_line(raw: bytes, stream: str | None) -> str | None:
    """The text of a raw line, unwrapped where *stream* is a container's; None where it is of another stream."""
    if stream is None:
        return formats.decode(raw)
    if raw[:1] == b"{":
        fields = formats.read_json(raw)
        piece = formats.unwrap_docker(fields, len(raw)) if fields is not None else None
    else:
        stamp = STAMP.match(raw)
        unwrap = formats.unwrap_syslog if stream.startswith("syslog ") else formats.unwrap_cri
        piece = unwrap(raw[stamp.end() :] if stamp else raw)
    return formats.decode(piece.text) if piece is not None and piece.stream == stream else None
