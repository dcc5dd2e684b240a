"""
Measure a wrapped call against the hand-written floor, and `import tooltel` against what it needs.

`make bench` runs it: a table for people, then one JSON line. A ratio of 1.00 under sync and async is the
floor of `bench/floor.py` with an always-on sampler, a batch processor and an exporter that does nothing; the
cost of the bare callable is taken off both sides. `error` is the error path over the success path.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

if __package__ in (None, ""):  # run as a script, which makes its own folder importable and not the one above
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from bench.cases import Cases
from bench.imports import ImportCost, measure_imports
from bench.report import as_object, as_table
from bench.timing import CALLS, Rounds, measure


def run(
    *, rounds: int | None = None, seconds: float = 55.0, calls: int = CALLS, imports: int = 15
) -> tuple[Rounds, ImportCost]:
    """Time calls for *rounds* rounds (None: for *seconds*), and *imports* imports of each side."""
    logging.getLogger("opentelemetry").setLevel(logging.ERROR)  # a full queue's warning would be timed otherwise
    for name in [name for name in os.environ if name.startswith(("TOOLTEL_", "OTEL_", "PROMETHEUS_"))]:
        del os.environ[name]
    cost = measure_imports(imports)
    cases = Cases()
    try:
        return measure(cases.all, rounds=rounds, seconds=seconds, calls=calls), cost
    finally:
        cases.close()


def main(argv: Sequence[str] | None = None) -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0].strip())
    parser.add_argument("--seconds", type=float, default=55.0, help="how long to time calls (default: 55)")
    parser.add_argument("--rounds", type=int, help="time calls for this many rounds instead")
    parser.add_argument("--imports", type=int, default=15, help="how often to import each side (default: 15)")
    options = parser.parse_args(argv)
    rounds, imports = run(rounds=options.rounds, seconds=options.seconds, imports=options.imports)
    print(as_table(rounds, imports))
    print(json.dumps(as_object(rounds, imports)))


if __name__ == "__main__":
    main()
