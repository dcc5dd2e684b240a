"""The client's end: what no conversation at the hotel shows."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import pytest
from mcp import types
from mcp.client.session_group import ClientSessionGroup

from tests.integrations.counting import counter, counts
from tests.integrations.hotel import telemetry
from tests.integrations.mcp.hotel import Hotel
from tests.integrations.mcp.kit import IS_2, Desk, ToolError, connect, low_level, serve, session_of
from tests.integrations.mcp.recording import outcomes
from tests.integrations.mcp.script import Ask
from tooltel.call import current_call
from tooltel.integrations.mcp import watch_client
from tooltel.testing import Captured, capture

if TYPE_CHECKING:
    from tooltel import Tooltel

# What servers that are not ours answer, as it was recorded from them.
FOREIGN = {
    "MCP error -32602: Tool book_room not found": ("not_found", "tool_not_found"),
    "MCP error -32602: Tool book_room disabled": ("not_found", "tool_not_found"),
    "Unknown tool: 'book_room'": ("not_found", "tool_not_found"),
    "Unknown tool: other_tool": ("error", "tool_error"),
    "Error executing tool book_room: Unknown tool: book_room": ("error", "tool_error"),
    "MCP error -32602: Input validation error: Invalid arguments for tool book_room: Invalid input at nights": (
        "invalid_arguments",
        "invalid_arguments",
    ),
    "Input validation error: 'nights' is a required property": ("invalid_arguments", "invalid_arguments"),
    "1 validation error for call[book_room]\nnights\n  Missing required argument [type=missing_argument]": (
        "invalid_arguments",
        "invalid_arguments",
    ),
    "1 validation error for Booking\nnights\n  Field required [type=missing, input_value={}]": ("error", "tool_error"),
    "Output validation error: 'bad' is not of type 'integer'": ("error", "invalid_output"),
    "backend exploded": ("error", "tool_error"),
    "": ("error", "tool_error"),
}


def asked(tel: Tooltel, server: Any, *asks: Ask, before: Callable[[Any], Any] = lambda client: None) -> Captured:
    """What was recorded of *asks*, made by a watched client."""

    async def converse() -> None:
        async with connect(server) as client:
            watch_client(tel, client)
            before(client)
            desk = Desk(client, Hotel())
            for ask in asks:
                await desk.ask(ask)

    with capture(tel) as seen:
        asyncio.run(converse())
    return seen


def failing(text: str) -> Any:
    """A client's session that is answered *text* as an error."""

    class Session:
        async def call_tool(self, name: str, arguments: Any = None) -> Any:
            content = [types.TextContent(type="text", text=text)]
            return types.CallToolResult(content=content, **{"is_error" if IS_2 else "isError": True})

        async def list_tools(self) -> Any:
            return types.ListToolsResult(tools=[])

    return Session()


@pytest.mark.parametrize(("text", "expected"), FOREIGN.items(), ids=range(len(FOREIGN)))
def test_answers_of_other_servers_are_told_by_their_words(text: str, expected: tuple[str, str]) -> None:
    with telemetry() as tel, capture(tel) as seen:
        session = watch_client(tel, failing(text))
        asyncio.run(session.call_tool("book_room", {"nights": "ten"}))
    assert outcomes(seen) == [("book_room", *expected)]


def test_a_low_level_server_that_knows_no_such_tool_is_believed() -> None:
    async def handler(name: str, arguments: dict[str, Any]) -> str:
        raise ValueError(f"Unknown tool: {name}")

    with telemetry() as tel:
        seen = asked(tel, low_level(handler), Ask("drill", {}))
    assert outcomes(seen) == [("drill", "not_found", "tool_not_found")]


def test_arguments_that_a_low_level_server_checks_against_its_schema_name_their_fields() -> None:
    async def handler(name: str, arguments: dict[str, Any]) -> str:
        return "booked"

    async def converse(tel: Tooltel) -> None:
        async with connect(low_level(handler)) as client:
            watch_client(tel, client)
            await client.list_tools()
            await client.call_tool("book_room", {"nights": "ten", "kind": "Single", "colour": "red"})

    with telemetry() as tel, capture(tel) as seen:
        asyncio.run(converse(tel))
        rejected = """
            call book_room invalid_arguments
            rejected book_room structural framework
            field book_room structural nights
            field book_room structural kind
            field book_room structural other
        """
        assert counts(seen) == counter("call book_room ok" if IS_2 else rejected)  # 2.x checks nothing there


def test_a_result_that_breaks_its_output_schema_is_told_apart() -> None:
    async def handler(name: str, arguments: dict[str, Any]) -> str:
        return "no structure"

    server = low_level(handler)
    with telemetry() as tel:
        seen = asked(tel, server, Ask("book_room", {"nights": 1}), before=demand_structure)
    assert outcomes(seen) == [("book_room", "error", "invalid_output")]


def demand_structure(client: Any) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    session_of(client)._tool_output_schemas["book_room"] = schema


def test_the_clients_own_time_limit_is_a_time_out() -> None:
    with telemetry() as tel:
        seen = asked(tel, serve(Hotel()), Ask("ring_bell", {"how": "forever"}, timeout=0.05))
    assert outcomes(seen) == [("ring_bell", "timeout", "timeout")]


def test_a_connection_that_is_lost_is_an_error_by_its_code() -> None:
    async def converse(tel: Tooltel) -> None:
        hotel = Hotel()
        async with connect(serve(hotel)) as client:
            watch_client(tel, client)
            running = asyncio.create_task(client.call_tool("ring_bell", {"how": "forever"}))
            await hotel.rung.wait()
            session = session_of(client)
            stream = session._dispatcher._read_stream if IS_2 else session._read_stream
            await stream.aclose()
            await asyncio.gather(running, return_exceptions=True)
            running.cancel()

    with telemetry() as tel, capture(tel) as seen:
        asyncio.run(asyncio.wait_for(converse(tel), 20))
    ((name, status, error_type),) = outcomes(seen)
    assert (name, status) == ("ring_bell", "error")
    assert error_type in ("-32000", "ClosedResourceError")


def test_a_name_that_is_no_text_is_a_drop() -> None:
    with telemetry() as tel:
        seen = asked(tel, serve(Hotel()), Ask(None), Ask(7))
    assert outcomes(seen) == [("", "not_found", "tool_not_found"), ("7", "not_found", "tool_not_found")]


def test_made_up_names_leave_no_series_and_no_spans_of_their_own() -> None:
    with telemetry() as tel:
        seen = asked(tel, serve(Hotel()), *(Ask(f"made_up_{number}") for number in range(30)))
        assert {span.name for span in seen.spans} == {"execute_tool"}
        assert counts(seen) == counter("\n".join(["drop unknown other"] * 30))


def test_the_methods_of_a_watched_client_are_what_they_were() -> None:
    async def look(tel: Tooltel) -> None:
        async with connect(serve(Hotel())) as client:
            session = session_of(client)
            before = [inspect.signature(session.call_tool), inspect.signature(session.list_tools)]
            assert watch_client(tel, session) is session
            assert [inspect.signature(session.call_tool), inspect.signature(session.list_tools)] == before
            assert inspect.iscoroutinefunction(session.call_tool)
            assert session.call_tool.__doc__ == type(session).call_tool.__doc__

    with telemetry() as tel:
        asyncio.run(look(tel))


@pytest.mark.parametrize("again", [lambda client: client, session_of])
def test_a_client_that_is_watched_twice_counts_once(again: Callable[[Any], Any]) -> None:
    with telemetry() as tel:
        seen = asked(tel, serve(Hotel()), Ask("call_taxi"), before=lambda client: watch_client(tel, again(client)))
    assert outcomes(seen) == [("call_taxi", "ok", "")]


def test_a_call_inside_a_plug_ins_call_of_the_same_tool_is_that_call() -> None:
    """An agent's framework, watched by its own plug-in, makes its call over MCP."""

    async def converse(tel: Tooltel) -> None:
        async with connect(serve(Hotel())) as client:
            watch_client(tel, client)
            outer = tel.observe("book_table", {"size": 9})
            result = await client.call_tool("book_table", {"size": 9, "how": "shape"})
            outer.finish(str(result))

    with telemetry() as tel, capture(tel) as seen:
        asyncio.run(converse(tel))
    assert outcomes(seen) == [("book_table", "invalid_arguments", "invalid_arguments")]
    assert len(seen.spans) == 1


def test_calls_carry_the_session_around_them_or_what_the_client_was_given() -> None:
    async def converse(tel: Tooltel, **given: Any) -> None:
        async with connect(serve(Hotel())) as client:
            watch_client(tel, client, **given)
            with tel.session(profile="desk", agent="concierge", id="s-1"):
                await client.call_tool("call_taxi")

    with telemetry() as tel, capture(tel) as seen:
        asyncio.run(converse(tel))
        asyncio.run(converse(tel, profile="back_office", agent="clerk"))
    assert [outcome.origin for outcome in seen.outcomes] == [
        ("desk", "concierge", "s-1"),
        ("back_office", "clerk", "s-1"),
    ]


def test_a_client_leaves_no_call_in_the_context() -> None:
    async def converse(tel: Tooltel) -> None:
        async with connect(serve(Hotel(ToolError))) as client:
            watch_client(tel, client)
            for name, arguments in (("call_taxi", {}), ("made_up", {}), ("call_taxi", {"how": "crash"})):
                await client.call_tool(name, arguments)
                assert current_call() is None

    with telemetry() as tel:
        asyncio.run(converse(tel))


# --- old names -------------------------------------------------------------------------------------------


def without_old_names(hotel: Hotel) -> Any:
    server = serve(hotel)
    if IS_2:
        server.remove_tool("search_rooms")
    else:
        del server._tool_manager._tools["search_rooms"]
    return server


async def search(tel: Tooltel, hotel: Hotel, **options: Any) -> Any:
    async with connect(without_old_names(hotel)) as client:
        watch_client(tel, client, **options)
        return await client.call_tool("search_rooms", {"kind": "single"})


def test_an_old_name_that_the_server_does_not_know_is_a_drop() -> None:
    hotel = Hotel()
    with telemetry() as tel, capture(tel) as seen:
        asyncio.run(search(tel, hotel))
        assert counts(seen) == counter("drop renamed search_rooms")
    assert hotel.log == []


def test_where_it_was_asked_for_an_old_name_reaches_the_tool_under_its_new_one() -> None:
    hotel = Hotel()
    with telemetry() as tel, capture(tel) as seen:
        result = asyncio.run(search(tel, hotel, redirect_aliases=True))
        assert counts(seen) == counter("call find_rooms ok\nalias search_rooms find_rooms")
    assert hotel.log == ["find_rooms('single',)"]
    assert "12" in str(result.content)


# --- what is declared --------------------------------------------------------------------------------------


def tools(*names: str) -> list[Any]:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    field = "input_schema" if IS_2 else "inputSchema"
    return [types.Tool(name=name, description=f"{name}.", **{field: schema}) for name in names]


class Pages:
    """A client's session that lists one page at a time; a page is named by its number."""

    def __init__(self, *pages: tuple[str, ...]) -> None:
        self._pages = pages

    async def call_tool(self, name: str, arguments: Any = None) -> Any:
        return types.CallToolResult(content=[])

    async def list_tools(self, cursor: str | None = None) -> Any:
        number = int(cursor or 0)
        following = str(number + 1) if number + 1 < len(self._pages) else None
        field = "next_cursor" if IS_2 else "nextCursor"
        return types.ListToolsResult(tools=tools(*self._pages[number]), **{field: following})


def offered(tel: Tooltel, listing: Callable[[], Awaitable[None]]) -> list[tuple[str, ...]]:
    with capture(tel) as seen:
        asyncio.run(listing())  # type: ignore[arg-type]  # it is a coroutine
    return [tuple(event.facts["tools"]) for event in seen.events if event.name == "tools_offered"]


def test_what_the_server_lists_is_declared_once_and_again_when_it_changes() -> None:
    first, second = Pages(("call_taxi", "ring_bell")), Pages(("call_taxi",))

    async def list_all() -> None:
        watch_client(tel, first)
        await first.list_tools()
        await first.list_tools()
        first._pages = second._pages
        await first.list_tools()

    with telemetry() as tel:
        assert offered(tel, list_all) == [("call_taxi", "ring_bell"), ("call_taxi",)]


def test_pages_are_declared_as_one() -> None:
    session = Pages(("call_taxi",), ("ring_bell",), ("book_room",))

    async def list_all() -> None:
        watch_client(tel, session)
        await session.list_tools()
        await session.list_tools("1")
        await session.list_tools(cursor="2")

    with telemetry() as tel:
        assert offered(tel, list_all) == [("call_taxi", "ring_bell", "book_room")]


def test_the_servers_of_one_profile_declare_together() -> None:
    one, other, of_another_profile = Pages(("call_taxi",)), Pages(("ring_bell",)), Pages(("pay_refund",))

    async def list_all() -> None:
        watch_client(tel, one, profile="desk")
        watch_client(tel, other, profile="desk")
        watch_client(tel, of_another_profile, profile="back_office")
        await one.list_tools()
        await other.list_tools()
        await of_another_profile.list_tools()

    with telemetry() as tel:
        assert offered(tel, list_all) == [("call_taxi",), ("call_taxi", "ring_bell"), ("pay_refund",)]
        sizes = {tuple(dict(key[1]).items()): value for key, value in samples(tel, "tooltel_profile_tools")}
        assert sorted(sizes.values()) == [1, 2]


def samples(tel: Tooltel, metric: str) -> list[Any]:
    from tooltel.testing import parse_samples

    return [item for item in parse_samples(tel.view).items() if item[0][0] == metric]


def test_a_host_whose_framework_tells_what_it_sends_is_not_told_twice() -> None:
    session = Pages(("call_taxi",))

    async def list_all() -> None:
        watch_client(tel, session, declares=False)
        await session.list_tools()

    with telemetry() as tel:
        assert offered(tel, list_all) == []


def test_the_sdks_own_look_for_a_results_schema_is_no_declaration() -> None:
    async def converse() -> None:
        async with connect(serve(Hotel())) as client:
            watch_client(tel, client)
            await client.call_tool("call_taxi")

    with telemetry() as tel:
        assert offered(tel, converse) == []


def test_rejected_fields_are_named_once_the_server_has_listed_them() -> None:
    async def converse(tel: Tooltel) -> None:
        async with connect(serve(Hotel())) as client:
            watch_client(tel, client)
            await client.call_tool("book_room", {"nights": "ten", "kind": "single"})
            await client.list_tools()
            await client.call_tool("book_room", {"nights": "ten", "kind": "single"})

    with telemetry() as tel, capture(tel) as seen:
        asyncio.run(converse(tel))
        fields = {
            dict(labels)["field"]: value
            for (metric, labels), value in seen.increases().items()
            if metric == "tooltel_rejected_fields_total"
        }
        assert fields == {"other": 1, "nights": 1}


def test_a_group_of_sessions_is_watched_in_each_of_them() -> None:
    async def converse(tel: Tooltel) -> None:
        async with connect(serve(Hotel())) as client:
            group = watch_client(tel, ClientSessionGroup())
            info = types.Implementation(name="hotel", version="1")
            await group.connect_with_session(info, session_of(client))
            await group.call_tool("call_taxi", {})

    with telemetry() as tel, capture(tel) as seen:
        asyncio.run(converse(tel))
    assert outcomes(seen) == [("call_taxi", "ok", "")]
