"""The systemd unit: its command is ours, and systemd itself finds nothing wrong with it."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from tests.deploy.stack import ROOT
from tooltel.cli.app import app
from tooltel.cli.sidecar import LISTEN
from tooltel.cli.sidecar import sidecar as command

UNIT: Final = ROOT / "deploy" / "systemd" / "tooltel-sidecar.service"
LINES: Final = [line for line in UNIT.read_text("utf-8").splitlines() if line and not line.startswith(("#", "["))]
SETTINGS: Final = dict(line.split("=", 1) for line in LINES)
MOST_EXPOSED: Final = 2.0  # of 10, as `systemd-analyze security` sees it


def options() -> dict[str, Any]:
    """The options that our own command line reads out of ExecStart."""
    program, name, *arguments = shlex.split(SETTINGS["ExecStart"])
    assert Path(program).name == "tooltel"
    assert name == command.name
    return command.make_context(name, arguments, **app.context_settings).params


def here(tmp_path: Path) -> Path:
    """The unit with a program that is there: systemd refuses another."""
    program = Path(sys.executable).parent / "tooltel"
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text("utf-8").replace("/opt/tooltel/bin/tooltel", str(program)), "utf-8")
    return unit


def analyze(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("no systemd-analyze: install systemd to have the unit verified")
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False)


def test_its_command_is_one_that_tooltel_knows() -> None:
    given = options()
    assert given["catalog"] == "/etc/tooltel/tools.toml"
    assert str(given["state"]) == "${STATE_DIRECTORY}"
    assert given["listen"] == LISTEN
    assert not given["once"]


def test_its_state_is_in_the_one_folder_that_it_may_write() -> None:
    assert SETTINGS["StateDirectory"] == UNIT.stem
    assert SETTINGS["ProtectSystem"] == "strict"
    assert SETTINGS["DynamicUser"] == "yes"
    assert "ReadWritePaths" not in SETTINGS


def test_no_setting_is_there_twice_but_the_filter_of_system_calls() -> None:
    names = [line.partition("=")[0] for line in LINES]
    assert {name for name in names if names.count(name) > 1} == {"SystemCallFilter"}


def test_systemd_verifies_it(tmp_path: Path) -> None:
    said = analyze("verify", "--man=no", here(tmp_path))
    assert UNIT.name not in said.stderr
    damaged = here(tmp_path)
    damaged.write_text(damaged.read_text("utf-8").replace("Restart=always", "Restrat=always"), "utf-8")
    assert "Restrat" in analyze("verify", "--man=no", damaged).stderr, "else the line above proves nothing"


def test_it_is_hardly_exposed(tmp_path: Path) -> None:
    said = analyze("security", "--offline=true", "--no-pager", here(tmp_path))
    found = re.search(r"Overall exposure level for \S+: (\d+\.\d+)", said.stdout)
    if found is None:
        pytest.skip(f"this systemd-analyze tells no exposure: {said.stderr.strip()[:200]}")
    assert float(found[1]) <= MOST_EXPOSED


def system_calls(*groups: str) -> set[str]:
    """The system calls of systemd's groups, as its own table has them."""
    found: set[str] = set()
    for group in groups:
        said = analyze("syscall-filter", "--no-pager", group).stdout.splitlines()[1:]
        names = {line.strip() for line in said if line.strip() and not line.strip().startswith("#")}
        found |= {name for name in names if not name.startswith("@")}
        found |= system_calls(*(name for name in names if name.startswith("@")))
    return found


@pytest.mark.slow
def test_no_system_call_that_it_makes_is_refused(tmp_path: Path) -> None:
    """Reading and saving, that is: what it listens with is in @system-service by that group's definition."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("no strace: install it to have the filter tried")
    allowed, denied = [line.partition("=")[2] for line in LINES if line.startswith("SystemCallFilter=")]
    passed = system_calls(*allowed.split()) - system_calls(*denied.removeprefix("~").split())
    assert {"read", "socket", "bind", "accept4"} <= passed
    (tmp_path / "app.log").write_text("12:00:00 WARN a.B - nothing\n")
    (tmp_path / "tools.toml").write_text('[catalog]\nplatform_owner = "a"\n[owners.a]\n')
    trace = tmp_path / "trace"
    command_ = [sys.executable, "-m", "tooltel", "sidecar", "--file", "app.log", "--once", "--state", "state"]
    subprocess.run([strace, "-f", "-qq", "-o", trace, *command_], cwd=tmp_path, capture_output=True, check=True)
    made = set(re.findall(r"^\d+ +(\w+)\(", trace.read_text("utf-8", "replace"), re.MULTILINE))
    assert {"flock", "pwrite64", "fdatasync"} <= made
    assert made - passed == set()
