"""Importing tooltel is cheap, and loads nothing that a process may never use."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from bench.imports import measure_imports

HEAVY = ("structlog", "opentelemetry.sdk", "rich", "click", "grafana_foundation_sdk", "yaml", "asyncio")


def loaded(program: str) -> set[str]:
    """Which heavy packages *program* has loaded in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\nimport json, sys\nprint(json.dumps(list(sys.modules)))"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(HEAVY) & set(json.loads(done.stdout))


@pytest.mark.parametrize(
    "program",
    [
        "import tooltel",
        "from tooltel import *",
        "from tooltel import Tooltel, configure, add_tool_context, propagate",
        "from tooltel.recorders import prometheus, spans",
        "import tooltel.exposition, tooltel.declaring, tooltel.recording",
    ],
)
def test_importing_loads_nothing_heavy(program: str) -> None:
    assert loaded(program) == set()


def test_a_tooltel_loads_structlog_and_no_more() -> None:
    assert loaded("import tooltel; tooltel.configure()") == loaded("import structlog")


@pytest.mark.slow
def test_importing_costs_little_more_than_the_two_packages_it_stands_on() -> None:
    """At most 1.15 times; what the first use of it loads is tooltel's own modules, and is watched beside it."""
    cost = measure_imports(9)
    print(f"import tooltel: {cost}")  # noqa: T201 - the figure is of interest when it moves
    assert cost.ratio <= 1.15
    assert cost.used_ratio <= 2.5
