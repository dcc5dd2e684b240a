"""Programs with large catalogs, run as those of tests.multiprocess.programs are."""

from __future__ import annotations

import json
import os
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

from opentelemetry.trace import NoOpTracerProvider
from prometheus_client import generate_latest

from tests.multiprocess.programs import in_child, reap
from tests.signals.desk import SENTENCE, Desk
from tests.signals.scrape import samples
from tooltel import Catalog, Owner, Profile, Tool


def large(count: int) -> Catalog:
    """A catalog of *count* tools: a third of each risk, one profile each."""
    risks = ("read", "write", "irreversible")
    return Catalog(
        tools=[
            Tool(f"tool_{number:04}", "kb", risks[number % 3], profiles=("support",), description=SENTENCE)
            for number in range(count)
        ],
        owners=[Owner("kb")],
        profiles=[Profile("support", "kb")],
        platform_owner="kb",
    )


def open_large_desk(count: int) -> tuple[Desk, list[Callable[[], Any]]]:
    """A desk with *count* tools wrapped, and the tools."""
    desk = Desk(catalog=large(count), tracer_provider=NoOpTracerProvider(), settings={"log_calls": "off"})

    def body() -> str:
        return "done"

    return desk, [desk.tel.tool(body, name=name) for name in desk.tel.catalog.tools]


def series_per_process(count: str) -> Any:
    """How many series a process shows after wrapping, and after one call of each tool in a session."""
    desk, tools = open_large_desk(int(count))
    wrapped = len(samples(desk.tel))
    with desk.tel.session(profile="support"):
        for tool in tools:
            tool()
    called = len(samples(desk.tel))
    size = len(generate_latest(desk.tel.view))
    started = time.process_time()
    generate_latest(desk.tel.view)
    return {"wrapped": wrapped, "called": called, "bytes": size, "scrape seconds": time.process_time() - started}


def cost_of_wrapping(count: str) -> Any:
    """Time and memory of wrapping, per tool."""
    open_large_desk(10)  # everything is imported and warm
    started = time.process_time()
    kept = open_large_desk(int(count))
    seconds = time.process_time() - started
    del kept
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    again = open_large_desk(int(count))
    grown = tracemalloc.get_traced_memory()[0] - before
    return {"tools": len(again[1]), "microseconds": seconds / int(count) * 1e6, "bytes": grown / int(count)}


def stall(count: str, births: str) -> Any:
    """
    The first calls in a forked worker, in milliseconds, the median of several workers.

    With *births* `eager`, every child that could be born is made before the fork, as a single process does.
    """
    desk, tools = open_large_desk(int(count))
    if births == "eager":
        for born in desk.tel._metrics.born():
            desk.tel._instruments.child(born)
    ready, inside = os.pipe()

    def work() -> None:
        times = []
        for tool in (tools[0], tools[0], tools[1]):
            started = time.perf_counter()
            tool()
            times.append((time.perf_counter() - started) * 1000)
        os.write(inside, json.dumps(times).encode() + b"\n")

    runs = []
    for _ in range(7):
        reap(in_child(work))
        runs.append(json.loads(os.read(ready, 1000)))
    first, second, other = (sorted(run[place] for run in runs)[3] for place in range(3))
    return {"first": first, "second": second, "another tool": other}


if __name__ == "__main__":
    name, *arguments = sys.argv[1:]
    print(json.dumps(globals()[name](*arguments)))  # noqa: T201 - this is its way out
