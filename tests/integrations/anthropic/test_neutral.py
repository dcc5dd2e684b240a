"""The SDK, the model and the host see exactly what they would see without tooltel."""

from __future__ import annotations

import asyncio
import functools
import logging
import warnings
from typing import TYPE_CHECKING, Any

import pytest

from tests.integrations.anthropic.kit import WAYS, Desk, Hotel, Make, Way, plainly
from tests.integrations.anthropic.script import script
from tests.integrations.anthropic.test_conversation import play
from tests.integrations.hotel import telemetry
from tooltel.integrations.anthropic import TooltelRunners
from tooltel.observed import Observed

if TYPE_CHECKING:
    from tooltel import Tooltel


class Lines(logging.Handler):
    """What the SDK logs."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(
            f"{record.name} {record.levelname} {record.getMessage()} {record.exc_info and record.exc_info[1]!r}"
        )


def converse(make: Make, way: Way) -> dict[str, Any]:
    """The whole conversation, and everything that can be seen of it."""
    hotel, lines = Hotel(), Lines()
    desk = Desk(hotel.tools(way), make=make, way=way)

    async def all_turns() -> None:
        for turn in script(way):
            await play(desk, hotel, turn)

    logger = logging.getLogger("anthropic")
    logger.addHandler(lines)
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            asyncio.run(all_turns())
    finally:
        logger.removeHandler(lines)
    told = [(str(each.message), each.category, each.filename, each.lineno) for each in warned]
    return {**desk.seen(), "ran": hotel.log, "logged": lines.said, "warned": told}


@functools.cache
def without(way: Way) -> dict[str, Any]:
    """The conversation as it is when nobody watches."""
    return converse(plainly, way)


def watching(tel: Tooltel) -> Make:
    return TooltelRunners(tel, profile="desk").tool_runner


@pytest.mark.parametrize("way", WAYS)
def test_every_message_request_event_warning_log_and_exception_is_the_same(way: Way) -> None:
    with telemetry() as tel:
        assert converse(watching(tel), way) == without(way)


@pytest.mark.parametrize("way", WAYS)
def test_a_tooltel_that_raises_everywhere_changes_nothing(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("telemetry is broken")

    with telemetry() as tel:
        for name in ("observe", "not_found", "declared", "raw_arguments", "session"):
            monkeypatch.setattr(tel, name, fail)
        assert converse(watching(tel), way) == without(way)


@pytest.mark.parametrize("way", WAYS)
def test_a_call_whose_end_cannot_be_recorded_changes_nothing(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("telemetry is broken")

    with telemetry() as tel:
        for name in ("finish", "fail", "reject", "refuse", "conclude"):
            monkeypatch.setattr(Observed, name, fail)
        assert converse(watching(tel), way) == without(way)


def test_a_runner_that_cannot_be_watched_runs_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **kwargs: Any) -> Any:
        raise TypeError("object layout differs")

    monkeypatch.setattr("tooltel.integrations.anthropic.runners.watched", fail)
    with telemetry() as tel:
        assert converse(watching(tel), "sync") == without("sync")


@pytest.mark.parametrize("way", WAYS)
def test_a_watched_runner_is_what_it_was(way: Way) -> None:
    with telemetry() as tel:
        plain = Desk(Hotel().tools(way), way=way).runner("Good evening.")
        runner = Desk(Hotel().tools(way), way=way, make=watching(tel)).runner("Good evening.")
        assert isinstance(runner, type(plain))
        assert type(runner).__name__ == type(plain).__name__
        assert type(runner).__doc__ == type(plain).__doc__


def test_the_hosts_own_tools_stay_untouched() -> None:
    with telemetry() as tel:
        tools = Hotel().tools("sync")
        before = [dict(vars(tool)) for tool in tools]
        desk = Desk(tools, make=watching(tel))
        asyncio.run(desk.turn("Good evening."))
        assert [{key: vars(tool)[key] for key in kept} for tool, kept in zip(tools, before, strict=True)] == before
        assert not any("call" in vars(tool) for tool in tools)
