"""What the stand-in needs beside Python: each is looked for, and a test that lacks one is skipped."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.preview.draw import HERE, find_browser
from tests.preview.pasts import MissingError


@pytest.fixture(scope="session")
def node() -> str:
    """Node.js 20 or later."""
    found = shutil.which("node")
    if found is None:
        pytest.skip("no Node.js")
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
    if int(said.removeprefix("v").split(".")[0]) < 20:
        pytest.skip(f"Node.js is {said.strip()}, and the stand-in wants 20 or later")
    return found


@pytest.fixture(scope="session")
def libraries(node: str) -> Path:
    """Grafana's libraries, as `make preview` installs them."""
    folder = HERE / "node_modules"
    if not (folder / "@grafana" / "ui").is_dir():
        pytest.skip("`make preview` has not installed Grafana's libraries")
    return folder


@pytest.fixture(scope="session")
def browser() -> str:
    """A Chromium."""
    try:
        return find_browser()
    except MissingError as missing:
        pytest.skip(str(missing))
