"""Both ends in one process, watched by one Tooltel: a call is one, however the ends are connected."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from tests.integrations.counting import counter, counts
from tests.integrations.hotel import telemetry
from tests.integrations.mcp.hotel import Hotel
from tests.integrations.mcp.kit import IS_2, WAYS, Desk, ToolError, connect, serve
from tests.integrations.mcp.loopback import connect_to, listening
from tests.integrations.mcp.recording import outcomes
from tests.integrations.mcp.script import conversation
from tests.integrations.mcp.test_client import without_old_names
from tooltel.integrations.mcp import watch_client, watch_server
from tooltel.integrations.mcp.together import together_on
from tooltel.testing import capture

if TYPE_CHECKING:
    from tooltel import Tooltel

CONVERSATION = [turn for turn in conversation(rejects_extra=False) if not turn.called_off]


async def converse(tel: Tooltel, client: Any, hotel: Hotel) -> list[Any]:
    desk = Desk(client, hotel)
    await client.list_tools()
    recorded = []
    for turn in CONVERSATION:
        with capture(tel) as seen:
            await desk.play(turn)
        recorded.append((turn.moment.name, turn.asks, counts(seen)))
    return recorded


@pytest.mark.parametrize("modern", [False, True] if IS_2 else [False], ids=lambda modern: "modern" if modern else "")
@pytest.mark.parametrize("ends", ["server", "server and client"])
def test_over_http_in_one_process_a_call_is_one(ends: str, *, modern: bool) -> None:
    async def run(tel: Tooltel) -> list[Any]:
        hotel = Hotel(ToolError)
        server = watch_server(tel, serve(hotel), profile="desk")
        async with listening(server.streamable_http_app()) as address, connect_to(address, modern=modern) as client:
            if "client" in ends:
                watch_client(tel, client, profile="desk")
            return await converse(tel, client, hotel)

    with telemetry() as tel:
        recorded = asyncio.run(run(tel))
        assert recorded == [(turn.moment.name, turn.asks, turn.recorded) for turn in CONVERSATION]
        assert not together_on(tel)._waiting


@pytest.mark.parametrize("way", WAYS)
def test_equal_calls_at_once_are_as_many_as_they_are(way: str) -> None:
    async def run(tel: Tooltel) -> None:
        server = watch_server(tel, serve(Hotel()))
        async with connect(server, way) as one, connect(server, way) as other:
            watch_client(tel, one)
            watch_client(tel, other)
            await asyncio.gather(*(client.call_tool("ring_bell", {}) for client in (one, other) * 10))

    with telemetry() as tel, capture(tel) as seen:
        asyncio.run(run(tel))
        assert counts(seen) == counter("\n".join(["call ring_bell ok"] * 20))
        assert not together_on(tel)._waiting


@pytest.mark.parametrize("way", WAYS)
def test_what_a_stranger_asks_the_server_meanwhile_is_a_call_of_its_own(way: str) -> None:
    async def run(tel: Tooltel) -> None:
        server = watch_server(tel, serve(Hotel()))
        async with connect(server, way) as ours, connect(server, way) as strangers:
            watch_client(tel, ours)
            await asyncio.gather(ours.call_tool("find_rooms", {"kind": "single"}), strangers.call_tool("ring_bell", {}))

    with telemetry() as tel, capture(tel) as seen:
        asyncio.run(run(tel))
        assert counts(seen) == counter("call find_rooms ok\ncall ring_bell ok")


def gateway(behind: Any) -> Any:
    """A server whose one tool asks another server on, by the same name and with the same arguments."""
    server = serve(Hotel())

    async def ring_bell(how: str = "fine") -> str:
        """Ring the bell, so that somebody comes to the desk."""
        result = await behind.call_tool("ring_bell", {"how": how})
        return str(result.content[0].text)

    remove(server, "ring_bell")
    server.add_tool(ring_bell)
    return server


def remove(server: Any, name: str) -> None:
    if IS_2:
        server.remove_tool(name)
    else:
        del server._tool_manager._tools[name]


@pytest.mark.parametrize("way", WAYS)
def test_what_a_gateway_asks_on_is_the_call_that_it_was_asked_for(way: str) -> None:
    """Many ask it for the same at once; each is one call, and none is taken for another."""

    async def run(tel: Tooltel) -> None:
        async with connect(serve(Hotel()), way) as behind:
            watch_client(tel, behind)
            server = watch_server(tel, gateway(behind))
            async with connect(server, way) as one, connect(server, way) as other:
                await asyncio.gather(*(client.call_tool("ring_bell", {}) for client in (one, other) * 5))

    with telemetry() as tel, capture(tel) as seen:
        asyncio.run(run(tel))
        assert counts(seen) == counter("\n".join(["call ring_bell ok"] * 10))


@pytest.mark.parametrize("way", WAYS)
def test_a_redirected_call_is_one_at_both_ends(way: str) -> None:
    async def run(tel: Tooltel, redirected_at: str) -> None:
        server = watch_server(tel, without_old_names(Hotel()), redirect_aliases=redirected_at == "server")
        async with connect(server, way) as client:
            watch_client(tel, client, redirect_aliases=redirected_at == "client")
            await client.call_tool("search_rooms", {"kind": "single"})

    for redirected_at in ("server", "client"):
        with telemetry() as tel, capture(tel) as seen:
            asyncio.run(run(tel, redirected_at))
            assert counts(seen) == counter("call find_rooms ok\nalias search_rooms find_rooms"), redirected_at


@pytest.mark.parametrize("way", WAYS)
def test_a_tool_that_no_catalog_holds_is_one_too_and_so_is_a_call_to_no_tool(way: str) -> None:
    async def run(tel: Tooltel) -> None:
        server = serve(Hotel())

        def stranger() -> str:
            """Nobody owns this one."""
            return "hello"

        server.add_tool(stranger)
        watch_server(tel, server)
        async with connect(server, way) as client:
            watch_client(tel, client)
            await client.call_tool("stranger", {})
            await client.call_tool("made_up", {})

    with telemetry() as tel, capture(tel) as seen:
        asyncio.run(run(tel))
    assert outcomes(seen) == [("stranger", "ok", ""), ("made_up", "not_found", "tool_not_found")]


def test_ends_that_two_tooltels_watch_are_counted_by_each() -> None:
    async def run(one: Tooltel, other: Tooltel) -> None:
        server = watch_server(one, serve(Hotel()))
        async with connect(server) as client:
            watch_client(other, client)
            await client.call_tool("ring_bell", {})

    with telemetry() as one, telemetry() as other, capture(one) as at_server, capture(other) as at_client:
        asyncio.run(run(one, other))
        assert counts(at_server) == counts(at_client) == counter("call ring_bell ok")


def test_a_client_whose_process_has_no_server_keeps_no_books() -> None:
    async def run(tel: Tooltel) -> None:
        hotel = Hotel()
        async with connect(serve(hotel)) as client:
            watch_client(tel, client)
            running = asyncio.create_task(client.call_tool("ring_bell", {"how": "forever"}))
            await hotel.rung.wait()
            assert not together_on(tel)._waiting
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    with telemetry() as tel:
        asyncio.run(run(tel))
