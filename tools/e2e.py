"""Let one tool of the example catalog fail, run after run, and print how long its team's page and its end took.

Each run starts a Prometheus and an Alertmanager of its own. Exit codes: 0 when every page arrived in time and reached
nobody else, 1 when one did not, 2 without the servers.
"""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path
from statistics import median

from prometheus_client import CollectorRegistry

import tooltel.demo
from tooltel import Catalog, Tooltel
from tooltel.demo.stack import HOW_TO_GET, Binaries, Stack, find_binaries
from tooltel.demo.stack.drill import Report, run_drill
from tooltel.loading import load
from tooltel.signals import LOGGER

CATALOG = Path(tooltel.demo.__file__).with_name("tools.toml")
TOOL = "payment_refund"
RECEIVER = "payments-page"
BAR = 10.0  # seconds from the first failure to the page


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    binaries = find_binaries()
    if binaries is None:
        print(f"e2e: {HOW_TO_GET}", file=sys.stderr)
        return 2
    logging.getLogger(LOGGER).setLevel(logging.CRITICAL)  # failures are the point here
    catalog = load(CATALOG)
    reports = []
    for run in range(1, runs + 1):
        report = drill(catalog, binaries)
        reports.append(report)
        print(f"run {run:2} of {runs}: {sentence(report)}", flush=True)
    good = [report for report in reports if is_good(report)]
    if good:
        pages, ends = ([getattr(report, name) for report in good] for name in ("paged", "resolved"))
        print(
            f"e2e: {len(good)} of {runs} pages within {BAR:g} s and to {RECEIVER} alone; "
            f"page after {median(pages):.1f} s (at most {max(pages):.1f}), over after {median(ends):.1f} s"
        )
    return 0 if len(good) == runs else 1


def drill(catalog: Catalog, binaries: Binaries) -> Report:
    tel = Tooltel(catalog, registry=CollectorRegistry())
    with tel.serve(0) as exposition, Stack(catalog, metrics_port=exposition.port, binaries=binaries) as stack:
        return run_drill(tel, stack, TOOL)


def is_good(report: Report) -> bool:
    in_time = report.paged is not None and report.paged <= BAR and report.resolved is not None
    return in_time and report.page_receivers == {RECEIVER}


def sentence(report: Report) -> str:
    if report.paged is None:
        return f"no page; told: {', '.join(sorted(report.told)) or 'nobody'}"
    over = "never resolved" if report.resolved is None else f"resolved {report.resolved:.1f} s after the last failure"
    return f"page after {report.paged:.1f} s to {', '.join(sorted(report.page_receivers))}; {over}"


if __name__ == "__main__":
    sys.exit(main())
