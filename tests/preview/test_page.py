"""The page's own logic by Node's test runner: variables, legends, windows; fields as Grafana's library has them."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.preview.draw import HERE

if TYPE_CHECKING:
    from pathlib import Path


def run_tests(node: str, file: Path) -> None:
    ran = subprocess.run([node, "--test", "--test-reporter=tap", file], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
    assert "\n# pass 0\n" not in ran.stdout


def test_variables_legends_and_windows_are_those_of_grafana(node: str) -> None:
    run_tests(node, HERE / "text.test.mjs")


@pytest.mark.slow
def test_units_thresholds_words_and_names_are_applied_to_the_field_they_are_for(
    node: str, libraries: Path, tmp_path: Path
) -> None:
    subprocess.run([node, HERE / "bundle.mjs", tmp_path, "fields.test.mjs"], check=True)
    run_tests(node, tmp_path / "fields.test.cjs")
