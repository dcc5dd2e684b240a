"""What no logger should write: every other line counts, what is left out is counted as that, and nothing stalls."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sidecar.kit import SMALL, Sidecar, append, expected, line
from tooltel import signals
from tooltel.sidecar.reading import Limits
from tooltel.sidecar.streams import Stream

LONG = b"12:00:00 WARN a.B - Tool not found: old_9" + b"x" * 3 * SMALL.line + b"\n"

# Each with the names that it counts, and the cause for which its line is left out.
BAD: list[tuple[str, bytes, tuple[int, ...], str | None]] = [
    ("crlf", b"12:00:00 WARN a.B - Tool not found: old_9\r\n", (9,), None),
    ("colors", b"\x1b[33m12:00:00 WARN a.B - Tool not found: old_9\x1b[0m\n", (9,), None),
    ("colors inside", b"12:00:00 \x1b[33mWARN\x1b[0m a.B - Tool not found: old_9\x1b[0m\n", (9,), None),
    ("a hole of zeros", bytes(500) + b"12:00:00 WARN a.B - Tool not found: old_9\n", (9,), None),
    ("zeros inside", b"12:00:00 WARN a.B - step\0\0\0\n12:00:00 WARN a.B - Tool not found: old_9\n", (9,), None),
    ("a byte order mark", b"\xef\xbb\xbf12:00:00 WARN a.B - Tool not found: old_9\n", (9,), None),
    ("no utf-8 before it", b"\xff\xfe\x80\n12:00:00 WARN a.B - Tool not found: old_9\n", (9,), None),
    ("no utf-8 in it", b"12:00:00 WARN a.B - Tool not found: old_9\xff\n", (), None),  # another name
    ("utf-16", "12:00:00 WARN a.B - Tool not found: old_9\n".encode("utf-16"), (), None),
    ("too long", LONG, (), "too_long"),
    ("json that ends early", b'{"message": "Tool not found: old_9"\n', (), "malformed"),
    ("json that is too deep", b'{"message": "Tool not found: old_9", "x": ' + b"[" * 900 + b"\n", (), "malformed"),
    ("json with a lone surrogate", b'{"message": "Tool not found: old_9", "x": "\\ud800"}\n', (9,), None),
    ("json with NaN", b'{"message": "Tool not found: old_9", "x": NaN}\n', (9,), None),
    ("json of other types", json.dumps({"message": ["Tool not found: old_9"], "level": {}}).encode() + b"\n", (), None),
    ("empty lines", b"\n\r\n\n", (), None),
    ("compressed", gzip.compress(b"Tool not found: old_9\n" * 20) + b"\n", (), None),
]
each_bad = pytest.mark.parametrize(
    ("text", "counted", "skipped"), [bad[1:] for bad in BAD], ids=[bad[0] for bad in BAD]
)


def from_a_file(folder: Path, text: bytes) -> Sidecar:
    append(folder / "app.log", text)
    sidecar = Sidecar(folder)
    sidecar.settle()
    return sidecar


def byte_by_byte(folder: Path, text: bytes) -> Sidecar:
    sidecar = Sidecar(folder)
    for at in range(0, len(text), 7):
        append(folder / "app.log", text[at : at + 7])
        sidecar.crank(turns=1, seconds=0.01)
    sidecar.settle()
    return sidecar


def from_a_pipe(folder: Path, text: bytes) -> Sidecar:
    sidecar = Sidecar(folder)
    stream = Stream("agent", limits=SMALL)
    for at in range(0, len(text), 100):
        stream.write(text[at : at + 100])
        sidecar.engine.feed(stream)
    stream.close()
    sidecar.engine.feed(stream)
    sidecar.crank()
    return sidecar


@pytest.mark.parametrize("read", [from_a_file, byte_by_byte, from_a_pipe])
@each_bad
def test_the_lines_around_a_bad_one_count(
    tmp_path: Path, read: Callable[[Path, bytes], Sidecar], text: bytes, counted: tuple[int, ...], skipped: str | None
) -> None:
    log = line(1) + text + line(2) + text + line(3)
    sidecar = read(tmp_path, log)
    assert sidecar.names() == {**expected(1, 2, 3), **{f"old_{number}": 2 for number in counted}}
    assert sidecar.total(signals.SIDECAR_LINES) == log.count(b"\n")
    assert sidecar.total(signals.SIDECAR_BYTES) == len(log)
    assert sidecar.total(signals.SIDECAR_SKIPPED_LINES) == (2 if skipped else 0)
    if skipped:
        assert sidecar.total(signals.SIDECAR_SKIPPED_LINES, cause=skipped) == 2
    assert sidecar.engine.shown.lag == {"agent": 0}


def test_a_line_of_64_mib_is_left_out_and_no_stall(tmp_path: Path) -> None:
    size = 64 * 2**20
    append(tmp_path / "app.log", line(1), b"x" * size, b"\n", line(2))
    sidecar = Sidecar(tmp_path, limits=Limits())
    sidecar.settle()
    assert sidecar.names() == expected(1, 2)
    assert sidecar.total(signals.SIDECAR_SKIPPED_LINES, cause="too_long") == 1
    assert sidecar.total(signals.SIDECAR_SKIPPED_BYTES) == size + 1


def test_a_long_line_of_a_pipe_takes_no_more_memory_than_a_line_may(tmp_path: Path) -> None:
    sidecar = Sidecar(tmp_path)
    stream = Stream("agent", limits=SMALL)
    held = 0
    for _ in range(200):
        stream.write(b"x" * 1000)
        sidecar.engine.feed(stream)
        held = max(held, stream.held)
    stream.write(b"\n" + line(1))
    sidecar.engine.feed(stream)
    sidecar.crank()
    assert held <= 4 * SMALL.line
    assert sidecar.names() == expected(1)
    assert sidecar.total(signals.SIDECAR_SKIPPED_LINES, cause="too_long") == 1


PART = b"2026-11-30T17:49:25.123456789Z stdout P Tool not found: old_9\n"


def test_a_record_of_a_pipe_that_nobody_finished_is_counted_as_skipped(tmp_path: Path) -> None:
    sidecar = from_a_pipe(tmp_path, PART)
    assert sidecar.names() == {}
    assert sidecar.total(signals.SIDECAR_SKIPPED_LINES, cause="unfinished") == 1


def test_a_record_of_a_deleted_file_that_nobody_finished_is_counted_as_skipped(tmp_path: Path) -> None:
    sidecar = from_a_file(tmp_path, PART)
    (tmp_path / "app.log").unlink()
    sidecar.settle()
    assert sidecar.names() == {}
    assert sidecar.total(signals.SIDECAR_SKIPPED_LINES, cause="unfinished") == 1


def test_a_folder_where_a_file_should_be_is_waited_for(tmp_path: Path) -> None:
    (tmp_path / "app.log").mkdir()
    sidecar = Sidecar(tmp_path)
    sidecar.settle()
    assert sidecar.engine.readiness.missing == (str(tmp_path / "app.log"),)
    (tmp_path / "app.log").rmdir()
    append(tmp_path / "app.log", line(1))
    sidecar.settle()
    assert sidecar.names() == expected(1)
    assert not sidecar.engine.readiness.missing
