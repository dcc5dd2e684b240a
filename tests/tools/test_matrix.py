"""The matrix of frameworks: what it chooses, and how it knows pip's package indexes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tools import matrix

if TYPE_CHECKING:
    import pytest

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
