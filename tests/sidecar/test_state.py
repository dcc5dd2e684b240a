"""What survives a crash, what does not, and what is shown of it."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sidecar.kit import Sidecar, append, expected, line
from tooltel import signals
from tooltel.catalog import Source
from tooltel.errors import StateInUseError
from tooltel.sidecar.slots import Slots

SLOTS = ("state.a", "state.b")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "app.log"


def newest(folder: Path) -> Path:
    """The slot that was written last."""
    return max((folder / "state" / name for name in SLOTS), key=lambda slot: slot.read_bytes()[16:24])


def flip(slot: Path) -> None:
    data = bytearray(slot.read_bytes())
    data[100] ^= 1
    slot.write_bytes(data)


def fill_with_zeros(slot: Path) -> None:
    slot.write_bytes(bytes(slot.stat().st_size))


def cut(slot: Path) -> None:
    os.truncate(slot, 60)


def empty(slot: Path) -> None:
    os.truncate(slot, 0)


def make_foreign(slot: Path) -> None:
    slot.write_bytes(b"SQLite format 3\0" + bytes(5000))


BREAKS = [flip, fill_with_zeros, cut, empty, make_foreign]
by_break = pytest.mark.parametrize("break_slot", BREAKS, ids=lambda each: each.__name__)


@by_break
def test_a_broken_state_falls_back_to_the_one_before_and_loses_nothing(
    tmp_path: Path, log: Path, break_slot: Callable[[Path], None]
) -> None:
    append(log, line(1))
    sidecar = Sidecar(tmp_path)
    sidecar.crank()
    append(log, line(2))
    sidecar.crank()
    sidecar.kill()
    break_slot(newest(tmp_path))
    sidecar.start()
    seen = [sidecar.engine.values_may_be_seen]  # line 2 was shown, and is not counted again yet
    assert not sidecar.engine.readiness.is_ready
    sidecar.settle()
    seen.append(sidecar.engine.values_may_be_seen)
    assert seen == [False, True]
    assert sidecar.names() == expected(1, 2)
    assert sidecar.total(signals.SIDECAR_CHECKPOINT_FAILURES) == 1
    assert any("newest state does not check" in sentence for sentence in sidecar.said)


@by_break
@pytest.mark.parametrize("from_end", [False, True])
def test_with_both_generations_lost_it_starts_where_it_was_told_to_and_says_so(
    tmp_path: Path, log: Path, break_slot: Callable[[Path], None], from_end: bool
) -> None:
    append(log, line(1))
    sidecar = Sidecar(tmp_path, from_end=from_end)
    sidecar.crank()
    append(log, line(2))
    sidecar.crank()
    sidecar.kill()
    for name in SLOTS:
        break_slot(tmp_path / "state" / name)
    sidecar.start()
    sidecar.settle()
    if break_slot is not empty:  # two empty files are what a first start makes
        assert sidecar.total(signals.SIDECAR_CHECKPOINT_FAILURES) == 1
        assert any("both generations" in sentence for sentence in sidecar.said)
    assert sidecar.names() == ({} if from_end else expected(1, 2))


def test_a_state_of_another_version_is_not_guessed_at(tmp_path: Path, log: Path) -> None:
    append(log, line(1))
    slots = Slots(tmp_path / "state")
    slots.commit(json.dumps({"version": 99, "offsets": {}}).encode())
    slots.close()
    sidecar = Sidecar(tmp_path)
    sidecar.settle()
    assert sidecar.names() == expected(1)
    assert any("both generations" in sentence for sentence in sidecar.said)


def test_two_sidecars_on_one_state_are_refused_naming_the_process(tmp_path: Path) -> None:
    slots = Slots(tmp_path / "state")
    with pytest.raises(StateInUseError, match=f"in use by process {os.getpid()}") as refused:
        Slots(tmp_path / "state")
    assert refused.value.pid == str(os.getpid())
    slots.close()
    Slots(tmp_path / "state").close()


def test_a_payload_survives_and_the_slots_take_turns(tmp_path: Path) -> None:
    for number in range(1, 8):
        slots = Slots(tmp_path)
        assert slots.load().payload == (str(number - 1).encode() if number > 1 else None)
        slots.commit(str(number).encode())
        slots.close()
    written = sorted(int.from_bytes((tmp_path / name).read_bytes()[16:24]) for name in SLOTS)
    assert written == [7, 8]  # the first commit is written to both


def test_a_state_that_grows_stays_in_two_preallocated_slots(tmp_path: Path) -> None:
    slots = Slots(tmp_path)
    for size in (10, 100_000, 50, 1_000_000, 20):
        slots.commit(bytes([size % 251]) * size)
        assert {(tmp_path / name).stat().st_size >= size for name in SLOTS} == {True}
    slots.close()
    assert Slots(tmp_path).load().payload == bytes([20]) * 20


class FullDisk(Slots):
    """A disk that is full, or fails in another way, as long as `problem` is set."""

    problem: int | None = None

    def allocate(self, fd: int, size: int) -> None:
        self._fail()
        super().allocate(fd, size)

    def sync(self, fd: int) -> None:
        self._fail()

    def write(self, fd: int, data: bytes) -> None:
        if self.problem is not None:
            super().write(fd, data[: len(data) // 2])
        self._fail()
        super().write(fd, data)

    def _fail(self) -> None:
        if self.problem is not None:
            raise OSError(self.problem, os.strerror(self.problem))


@pytest.mark.parametrize("problem", [errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS])
def test_a_commit_that_fails_shows_nothing_new_and_says_so(tmp_path: Path, log: Path, problem: int) -> None:
    append(log, line(1))
    sidecar = Sidecar(tmp_path, keeping=FullDisk)
    sidecar.crank()
    assert isinstance(sidecar.keeping, FullDisk)
    sidecar.keeping.problem = problem
    append(log, line(2))
    sidecar.settle()
    assert sidecar.names() == expected(1)  # frozen at the last commit
    assert sidecar.engine.shown.lag["agent"] == len(line(2))
    assert not sidecar.engine.readiness.is_ready
    assert sidecar.total(signals.SIDECAR_CHECKPOINT_FAILURES) >= 2
    assert len([sentence for sentence in sidecar.said if "cannot save the state" in sentence]) == 1
    sidecar.restart()
    sidecar.settle()
    assert sidecar.names() == expected(1, 2)


def test_a_commit_that_works_again_makes_all_of_it_visible(tmp_path: Path, log: Path) -> None:
    sidecar = Sidecar(tmp_path, keeping=FullDisk)
    sidecar.crank()
    assert isinstance(sidecar.keeping, FullDisk)
    sidecar.keeping.problem = errno.ENOSPC
    append(log, line(1))
    sidecar.settle()
    sidecar.keeping.problem = None
    sidecar.settle()
    assert sidecar.names() == expected(1)
    assert sidecar.engine.readiness.is_ready
    assert sidecar.engine.shown.lag["agent"] == 0


def test_counts_of_labels_that_are_no_more_are_left_out(tmp_path: Path) -> None:
    sidecar = Sidecar(tmp_path)
    sidecar.crank()
    sidecar.kill()
    slots = Slots(tmp_path / "state")
    payload = slots.load().payload
    assert payload is not None
    state = json.loads(payload)
    state["counts"]["tooltel_of_another_time_total"] = [["a", 1]]
    state["counts"][signals.SIDECAR_LINES.name].append(["agent", "one label too many", 5])
    state["counts"][signals.SIDECAR_LINES.name].append(["old", -5])
    slots.commit(json.dumps(state).encode())
    slots.close()
    sidecar.start()
    sidecar.settle()
    assert sidecar.total(signals.SIDECAR_LINES) == 0
    assert sidecar.engine.readiness.is_ready


def test_a_file_of_a_source_that_is_no_more_is_forgotten(tmp_path: Path, log: Path) -> None:
    append(log, line(1))
    sidecar = Sidecar(tmp_path)
    sidecar.crank()
    sidecar.kill()
    again = Sidecar(tmp_path, sources=[Source("another", (str(tmp_path / "other.log"),), profile="support")])
    again.settle()
    assert again.names() == expected(1)  # counters do not go back
    assert again.engine.follower.logs == {}
