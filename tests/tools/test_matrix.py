"""The matrix of frameworks: what it chooses, and how it knows pip's package indexes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tools import matrix

ROOT = Path(__file__).resolve().parent.parent.parent


def test_every_environment_has_a_name_of_its_own_and_tests_that_exist() -> None:
    names = [environment.name for environment in matrix.ENVIRONMENTS]
    assert len(set(names)) == len(names)
    for environment in matrix.ENVIRONMENTS:
        assert list((ROOT / environment.tests).glob("test_*.py")), environment.tests


def test_every_framework_runs_with_its_oldest_and_its_newest_version() -> None:
    for extra in {environment.extra for environment in matrix.ENVIRONMENTS}:
        assert len({e.requirements for e in matrix.ENVIRONMENTS if e.extra == extra}) >= 2, extra


def test_an_unknown_environment_is_an_error_that_names_those_that_exist(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert matrix.main(["adk", "ardvark"]) == 2
    said = capsys.readouterr().err
    assert "no environment ardvark;" in said
    assert matrix.ENVIRONMENTS[0].name in said


def test_the_beginning_of_names_chooses_all_that_begin_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert matrix.main(["--list", "adk"]) == 0
    listed = capsys.readouterr().out.split()
    assert listed
    assert listed == [e.name for e in matrix.ENVIRONMENTS if e.name.startswith("adk")]


def test_pips_indexes_become_uvs_and_the_environment_wins_over_the_files() -> None:
    listed = (
        ":env:.find-links='/a /b'\n"
        "global.extra-index-url='https://one.example/simple\\nhttps://two.example/simple'\n"
        "global.find-links='/never'\n"
        "global.index-url='https://zero.example/simple'\n"
        "install.index-url='https://install.example/simple'\n"
        "global.no-color='true'\n"
    )
    assert matrix.as_uv(listed) == {
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_FIND_LINKS": "/a,/b",
        "UV_INDEX": "https://one.example/simple https://two.example/simple",
        "UV_DEFAULT_INDEX": "https://install.example/simple",
    }


# --- environments that cannot be made, or fail ---

FLAKY_UV = """#!/bin/sh
case "$1" in
venv) for folder; do :; done; mkdir -p "$folder/bin"; printf '#!/bin/sh\\nexec {python} "$@"\\n' > "$folder/bin/python"
      chmod +x "$folder/bin/python" ;;
pip) echo x >> {tries}; [ "$(wc -l < {tries})" -gt {failures} ] || {{ echo "error: connection reset"; exit 1; }} ;;
esac
"""


@pytest.fixture
def one_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, int], Path]:
    """A matrix of one environment with a single test, made by a uv whose first *failures* downloads fail."""

    def made(test: str, failures: int) -> Path:
        tests, uv, tries = tmp_path / "tests", tmp_path / "uv", tmp_path / "tries"
        tests.mkdir()
        (tests / "test_it.py").write_text(f"def test_it():\n    {test}\n", "utf-8")
        uv.write_text(FLAKY_UV.format(python=sys.executable, tries=tries, failures=failures), "utf-8")
        uv.chmod(0o755)
        monkeypatch.setattr(matrix, "ENVIRONMENTS", (matrix.Environment("it-newest", "adk", (), str(tests)),))
        monkeypatch.setattr(matrix, "MATRIX", tmp_path / "matrix")
        monkeypatch.setattr(matrix, "BETWEEN_ATTEMPTS", 0.0)
        monkeypatch.setattr(matrix, "_uv", lambda: str(uv))
        return tries

    return made


@pytest.mark.slow  # each starts an interpreter and runs pytest in it
def test_a_download_that_fails_once_is_tried_once_more(
    one_environment: Callable[[str, int], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    tries = one_environment("pass", 1)
    assert matrix.main([]) == 0
    assert len(tries.read_text("utf-8").splitlines()) == 2
    assert "matrix: 1 of 1 passed in " in capsys.readouterr().out
    assert matrix.main([]) == 0
    assert len(tries.read_text("utf-8").splitlines()) == 2, "what was made is kept"


@pytest.mark.slow
def test_an_environment_that_cannot_be_made_fails_with_what_was_said(
    one_environment: Callable[[str, int], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    one_environment("pass", 2)
    assert matrix.main([]) == 1
    said = capsys.readouterr().out
    assert "error: connection reset" in said
    assert said.splitlines()[-1].endswith("; failed: it-newest (could not be made)")


@pytest.mark.slow
def test_a_failing_test_fails_the_matrix_and_is_named_in_the_last_line(
    one_environment: Callable[[str, int], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    one_environment("assert 1 == 2", 0)
    assert matrix.main([]) == 1
    said = capsys.readouterr().out
    assert "assert 1 == 2" in said
    assert "; failed: it-newest (1 failed in " in said.splitlines()[-1]


@pytest.mark.slow
def test_a_test_that_fails_once_is_run_once_more_and_told_of(
    one_environment: Callable[[str, int], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = tmp_path / "ran"
    one_environment(f"import pathlib; ran = pathlib.Path({str(ran)!r}); was = ran.exists(); ran.touch(); assert was", 0)
    assert matrix.main([]) == 0
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith("it-newest  unsteady ")
    assert "matrix: 1 of 1 passed in " in last
    assert "; unsteady: it-newest (1 failed in " in last
