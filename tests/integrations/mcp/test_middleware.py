"""Servers of mcp 2.x: what only its middleware and its protocol have."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from mcp.server.extension import Extension
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult, InputRequiredResult, TextContent

from tests.integrations.counting import counter, counts
from tests.integrations.hotel import telemetry
from tests.integrations.mcp.hotel import Hotel
from tests.integrations.mcp.kit import Desk, ToolError, connect, serve
from tests.integrations.mcp.recording import outcomes
from tests.integrations.mcp.script import Ask, conversation
from tests.integrations.mcp.test_neutrality import CONVERSATION, everything
from tooltel.integrations.mcp import TooltelMiddleware, watch_client, watch_server
from tooltel.testing import Captured, capture

if TYPE_CHECKING:
    from tooltel import Tooltel


async def ask(server: Any, *asks: Ask, way: str = "direct") -> list[str]:
    async with connect(server, way) as client:
        desk = Desk(client, Hotel(ToolError))
        return [await desk.ask(each) for each in asks]


def served(tel: Tooltel, server: Any, *asks: Ask) -> tuple[Captured, list[str]]:
    with capture(tel) as seen:
        said = asyncio.run(ask(server, *asks))
    return seen, said


@pytest.mark.parametrize("ours_first", [True, False])
def test_the_order_of_middleware_changes_nothing_for_the_client(*, ours_first: bool) -> None:
    """Another middleware sees the same messages, wherever ours stands."""

    def run(tel: Tooltel | None) -> tuple[dict[str, Any], list[str]]:
        seen: list[str] = []

        async def other(ctx: Any, call_next: Any) -> Any:
            result = await call_next(ctx)
            seen.append(f"{ctx.method} {ctx.params} {result}")
            return result

        def watch(server: Any, client: Any) -> None:
            if server is not None:
                ours = [TooltelMiddleware(tel, profile="desk")] if tel is not None else []
                server.middleware.extend([*ours, other] if ours_first else [other, *ours])

        return everything("direct", watch), seen

    with telemetry() as tel:
        with_it, seen = run(tel)
    without_it, seen_without = run(None)
    assert with_it == without_it
    assert sorted(seen) == sorted(seen_without)
    assert len(seen) > len(CONVERSATION)


def test_middleware_that_is_given_to_the_server_sees_all_but_the_causes_that_answers_hide() -> None:
    with telemetry() as tel:
        hotel = Hotel(ToolError)
        server = serve(hotel, middleware=[TooltelMiddleware(tel, profile="desk")])

        async def converse() -> list[Any]:
            recorded = []
            async with connect(server) as client:
                await client.list_tools()
                desk = Desk(client, hotel)
                for turn in conversation(rejects_extra=False):
                    with capture(tel) as seen:
                        await desk.play(turn)
                    recorded.append((turn.asks, counts(seen)))
            return recorded

        assert asyncio.run(converse()) == [(turn.asks, turn.at_client) for turn in conversation(rejects_extra=False)]


def test_a_server_with_the_middleware_that_is_watched_too_counts_once_and_sees_causes() -> None:
    with telemetry() as tel:
        server = serve(Hotel(ToolError), middleware=[TooltelMiddleware(tel)])
        watch_server(tel, server)
        watch_server(tel, server)
        assert sum(isinstance(each, TooltelMiddleware) for each in server.middleware) == 1
        seen, _ = served(tel, server, Ask("call_taxi", {"how": "crash"}))
    assert outcomes(seen) == [("call_taxi", "error", "KeyError")]


def test_it_stands_inside_the_sdks_own_middleware_and_outside_of_all_other() -> None:
    async def other(ctx: Any, call_next: Any) -> Any:
        return await call_next(ctx)

    with telemetry() as tel:
        server = serve(Hotel(ToolError), middleware=[other])
        sdks = [type(each).__name__ for each in server.middleware if each is not other]
        watch_server(tel, server)
        names = [type(each).__name__ for each in server.middleware]
    assert names == [*sdks, "TooltelMiddleware", "function"]


@pytest.mark.parametrize("how", ["answer", "raise"])
def test_another_middleware_that_denies_a_call_refuses_it(how: str) -> None:
    async def denying(ctx: Any, call_next: Any) -> Any:
        if ctx.method != "tools/call":
            return await call_next(ctx)
        if how == "raise":
            raise MCPError(code=-31000, message="not by night")
        return {"content": [{"type": "text", "text": "not by night"}], "isError": True, "resultType": "complete"}

    with telemetry() as tel:
        server = serve(Hotel(ToolError), middleware=[denying])
        watch_server(tel, server)
        seen, _ = served(tel, server, Ask("call_taxi"))
        assert counts(seen) == counter("call call_taxi refused\nrefused call_taxi middleware")


def test_an_interceptor_that_answers_in_the_tools_place_is_no_refusal_where_it_answers_well() -> None:
    class Cache(Extension):
        identifier = "com.example/cache"

        async def intercept_tool_call(self, params: Any, ctx: Any, call_next: Any) -> Any:
            return CallToolResult(
                content=[TextContent(type="text", text="as before")], structured_content={"result": "as before"}
            )

    with telemetry() as tel:
        server = serve(Hotel(ToolError), extensions=[Cache()])
        watch_server(tel, server)
        seen, said = served(tel, server, Ask("call_taxi"))
        assert outcomes(seen) == [("call_taxi", "ok", "")]
        assert "as before" in said[0]


def test_a_protocol_error_of_the_tools_own_is_an_error_by_its_code() -> None:
    server = MCPServer("shop")

    @server.tool()
    def pay() -> str:
        raise MCPError(code=-31000, message="no")

    with telemetry() as tel:
        watch_server(tel, server)
        seen, _ = served(tel, server, Ask("pay"))
        assert outcomes(seen) == [("pay", "error", "-31000")]


def test_what_a_tool_calls_on_its_own_server_is_neither_a_call_nor_the_cause_of_its_end() -> None:
    server = MCPServer("shop")

    @server.tool()
    def inner() -> str:
        raise ToolError("no")

    @server.tool()
    async def outer() -> str:
        with pytest.raises(ToolError):
            await server.call_tool("inner", {})
        raise KeyError("later")

    with telemetry() as tel:
        watch_server(tel, server)
        seen, _ = served(tel, server, Ask("outer"))
        assert outcomes(seen) == [("outer", "error", "KeyError")]


def test_arguments_that_are_no_object_are_rejected_and_a_name_that_is_no_text_is_a_drop() -> None:
    async def send(server: Any) -> None:
        async with connect(server) as client:
            for params in ({"name": "call_taxi", "arguments": "now"}, {"name": 7}, {}):
                with pytest.raises(MCPError):
                    await client.session._dispatcher.send_raw_request("tools/call", params)

    with telemetry() as tel:
        server = serve(Hotel(ToolError))
        watch_server(tel, server, profile="desk")
        with capture(tel) as seen:
            asyncio.run(send(server))
        assert outcomes(seen) == [
            ("call_taxi", "invalid_arguments", "invalid_arguments"),
            ("7", "not_found", "tool_not_found"),
            ("", "not_found", "tool_not_found"),
        ]


@pytest.mark.parametrize("ends", ["server", "client", "server and client"])
def test_a_call_that_asks_for_more_is_put_off_and_made_again(ends: str) -> None:
    server = MCPServer("shop")
    rounds: list[str] = []

    @server.tool()
    def pay() -> Any:
        rounds.append("asked")
        return InputRequiredResult(request_state="s") if len(rounds) == 1 else "paid"

    with telemetry() as tel:
        if "server" in ends:
            watch_server(tel, server)
        with capture(tel) as seen:

            async def pay_up() -> None:
                async with connect(server, "direct") as client:
                    if "client" in ends:
                        watch_client(tel, client)
                    await client.call_tool("pay")

            asyncio.run(pay_up())
        assert outcomes(seen) == [("pay", "cancelled", "cancelled"), ("pay", "ok", "")]
