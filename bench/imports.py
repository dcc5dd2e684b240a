"""What `import tooltel` costs over the two packages that it cannot do without, in fresh processes."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from typing import Final, NamedTuple

OURS: Final = "import tooltel"
THEIRS: Final = "import opentelemetry.trace, prometheus_client"
# The clock runs inside the new process, so that its own start is not counted; CPU time, as in bench.timing.
_SCRIPT: Final = "import time; began = time.process_time_ns(); {}; print(time.process_time_ns() - began)"


class ImportCost(NamedTuple):
    """Medians in milliseconds, and the median of the ratios of neighboring runs."""

    ours: float
    theirs: float
    ratio: float


def measure_imports(runs: int) -> ImportCost:
    """Run both imports *runs* times each, taking turns; one of each before, as it may compile bytecode."""
    for statement in (OURS, THEIRS):
        _nanoseconds(statement)
    pairs = []
    for turn in range(runs):
        if turn % 2:
            theirs = _nanoseconds(THEIRS)
            pairs.append((_nanoseconds(OURS), theirs))
        else:
            ours = _nanoseconds(OURS)
            pairs.append((ours, _nanoseconds(THEIRS)))
    return ImportCost(
        statistics.median(ours for ours, _ in pairs) / 1e6,
        statistics.median(theirs for _, theirs in pairs) / 1e6,
        statistics.median(ours / theirs for ours, theirs in pairs),
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
