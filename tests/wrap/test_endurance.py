"""A million calls over a hundred tools, from eight threads and eight tasks at once: every one counted, nothing kept."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import TraceIdRatioBased
from prometheus_client import CollectorRegistry

from tooltel import Catalog, HouseRules, Profile, Tool, Tooltel
from tooltel.errors import Level
from tooltel.settings import Settings
from tooltel.testing import parse_samples

CALLS = 1_000_000
TOOLS = 100
WORKERS = 8  # threads, and as many tasks
SESSION = 500  # calls of one conversation
STATM = Path("/proc/self/statm")

PER_WORKER = CALLS // (2 * WORKERS)


def act(number: int) -> Any:
    """What the call of this number does: mostly well, and now and then each kind of trouble."""
    if number % 10 == 3:
        raise ValueError(number)
    if number % 100 == 7:
        raise TimeoutError
    if number % 100 == 8:
        return {"status": "refused", "policy": "p"}
    return number


def outcome_of(number: int) -> str:
    return {3: "error"}.get(number % 10) or {7: "timeout", 8: "refused"}.get(number % 100, "ok")


def profile_of(number: int) -> str:
    return "support" if (number // SESSION) % 2 else "sales"


def make() -> tuple[Tooltel, list[Callable[[int], Any]], list[Callable[[int], Awaitable[Any]]]]:
    tools = [
        Tool(f"tool_{n:02}", "desk", risk="write" if n % 4 == 0 else "read", profiles=("support", "sales"))
        for n in range(TOOLS)
    ]
    catalog = Catalog(
        tools,
        profiles=[Profile("support", "desk"), Profile("sales", "desk")],
        house=HouseRules(levels={"description": Level.OFF}),
        open=True,
    )
    provider = TracerProvider(sampler=TraceIdRatioBased(0.01))
    settings = Settings(log_calls="off")  # the log is the host's, and would be what is measured here
    tel = Tooltel(catalog, registry=CollectorRegistry(), tracer_provider=provider, settings=settings)

    async def slowly(number: int) -> Any:
        if number % 50 == 0:
            await asyncio.sleep(0)  # let the other tasks in
        return act(number)

    def rows(number: int) -> Iterator[Any]:
        yield number
        yield act(number)

    async def slow_rows(number: int) -> AsyncIterator[Any]:
        yield number
        yield act(number)

    def wrap(fn: Any, n: int) -> Any:
        return tel.tool(fn, name=f"tool_{n:02}")

    def drained(stream: Callable[[int], Iterator[Any]]) -> Callable[[int], Any]:
        return lambda number: list(stream(number))

    def drained_slowly(stream: Callable[[int], AsyncIterator[Any]]) -> Callable[[int], Awaitable[Any]]:
        async def drain(number: int) -> list[Any]:
            return [item async for item in stream(number)]

        return drain

    plain = [drained(wrap(rows, n)) if n % 10 == 5 else wrap(act, n) for n in range(TOOLS)]
    slow = [drained_slowly(wrap(slow_rows, n)) if n % 10 == 5 else wrap(slowly, n) for n in range(TOOLS)]
    return tel, plain, slow


def expected() -> Counter[tuple[str, str, str]]:
    books: Counter[tuple[str, str, str]] = Counter()
    for number in range(PER_WORKER):
        streams = number % TOOLS % 10 == 5
        outcome = outcome_of(number)
        # The second row of a stream is an item, and not what it returns.
        books[
            f"tool_{number % TOOLS:02}", "ok" if streams and outcome == "refused" else outcome, profile_of(number)
        ] += 1
    return Counter({key: count * 2 * WORKERS for key, count in books.items()})


def resident() -> int:
    """Bytes of memory that the process holds now."""
    gc.collect()
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Load:
    """Eight threads, and a ninth with a loop of eight tasks, that pause together after a fifth of their calls."""

    def __init__(self) -> None:
        self.tel, self.plain, self.slow = make()
        self.first = PER_WORKER // 5 // SESSION * SESSION
        self.paused = threading.Barrier(WORKERS + 2, timeout=200)  # and this thread
        self.go_on = threading.Barrier(WORKERS + 2, timeout=200)
        targets = [self.work] * WORKERS + [self.loop]
        self.threads = [threading.Thread(target=target) for target in targets]

    def pause(self) -> None:
        self.paused.wait()
        self.go_on.wait()

    def work(self) -> None:
        for start in range(0, PER_WORKER, SESSION):
            if start == self.first:
                self.pause()
            with self.tel.session(profile=profile_of(start)):
                for number in range(start, min(start + SESSION, PER_WORKER)):
                    with suppress(ValueError, TimeoutError):
                        self.plain[number % TOOLS](number)

    def loop(self) -> None:
        asyncio.run(self.many(0, self.first))
        self.pause()
        asyncio.run(self.many(self.first, PER_WORKER))

    async def many(self, start: int, stop: int) -> None:
        await asyncio.gather(*(self.work_slowly(start, stop) for _ in range(WORKERS)))

    async def work_slowly(self, start: int, stop: int) -> None:
        for begin in range(start, stop, SESSION):
            with self.tel.session(profile=profile_of(begin)):
                for number in range(begin, min(begin + SESSION, stop)):
                    with suppress(ValueError, TimeoutError):
                        await self.slow[number % TOOLS](number)

    def run(self) -> int:
        """Do it all; give the bytes that four fifths of the calls left behind."""
        for thread in self.threads:
            thread.start()
        self.paused.wait()
        before = resident()
        self.go_on.wait()
        for thread in self.threads:
            thread.join()
        return resident() - before


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.skipif(not STATM.exists(), reason="memory is read from /proc")
def test_a_million_calls_are_all_counted_and_leave_no_memory_behind() -> None:
    load = Load()
    left = load.run()
    found = parse_samples(load.tel.view)
    counted = {
        (label["tool"], label["outcome"], label["profile"]): value
        for (name, labels), value in found.items()
        if name == "tooltel_tool_calls_total" and value and (label := dict(labels))
    }
    assert sum(counted.values()) == CALLS
    assert counted == expected()
    totals: Counter[str] = Counter()
    for (name, _), value in found.items():
        totals[name] += int(value)
    assert totals["gen_ai_execute_tool_duration_seconds_count"] == CALLS
    assert totals["tooltel_stream_first_item_seconds_count"] == CALLS / 10
    assert totals["tooltel_tool_calls_active"] == 0
    assert totals["tooltel_internal_errors_total"] == 0
    assert totals["tooltel_label_overflow_total"] == 0
    assert left < 8 * 2**20, f"{left} bytes were left behind"
