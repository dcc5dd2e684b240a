"""The page on the sidecar shows what the sidecar prints."""

from __future__ import annotations

from pathlib import Path

from tests.docs.pages import ROOT, read_blocks, run
from tests.docs.test_snippets import put_files
from tooltel.sidecar.reading import Limits

PAGE = ROOT / "docs" / "sidecar.md"


def test_the_run_that_it_shows_prints_what_it_shows(tmp_path: Path) -> None:
    put_files(PAGE, tmp_path)
    blocks = read_blocks(PAGE)
    (place,) = [number for number, block in enumerate(blocks) if any("--once" in each for each in block.commands)]
    command, _, wanted = blocks[place].commands[0].partition(" | grep ")
    done = run(command, tmp_path)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines(keepends=True) if wanted in line]
    assert "".join(lines) == blocks[place + 1].text


def test_the_longest_line_is_as_long_as_it_says() -> None:
    assert Limits().line == 2**20
    assert "lines over a MiB" in PAGE.read_text("utf-8")
