"""
Which files there are, and what became of those that were: rotation, truncation, copies, deletion.

Names are looked at anew all the time, so nothing makes the sidecar deaf. What a name led to before is read to its end
before it is let go, and what lived under a name between two looks is found among the names beside it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tooltel import signals
from tooltel.sidecar.copies import Kinship, find_gone, find_living, fits, relate
from tooltel.sidecar.descriptors import Descriptors
from tooltel.sidecar.finding import Place, find_beside, find_files, is_one_name
from tooltel.sidecar.logfile import HEAD, MARK, Identity, LogFile, fingerprint, is_rotated_name
from tooltel.sidecar.reading import End, Limits, Reader
from tooltel.signals import SkipCause

if TYPE_CHECKING:
    from tooltel.catalog import Source
    from tooltel.sidecar.counting import Ledger
    from tooltel.sidecar.disk import Disk, Key, Seen

RETIRED: Final = 64  # identities of files that are gone, to know their copies by
RESTING: Final = 64  # rotated files that are still watched for late writes
_TICK: Final = 10**8  # nanoseconds: a file system's clock is behind ours by up to one of its ticks
_NAMES_KEPT: Final = 1000
_COMPRESSED: Final = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18", b"PK\x03\x04")

Say = Callable[[str, str], None]  # level and sentence


class Follower:
    """
    All files of all sources.

    *descriptors* is how many files may be open at once; *from_end* says where a file starts that is there when the
    sidecar looks for the first time ever. `wall` gives the time of day in nanoseconds.
    """

    def __init__(  # noqa: PLR0913 - everything it uses is a parameter, so that nothing is ambient
        self,
        sources: list[Source],
        disk: Disk,
        reader: Reader,
        ledger: Ledger,
        *,
        limits: Limits,
        descriptors: int,
        from_end: bool,
        wall: Callable[[], int],
        say: Say,
    ) -> None:
        self._sources = sources
        self._disk = disk
        self._reader = reader
        self._ledger = ledger
        self._limits = limits
        self._descriptors = Descriptors(disk, descriptors)
        self._wall = wall
        self._say = say
        self.logs: dict[Key, LogFile] = {}
        self.retired: deque[Identity] = deque(maxlen=RETIRED)
        self.names: dict[str, Key] = {}  # where each watched path led at the last look
        self.looked_at = 0  # nanoseconds, of the last look around
        self.skip_existing = from_end  # until the first look
        self.missing: list[str] = []  # patterns that mean no file now
        self.failing: dict[str, str] = {}  # paths that cannot be read, and why
        self.failing_bytes: dict[str, tuple[str, int]] = {}  # their sources and sizes: it all waits
        self.is_stirred = True  # a name has changed: look around at once
        self._unsure: set[str] = set()  # paths that could not be looked at: they may mean what they meant

    # --- looking around ---

    def look_around(self, now: float) -> bool:
        """
        Find what the names mean now; rotations are told from new files by what the names meant before.

        Whether a name means something else than at the last look.
        """
        self.is_stirred = False
        started = self._wall()
        found = self._find()
        for key, place in found.items():
            log = self.logs.get(key)
            if log is None:
                self._admit(LogFile(place.path, key, place.source), place.seen, now)
            else:
                log.path, log.is_live = place.path, True
        names = {place.path: key for key, place in found.items()}
        if self.looked_at:
            self._find_missed(names, {place.path: place.source for place in found.values()}, now)
        for key, log in list(self.logs.items()):
            if key not in found and log.is_live and log.path not in self._unsure:
                log.is_live, log.grew_at, log.seen = False, now, None
                self._locate(log)
        has_news = any(self.names.get(path) != key for path, key in names.items())
        if len(self.names) > _NAMES_KEPT + 2 * len(names):  # names with a date in them come and never return
            self.names = {}
        self.names.update(names)
        self.skip_existing = False
        self.looked_at = started
        self._rest_few()
        return has_news

    def _find_missed(self, names: dict[str, Key], sources: dict[str, str], now: float) -> None:
        """Look for what came and was rotated away since the last look, beside each name that has changed since."""
        for path, key in names.items():
            before = self.names.get(path)
            if before is not None and before != key:
                self._ledger.count(signals.SIDECAR_ROTATIONS, sources[path])
            if before != key:
                self._look_beside(path, sources[path], now)
        for log in self.logs.values():
            if log.is_live and log.path not in names and log.path not in self._unsure:
                sources[log.path] = log.source
        missing = (pattern for pattern in self.missing if is_one_name(pattern))
        for path in [*missing, *(path for path in sources if path not in names)]:
            self._look_beside(path, sources.get(path) or self._source_of(path), now)

    def _source_of(self, pattern: str) -> str:
        return next(source.name for source in self._sources if pattern in source.files)

    def _find(self) -> dict[Key, Place]:
        """Every file that the sources mean now; what could not be looked at is said."""
        found = find_files(self._disk, self._sources, self.names)
        for failure in found.failures:
            self._fails(failure.path, failure.source, failure.error, 0)
        self.missing = found.missing
        self._unsure = {failure.path for failure in found.failures}
        return found.files

    def _admit(self, log: LogFile, seen: Seen, now: float) -> None:
        """Take a file on that was not known under this inode."""
        log.grew_at = log.used_at = now
        if self.skip_existing and seen.size:
            if not self._open_file(log, now):
                return
            self._go_to_end(log)
        self.logs[log.key] = log

    def _go_to_end(self, log: LogFile) -> None:
        """Start where the file ends now. A line that was begun before is not ours."""
        try:
            size = self._disk.fstat(log.descriptor).size
            log.head_bytes = self._disk.read_whole(log.descriptor, min(HEAD, size), 0)
            mark = self._disk.read_whole(log.descriptor, min(MARK, size), max(0, size - MARK))
        except OSError:
            return
        log.offset, log.head, log.mark_bytes = size, fingerprint(log.head_bytes), mark
        log.skipping, log.is_checked = not mark.endswith(b"\n"), True

    def _look_beside(self, path: str, source: str, now: float) -> None:
        """Take on what was called *path* between two looks and is called otherwise by now."""
        for beside, seen in find_beside(self._disk, path):
            # What was not written to since the last look had its rotated name by then.
            if seen.key in self.logs or seen.modified < self.looked_at - _TICK:
                continue
            log = LogFile(beside, seen.key, source, origin=path)
            log.is_live = False
            self._admit(log, seen, now)

    def _locate(self, log: LogFile) -> bool:
        """Find the name that *log* has now; without one, only an open descriptor leads to it."""
        for beside, seen in find_beside(self._disk, log.origin):
            if seen.key == log.key:
                log.path = beside
                return True
        return False

    def in_order(self) -> list[LogFile]:
        """All files, an original before its copies: a short one is known by its name alone, once it was read."""
        return sorted(self.logs.values(), key=lambda log: (not log.is_live, len(log.path)))

    def size_of(self, log: LogFile) -> int:
        """How long a file is now; as long as it was where that cannot be said."""
        try:
            seen = self._disk.stat(log.path)
        except OSError:
            return log.size
        return seen.size if seen.key == log.key else log.size

    # --- looking at one file ---

    def look(self, log: LogFile, now: float, *, final: bool = False) -> bool:
        """Read what *log* has got since the last look. Whether there is more at once."""
        try:
            return self._look(log, now, final=final)
        except OSError as error:
            self._fails(log.path, log.source, error, log.lag)
            self._descriptors.close(log)
            log.seen = None
            return False

    def _look(self, log: LogFile, now: float, *, final: bool) -> bool:
        seen = self._stat(log)
        if seen is None:
            self.retire(log)
            return False
        if seen.size != log.size:
            log.size, log.grew_at = seen.size, now
        is_over = not log.is_live and now - log.grew_at >= self._limits.quiet
        unread = log.lag and (final or is_over)
        if log.seen == log.stamp(seen) and log.waiting_since is None and not unread:
            return self._settle(log, seen, is_over=is_over)
        if not log.offset and log.is_live and self.looked_at:
            # Nothing is known of it yet that a truncation would change: only its copy tells of one.
            self._look_beside(log.origin, log.source, now)
        if log.fd is None and not self._open_file(log, now):
            return False
        log.used_at = now
        if self._is_someone_elses(log, seen, now):
            return False
        end = self._reader.read(log, final=final or is_over, now=now)
        if end is End.REPLACED:
            self._replaced(log, now)
            # At once, before the turn of its copies: they are known by what was read here.
            if not self._open_file(log, now) or self._is_someone_elses(log, seen, now):
                return False
            end = self._reader.read(log, final=final, now=now)
        log.seen = log.stamp(seen) if end is End.REACHED else None
        if end is End.REACHED:
            self.failing.pop(log.path, None)
            self.failing_bytes.pop(log.path, None)
        return end is End.MORE or self._settle(log, seen, is_over=is_over)

    def _stat(self, log: LogFile) -> Seen | None:
        """What *log* is now; None where nothing leads to it any more."""
        try:
            seen = self._disk.stat(log.path)
            if seen.key == log.key:
                return seen
        except (FileNotFoundError, NotADirectoryError):
            pass
        except PermissionError:
            if log.fd is None:
                raise
        self.is_stirred = self.is_stirred or log.is_live
        if log.fd is not None:
            return self._disk.fstat(log.fd)
        return self._disk.stat(log.path) if self._locate(log) else None

    def _is_someone_elses(self, log: LogFile, seen: Seen, now: float) -> bool:
        """Whether *log* is none of ours to read now: compressed, or a copy of a file that is there."""
        if log.is_ignored:
            return True
        if log.is_checked or log.offset or not seen.size:
            return False
        if self._disk.read_whole(log.descriptor, 6, 0).startswith(_COMPRESSED):
            log.is_ignored = True
            return True
        if log.parent is not None and seen.size < log.parent.offset:
            log.seen = log.stamp(seen)
            return True
        likely = [log.original] if log.original is not None else []
        for other in (*likely, *find_living(self._disk, log, self.logs.values())):
            if other.original is not None:
                continue
            self._open_file(other, now, beside=log)
            kinship = relate(self._disk, log, other)
            if kinship is Kinship.COPY:
                log.original, log.seen = other, log.stamp(seen)
                return True
            if kinship is Kinship.EXTENDED:
                log.original = None
                log.adopt(other.identity)
                return False
        known = (*self.retired, *([log.parent] if log.parent is not None else []))
        gone = find_gone(self._disk, log, seen.size, known)
        log.original, log.parent, log.is_checked = None, None, True
        if gone is not None:
            log.adopt(gone)
        return False

    def _replaced(self, log: LogFile, now: float) -> None:
        """The inode holds another file now: truncated, or given out again."""
        before = log.identity
        self._ledger.count(signals.SIDECAR_TRUNCATIONS, log.source)
        self._remember(log, before)
        self._drop_pieces(log)
        log.start_over()
        log.is_checked = False  # the inode may be a copy's now
        if not is_rotated_name(log.path, log.origin):
            log.origin = log.path
        # A copy of what was truncated may hold lines that were not read yet.
        for beside, seen in find_beside(self._disk, log.origin):
            if seen.key not in self.logs and seen.size >= before.offset > 0:
                copy = LogFile(beside, seen.key, log.source, origin=log.origin)
                copy.is_live = False
                if self._open_file(copy, now, beside=log):
                    if fits(self._disk, copy, before):
                        copy.adopt(before)
                        self._admit(copy, seen, now)
                    else:
                        self._descriptors.close(copy)
        if self.looked_at:
            self._look_beside(log.origin, log.source, now)

    def _remember(self, log: LogFile, identity: Identity) -> None:
        """Know the copies of what *log* was: those that were bound to it go on from where it was read to."""
        if identity.offset and not log.is_ignored:
            self.retired.append(identity)
        for copy in self.logs.values():
            if copy.original is log:
                copy.original, copy.parent, copy.seen = None, identity, None

    # --- letting go ---

    def _settle(self, log: LogFile, seen: Seen, *, is_over: bool) -> bool:
        """Let a file go that has no name and no news. Always False: there is no more at once."""
        if is_over and not log.lag:
            self._descriptors.close(log)
            if not seen.links:
                self.retire(log)
        return False

    def retire(self, log: LogFile) -> None:
        """Forget a file but for what its copies are known by."""
        self._descriptors.close(log)
        if log.lag:  # its descriptor had to be given up, and then its name went
            self._ledger.count(signals.SIDECAR_SKIPPED_BYTES, log.source, amount=log.lag)
        self.logs.pop(log.key, None)
        self._remember(log, log.identity)
        self._drop_pieces(log)

    def _drop_pieces(self, log: LogFile) -> None:
        for _ in log.pieces:
            self._ledger.count(signals.SIDECAR_SKIPPED_LINES, log.source, SkipCause.UNFINISHED.value)
        log.pieces = {}

    def _rest_few(self) -> None:
        """Watch only so many rotated files for late writes: those that grew last."""
        resting = [log for log in self.logs.values() if not log.is_live and log.fd is None and not log.lag]
        for log in sorted(resting, key=lambda log: log.grew_at)[: max(0, len(resting) - RESTING)]:
            self.retire(log)

    # --- descriptors ---

    def _open_file(self, log: LogFile, now: float, *, beside: LogFile | None = None) -> bool:
        """
        Open *log*; another file gives up its descriptor where there are too many, but not the one *beside* it.

        Whether it is open now, and the same inode.
        """
        if log.fd is not None:
            return True
        try:
            self._descriptors.open(log, self.logs.values(), beside=beside)
        except OSError as error:
            if not isinstance(error, FileNotFoundError):
                self._fails(log.path, log.source, error, log.lag or log.size)
            return False
        log.used_at = now
        if self._disk.fstat(log.descriptor).key != log.key:  # renamed since
            self._descriptors.close(log)
            self.is_stirred = True
            return False
        generation = self._disk.generation(log.descriptor)
        is_reused = 0 != log.generation != generation != 0
        log.generation = generation
        if is_reused:
            self._replaced(log, now)
        return True

    def close(self) -> None:
        """Close every file."""
        for log in self.logs.values():
            self._descriptors.close(log)

    def _fails(self, path: str, source: str, error: OSError, waiting: int) -> None:
        reason = error.strerror or str(error)
        self.failing_bytes[path] = (source, waiting)
        if self.failing.get(path) != reason:  # said once, tried again at every look
            self.failing[path] = reason
            self._ledger.count(signals.INTERNAL_ERRORS, signals.Component.SIDECAR.value)
            self._say("error", f"cannot read {path}: {reason}; trying again until it works")
