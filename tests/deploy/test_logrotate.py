"""The real logrotate with the example's settings: what deploy/logrotate/README.md calls exact is exact."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.deploy.stack import ROOT
from tests.sidecar.kit import Sidecar, append, expected, line

EXAMPLE: Final = ROOT / "deploy" / "logrotate" / "agent"


@pytest.fixture
def rotate(tmp_path: Path) -> Callable[..., None]:
    """Rotate app.log of the test's folder as the example says, with other settings in the place of its own."""
    program = shutil.which("logrotate") or shutil.which("logrotate", path="/usr/sbin")
    if program is None:
        pytest.skip("no logrotate: install it to have the example tried")
    tmp_path.chmod(0o755)

    def run(**instead: str) -> None:
        text = EXAMPLE.read_text("utf-8").replace("/var/log/agent/*.log", str(tmp_path / "app.log"))
        text = re.sub(r"create .*", "create", text)  # there is no user `agent` here
        text = re.sub(r"sharedscripts.*endscript\n", "", text, flags=re.DOTALL)
        for setting, other in instead.items():
            assert re.search(rf"^ *{setting}\b", text, re.MULTILINE)
            text = re.sub(rf"^ *{setting}\b.*$", other, text, flags=re.MULTILINE)
        config = tmp_path / "logrotate.conf"
        config.write_text(text, "utf-8")
        config.chmod(0o644)
        command = [program, "--force", "--state", str(tmp_path / "logrotate.state"), str(config)]
        said = subprocess.run(command, capture_output=True, text=True, check=False)
        assert said.returncode == 0, said.stderr

    return run


def write(log: Path, first: int, last: int) -> None:
    append(log, *(line(number) for number in range(first, last)))


def test_the_example_renames_and_compresses_later() -> None:
    words = EXAMPLE.read_text("utf-8").split()
    assert {"create", "compress", "delaycompress", "postrotate"} <= set(words)
    assert "copytruncate" not in words


@pytest.mark.parametrize("away", [False, True], ids=["sidecar there", "sidecar away"])
def test_renaming_loses_nothing_late_writes_included(rotate: Callable[..., None], tmp_path: Path, away: bool) -> None:
    log = tmp_path / "app.log"
    write(log, 0, 40)
    sidecar = Sidecar(tmp_path)
    sidecar.settle()
    for round_ in range(1, 4):
        if away:
            sidecar.kill()
        at = round_ * 40
        write(log, at, at + 20)
        with log.open("ab") as held:  # the agent has not heard of the rotation yet
            rotate()
            held.write(line(at + 20))
        write(log, at + 21, at + 40)
        if away:
            sidecar.start()
        sidecar.settle()
    assert sidecar.names() == expected(*range(160))
    assert sorted(path.name for path in tmp_path.glob("app.log*")) == [
        "app.log", "app.log.1", "app.log.2.gz", "app.log.3.gz"
    ]  # fmt: skip


@pytest.mark.parametrize("away", [False, True], ids=["sidecar there", "sidecar away"])
def test_copying_and_truncating_repeats_nothing(rotate: Callable[..., None], tmp_path: Path, away: bool) -> None:
    log = tmp_path / "app.log"
    write(log, 0, 40)
    sidecar = Sidecar(tmp_path)
    sidecar.settle()
    for round_ in range(1, 4):
        if away:
            sidecar.kill()
        write(log, round_ * 40, round_ * 40 + 20)
        rotate(create="copytruncate")
        write(log, round_ * 40 + 20, round_ * 40 + 40)
        if away:
            sidecar.start()
        sidecar.settle()
    assert sidecar.names() == expected(*range(160))


def test_dates_in_the_names_of_rotated_files_do_as_well(rotate: Callable[..., None], tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    write(log, 0, 40)
    sidecar = Sidecar(tmp_path, "app.log*")
    sidecar.settle()
    write(log, 40, 60)
    rotate(delaycompress="delaycompress\ndateext\ndateformat -%Y%m%d-%s")
    write(log, 60, 80)
    sidecar.settle()
    assert sidecar.names() == expected(*range(80))


def test_compressing_at_once_loses_what_was_not_read_while_the_sidecar_was_away(
    rotate: Callable[..., None], tmp_path: Path
) -> None:
    """What the README warns of."""
    log = tmp_path / "app.log"
    write(log, 0, 40)
    sidecar = Sidecar(tmp_path)
    sidecar.settle()
    sidecar.kill()
    write(log, 40, 60)
    rotate(delaycompress="")
    write(log, 60, 80)
    sidecar.start()
    sidecar.settle()
    assert sidecar.names() == expected(*range(40), *range(60, 80))


@pytest.mark.parametrize("is_named", [True, False], ids=["named", "not named"])
def test_rotated_files_in_another_folder_are_found_where_a_glob_names_them(
    rotate: Callable[..., None], tmp_path: Path, is_named: bool
) -> None:
    log = tmp_path / "app.log"
    (tmp_path / "old").mkdir(mode=0o755)
    write(log, 0, 40)
    sidecar = Sidecar(tmp_path, "app.log", *(["old/app.log*"] if is_named else []))
    sidecar.settle()
    sidecar.kill()
    write(log, 40, 60)
    rotate(delaycompress=f"delaycompress\nolddir {tmp_path / 'old'}")
    write(log, 60, 80)
    sidecar.start()
    sidecar.settle()
    assert sidecar.names() == expected(*range(40), *(range(40, 60) if is_named else ()), *range(60, 80))
