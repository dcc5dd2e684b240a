"""The README is true: every snippet and command in it is run, in its order, in an empty folder."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from tests.servers import Servers

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"`([\w.]+\.(?:toml|py|yml))`\s*$")
# Run by other means: the installation is what runs this test, the demo has tests of its own, and `make test` is this.
ELSEWHERE = ("pip install ", "make test", "make demo")
SERVER_TOOLS = ("promtool", "amtool")


class Block(NamedTuple):
    """One fenced block: its language, its text, and the file that the line before it names."""

    language: str
    text: str
    name: str | None


def read_blocks() -> list[Block]:
    """Every fenced block of the README, in order."""
    text = README.read_text("utf-8")
    blocks = []
    for match in BLOCK.finditer(text):
        name = NAME.search(text[: match.start()].rstrip())
        blocks.append(Block(match[1], match[2], name[1] if name else None))
    return blocks


def commands() -> list[str]:
    """Every shell command of the README, in order."""
    return [line for block in read_blocks() if block.language == "sh" for line in block.text.splitlines()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with every file that the README names, free ports in place of its own."""
    for block in read_blocks():
        if block.name is not None:
            text = block.text.replace("port=9464", "port=0")
            (tmp_path / block.name).write_text(text, "utf-8")
    return tmp_path


def run(command: str, folder: Path, *more_path: Path) -> subprocess.CompletedProcess[str]:
    """Run *command* in *folder* with this environment's programs first on the path."""
    path = os.pathsep.join([str(Path(sys.executable).parent), *map(str, more_path), os.environ["PATH"]])
    program, *arguments = shlex.split(command)
    found = shutil.which(program, path=path) or program
    environment = {**os.environ, "PATH": path}
    return subprocess.run([found, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_every_kind_of_block_is_known() -> None:
    assert {block.language for block in read_blocks()} == {"sh", "toml", "python", "yaml"}
    assert {block.name for block in read_blocks() if block.name} == {"tools.toml", "agent.py", "prometheus.yml"}


def test_every_command_is_run_by_some_test() -> None:
    known = ("tooltel ", *SERVER_TOOLS, *ELSEWHERE)
    assert [command for command in commands() if not command.startswith(known)] == []


def test_the_targets_of_make_exist() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for command in commands():
        if command.startswith("make "):
            assert re.search(rf"^{command.split()[1]}:", makefile, re.MULTILINE), command


def test_the_commands_do_what_they_say(folder: Path) -> None:
    for command in commands():
        if command.startswith("tooltel "):
            done = run(command, folder)
            assert done.returncode == 0, (command, done.stdout, done.stderr)
    written = {str(path.relative_to(folder)) for path in (folder / "ops").rglob("*") if path.is_file()}
    assert "ops/alerts/alertmanager.yml" in written
    assert any(name.startswith("ops/alerts/rules/") for name in written)
    assert any(name.startswith("ops/dashboards/") for name in written)


def test_the_python_runs_and_says_what_it_says(folder: Path) -> None:
    source = "\n".join(block.text for block in read_blocks() if block.language == "python")
    (folder / "all.py").write_text(source.replace("port=9464", "port=0") + "\nmetrics.close()\n", "utf-8")
    done = run(f"{sys.executable} all.py", folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "unknown: did the model mean order_refund?\n"


def test_what_is_rendered_and_the_prometheus_file_are_accepted(folder: Path, servers: Servers) -> None:
    assert run("tooltel render --catalog tools.toml --out ops", folder).returncode == 0
    for command in commands():
        if command.startswith(SERVER_TOOLS):
            done = run(command, folder, servers.promtool.parent)
            assert done.returncode == 0, (command, done.stdout, done.stderr)


def test_the_series_it_names_are_emitted() -> None:
    from tooltel import signals

    named = set(re.findall(r"`((?:tooltel|gen_ai)_\w+)`", README.read_text("utf-8")))
    assert named
    assert named <= {row.name for row in signals.EMITTED}


def test_every_link_and_picture_is_there() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README.read_text("utf-8")):
        if "://" not in target:
            assert (ROOT / target).exists(), target
