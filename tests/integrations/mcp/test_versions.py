"""Which mcp these tests ran with."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

from tools.matrix import ENVIRONMENTS
from tooltel.integrations.compatibility import rows_of


def test_an_environment_of_the_matrix_holds_the_version_that_its_row_names() -> None:
    pins = {environment.name: environment.requirements[0] for environment in ENVIRONMENTS}
    here = Path(sys.prefix).name
    assert here not in pins or pins[here] == f"mcp=={version('mcp')}"


def test_the_table_names_the_versions_that_the_matrix_runs() -> None:
    pins = [environment.requirements[0] for environment in ENVIRONMENTS if environment.extra == "mcp"]
    for name in ("mcp (server)", "mcp (client)"):
        for row in rows_of(name).values():
            assert [f"mcp=={each}" for each in row.versions] == pins
