"""Writes, rotations, truncations, deletions, kills and full disks in any order: every line counts once."""

from __future__ import annotations

import errno
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.sidecar.kit import NAMES, Sidecar, append, line, noise
from tooltel import signals
from tooltel.sidecar.slots import Slots

KEPT = 4  # rotated files


class FullDisk(Slots):
    """Slots on a disk that may be full."""

    is_full = False

    def write(self, fd: int, data: bytes) -> None:
        if FullDisk.is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        super().write(fd, data)

    def sync(self, fd: int) -> None:
        """The test kills no machine, only processes; waiting for the disk would be most of its time."""


class Logs(RuleBasedStateMachine):
    """
    The model: which lines stand in which file, and which of them may be lost.

    That is those whose file was destroyed before they were committed. All others count exactly once in the end; none
    ever counts twice.
    """

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="tooltel-test-"))
        self.log = self.folder / "app.log"
        FullDisk.is_full = False
        self.next = 0
        self.lines: dict[Path, list[int]] = {}
        self.optional: set[int] = set()
        self.begun: bytes = b""
        self.was_renamed = False  # app.log.1 is the file that the writer had open
        self.shown: dict[str, int] = {}

    @initialize(
        pattern=st.sampled_from(["app.log", "app.log*", "*"]), fast=st.booleans(), descriptors=st.sampled_from([4, 64])
    )
    def start(self, pattern: str, fast: bool, descriptors: int) -> None:
        folder = self.folder / "state"
        folder.mkdir()
        self.sidecar = Sidecar(self.folder, pattern, keeping=FullDisk, fast=fast, descriptors=descriptors)
        self.sidecar.crank(turns=1)  # what came and went before the first look was never watched

    # --- what a writer does ---

    @precondition(lambda self: self.next < NAMES - 20)
    @rule(count=st.integers(1, 12), noisy=st.booleans())
    def write(self, count: int, noisy: bool) -> None:
        self.finish_line()
        for _ in range(count):
            append(self.log, noise(self.next) if noisy else b"", line(self.next))
            self.lines.setdefault(self.log, []).append(self.next)
            self.next += 1

    @precondition(lambda self: not self.begun and self.next < NAMES - 20)
    @rule(cut=st.integers(1, 60))
    def begin_a_line(self, cut: int) -> None:
        text = line(self.next)
        append(self.log, text[:cut])
        self.begun = text[cut:]
        self.lines.setdefault(self.log, []).append(self.next)
        self.next += 1

    @precondition(lambda self: bool(self.begun))
    @rule()
    def finish_line(self) -> None:
        if self.begun:
            append(self.log, self.begun)
            self.begun = b""

    @precondition(lambda self: self.next < NAMES - 20 and self.was_renamed and (self.folder / "app.log.1").exists())
    @rule()
    def write_late_to_the_rotated_file(self) -> None:
        rotated = self.folder / "app.log.1"
        append(rotated, line(self.next))
        self.lines[rotated].append(self.next)
        self.next += 1

    # --- what rotation does ---

    def make_room(self) -> None:
        self.finish_line()
        last = self.folder / f"app.log.{KEPT}"
        self.destroy(last)
        last.unlink(missing_ok=True)
        for number in range(KEPT - 1, 0, -1):
            old, new = self.folder / f"app.log.{number}", self.folder / f"app.log.{number + 1}"
            if old.exists():
                old.rename(new)
                self.lines[new] = self.lines.pop(old, [])

    def destroy(self, path: Path) -> None:
        """What stands in *path* and is not committed may never be counted."""
        counted = self.sidecar.names()
        self.optional |= {number for number in self.lines.pop(path, []) if f"old_{number}" not in counted}

    @precondition(lambda self: self.log.exists())
    @rule(makes_new=st.booleans())
    def rotate_by_renaming(self, makes_new: bool) -> None:
        self.make_room()
        self.log.rename(self.folder / "app.log.1")
        self.lines[self.folder / "app.log.1"] = self.lines.pop(self.log, [])
        self.was_renamed = True
        if makes_new:
            self.log.touch()

    @precondition(lambda self: self.log.exists())
    @rule(looked_at_between=st.booleans())
    def rotate_by_copying(self, looked_at_between: bool) -> None:
        self.make_room()
        shutil.copyfile(self.log, self.folder / "app.log.1")
        self.was_renamed = False
        if looked_at_between:
            self.sidecar.crank(turns=1)
        self.lines[self.folder / "app.log.1"] = self.lines.pop(self.log, [])
        with self.log.open("r+b") as file:
            file.truncate(0)

    @precondition(lambda self: self.log.exists())
    @rule()
    def truncate(self) -> None:
        self.finish_line()
        self.destroy(self.log)
        with self.log.open("r+b") as file:
            file.truncate(0)

    @precondition(lambda self: self.log.exists())
    @rule()
    def delete(self) -> None:
        self.finish_line()
        self.destroy(self.log)
        self.log.unlink()

    # --- what happens to the sidecar ---

    @rule()
    def turn(self) -> None:
        self.sidecar.engine.turn()

    @rule(seconds=st.sampled_from([0.1, 1.1, 6.0]))
    def time_passes(self, seconds: float) -> None:
        if self.begun and seconds > 5:
            return
        self.sidecar.crank(turns=2, seconds=seconds)

    @rule()
    def kill_and_restart(self) -> None:
        self.sidecar.restart()

    @rule(is_full=st.booleans())
    def fill_or_free_the_disk(self, is_full: bool) -> None:
        FullDisk.is_full = is_full

    # --- what holds ---

    @invariant()
    def no_line_counts_twice_and_no_counter_goes_back(self) -> None:
        if not hasattr(self, "sidecar"):
            return
        names = self.sidecar.names()
        assert {name: times for name, times in names.items() if times > 1} == {}
        assert {name for name in self.shown if name not in names} == set()
        self.shown = names

    def teardown(self) -> None:
        try:
            if hasattr(self, "sidecar"):
                FullDisk.is_full = False
                self.finish_line()
                self.sidecar.settle()
                names = self.sidecar.names()
                written = {f"old_{number}" for number in range(self.next)}
                assert written - set(names) <= {f"old_{number}" for number in self.optional}
                assert set(names) <= written
                assert set(names.values()) <= {1}
                assert self.sidecar.total(signals.SIDECAR_SKIPPED_LINES) == 0
                self.sidecar.kill()
        finally:
            shutil.rmtree(self.folder)


TestLogsInAnyOrder = Logs.TestCase
TestLogsInAnyOrder.settings = settings(
    max_examples=40,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink),  # explaining traces every line, for minutes
)
