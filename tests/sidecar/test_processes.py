"""Real sidecars: killed at any moment, with few descriptors, and with nothing to do."""

from __future__ import annotations

import os
import random
import resource
import select
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tests.sidecar.kit import append, line
from tests.signals.scrape import Labels, parse, series, total
from tooltel import signals

PROGRAMS = str(Path(__file__).parent / "programs.py")
LINES = 2000  # written while the sidecar is killed and started
KILLS = int(os.environ.get("SIDECAR_KILLS", "40"))  # SIDECAR_KILLS=200 is the whole of it, in five minutes
CATALOG = """
[catalog]
platform_owner = "platform"
[owners.platform]
[profiles.support]
owner = "platform"
[tools.order_lookup]
owner = "platform"
risk = "read"
profiles = ["support"]
description = "Look an order up by its number, with its lines and their states."
retired = [%s]
[[signatures]]
moment = "not_found"
pattern = 'Tool not found: (?P<name>\\S+)'
"""


def make_folder(folder: Path, names: int) -> Path:
    (folder / "tools.toml").write_text(CATALOG % ", ".join(f'"old_{number}"' for number in range(names)))
    return folder


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "tooltel", "sidecar", "--state", "state", *arguments]


def counted(text: str) -> tuple[dict[tuple[str, Labels], float], dict[str, float]]:
    """A scrape, and how often each known name was counted."""
    found = parse(text)
    names = series(found, signals.NOT_FOUND.name, reason="renamed")
    return found, {dict(labels)["requested"]: value for labels, value in names.items() if value}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_at_two_hundred_moments_during_rotation_each_line_counts_once(tmp_path: Path) -> None:
    """
    A logger writes and rotates all the while; the sidecar is killed at random moments, and started anew.

    The rotated files stay within sight of the glob, so that none is deleted before it was read.
    """
    folder = make_folder(tmp_path, LINES)
    rng = random.Random(20261130)
    read = command("--file", "agent=app.log*", "--listen", "127.0.0.1:0")
    logger = subprocess.Popen([sys.executable, PROGRAMS, "rotate_slowly", str(folder), str(LINES)])
    try:
        for _ in range(KILLS):
            sidecar = subprocess.Popen(read, cwd=folder, stderr=subprocess.PIPE)
            assert sidecar.stderr is not None
            assert b"listening" in sidecar.stderr.readline()  # its state is loaded: from here on it works
            select.select([sidecar.stderr], [], [], rng.random() * 0.15)
            sidecar.kill()
            sidecar.wait()
            sidecar.stderr.close()
        assert logger.wait(300) == 0
    finally:
        logger.kill()
        logger.wait()
    said = subprocess.run(command("--file", "agent=app.log*", "--once"), cwd=folder, capture_output=True, check=True)
    found, names = counted(said.stdout.decode())
    assert names == {f"old_{number}": 1 for number in range(LINES)}
    assert total(found, signals.SIDECAR_SKIPPED_LINES.name) == 0
    assert total(found, signals.SIDECAR_SKIPPED_BYTES.name) == 0


@pytest.mark.slow
def test_five_hundred_files_under_a_limit_of_128_descriptors(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, 1000)
    for number in range(500):
        append(folder / f"{number}.log", line(number))

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))

    read = command("--file", "agent=*.log", "--once")
    for start in (0, 500):
        said = subprocess.run(read, cwd=folder, capture_output=True, check=True, preexec_fn=limit)
        found, names = counted(said.stdout.decode())
        assert names == {f"old_{number}": 1 for number in range(start + 500)}
        assert total(found, signals.SIDECAR_OPEN_FILES.name) <= 64
        assert total(found, signals.INTERNAL_ERRORS.name) == 0
        for number in range(500):
            append(folder / f"{number}.log", line(500 + number))


@pytest.mark.slow
def test_idle_with_a_hundred_files_it_takes_less_than_half_a_percent_of_a_core(tmp_path: Path) -> None:
    """CPU seconds of the process itself, over a stretch of the machine's time: nothing else can measure being idle."""
    folder = make_folder(tmp_path, 100)
    for number in range(100):
        append(folder / f"{number}.log", line(number))
    sidecar = subprocess.Popen(
        command("--file", "agent=*.log", "--listen", "127.0.0.1:0"), cwd=folder, stderr=subprocess.PIPE, text=True
    )
    try:
        assert sidecar.stderr is not None
        url = sidecar.stderr.readline().split()[-1]
        while total(parse(scrape(url)), signals.NOT_FOUND.name) != 100:
            pass
        select.select([], [], [], 2)  # the first look and its commit are over
        before, began = cpu_seconds(sidecar.pid), time.monotonic()
        select.select([], [], [], 20)
        share = (cpu_seconds(sidecar.pid) - before) / (time.monotonic() - began)
        assert share < 0.005
        sidecar.send_signal(signal.SIGTERM)
        assert sidecar.wait(30) == 0
    finally:
        sidecar.kill()
        sidecar.wait()
        assert sidecar.stderr is not None
        sidecar.stderr.close()


def scrape(url: str) -> str:
    with urllib.request.urlopen(f"{url}/metrics", timeout=30) as answer:  # noqa: S310 - our own server
        body: bytes = answer.read()
    return body.decode()


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_folder_that_is_removed_after_a_run_takes_its_state_along(tmp_path: Path) -> None:
    """Nothing of a sidecar is kept outside its state folder."""
    folder = make_folder(tmp_path, 3)
    append(folder / "app.log", line(1))
    for _ in range(2):
        said = subprocess.run(command("--file", "app.log", "--once"), cwd=folder, capture_output=True, check=True)
        assert counted(said.stdout.decode())[1] == {"old_1": 1}
        shutil.rmtree(folder / "state")
