"""How time passes on the desk: really, or only on paper."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

Value = TypeVar("Value")
Work = Callable[[], Awaitable[Any]]


class Pace(Protocol):
    """Waiting, and the clock that sees it. All times in seconds."""

    def clock(self) -> float:
        """Now, as a monotonic reading; what a Tooltel takes as its clock."""
        ...

    def wait(self, seconds: float) -> None:
        """Let time pass in a plain function."""
        ...

    async def pause(self, seconds: float) -> None:
        """Let time pass in a coroutine."""
        ...

    async def call(self, work: Callable[[], Value]) -> Value:
        """Run a plain function without holding up the other sessions."""
        ...

    async def together(self, *works: Work) -> None:
        """Run several calls of one session side by side, where that can be told apart."""
        ...

    def workers(self, sessions: int) -> int:
        """How many of *sessions* go on at the same time."""
        ...

    async def rest(self) -> None:
        """Let time pass between two sessions of one worker."""
        ...


class RealTime:
    """Waits are real: spans, histograms and logs agree, and a scrape sees calls in flight."""

    SHIFT = 12.0  # seconds that a shift should last: several scrapes of a live stack, and no boredom
    SESSION = 0.3  # seconds that an average session waits; measured
    MOST = 64  # threads: beyond, two cores would measure each other

    def clock(self) -> float:
        """Now, as a monotonic reading."""
        return time.perf_counter()

    def wait(self, seconds: float) -> None:
        """Let time pass in a plain function."""
        time.sleep(seconds)

    async def pause(self, seconds: float) -> None:
        """Let time pass in a coroutine."""
        await asyncio.sleep(seconds)

    async def call(self, work: Callable[[], Value]) -> Value:
        """Run a plain function in a thread."""
        return await asyncio.to_thread(work)

    async def together(self, *works: Work) -> None:
        """Run several calls of one session side by side."""
        async with asyncio.TaskGroup() as group:
            for work in works:
                group.create_task(_finish(work))

    def workers(self, sessions: int) -> int:
        """As many as make the shift last about `SHIFT` seconds."""
        return max(4, min(self.MOST, round(sessions * self.SESSION / self.SHIFT)))

    async def rest(self) -> None:
        """Go on at once."""


class Unhurried(RealTime):
    """Waits are real, and a session begins each *every* seconds, as at a small desk, hour after hour."""

    WORKERS = 4  # enough for sessions that take four times as long

    def __init__(self, every: float) -> None:
        self._every = every
        self._next = -math.inf  # when the latest of the sessions that wait begins, by the clock

    def workers(self, sessions: int) -> int:  # noqa: ARG002 - the protocol's
        """A handful, who mostly wait."""
        return self.WORKERS

    async def rest(self) -> None:
        """Wait for the next customer whom nobody else waits for."""
        now = self.clock()
        self._next = max(self._next + self._every, now)
        await asyncio.sleep(self._next - now)


class SimulatedTime:
    """
    Waits are only added up: the same shift gives the same figures, and takes no time.

    One session goes on at a time, as the one clock cannot tell two of them apart. Span times are the tracer's
    own and do not see it.
    """

    def __init__(self) -> None:
        self._now = 0.0

    def clock(self) -> float:
        """Now, as a monotonic reading."""
        return self._now

    def wait(self, seconds: float) -> None:
        """Let time pass in a plain function."""
        self._now += seconds

    async def pause(self, seconds: float) -> None:
        """Let time pass in a coroutine."""
        self._now += seconds
        await asyncio.sleep(0)  # a place to be cancelled at, as every real wait is one

    async def call(self, work: Callable[[], Value]) -> Value:
        """Run a plain function here and now."""
        return work()

    async def together(self, *works: Work) -> None:
        """Run several calls of one session one after the other."""
        for work in works:
            await work()

    def workers(self, sessions: int) -> int:  # noqa: ARG002 - the protocol's
        """One."""
        return 1

    async def rest(self) -> None:
        """Go on at once."""


async def _finish(work: Work) -> None:
    await work()
