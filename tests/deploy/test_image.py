"""The image of agent and pager: what its build needs is let through, and its commands are ones that tooltel knows."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest

from tests.deploy.stack import MOUNTED, ROOT, mounts, services
from tooltel.cli.app import app

if TYPE_CHECKING:
    from collections.abc import Iterable

DOCKERFILE = (MOUNTED / "tooltel.Dockerfile").read_text("utf-8")


def ignored(path: str, rules: Iterable[str]) -> bool:
    """Whether a build never sees *path*: the last rule that fits it, or a folder above it, decides."""
    above = [str(each) for each in (Path(path), *Path(path).parents)][:-1]
    verdict = False
    for rule in rules:
        pattern = rule.removeprefix("!")
        patterns = [pattern, pattern.removeprefix("**/")] if pattern.startswith("**/") else [pattern]
        names = [(each, Path(each).name) for each in above]
        if any(fnmatch(whole, each) or ("/" not in each and pattern != each and fnmatch(name, each))
               for whole, name in names for each in patterns):  # fmt: skip
            verdict = not rule.startswith("!")
    return verdict


def rules() -> list[str]:
    """The lines of .dockerignore that say something."""
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def copied() -> list[str]:
    """What the first stage copies out of the build context."""
    found = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
    return [name.removeprefix("./") for names in found for name in names.split()]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/tooltel/cli/demo.py", False),
        ("src/tooltel/demo/tools.toml", False),
        ("pyproject.toml", False),
        ("src/tooltel/__pycache__/x.cpython-313.pyc", True),
        ("src/tooltel/cli/__pycache__/app.pyc", True),
        (".git/config", True),
        (".venv/bin/python", True),
        (".env", True),
        ("tests/conftest.py", True),
    ],
)
def test_a_build_sees_the_package_and_nothing_of_this_machine(path: str, expected: bool) -> None:
    assert ignored(path, rules()) is expected


def test_everything_that_is_copied_is_there_and_let_through() -> None:
    assert copied() == ["pyproject.toml", "README.md", "LICENSE", "src"]
    for name in copied():
        assert (ROOT / name).exists()
        assert not ignored(name, rules())


@pytest.mark.slow
def test_the_package_can_be_built_from_what_is_copied(tmp_path: Path) -> None:
    """The build backend comes from this environment: nothing is fetched."""
    context = tmp_path / "context"
    for name in copied():
        source, target = ROOT / name, context / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "--quiet", "."]
    done = subprocess.run([*command, "-w", str(tmp_path)], cwd=context, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("tooltel-*.whl")
    listed = subprocess.run(
        [sys.executable, "-m", "zipfile", "-l", wheel], capture_output=True, text=True, check=True
    ).stdout
    for name in ("tooltel/demo/tools.toml", "tooltel/py.typed", "tooltel/demo/duty/page.py", "tooltel/demo/endless.py"):
        assert name in listed


def test_what_is_installed_is_what_the_two_commands_need() -> None:
    (extras,) = re.findall(r'pip install .*"\.\[([\w,]+)\]"', DOCKERFILE)
    assert set(extras.split(",")) == {"cli", "otlp"}
    known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert set(extras.split(",")) <= set(known)


def test_the_image_runs_as_a_user_that_owns_nothing() -> None:
    assert re.findall(r"^USER (.+)$", DOCKERFILE, re.MULTILINE) == ["10001:10001"]
    assert re.search(r'^ENTRYPOINT \["tooltel"\]$', DOCKERFILE, re.MULTILINE)


def parse(service: str) -> dict[str, Any]:
    """The options of a service's command, as our own command line reads them; a mounted path is looked for here."""
    verb, *arguments = services()[service]["command"]
    targets = {mount.target: str(mount.source) for mount in mounts(service)}
    parent = click.Context(app, **app.context_settings)
    command = app.get_command(parent, verb)
    assert command is not None
    return command.make_context(verb, [targets.get(each, each) for each in arguments], parent).params


def test_the_agent_works_for_ever_and_is_reached_by_the_others() -> None:
    options = parse("agent")
    assert options["forever"] is True
    assert (options["host"], options["port"]) == ("0.0.0.0", 9464)  # noqa: S104 - within the stack's own network
    assert options["sessions"] >= 300


def test_the_pager_shows_runbooks_and_is_reached_by_the_others() -> None:
    options = parse("pager")
    assert options["host"] == "0.0.0.0"  # noqa: S104 - within the stack's own network
    assert options["runbooks"] == ROOT / "alerts" / "runbooks"
