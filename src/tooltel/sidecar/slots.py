"""
Where state is kept: two preallocated files, overwritten in turn and synced.

A crash while one is written leaves the other, and a full disk cannot stop a commit, as nothing new is allocated unless
the state has outgrown its place. One sidecar at a time: a lock says who.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple

from tooltel.errors import StateInUseError

_MAGIC: Final = b"tooltel state 1\n"
_HEADER: Final = struct.Struct(">16sQQ16s")  # magic, sequence, length, digest
_SLOTS: Final = ("state.a", "state.b")
_LEAST: Final = 64 * 1024  # bytes of a slot
_LOCK: Final = "lock"


class Loaded(NamedTuple):
    """What was found: the newest payload that checks, and how many slots held something that does not."""

    payload: bytes | None
    broken: int


class Slots:
    """
    The state folder *directory*, which is made where it is not there. Holds the lock until `close`.

    Raises StateInUseError where another process holds it, and OSError where the folder cannot be written.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._lock = self._take_lock()
        self._sequence = 0
        self._next = 0
        try:
            self._fds = [self._open(name) for name in _SLOTS]
        except OSError:
            os.close(self._lock)
            raise

    def _take_lock(self) -> int:
        fd = os.open(self.directory / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(fd, 32, 0).decode("ascii", "replace").strip()
            os.close(fd)
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise
            raise StateInUseError(str(self.directory), pid=holder) from None
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        return fd

    def _open(self, name: str) -> int:
        return os.open(self.directory / name, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)

    def load(self) -> Loaded:
        """Read the newest payload that checks. The next commit overwrites the other slot."""
        slots = [self.read(fd) for fd in self._fds]
        checked = [_check(data) for data in slots]
        found = [(each[0], place, each[1]) for place, each in enumerate(checked) if each is not None]
        if not found:
            return Loaded(None, sum(map(bool, slots)))
        self._sequence, place, payload = max(found)
        self._next = 1 - place
        return Loaded(payload, sum(each is None for each in checked))

    def commit(self, payload: bytes) -> None:
        """Save *payload*; when this returns it survives a crash. Raises OSError; then the state before is safe."""
        if not self._sequence:
            self._commit(payload)  # both from the first time on: a slot that does not check has lost something
        self._commit(payload)

    def _commit(self, payload: bytes) -> None:
        sequence = self._sequence + 1
        data = _HEADER.pack(_MAGIC, sequence, len(payload), _digest(sequence, payload)) + payload
        fd = self._fds[self._next]
        self._allocate(len(data))
        self.write(fd, data)
        self.sync(fd)
        self._sequence = sequence
        self._next = 1 - self._next

    def _allocate(self, size: int) -> None:
        """Let both slots be large enough for *size* bytes, with room to grow: once, not when the disk is full."""
        wanted = max(_LEAST, 1 << (2 * size - 1).bit_length())
        for fd in self._fds:
            if self.size(fd) < size:
                self.allocate(fd, wanted)

    # --- the file system: what tests let fail ---

    def read(self, fd: int) -> bytes:
        """A whole slot; nothing where it cannot be read."""
        try:
            return os.pread(fd, os.fstat(fd).st_size, 0)
        except OSError:
            return b""

    def size(self, fd: int) -> int:
        """Bytes that a slot has."""
        return os.fstat(fd).st_size

    def allocate(self, fd: int, size: int) -> None:
        """Reserve the blocks of a slot."""
        os.posix_fallocate(fd, 0, size)

    def write(self, fd: int, data: bytes) -> None:
        """Overwrite a slot from its beginning."""
        at = 0
        while at < len(data):
            at += os.pwrite(fd, data[at:], at)

    def sync(self, fd: int) -> None:
        """Wait until a slot is on the disk."""
        os.fdatasync(fd)

    def close(self) -> None:
        """Give the folder up."""
        for fd in (*self._fds, self._lock):
            os.close(fd)


def _check(data: bytes) -> tuple[int, bytes] | None:
    """Sequence and payload of a slot; None where it does not check."""
    if len(data) < _HEADER.size:
        return None
    magic, sequence, length, digest = _HEADER.unpack_from(data)
    payload = data[_HEADER.size : _HEADER.size + length]
    if magic != _MAGIC or len(payload) != length or digest != _digest(sequence, payload):
        return None
    return sequence, payload


def _digest(sequence: int, payload: bytes) -> bytes:
    return blake2b(payload, digest_size=16, salt=sequence.to_bytes(8, "big")).digest()
