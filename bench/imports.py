"""
What `import tooltel` costs over the two packages that it cannot do without, in fresh processes.

tooltel loads its parts when they are first used, so what an application pays that really uses it stands beside.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from typing import Final, NamedTuple

OURS: Final = "import tooltel"
USED: Final = "import tooltel; tooltel.configure"
THEIRS: Final = "import opentelemetry.trace, prometheus_client"
# The clock runs inside the new process, so that its own start is not counted; CPU time, as in bench.timing.
_SCRIPT: Final = "import time; began = time.process_time_ns(); {}; print(time.process_time_ns() - began)"


class ImportCost(NamedTuple):
    """
    Medians in milliseconds, and the medians of the ratios of neighboring runs.

    `ours` is the import alone, `used` that and what the first use of it loads.
    """

    ours: float
    used: float
    theirs: float
    ratio: float
    used_ratio: float


def measure_imports(runs: int) -> ImportCost:
    """Run each import *runs* times, taking turns; one of each before, as it may compile bytecode."""
    statements = [OURS, USED, THEIRS]
    for statement in statements:
        _nanoseconds(statement)
    rows: list[dict[str, int]] = []
    for _ in range(runs):
        rows.append({statement: _nanoseconds(statement) for statement in statements})
        statements.reverse()  # none is always the first after a pause
    return ImportCost(
        ours=statistics.median(row[OURS] for row in rows) / 1e6,
        used=statistics.median(row[USED] for row in rows) / 1e6,
        theirs=statistics.median(row[THEIRS] for row in rows) / 1e6,
        ratio=statistics.median(row[OURS] / row[THEIRS] for row in rows),
        used_ratio=statistics.median(row[USED] / row[THEIRS] for row in rows),
    )


def _nanoseconds(statement: str) -> int:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TOOLTEL_", "OTEL_"))}
    done = subprocess.run(  # noqa: S603 - this interpreter and a statement of our own
        [sys.executable, "-c", _SCRIPT.format(statement)],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    return int(done.stdout)
