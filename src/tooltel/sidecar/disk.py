"""What the sidecar asks of the operating system about files: one place, so that a test can let it fail."""

from __future__ import annotations

import glob
import os
import struct
from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

Key: TypeAlias = tuple[int, int]  # device and inode

_GET_GENERATION: Final = 0x80087601  # FS_IOC_GETVERSION: ext4, XFS, btrfs and others number the uses of an inode


class Seen(NamedTuple):
    """What `stat` says of a file. Times in nanoseconds of the file system's clock."""

    key: Key
    mode: int
    size: int
    modified: int
    changed: int
    links: int


class Disk:
    """The real file system. Raises OSError as the calls below it do."""

    def stat(self, path: str) -> Seen:
        """What *path* names, links followed."""
        return _seen(os.stat(path))  # noqa: PTH116 - polled by the hundred, and any bytes are a name

    def fstat(self, fd: int) -> Seen:
        """What an open file is now, also after its name has gone."""
        return _seen(os.fstat(fd))

    def open(self, path: str) -> int:
        """Open for reading; a pipe or a device would not block."""
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)

    def close(self, fd: int) -> None:
        """Close an open file."""
        os.close(fd)

    def read_into(self, fd: int, view: memoryview, offset: int) -> int:
        """Read at *offset* into *view*; returns the number of bytes, which may be fewer than wanted."""
        return os.preadv(fd, [view], offset)

    def read(self, fd: int, size: int, offset: int) -> bytes:
        """Read at most *size* bytes at *offset*."""
        return os.pread(fd, size, offset)

    def read_whole(self, fd: int, size: int, offset: int) -> bytes:
        """Read *size* bytes at *offset*; fewer only where the file ends."""
        data = self.read(fd, size, offset)
        while 0 < len(data) < size:
            more = self.read(fd, size - len(data), offset + len(data))
            if not more:
                break
            data += more
        return data

    def next_data(self, fd: int, offset: int) -> int:
        """Where the next data begins at or after *offset*: holes of a sparse file are passed over."""
        try:
            return os.lseek(fd, offset, os.SEEK_DATA)
        except OSError:
            return offset

    def generation(self, fd: int) -> int:
        """How often the inode was used before, where the file system says so, else 0."""
        import fcntl

        answer = bytearray(8)
        try:
            fcntl.ioctl(fd, _GET_GENERATION, answer)
        except OSError:
            return 0
        return int(struct.unpack("=I", answer[:4])[0])

    def find(self, pattern: str) -> Iterator[str]:
        """The paths that *pattern* means now; without a wildcard that is itself."""
        if not glob.has_magic(pattern):
            return iter((pattern,))
        return glob.iglob(pattern, recursive=True)  # noqa: PTH207 - pathlib hides what starts with a dot differently

    def names(self, directory: str) -> list[str]:
        """The names in a directory."""
        return os.listdir(directory or ".")  # noqa: PTH208

    def real(self, path: str) -> str:
        """The path with its links followed."""
        return os.path.realpath(path)


def _seen(status: os.stat_result) -> Seen:
    key = (status.st_dev, status.st_ino)
    return Seen(key, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_nlink)
