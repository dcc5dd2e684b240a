"""Each extra brings what it promises to an empty environment, and without it the error has the pip line."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn

import pytest

from tests.conftest import NO_SKIP
from tools import matrix
from tooltel.errors import MissingExtraError
from tooltel.integrations import require

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "tooltel" / "integrations"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = sorted(set(PROJECT["optional-dependencies"]) - {"dev"})
REQUIRED = {
    path.parent.name: re.findall(r'^require\("([^"]+)", extra="([^"]+)"\)$', path.read_text("utf-8"), re.MULTILINE)
    for path in sorted(SOURCE.glob("*/__init__.py"))
}
# What must work once an extra that is no plug-in's is there.
WORKS = {
    "otlp": "import opentelemetry.exporter.otlp.proto.http.trace_exporter",
    "cli": "import tooltel.cli.app, tooltel.cli.top, textual",
    "render": """if True:
        from pathlib import Path
        import tooltel.demo
        from tooltel.artifacts import RenderOptions, render
        from tooltel.loading import load
        made = render(load(Path(tooltel.demo.__file__).with_name("tools.toml")), RenderOptions())
        assert len(made) > 10, made.keys()
        """,
    "schema": """if True:
        from tooltel.boundary import find_faults
        assert find_faults({"n": "x"}, {"properties": {"n": {"type": "integer"}}})
        """,
    "sidecar": "import tooltel.sidecar, ahocorasick_rs, orjson, stringzilla",
}


# --- without ---


@pytest.mark.parametrize("plugin", REQUIRED)
def test_a_plugin_asks_for_its_framework_once_by_an_extra_that_exists(plugin: str) -> None:
    ((_, extra),) = REQUIRED[plugin]
    assert extra in EXTRAS


@pytest.mark.parametrize("plugin", REQUIRED)
def test_without_its_framework_a_plugin_says_the_pip_line(plugin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ((framework, extra),) = REQUIRED[plugin]
    name = f"tooltel.integrations.{plugin}"
    for loaded in [each for each in sys.modules if each == name or each.startswith(f"{name}.")]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, framework, None)
    with pytest.raises(MissingExtraError) as raised:
        importlib.import_module(name)
    assert raised.value.extra == extra
    assert str(raised.value).endswith(f" needs {framework}: in tooltel's clone, pip install '.[{extra}]'")


def test_what_a_framework_itself_is_missing_is_told_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "half_installed.py").write_text("import no_such_dependency", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_dependency"):
        require("half_installed", extra="adk")


# --- with ---


Uv = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def uv() -> Uv:
    """Run uv with pip's own indexes."""
    from uv import find_uv_bin

    program, surroundings = find_uv_bin(), {**matrix.pip_configuration(), **os.environ}

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [program, *map(str, arguments)]
        return subprocess.run(command, env=surroundings, cwd=ROOT, capture_output=True, text=True, check=False)

    return run


@pytest.fixture(scope="session")
def wheel(uv: Uv, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The distribution that users install."""
    folder = tmp_path_factory.mktemp("wheel")
    asked = uv("pip", "install", "--dry-run", "--no-cache", "--no-deps", "--target", folder / "none", "hatchling")
    if asked.returncode:
        _skip(f"no package index can be reached: {asked.stderr.strip().splitlines()[-1]}")
    built = uv("build", "--wheel", "--out-dir", folder)
    assert built.returncode == 0, built.stderr
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture
def install(uv: Uv, wheel: Path, tmp_path: Path) -> Callable[[str], Path]:
    """Install the wheel with extras into an empty environment; give its interpreter."""

    def made(extras: str) -> Path:
        python = tmp_path / "env" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        for arguments in (
            ("venv", "--quiet", "--python", sys.executable, tmp_path / "env"),
            ("pip", "install", "--quiet", "--python", python, f"tooltel{extras} @ {wheel.as_uri()}"),
            ("pip", "check", "--python", python),
        ):
            done = uv(*arguments)
            assert done.returncode == 0, done.stderr
        return python

    return made


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_works_in_an_empty_environment(extra: str, install: Callable[[str], Path]) -> None:
    python = install(f"[{extra}]")
    plugins = [plugin for plugin, asked in REQUIRED.items() if asked[0][1] == extra]
    works = [*(f"import tooltel.integrations.{plugin}" for plugin in plugins)]
    works += WORKS.values() if extra == "all" else [WORKS[extra]] if extra in WORKS else []
    assert works, f"nothing here says what the extra {extra} is for"
    for line in works:
        assert said_by(python, line) == ""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_without_any_extra_tooltel_works_and_every_plugin_says_what_to_install(install: Callable[[str], Path]) -> None:
    python = install("")
    assert said_by(python, "import tooltel; tooltel.configure()") == ""
    for plugin, ((_, extra),) in REQUIRED.items():
        assert f"pip install '.[{extra}]'" in said_by(python, f"import tooltel.integrations.{plugin}")


def said_by(python: Path, line: str) -> str:
    """What *line* prints as an error, in an interpreter that knows nothing of this checkout."""
    surroundings: Mapping[str, str] = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(
        [python, "-W", "ignore", "-c", line],
        env=surroundings,
        cwd=python.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert bool(done.returncode) is bool(done.stderr), done.stderr
    return done.stderr


def _skip(message: str) -> NoReturn:
    if NO_SKIP:
        pytest.fail(message, pytrace=False)
    pytest.skip(message)
