"""Calls, streams, sessions and drops in any order: counts are what was done, and nothing is left behind."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import weakref
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, precondition, rule
from opentelemetry.trace import INVALID_SPAN, get_current_span
from prometheus_client import CollectorRegistry

import tooltel
from tooltel import Catalog, HouseRules, Profile, Tooltel
from tooltel.call import current_call, current_session
from tooltel.errors import Level
from tooltel.testing import capture

CATALOG = Catalog(
    profiles=[Profile("support", "desk"), Profile("sales", "desk")],
    house=HouseRules(levels={"description": Level.OFF}),
    open=True,
)
ENDS: dict[str, Callable[[], Any]] = {
    "ok": lambda: "done",
    "replayed": lambda: {"replayed": True},
    "partial": lambda: {"status": "partial", "results": [{"status": "ok"}]},
    "refused": lambda: raising(tooltel.Refused("no", policy="p")),
    "invalid_arguments": lambda: raising(tooltel.Rejected("limit")),
    "error": lambda: raising(ValueError()),
    "timeout": lambda: raising(TimeoutError()),
    "cancelled": lambda: raising(asyncio.CancelledError()),
}
PROFILES = st.sampled_from(["support", "sales", "made up", None])


def raising(error: BaseException) -> Any:
    raise error


class Play(RuleBasedStateMachine):
    """Does things through the wrappers, and keeps its own books of what it did."""

    streams: Bundle[Any] = Bundle("streams")

    @initialize()
    def begin(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.tel = Tooltel(CATALOG, registry=CollectorRegistry())
        self.capture = capture(self.tel)
        self.seen = self.capture.__enter__()
        self.books: Counter[tuple[str, str, str]] = Counter()  # tool, outcome, profile
        self.drops = 0
        self.sessions: list[tuple[Any, str]] = []
        self.made: weakref.WeakSet[Any] = weakref.WeakSet()
        self.open: dict[int, tuple[str, str]] = {}  # streams that are running: their tool and profile
        tool = self.tel.tool(owner="desk")

        @tool
        def plain(end: str, inner: Callable[[], Any] | None = None) -> Any:
            assert_running("plain")
            if inner is not None:
                inner()
            assert_running("plain")
            return ENDS[end]()

        @tool
        async def slowly(end: str) -> Any:
            await asyncio.sleep(0)
            assert_running("slowly")
            return ENDS[end]()

        @tool
        def rows(end: str) -> Generator[int, Any, Any]:
            for row in range(3):
                assert_running("rows")
                yield row
            return ENDS[end]()

        @tool
        async def slow_rows(end: str) -> AsyncGenerator[int, Any]:
            for row in range(3):
                await asyncio.sleep(0)
                assert_running("slow_rows")
                yield row
            ENDS[end]()

        self.plain, self.slowly, self.rows, self.slow_rows = plain, slowly, rows, slow_rows

    @property
    def profile(self) -> str:
        return self.sessions[-1][1] if self.sessions else "none"

    def wait(self, awaitable: Any) -> Any:
        async def main() -> Any:
            return await awaitable

        return self.loop.run_until_complete(main())

    # --- calls ---

    @rule(end=st.sampled_from(sorted(ENDS)))
    def call(self, end: str) -> None:
        with suppress(ValueError, TimeoutError, PermissionError, asyncio.CancelledError):
            self.plain(end)
        self.books["plain", end, self.profile] += 1

    @rule(end=st.sampled_from(sorted(ENDS)))
    def call_slowly(self, end: str) -> None:
        with suppress(ValueError, TimeoutError, PermissionError, asyncio.CancelledError):
            self.wait(self.slowly(end))
        self.books["slowly", end, self.profile] += 1

    @rule()
    def call_wrongly(self) -> None:
        with suppress(TypeError):
            self.plain()  # type: ignore[call-arg]  # the point
        self.books["plain", "invalid_arguments", self.profile] += 1

    @rule(end=st.sampled_from(["ok", "error"]))
    def call_nested(self, end: str) -> None:
        def inner() -> None:
            with suppress(ValueError):
                self.plain(end)
            assert list(self.rows("ok")) == [0, 1, 2]

        assert self.plain("ok", inner) == "done"
        self.books["plain", end, self.profile] += 1
        self.books["plain", "ok", self.profile] += 1
        self.books["rows", "ok", self.profile] += 1

    @rule(number=st.integers(2, 5))
    def call_at_once(self, number: int) -> None:
        async def main() -> list[Any]:
            return list(await asyncio.gather(*(self.slowly("ok") for _ in range(number))))

        assert self.loop.run_until_complete(main()) == ["done"] * number
        self.books["slowly", "ok", self.profile] += number

    @rule()
    def call_in_another_context(self) -> None:
        assert contextvars.Context().run(self.plain, "ok") == "done"
        self.books["plain", "ok", "none"] += 1

    @rule()
    def drop(self) -> None:
        self.tel.not_found("zork")
        self.drops += 1

    # --- streams ---

    @rule(target=streams, end=st.sampled_from(["ok", "error", "timeout"]), slow=st.booleans())
    def make_stream(self, end: str, slow: bool) -> Any:
        source = self.slow_rows(end) if slow else self.rows(end)
        self.made.add(source)
        return [source, end, 0]

    @rule(stream=streams)
    def step(self, stream: Any) -> None:
        source, end, row = stream
        if row > 3:
            return
        slow = hasattr(source, "__anext__")
        name = "slow_rows" if slow else "rows"
        if row == 0:
            self.open[id(stream)] = (name, self.profile)
        raised: BaseException | None = None
        try:
            got = self.wait(anext(source)) if slow else next(source)
            assert got == row
        except (StopIteration, StopAsyncIteration, ValueError, TimeoutError) as error:
            raised = error
        stream[2] = row + 1
        if row == 3:
            assert raised is not None
            self.books[(name, end, self.open.pop(id(stream))[1])] += 1

    @rule(stream=consumes(streams), how=st.sampled_from(["close", "drop", "cycle", "throw", "elsewhere"]))
    def leave_stream(self, stream: Any, how: str) -> None:
        opened = self.open.pop(id(stream), None)
        source, stream[0] = stream[0], None
        if how == "throw" and opened:
            with suppress(ValueError):
                self.wait(source.athrow(ValueError())) if hasattr(source, "athrow") else source.throw(ValueError())
        elif how == "elsewhere":
            contextvars.Context().run(self.close, source)
        elif how == "cycle" and not hasattr(source, "aclose"):
            cycle: list[Any] = [source]
            cycle.append(cycle)
            del source, cycle
            gc.collect()
        elif how != "drop" or hasattr(source, "aclose"):
            self.close(source)
        if opened:
            self.books[opened[0], "error" if how == "throw" else "abandoned", opened[1]] += 1

    def close(self, source: Any) -> None:
        if hasattr(source, "aclose"):
            self.wait(source.aclose())
        else:
            source.close()

    # --- sessions ---

    @precondition(lambda self: len(self.sessions) < 4)
    @rule(profile=PROFILES)
    def enter_session(self, profile: str | None) -> None:
        block = self.tel.session(profile=profile, id=f"s-{len(self.sessions)}")
        block.__enter__()
        self.sessions.append((block, {"made up": "other", None: "none"}.get(profile, str(profile))))

    @precondition(lambda self: self.sessions)
    @rule()
    def leave_session(self) -> None:
        self.sessions.pop()[0].__exit__(None, None, None)

    # --- what must hold at any time ---

    @invariant()
    def the_context_is_the_players_own(self) -> None:
        if hasattr(self, "sessions"):
            assert current_call() is None
            assert get_current_span() is INVALID_SPAN
            session = current_session()
            assert (session.origin.profile if session else "none") == self.profile

    @invariant()
    def what_was_recorded_is_what_was_done(self) -> None:
        if not hasattr(self, "books"):
            return
        settled = Counter((o.tool.name, o.status.value, o.origin.profile) for o in self.seen.outcomes if o.tool)
        assert settled == self.books
        done = sum(self.books.values())
        assert len(self.seen.spans) == done + self.drops
        assert self.seen.increase("tooltel_tool_calls_total") == done
        assert self.seen.increase("gen_ai_execute_tool_duration_seconds_count") == done
        assert self.seen.increase("tooltel_tool_not_found_total") == self.drops
        assert self.seen.increase("tooltel_tool_calls_active") == len(self.open)
        assert self.seen.increase("tooltel_internal_errors_total") == 0

    def teardown(self) -> None:
        if not hasattr(self, "books"):
            return
        while self.sessions:
            self.leave_session()
        for source in list(self.made):
            self.close(source)
        self.loop.close()
        self.capture.__exit__(None, None, None)
        assert current_session() is None


def assert_running(name: str) -> None:
    call = current_call()
    assert call is not None
    assert call.tool.name == name
    assert get_current_span() is call.span


TestPlay = pytest.mark.slow(Play.TestCase)
TestPlay.settings = settings(max_examples=25, stateful_step_count=40)
