"""Watched or not, everything is the same: answers, exceptions, what tools are asked, what the SDK says in its log."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from tests.integrations.hotel import telemetry
from tests.integrations.mcp.hotel import Hotel
from tests.integrations.mcp.kit import WAYS, Desk, Log, ToolError, connect, serve, session_of, warnings_said
from tests.integrations.mcp.script import conversation
from tooltel.integrations.mcp import watch_client, watch_server
from tooltel.observed import Observed

if TYPE_CHECKING:
    from collections.abc import Callable

    from tooltel import Tooltel

CONVERSATION = conversation(rejects_extra=False)

# What the SDK's hooks force on a conversation, by moment. There is nothing; what changes this must say so here.
DEVIATIONS: dict[str, str] = {}

ENDS = ("server", "client", "server and client")
TOOLTEL = ("observe", "not_found", "declared", "raw_arguments", "session", "origin")
OBSERVED = ("finish", "fail", "reject", "refuse", "conclude", "settle", "begin", "leave", "missed")


def everything(way: str, watch: Callable[[Any, Any], None] = lambda server, client: None) -> dict[str, Any]:
    """All that can be seen from outside of a conversation; *watch* is given the server, then the client."""

    async def converse() -> dict[str, Any]:
        hotel = Hotel(ToolError)
        server = serve(hotel)
        watch(server, None)
        async with connect(server, way) as client:
            watch(None, client)
            desk = Desk(client, hotel)
            listed = await client.list_tools()
            for turn in CONVERSATION:
                await desk.play(turn)
            schemas = session_of(client)._tool_output_schemas
        return {"answers": desk.transcript, "calls": hotel.log, "listed": repr(listed), "schemas": schemas}

    serve(Hotel(ToolError))  # what Python warns of once, when the first is made
    with Log("mcp") as log, warnings_said() as warned:
        seen = asyncio.run(converse())
    return {**seen, "log": sorted(log.said), "warnings": warned}


@cache
def without(way: str) -> dict[str, Any]:
    return everything(way)


def watching(tel: Tooltel, ends: str, **options: Any) -> Callable[[Any, Any], None]:
    def watch(server: Any, client: Any) -> None:
        if server is not None and "server" in ends:
            watch_server(tel, server, profile="desk", **options)
        if client is not None and "client" in ends:
            watch_client(tel, client, profile="desk", **options)

    return watch


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("way", WAYS)
def test_a_watched_conversation_is_the_one_that_nobody_watches(way: str, ends: str) -> None:
    with telemetry() as tel:
        watched = everything(way, watching(tel, ends))
    assert watched == without(way)
    assert len(watched["calls"]) > 20
    assert len(watched["answers"]) == len(CONVERSATION)
    assert not DEVIATIONS


@pytest.mark.parametrize("way", WAYS)
def test_to_redirect_aliases_changes_nothing_where_the_server_knows_every_name(way: str) -> None:
    with telemetry() as tel:
        assert everything(way, watching(tel, "server and client", redirect_aliases=True)) == without(way)


@pytest.mark.parametrize("ends", ENDS)
def test_two_that_watch_the_same_change_no_more_than_one(ends: str) -> None:
    with telemetry() as one, telemetry() as other:
        first, second = watching(one, ends), watching(other, ends)

        def watch(server: Any, client: Any) -> None:
            first(server, client)
            second(server, client)

        assert everything("streams", watch) == without("streams")


def broken(*args: object, **kwargs: object) -> Any:
    raise ZeroDivisionError("tooltel is broken")


def break_all(tel: Tooltel, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in TOOLTEL:
        monkeypatch.setattr(tel, name, broken)


def break_verbs(tel: Tooltel, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in OBSERVED:
        monkeypatch.setattr(Observed, name, broken)


@pytest.mark.parametrize("breaks", [break_all, break_verbs])
@pytest.mark.parametrize("ends", ENDS)
def test_a_tooltel_that_raises_in_every_hook_changes_nothing(
    ends: str, breaks: Callable[[Tooltel, pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = without("streams")
    with telemetry() as tel:
        contained: list[BaseException] = []
        monkeypatch.setattr(tel.guard, "contain", lambda component, error: contained.append(error))
        watch = watching(tel, ends, redirect_aliases=True)
        breaks(tel, monkeypatch)
        assert everything("streams", watch) == expected
        monkeypatch.undo()
    assert len(contained) > len(CONVERSATION)
    assert {type(error) for error in contained} == {ZeroDivisionError}
