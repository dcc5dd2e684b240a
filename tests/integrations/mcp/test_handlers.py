"""Servers of mcp 1.x: handlers that are registered before or after the server is watched."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from mcp import types
from mcp.server.lowlevel import Server

from tests.integrations.hotel import telemetry
from tests.integrations.mcp.hotel import Hotel
from tests.integrations.mcp.kit import Desk, connect, serve
from tests.integrations.mcp.recording import outcomes
from tests.integrations.mcp.script import Ask
from tooltel import Refused
from tooltel.integrations.mcp import watch_server
from tooltel.testing import Captured, capture

if TYPE_CHECKING:
    from tooltel import Tooltel


def register(server: Any) -> None:
    @server.list_tools()
    async def list_tools() -> list[Any]:
        return [types.Tool(name="book_room", description="Book a room.", inputSchema={"type": "object"})]

    @server.call_tool()
    async def call_tool(name: str, arguments: dict[str, Any]) -> list[Any]:
        if arguments.get("how") == "refuse":
            raise Refused("not by night", policy="night")
        if arguments.get("how") == "crash":
            raise KeyError("no such room")
        return [types.TextContent(type="text", text="booked")]


def served(tel: Tooltel, server: Any, *asks: Ask) -> Captured:
    async def converse() -> None:
        async with connect(server) as client:
            desk = Desk(client, Hotel())
            for ask in asks:
                await desk.ask(ask)

    with capture(tel) as seen:
        asyncio.run(converse())
    return seen


ASKED = (Ask("book_room", {}), Ask("book_room", {"how": "refuse"}), Ask("book_room", {"how": "crash"}))


def test_what_handlers_raise_is_seen_where_the_server_was_watched_first() -> None:
    with telemetry() as tel:
        server: Any = Server("hotel")
        watch_server(tel, server)
        register(server)
        assert outcomes(served(tel, server, *ASKED)) == [
            ("book_room", "ok", ""),
            ("book_room", "refused", "refused"),
            ("book_room", "error", "KeyError"),
        ]


def test_where_handlers_were_there_before_only_their_answers_are_seen() -> None:
    with telemetry() as tel:
        server: Any = Server("hotel")
        register(server)
        watch_server(tel, server)
        assert outcomes(served(tel, server, *ASKED)) == [
            ("book_room", "ok", ""),
            ("book_room", "error", "tool_error"),
            ("book_room", "error", "tool_error"),
        ]


def test_a_handler_that_is_replaced_is_watched_again() -> None:
    with telemetry() as tel:
        server: Any = Server("hotel")
        watch_server(tel, server)
        register(server)
        register(server)
        assert len(served(tel, server, *ASKED).outcomes) == 3


@pytest.mark.parametrize("times", [1, 2])
def test_a_server_that_is_watched_twice_counts_once(times: int) -> None:
    with telemetry() as tel:
        server = serve(Hotel())
        for _ in range(times):
            watch_server(tel, server)
        assert len(served(tel, server, Ask("call_taxi")).outcomes) == 1


def test_a_schema_that_the_sdk_looks_up_for_itself_is_no_declaration() -> None:
    with telemetry() as tel:
        server = serve(Hotel())
        watch_server(tel, server)
        seen = served(tel, server, Ask("call_taxi"))
        sent = [event for event in seen.events if event.name == "tools_offered"]
    # The client lists what it called, to check the result's schema; the server's own look-up comes before that.
    assert len(sent) <= 1
