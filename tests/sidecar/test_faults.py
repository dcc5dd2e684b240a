"""A file system that fails: nothing is lost, nothing counts twice, and nobody is left in the dark."""

from __future__ import annotations

import errno
import os
import random
from pathlib import Path

import pytest

from tests.sidecar.kit import Sidecar, append, expected, line
from tooltel import signals
from tooltel.sidecar.disk import Disk, Seen

RECOVERABLE = [errno.EIO, errno.EINTR, errno.ESTALE, errno.EAGAIN, errno.ENOMEM]


class BadDisk(Disk):
    """Fails a share of the calls, seeded; reads give fewer bytes than were asked for."""

    def __init__(self, seed: int, *, share: float, short: bool) -> None:
        self.rng = random.Random(seed)
        self.share = share
        self.short = short

    def _maybe_fail(self) -> None:
        if self.rng.random() < self.share:
            code = self.rng.choice(RECOVERABLE)
            raise OSError(code, os.strerror(code))

    def stat(self, path: str) -> Seen:
        self._maybe_fail()
        return super().stat(path)

    def fstat(self, fd: int) -> Seen:
        self._maybe_fail()
        return super().fstat(fd)

    def open(self, path: str) -> int:
        self._maybe_fail()
        return super().open(path)

    def read_into(self, fd: int, view: memoryview, offset: int) -> int:
        self._maybe_fail()
        with view[: self.rng.randrange(1, len(view)) if self.short and len(view) > 1 else len(view)] as part:
            return super().read_into(fd, part, offset)

    def read(self, fd: int, size: int, offset: int) -> bytes:
        self._maybe_fail()
        return super().read(fd, self.rng.randrange(1, size) if self.short and size > 1 else size, offset)


@pytest.mark.parametrize("seed", range(6))
def test_short_reads_change_nothing(tmp_path: Path, seed: int) -> None:
    log = tmp_path / "app.log"
    sidecar = Sidecar(tmp_path, disk=BadDisk(seed, share=0, short=True))
    for start in range(0, 100, 10):
        append(log, *(line(number) for number in range(start, start + 10)))
        sidecar.crank()
    assert sidecar.names() == expected(*range(100))


@pytest.mark.parametrize("seed", range(12))
def test_calls_that_fail_now_and_then_change_nothing(tmp_path: Path, seed: int) -> None:
    """Only files that stay where they are: a rotation that cannot be looked at is another matter."""
    log = tmp_path / "app.log"
    disk = BadDisk(seed, share=0.2, short=True)
    sidecar = Sidecar(tmp_path, disk=disk)
    for start in range(0, 100, 10):
        append(log, *(line(number) for number in range(start, start + 10)))
        sidecar.crank(turns=2)
        if start % 30 == 0:
            sidecar.restart()
    disk.share = 0.0
    sidecar.settle()
    assert sidecar.names() == expected(*range(100))
    assert sidecar.engine.shown.lag == {"agent": 0}
    assert sidecar.engine.readiness.failing == {}


class Forbidden(Disk):
    """Nobody may open what is in `closed`."""

    def __init__(self) -> None:
        self.closed: set[str] = set()

    def open(self, path: str) -> int:
        if path in self.closed:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return super().open(path)


def test_a_file_without_permission_is_said_once_retried_and_seen_in_the_lag(tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    disk = Forbidden()
    disk.closed.add(str(log))
    append(log, line(1))
    sidecar = Sidecar(tmp_path, disk=disk)
    sidecar.settle()
    assert [sentence for sentence in sidecar.said if "cannot read" in sentence] == [
        f"error: cannot read {log}: Permission denied; trying again until it works"
    ]
    assert sidecar.engine.readiness.failing == {str(log): "Permission denied"}
    assert sidecar.engine.shown.lag["agent"] >= len(line(1))
    assert sidecar.total(signals.INTERNAL_ERRORS, component="sidecar") == 1
    disk.closed.clear()
    sidecar.settle()
    assert sidecar.names() == expected(1)
    assert sidecar.engine.readiness.failing == {}
    assert sidecar.engine.shown.lag == {"agent": 0}


def test_permission_lost_at_a_rotation_does_not_make_it_deaf(tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    disk = Forbidden()
    append(log, line(1))
    sidecar = Sidecar(tmp_path, disk=disk)
    sidecar.crank()
    log.rename(tmp_path / "app.log.1")
    append(log, line(2))
    disk.closed.add(str(log))
    sidecar.settle()
    disk.closed.clear()
    append(log, line(3))
    sidecar.settle()
    assert sidecar.names() == expected(1, 2, 3)


def test_a_truncation_between_two_system_calls_is_noticed(tmp_path: Path) -> None:
    """The new content grew past the old offset while the chunk was being read: nothing of it may count as a rest."""
    log = tmp_path / "app.log"
    swapped: list[bool] = []

    class Swapping(Disk):
        def read_into(self, fd: int, view: memoryview, offset: int) -> int:
            if offset and not swapped:
                swapped.append(True)
                log.write_bytes(b"".join(line(number) for number in range(100, 160)))
            return super().read_into(fd, view, offset)

    append(log, *(line(number) for number in range(20)))
    sidecar = Sidecar(tmp_path)
    sidecar.crank()
    sidecar.kill()
    sidecar.disk = Swapping()
    sidecar.start()
    append(log, line(30))
    sidecar.settle()
    assert swapped
    assert sidecar.names() == expected(*range(20), *range(100, 160))
