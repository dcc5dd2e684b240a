"""Which openai-agents these tests ran with."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

from tools.matrix import ENVIRONMENTS


def test_an_environment_of_the_matrix_holds_the_version_that_its_row_names() -> None:
    pins = {environment.name: environment.requirements[0] for environment in ENVIRONMENTS}
    here = Path(sys.prefix).name
    assert here not in pins or pins[here] == f"openai-agents=={version('openai-agents')}"
