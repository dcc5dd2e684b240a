"""The log that the sidecar is measured on: the same everywhere, its truth known, its counts the same in each setup."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench import tail

# The modules of the `sidecar` extra. A module that is None cannot be imported.
EXTRA = ("ahocorasick_rs", "stringzilla", "orjson")
SETUPS = [(), *((name,) for name in EXTRA), EXTRA]


def folder_with_log(folder: Path, share: float) -> dict[str, int]:
    (folder / "tools.toml").write_text(tail.CATALOG, encoding="ascii")
    return tail.write_log(folder / "app.log", 3 * 2**20, share)


def counted(folder: Path, missing: tuple[str, ...]) -> tail.Ran:
    block = "import sys; sys.modules.update(dict.fromkeys(sys.argv.pop(1).split(',')))"
    code = f"{block}; from tooltel.cli import main; main()"
    arguments = ["sidecar", "--catalog", "tools.toml", "--file", "log=app.log", "--once"]
    return tail.run([sys.executable, "-c", code, ",".join(missing) or "-", *arguments], cwd=folder)


@pytest.mark.parametrize("share", tail.SHARES)
def test_the_log_is_the_same_each_time_and_its_truth_is_what_stands_in_it(tmp_path: Path, share: float) -> None:
    truth = folder_with_log(tmp_path, share)
    log = (tmp_path / "app.log").read_text()
    assert truth["lines"] == log.count("\n")
    assert truth["drops"] == sum(tail.LITERAL in line for line in log.splitlines())
    assert truth["drops"] == pytest.approx(share * truth["lines"], rel=0.3)
    assert folder_with_log(tmp_path, share) == truth
    assert (tmp_path / "app.log").read_text() == log


@pytest.mark.parametrize("share", tail.SHARES)
def test_whatever_of_the_extra_is_installed_the_counts_are_the_truth(tmp_path: Path, share: float) -> None:
    truth = folder_with_log(tmp_path, share)
    for missing in SETUPS:
        assert tail.is_true(counted(tmp_path, missing).output, truth), missing
