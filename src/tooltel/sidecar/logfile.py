"""
A file that is being read, as an inode: how far, and how to know it again.

A name says nothing, and an inode number is given out again. So a file is known by its first KiB and by the KiB
before the place up to which it was read; 64 bytes would be too few, as log lines end alike.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from tooltel.sidecar.disk import Key, Seen

HEAD: Final = 1024  # bytes
MARK: Final = 1024  # bytes

# What rotation adds to a name: app.log.1, app.log-20261130, app-2026-11-30.log, app.1.log
_STEM: Final = re.compile(r"(?s)(.+?)(?:[-_.]\d.*|\..*)?")


class Print(NamedTuple):
    """The fingerprint of *length* bytes."""

    length: int
    digest: str

    def fits(self, data: bytes) -> bool:
        """Whether *data* begins with these bytes."""
        return len(data) >= self.length and fingerprint(data[: self.length]) == self


NO_PRINT: Final = Print(0, "")


def fingerprint(data: bytes) -> Print:
    """The fingerprint of *data*."""
    return Print(len(data), blake2b(data, digest_size=8).hexdigest()) if data else NO_PRINT


class Identity(NamedTuple):
    """What is kept of a file to know it, or a copy of it, again: `origin` is the name under which it was written."""

    origin: str
    key: Key
    generation: int
    offset: int
    head: Print
    mark: Print
    skipping: bool
    pieces: dict[str, bytes]


class LogFile:
    """
    One file of a source, from its first byte on.

    `offset` is where the first byte stands that was not judged yet; `skipping` says that it is inside a line that is
    too long; `pieces` are records cut by a container runtime. The rest is not part of a checkpoint.
    """

    def __init__(self, path: str, key: Key, source: str, *, origin: str | None = None) -> None:
        self.path = path
        self.key = key
        self.source = source
        self.origin = path if origin is None else origin
        self.generation = 0
        self.offset = 0
        self.head = NO_PRINT
        self.skipping = False
        self.pieces: dict[str, bytes] = {}
        self._mark = NO_PRINT

        self.fd: int | None = None
        self.size = 0
        self.seen: tuple[int, int] | None = None  # size and time of change when last read to its end
        self.head_bytes = b""  # what `head` is of, or more; empty before the first read of a restored file
        self.mark_bytes = b""  # what `mark` is of; empty where only its fingerprint is known
        self.scanned = 0  # up to here there is no newline after `offset`
        self.is_live = True  # a name that is watched leads here
        self.is_ignored = False  # compressed
        self.is_checked = False  # whether it is a copy of another
        self.original: LogFile | None = None  # what it is a copy of, while that is there: then it is not read
        self.parent: Identity | None = None  # what it was a copy of, and is shorter than
        self.grew_at = 0.0
        self.used_at = 0.0
        self.waiting_since: float | None = None

    @property
    def mark(self) -> Print:
        """The fingerprint of what stands before `offset`; taken only when somebody asks."""
        return fingerprint(self.mark_bytes) if self.mark_bytes else self._mark

    def is_marked_by(self, data: bytes) -> bool:
        """Whether *data*, as many bytes as there were then, is what stood before `offset`."""
        if self.mark_bytes:
            return data.endswith(self.mark_bytes)
        return self._mark.fits(data[len(data) - self._mark.length :])

    def is_headed_by(self, data: bytes) -> bool:
        """Whether *data* begins as the file did."""
        if len(self.head_bytes) >= self.head.length > 0:
            return data.startswith(self.head_bytes[: self.head.length])
        return self.head.fits(data)

    @property
    def identity(self) -> Identity:
        """What is kept when the file is gone."""
        facts = (self.offset, self.head, self.mark, self.skipping, dict(self.pieces))
        return Identity(self.origin, self.key, self.generation, *facts)

    def adopt(self, identity: Identity) -> None:
        """Go on where *identity* stopped: this is a copy, or the file itself."""
        self.offset, self.head, self._mark = identity.offset, identity.head, identity.mark
        self.head_bytes = self.mark_bytes = b""
        self.skipping, self.pieces = identity.skipping, dict(identity.pieces)
        self.original, self.parent, self.is_checked = None, None, True
        self.scanned = 0

    def start_over(self) -> None:
        """Nothing of this file has been read: it is new, or has been truncated."""
        self.offset, self.head, self._mark, self.skipping, self.pieces = 0, NO_PRINT, NO_PRINT, False, {}
        self.mark_bytes = b""
        self.head_bytes, self.scanned, self.waiting_since, self.seen = b"", 0, None, None
        self.original, self.parent, self.is_ignored = None, None, False

    @property
    def descriptor(self) -> int:
        """The open file; who reads has opened it."""
        assert self.fd is not None  # noqa: S101
        return self.fd

    @property
    def lag(self) -> int:
        """Bytes that are there and were not judged."""
        is_read = not (self.is_ignored or self.original is not None or self.parent is not None)
        return max(0, self.size - self.offset) if is_read else 0

    def stamp(self, seen: Seen) -> tuple[int, int]:
        """What changes whenever the file does."""
        return seen.size, seen.modified


def is_rotated_name(path: str, origin: str) -> bool:
    """Whether *path* is what rotation would call an older `origin`, as `app.log.1` is to `app.log`."""
    name, base = PurePath(path).name, PurePath(origin).name
    return len(name) > len(base) and stem(name) == stem(base)


def stem(name: str) -> str:
    """The part of a file's name that its rotated copies share."""
    found = _STEM.fullmatch(name)
    return found[1] if found else name


def dump_file(log: LogFile) -> list[Any]:
    """The file as plain data for the checkpoint."""
    original = list(log.original.key) if log.original is not None else None
    parent = _dumped(log.parent) if log.parent is not None else None
    return [log.path, log.source, log.is_live, original, parent, *_dumped(log.identity)]


def load_file(row: list[Any]) -> tuple[LogFile, Key | None]:
    """
    What `dump_file` gave, and the key of its original.

    Raises ValueError, TypeError or AttributeError for anything else.
    """
    path, source, is_live, original, parent, *rest = row
    identity = load_identity(rest)
    if not isinstance(path, str) or not isinstance(source, str):
        raise TypeError("a file's path and source are text")
    log = LogFile(path, identity.key, source, origin=identity.origin)
    log.adopt(identity)
    log.generation = identity.generation
    log.is_live = bool(is_live)
    log.parent = load_identity(parent) if parent is not None else None
    log.is_checked = identity.offset > 0
    return log, (int(original[0]), int(original[1])) if original is not None else None


def _dumped(identity: Identity) -> list[Any]:
    pieces = {stream: text.decode("latin-1") for stream, text in identity.pieces.items()}
    facts = (identity.offset, *identity.head, *identity.mark, identity.skipping, pieces)
    return [identity.origin, *identity.key, identity.generation, *facts]


dump_identity = _dumped


def load_identity(row: list[Any]) -> Identity:
    """What `dump_identity` gave. Raises ValueError, TypeError or AttributeError for anything else."""
    origin, device, inode, generation, offset, head, head_digest, mark, mark_digest, skipping, pieces = row
    whole = {stream: text.encode("latin-1") for stream, text in pieces.items()}
    return Identity(
        str(origin), (int(device), int(inode)), int(generation), int(offset),
        Print(int(head), str(head_digest)), Print(int(mark), str(mark_digest)), bool(skipping), whole,
    )  # fmt: skip
