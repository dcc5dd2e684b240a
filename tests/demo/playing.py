"""A shift played in no time, for tests."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from tooltel.demo.pace import SimulatedTime
from tooltel.demo.stage import open_stage

if TYPE_CHECKING:
    from tooltel.demo.report import Report


@lru_cache(maxsize=8)
def play(seed: int, sessions: int) -> Report:
    """The report of a shift in simulated time; shared by all who ask: look, don't touch."""
    folder = Path(tempfile.mkdtemp(prefix="tooltel-test-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with open_stage(seed, sessions, SimulatedTime(), out=folder) as stage:
        stage.play()
        return stage.report()
