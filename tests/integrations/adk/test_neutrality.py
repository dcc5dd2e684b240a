"""With and without the plug-in everything is the same: events, requests, tool calls, exceptions, ADK's own log."""

from __future__ import annotations

import asyncio
import logging
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from google.adk.plugins.base_plugin import BasePlugin

from tests.integrations.adk.kit import Ask, Desk, Hotel, normal, telemetry
from tests.integrations.adk.script import CONVERSATION
from tests.integrations.adk.test_conversation import play
from tooltel.integrations.adk import TooltelPlugin
from tooltel.observed import Observed

if TYPE_CHECKING:
    from collections.abc import Callable

    from tooltel import Tooltel

# What ADK's callbacks force on a run, by moment. There is nothing; what changes this must say so here.
DEVIATIONS: dict[str, str] = {}

TOOLTEL = ("observe", "not_found", "declared", "raw_arguments", "session", "origin")
OBSERVED = ("finish", "fail", "reject", "refuse", "conclude", "settle", "begin", "leave")


class Log(logging.Handler):
    """What ADK says about a run, in whatever order its tasks said it."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(normal(record.getMessage()))


# One turn of each moment and end, where the whole conversation would prove no more.
SHORT = tuple({(turn.moment, turn.recorded): turn for turn in CONVERSATION}.values())


def everything(*plugins: BasePlugin, streaming: bool = False, short: bool = False) -> dict[str, Any]:
    """All that can be seen from outside of a conversation."""

    async def converse() -> dict[str, Any]:
        hotel = Hotel()
        desk = await Desk(hotel.tools(), plugins=plugins, streaming=streaming).open()
        for turn in SHORT if short else CONVERSATION:
            await play(desk, hotel, turn)
        return {**desk.seen(), "calls": hotel.log}

    log = Log()
    logging.getLogger("google_adk").addHandler(log)
    try:
        return {**asyncio.run(converse()), "log": sorted(log.said)}
    finally:
        logging.getLogger("google_adk").removeHandler(log)


@cache
def without(*, streaming: bool = False, short: bool = False) -> dict[str, Any]:
    return everything(streaming=streaming, short=short)


@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "streaming"])
def test_a_run_with_the_plugin_is_the_run_without_it(*, streaming: bool) -> None:
    with telemetry() as tel:
        with_it = everything(TooltelPlugin(tel, profile="desk"), streaming=streaming)
    assert with_it == without(streaming=streaming)
    assert len(with_it["calls"]) > 20
    assert not DEVIATIONS


def test_to_redirect_aliases_changes_nothing_where_no_alias_is_asked_for() -> None:
    with telemetry() as tel:
        assert everything(TooltelPlugin(tel, profile="desk", redirect_aliases=True)) == without()


def test_a_synchronous_run_with_the_plugin_is_the_run_without_it() -> None:
    def converse(plugins: list[BasePlugin]) -> dict[str, Any]:
        hotel = Hotel()
        desk = asyncio.run(Desk(hotel.tools(), plugins=plugins).open())
        for turn in CONVERSATION:
            if not turn.called_off:
                desk.turn_sync(*turn.steps)
        return {**desk.seen(), "calls": hotel.log}

    with telemetry() as tel:
        assert converse([TooltelPlugin(tel, profile="desk")]) == converse([])


def broken(*args: object, **kwargs: object) -> Any:
    raise ZeroDivisionError("tooltel is broken")


def break_all(tel: Tooltel, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in TOOLTEL:
        monkeypatch.setattr(tel, name, broken)


def break_verbs(tel: Tooltel, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in OBSERVED:
        monkeypatch.setattr(Observed, name, broken)


@pytest.mark.parametrize("breaks", [break_all, break_verbs])
def test_a_tooltel_that_raises_in_every_hook_changes_nothing(
    breaks: Callable[[Tooltel, pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with telemetry() as tel:
        contained: list[BaseException] = []
        monkeypatch.setattr(tel.guard, "contain", lambda component, error: contained.append(error))
        plugin = TooltelPlugin(tel, profile="desk", redirect_aliases=True)
        breaks(tel, monkeypatch)
        assert everything(plugin, short=True) == without(short=True)
        monkeypatch.undo()
    assert len(contained) > len(SHORT)
    assert {type(error) for error in contained} == {ZeroDivisionError}


class Denies(BasePlugin):
    async def before_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any) -> Any:
        if tool.name == "send_bill":
            return {"status": "refused", "policy": "house"}
        return None


class Replaces(BasePlugin):
    async def after_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any, result: Any) -> Any:
        return {"instead_of": str(result)[:20]}


class Recovers(BasePlugin):
    async def on_tool_error_callback(self, *, tool: Any, tool_args: Any, tool_context: Any, error: Any) -> Any:
        return {"sorry": f"{type(error).__name__}"}


class Raises(BasePlugin):
    async def before_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any) -> Any:
        if tool.name == "call_taxi":
            raise RuntimeError("a plug-in of the host's is broken")


@pytest.mark.parametrize("other", [Denies, Replaces, Recovers, Raises])
def test_other_plugins_do_what_they_do_before_ours_and_after_it(other: type[BasePlugin]) -> None:
    alone = everything(other("other"), short=True)
    with telemetry() as tel:
        assert everything(TooltelPlugin(tel, profile="desk"), other("other"), short=True) == alone
        assert everything(other("other"), TooltelPlugin(tel, profile="desk"), short=True) == alone


def test_an_agent_without_tools_is_the_same_too() -> None:
    async def converse(plugins: list[BasePlugin]) -> dict[str, Any]:
        desk = await Desk([], plugins=plugins).open()
        await desk.turn("Good morning.")
        await desk.turn([Ask("book_room", {})], "Done.")
        return desk.seen()

    with telemetry() as tel:
        assert asyncio.run(converse([TooltelPlugin(tel)])) == asyncio.run(converse([]))
