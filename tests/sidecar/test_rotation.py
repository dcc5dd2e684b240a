"""Each way in which other tailers were reported to lose lines, or to count them twice."""

from __future__ import annotations

import gzip
import os
import shutil
from pathlib import Path

import pytest

from tests.sidecar.kit import SMALL, Sidecar, append, expected, line, noise
from tooltel import signals
from tooltel.sidecar.reading import Limits


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "app.log"


def write(path: Path, *numbers: int) -> None:
    append(path, *(line(number) for number in numbers))


def test_every_line_counts_once_however_often_one_looks(tmp_path: Path, log: Path) -> None:
    append(log, *(line(number) + noise(number) for number in range(100)))
    sidecar = Sidecar(tmp_path)
    sidecar.settle()
    assert sidecar.names() == expected(*range(100))
    assert sidecar.total(signals.SIDECAR_LINES) == 200
    assert sidecar.total(signals.SIDECAR_BYTES) == log.stat().st_size
    assert sidecar.engine.shown.lag == {"agent": 0}


def test_nothing_counts_again_after_a_restart(tmp_path: Path, log: Path) -> None:
    write(log, 1, 2)
    sidecar = Sidecar(tmp_path)
    sidecar.crank()
    sidecar.restart()
    write(log, 3)
    sidecar.crank()
    assert sidecar.names() == expected(1, 2, 3)


def test_what_was_read_and_not_committed_counts_after_a_kill(tmp_path: Path, log: Path) -> None:
    sidecar = Sidecar(tmp_path)
    sidecar.crank()
    write(log, 1)
    sidecar.clock.advance(1)
    sidecar.engine.turn()  # commits
    write(log, 2)
    sidecar.clock.advance(0.1)
    sidecar.engine.turn()  # reads, and it is too early for a commit
    assert sidecar.engine.follower.in_order()[0].lag == 0
    assert sidecar.names() == expected(1)
    sidecar.restart()
    sidecar.crank()
    assert sidecar.names() == expected(1, 2)


def test_a_reused_inode_is_a_new_file(tmp_path: Path, log: Path) -> None:
    """Deleted and made again while nobody looked: ext4 gives the same inode back, and its start is the file's."""
    write(log, *range(20))
    sidecar = Sidecar(tmp_path)
    sidecar.crank()
    sidecar.kill()
    log.unlink()
    write(log, *range(100, 130))
    sidecar.start()
    sidecar.crank()
    assert sidecar.names() == expected(*range(20), *range(100, 130))


def test_a_small_file_that_begins_like_the_one_before_it_is_not_taken_for_it(tmp_path: Path, log: Path) -> None:
    append(log, b"starting\n")
    sidecar = Sidecar(tmp_path)
    sidecar.crank()
    log.rename(tmp_path / "app.log.1")
    append(log, b"starting\n", line(1))
    sidecar.crank()
    log.rename(tmp_path / "app.log.1")
    append(log, b"starting\n", line(2))
    sidecar.settle()
    assert sidecar.names() == expected(1, 2)
    assert sidecar.total(signals.SIDECAR_LINES) == 5


def test_empty_files_are_all_different(tmp_path: Path) -> None:
    for name in ("a.log", "b.log", "c.log"):
        (tmp_path / name).touch()
    sidecar = Sidecar(tmp_path, "*.log")
    sidecar.crank()
    for number, name in enumerate(("a.log", "b.log", "c.log")):
        write(tmp_path / name, number)
    sidecar.crank()
    assert sidecar.names() == expected(0, 1, 2)


def test_truncated_and_regrown_past_the_old_offset(tmp_path: Path, log: Path) -> None:
    write(log, *range(5))
    sidecar = Sidecar(tmp_path)
    sidecar.crank()
    log.write_bytes(b"".join(line(number) for number in range(100, 120)))
    sidecar.crank()
    assert sidecar.names() == expected(*range(5), *range(100, 120))
    assert sidecar.total(signals.SIDECAR_TRUNCATIONS) == 1


def test_late_writes_to_a_renamed_file_count(tmp_path: Path, log: Path) -> None:
    write(log, 1)
    sidecar = Sidecar(tmp_path)
    sidecar.crank()
    log.rename(tmp_path / "app.log.1")
    write(log, 2)
    sidecar.settle()
    write(tmp_path / "app.log.1", 3)  # the writer has not noticed yet
    sidecar.settle()
    sidecar.restart()
    write(tmp_path / "app.log.1", 4)
    sidecar.settle()
    assert sidecar.names() == expected(1, 2, 3, 4)
    assert sidecar.total(signals.SIDECAR_ROTATIONS) == 1


def test_a_glob_that_sees_the_rotated_file_counts_it_no_second_time(tmp_path: Path, log: Path) -> None:
    write(log, *range(3))
    sidecar = Sidecar(tmp_path, "app.log*")
    sidecar.crank()
    for number in range(3, 8):
        for old in range(4, 0, -1):
            if (tmp_path / f"app.log.{old}").exists():
                (tmp_path / f"app.log.{old}").rename(tmp_path / f"app.log.{old + 1}")
        log.rename(tmp_path / "app.log.1")
        write(log, number)
        sidecar.crank()
    assert sidecar.names() == expected(*range(8))


@pytest.mark.parametrize("count", [3, 40], ids=["less than a KiB", "more than a KiB"])
@pytest.mark.parametrize("pattern", ["app.log", "app.log*"])
def test_a_copy_made_before_a_truncation_is_read_on_where_the_original_was_left(
    tmp_path: Path, log: Path, pattern: str, count: int
) -> None:
    write(log, *range(count))
    sidecar = Sidecar(tmp_path, pattern)
    sidecar.crank()
    write(log, 100, 101)  # not seen before it is gone
    shutil.copyfile(log, tmp_path / "app.log.1")
    os.truncate(log, 0)
    sidecar.crank()
    write(log, 102)
    sidecar.settle()
    assert sidecar.names() == expected(*range(count), 100, 101, 102)


def test_a_copy_that_is_seen_while_it_is_made_is_not_counted(tmp_path: Path, log: Path) -> None:
    write(log, *range(60))
    sidecar = Sidecar(tmp_path, "app.log*")
    sidecar.crank()
    whole = log.read_bytes()
    for part in (whole[:100], whole[100:2000], whole[2000:]):
        append(tmp_path / "app.log.1", part)
        sidecar.crank()
    os.truncate(log, 0)
    write(log, 100)
    sidecar.settle()
    assert sidecar.names() == expected(*range(60), 100)


def test_a_backup_copy_stays_uncounted_while_its_original_goes_on(tmp_path: Path, log: Path) -> None:
    write(log, *range(40))
    sidecar = Sidecar(tmp_path, "*")
    sidecar.crank()
    shutil.copyfile(log, tmp_path / "backup-of-app")
    sidecar.crank()
    write(log, 100)
    sidecar.restart()
    write(log, 101)
    sidecar.settle()
    log.unlink()
    sidecar.settle()
    assert sidecar.names() == expected(*range(40), 100, 101)


def test_a_file_that_lived_between_two_looks_is_found_among_its_siblings(tmp_path: Path, log: Path) -> None:
    write(log, 1)
    sidecar = Sidecar(tmp_path)
    sidecar.crank()
    log.rename(tmp_path / "app.log.2")
    write(log, 2)
    log.rename(tmp_path / "app.log.1")
    write(log, 3)
    sidecar.settle()
    assert sidecar.names() == expected(1, 2, 3)


def test_files_rotated_while_the_sidecar_was_down_count(tmp_path: Path, log: Path) -> None:
    write(log, 1)
    sidecar = Sidecar(tmp_path)
    sidecar.crank()
    sidecar.kill()
    write(log, 2)
    log.rename(tmp_path / "app.log.2")
    write(log, 3)
    log.rename(tmp_path / "app.log.1")
    write(log, 4)
    sidecar.start()
    sidecar.settle()
    assert sidecar.names() == expected(1, 2, 3, 4)


def test_an_older_file_with_a_rotated_name_is_not_ours(tmp_path: Path, log: Path) -> None:
    write(tmp_path / "app.log.1", 50)
    os.utime(tmp_path / "app.log.1", (1, 1))
    write(log, 1)
    sidecar = Sidecar(tmp_path)
    sidecar.crank()
    (tmp_path / "app.log.1").rename(tmp_path / "app.log.2")
    log.rename(tmp_path / "app.log.1")
    write(log, 2)
    sidecar.settle()
    assert sidecar.names() == expected(1, 2)


def test_a_compressed_copy_is_left_alone(tmp_path: Path, log: Path) -> None:
    write(log, *range(40))
    sidecar = Sidecar(tmp_path, "app.log*")
    sidecar.crank()
    log.rename(tmp_path / "app.log.1")
    sidecar.crank()
    with gzip.open(tmp_path / "app.log.1.gz", "wb") as packed:
        packed.write((tmp_path / "app.log.1").read_bytes())
    (tmp_path / "app.log.1").unlink()
    write(log, 100)
    sidecar.settle()
    assert sidecar.names() == expected(*range(40), 100)
    assert sidecar.engine.shown.lag == {"agent": 0}


def test_a_partial_line_is_neither_lost_nor_cut(tmp_path: Path, log: Path) -> None:
    sidecar = Sidecar(tmp_path)
    for byte in line(1) + line(2):
        append(log, bytes([byte]))
        sidecar.crank(turns=1)
    assert sidecar.names() == expected(1, 2)
    assert sidecar.total(signals.SIDECAR_LINES) == 2


def test_an_unended_last_line_is_not_glued_to_the_next_files_first(tmp_path: Path, log: Path) -> None:
    append(log, line(1).rstrip(b"\n"))
    sidecar = Sidecar(tmp_path)
    sidecar.crank()
    assert sidecar.names() == {}  # it may go on
    log.rename(tmp_path / "app.log.1")
    write(log, 2)
    sidecar.settle()
    assert sidecar.names() == expected(1, 2)


def test_an_unended_last_line_goes_on_in_the_renamed_file(tmp_path: Path, log: Path) -> None:
    whole = line(12)
    append(log, whole[:-3])
    sidecar = Sidecar(tmp_path)
    sidecar.crank(turns=1)
    log.rename(tmp_path / "app.log.1")
    sidecar.crank(turns=1)
    append(tmp_path / "app.log.1", whole[-3:])
    sidecar.settle()
    assert sidecar.names() == expected(12)


def test_a_file_that_is_deleted_while_it_is_open_is_read_to_its_end_and_let_go(tmp_path: Path, log: Path) -> None:
    """An open descriptor of a deleted file fills the disk."""
    write(log, 1)
    sidecar = Sidecar(tmp_path)
    sidecar.crank()
    write(log, 2)
    log.unlink()
    sidecar.settle()
    assert sidecar.names() == expected(1, 2)
    assert sidecar.engine.shown.open_files == {"agent": 0}
    assert sidecar.engine.follower.logs == {}
    assert sidecar.engine.readiness.missing == (str(log),)


def test_a_replaced_directory_does_not_make_it_deaf(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    write(folder / "app.log", 1)
    sidecar = Sidecar(tmp_path, "logs/*.log")
    sidecar.crank()
    folder.rename(tmp_path / "old")
    sidecar.crank()
    folder.mkdir()
    write(folder / "app.log", 2)
    write(tmp_path / "old" / "app.log", 3)
    sidecar.settle()
    assert sidecar.names() == expected(1, 2, 3)


def test_a_swapped_symlink_does_not_make_it_deaf(tmp_path: Path, log: Path) -> None:
    write(tmp_path / "0.txt", 1)
    log.symlink_to(tmp_path / "0.txt")
    sidecar = Sidecar(tmp_path)
    sidecar.crank()
    write(tmp_path / "0.txt", 2)
    write(tmp_path / "1.txt", 3)
    (tmp_path / "new").symlink_to(tmp_path / "1.txt")
    (tmp_path / "new").replace(log)
    write(tmp_path / "0.txt", 4)
    sidecar.settle()
    assert sidecar.names() == expected(1, 2, 3, 4)


def test_two_names_of_one_file_count_once(tmp_path: Path, log: Path) -> None:
    write(log, 1)
    (tmp_path / "also.log").symlink_to(log)
    (tmp_path / "hard.log").hardlink_to(log)
    sidecar = Sidecar(tmp_path, "*.log", "app.log")
    sidecar.crank()
    write(log, 2)
    sidecar.settle()
    assert sidecar.names() == expected(1, 2)


def test_a_file_that_is_not_there_yet_is_waited_for(tmp_path: Path, log: Path) -> None:
    sidecar = Sidecar(tmp_path)
    sidecar.crank()
    assert list(sidecar.engine.readiness.missing) == [str(log)]
    assert sidecar.engine.readiness.is_ready
    write(log, 1)
    sidecar.crank()
    assert sidecar.names() == expected(1)
    assert list(sidecar.engine.readiness.missing) == []


def test_from_the_end_only_what_comes_counts(tmp_path: Path, log: Path) -> None:
    append(log, line(1), line(2)[:20])
    sidecar = Sidecar(tmp_path, "*.log", from_end=True)
    sidecar.crank()
    append(log, line(2)[20:], line(3))
    write(tmp_path / "new.log", 4)
    sidecar.restart()
    sidecar.settle()
    assert sidecar.names() == expected(3, 4)


@pytest.mark.parametrize(
    "name", [b"with space.log", b"new\nline.log", b"\xff\xfe not utf-8.log", b"[brackets].log", b"-dash.log"]
)
def test_any_name_will_do(tmp_path: Path, name: bytes) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
    write(path, 1)
    sidecar = Sidecar(tmp_path, "*.log")
    sidecar.crank()
    sidecar.restart()
    write(path, 2)
    sidecar.crank()
    assert sidecar.names() == expected(1, 2)


def test_holes_after_a_truncation_under_the_writer_are_passed_over(tmp_path: Path, log: Path) -> None:
    """A writer without O_APPEND goes on at its old offset: the file begins with zeros."""
    sidecar = Sidecar(tmp_path)
    with log.open("wb", buffering=0) as file:
        file.write(b"".join(line(number) for number in range(30)))
        sidecar.crank()
        os.truncate(log, 0)
        sidecar.crank()
        file.write(line(100))
        sidecar.crank()
        file.write(line(101))
    sidecar.settle()
    assert sidecar.names() == expected(*range(30), 100, 101)


def test_a_sparse_file_of_a_tebibyte_is_no_stall(tmp_path: Path, log: Path) -> None:
    write(log, *range(20))
    with log.open("r+b") as file:
        file.seek(2**40)
        file.write(b"\n" + line(100))
    sidecar = Sidecar(tmp_path)
    sidecar.settle()
    assert sidecar.names() == expected(*range(20), 100)


def test_one_long_line_does_not_silence_the_file(tmp_path: Path, log: Path) -> None:
    append(log, line(1), b"x" * 64 * SMALL.line, b"\n", line(2), b"y" * (SMALL.line - 1), b"\n", line(3))
    sidecar = Sidecar(tmp_path)
    sidecar.settle()
    assert sidecar.names() == expected(1, 2, 3)
    assert sidecar.total(signals.SIDECAR_SKIPPED_LINES, cause="too_long") == 1
    assert sidecar.total(signals.SIDECAR_SKIPPED_BYTES) == 64 * SMALL.line + 1
    assert sidecar.total(signals.SIDECAR_LINES) == 5


def test_a_long_line_is_left_out_across_a_restart(tmp_path: Path, log: Path) -> None:
    append(log, b"x" * 3 * SMALL.line)
    sidecar = Sidecar(tmp_path)
    sidecar.crank()
    sidecar.restart()
    append(log, b" Tool not found: old_9\n", line(1))
    sidecar.crank()
    assert sidecar.names() == expected(1)
    assert sidecar.total(signals.SIDECAR_SKIPPED_LINES) == 1


@pytest.mark.slow
def test_a_hundred_thousand_invented_names_are_one_series(tmp_path: Path, log: Path) -> None:
    sidecar = Sidecar(tmp_path, limits=Limits())
    sidecar.crank()
    before = len(sidecar.engine.shown.values)
    append(
        log, *(b"12:00:00 WARN com.acme.Agent - Tool not found: invented_%d\n" % number for number in range(100_000))
    )
    sidecar.crank()
    assert sidecar.total(signals.NOT_FOUND, requested="other", reason="unknown") == 100_000
    assert len(sidecar.engine.shown.values) == before


def test_more_files_than_descriptors(tmp_path: Path) -> None:
    for number in range(60):
        write(tmp_path / f"{number}.log", number)
    sidecar = Sidecar(tmp_path, "*.log", descriptors=8)
    sidecar.crank()
    assert sidecar.engine.shown.open_files["agent"] <= 8
    for number in range(60):
        write(tmp_path / f"{number}.log", 100 + number)
        (tmp_path / f"{number}.log").rename(tmp_path / f"{number}.log.1")
        write(tmp_path / f"{number}.log", 200 + number)
    sidecar.settle()
    assert sidecar.names() == expected(*range(60), *range(100, 160), *range(200, 260))
    assert sidecar.engine.shown.open_files["agent"] <= 8
