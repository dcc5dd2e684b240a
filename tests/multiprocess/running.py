"""How the programs of several processes are run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def run(directory: Path | None, name: str, *arguments: object, module: str = "programs") -> Any:
    """What a program of *module* prints; values are shared in *directory*, or not at all where it is None."""
    environment = {key: value for key, value in os.environ.items() if not key.upper().startswith("PROMETHEUS_")}
    if directory is not None:
        environment["PROMETHEUS_MULTIPROC_DIR"] = str(directory)
    done = subprocess.run(
        [sys.executable, "-m", f"tests.multiprocess.{module}", name, *map(str, arguments)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)
