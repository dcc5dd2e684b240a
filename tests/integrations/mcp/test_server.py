"""The server's end, in either version: what no conversation at the hotel shows."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from tests.integrations.counting import counter, counts
from tests.integrations.hotel import telemetry
from tests.integrations.mcp.hotel import Hotel
from tests.integrations.mcp.kit import IS_2, Desk, HighLevel, ToolError, connect, low_level, serve
from tests.integrations.mcp.loopback import connect_to, listening
from tests.integrations.mcp.recording import outcomes
from tests.integrations.mcp.script import Ask
from tests.integrations.mcp.test_client import without_old_names
from tooltel import Refused, Rejected
from tooltel.integrations.mcp import watch_server
from tooltel.testing import Captured, capture

if TYPE_CHECKING:
    from tooltel import Tooltel


def served(tel: Tooltel, server: Any, *asks: Ask) -> Captured:
    async def converse() -> None:
        async with connect(server) as client:
            desk = Desk(client, Hotel())
            for ask in asks:
                await desk.ask(ask)

    with capture(tel) as seen:
        asyncio.run(converse())
    return seen


class Booking(BaseModel):
    nights: int


def test_the_real_cause_is_told_however_the_sdk_wraps_it() -> None:
    raised: dict[str, BaseException] = {
        "on purpose": ToolError("no"),
        "Unknown tool: pay": ToolError("Unknown tool: pay"),
        "a crash": KeyError("x"),
        "too late": TimeoutError(),
        "rejected": Rejected("amount", problem="no"),
        "refused": Refused("no", policy="night"),
    }
    server = HighLevel("shop")

    @server.tool()
    def pay(how: str) -> str:
        """Pay."""
        if how == "a model of its own":
            Booking.model_validate({"nights": "ten"})
        if how == "on purpose, for a reason":
            raise ToolError("no") from KeyError("x")
        raise raised[how]

    asks = [*raised, "a model of its own", "on purpose, for a reason"]
    with telemetry() as tel:
        watch_server(tel, server)
        seen = served(tel, server, *(Ask("pay", {"how": how}) for how in asks))
        told = dict(zip(asks, ((outcome.status.value, outcome.error_type) for outcome in seen.outcomes), strict=True))
        kinds = [outcome.rejections[0].kind.value for outcome in seen.outcomes if outcome.rejections]
    invalid = ("invalid_arguments", "invalid_arguments")
    assert told == {
        "on purpose": invalid,
        "Unknown tool: pay": invalid,
        "a crash": ("error", "KeyError"),
        "too late": ("timeout", "timeout"),
        "rejected": invalid,
        "refused": ("refused", "refused"),
        "a model of its own": ("error", "ValidationError"),
        "on purpose, for a reason": invalid,
    }
    assert kinds == ["domain"] * 4


def test_a_result_that_is_not_of_the_kind_that_the_function_declares_is_told_apart() -> None:
    server = HighLevel("shop")

    @server.tool()
    def count() -> int:
        """Count."""
        return "many"  # type: ignore[return-value]  # that is the point

    with telemetry() as tel:
        watch_server(tel, server)
        assert outcomes(served(tel, server, Ask("count", {}))) == [("count", "error", "invalid_output")]


def test_a_low_level_servers_own_exceptions_are_told() -> None:
    async def handler(name: str, arguments: dict[str, Any]) -> str:
        match arguments.get("nights"):
            case 1:
                return '{"status": "refused", "policy": "night"}'
            case 2:
                raise Refused("no", policy="night")
            case 3:
                raise ConnectionError("nobody is there")
            case 4:
                Booking.model_validate({"nights": "ten"})
        raise ValueError(f"Unknown tool: {name}")

    with telemetry() as tel:
        server = low_level(handler, watch=lambda server: watch_server(tel, server))
        seen = served(tel, server, *(Ask("book_room", {"nights": nights}) for nights in (1, 2, 3, 4)), Ask("drill", {}))
    assert outcomes(seen) == [
        ("book_room", "refused", "refused"),
        ("book_room", "refused", "refused"),
        ("book_room", "error", "ConnectionError"),
        ("book_room", "invalid_arguments", "invalid_arguments"),
        ("drill", "not_found", "tool_not_found"),
    ]


def test_an_old_name_that_the_server_does_not_know_is_served_where_that_was_asked_for() -> None:
    for redirects, expected in (
        (False, "drop renamed search_rooms"),
        (True, "call find_rooms ok\nalias search_rooms find_rooms"),
    ):
        hotel = Hotel()
        with telemetry() as tel:
            server = watch_server(tel, without_old_names(hotel), redirect_aliases=redirects)
            seen = served(tel, server, Ask("search_rooms", {"kind": "single"}))
            assert counts(seen) == counter(expected)
        assert len(hotel.log) == int(redirects)


def test_what_is_listed_is_declared_for_the_servers_profile() -> None:
    async def converse(tel: Tooltel) -> None:
        server = watch_server(tel, serve(Hotel()), profile="desk")
        async with connect(server) as client:
            await client.list_tools()
            await client.list_tools()

    with telemetry() as tel, capture(tel) as seen:
        asyncio.run(converse(tel))
        (offered,) = seen.logged("tools_offered")
        assert offered["tool.profile"] == "desk"
        assert set(offered["tools"]) == set(serve_names())
        assert seen.increase("tooltel_profile_tools", profile="desk") == len(serve_names())


def serve_names() -> list[str]:
    return list(Hotel().tools())


def test_calls_carry_the_session_that_the_request_says_it_is_of() -> None:
    async def converse(tel: Tooltel) -> None:
        server = watch_server(tel, serve(Hotel()), profile="desk", agent="concierge")
        async with listening(server.streamable_http_app()) as address:
            for _ in range(2):
                async with connect_to(address) as client:
                    for _ in range(2):
                        await client.call_tool("send_bill", {"room": "12"})

    with telemetry() as tel, capture(tel) as seen:
        asyncio.run(converse(tel))
        ids = [outcome.origin.session_id for outcome in seen.outcomes]
        assert [ids[0], ids[2]] == [ids[1], ids[3]]
        assert ids[0] != ids[2]
        assert None not in ids
        assert {(outcome.origin.profile, outcome.origin.agent) for outcome in seen.outcomes} == {("desk", "concierge")}
        assert seen.increase("tooltel_repeated_calls_total", tool="send_bill") == 2  # one in each session


def test_calls_of_a_connection_without_an_id_are_no_repetition_of_each_other() -> None:
    with telemetry() as tel:
        server = watch_server(tel, serve(Hotel()), profile="desk")
        seen = served(tel, server, Ask("send_bill", {"room": "12"}), Ask("send_bill", {"room": "12"}))
        assert counts(seen) == counter("call send_bill ok\ncall send_bill ok")


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_wrapped_tool_and_a_watched_server_make_one_call_and_one_span(*, wrapped: bool) -> None:
    with telemetry() as tel:
        server = watch_server(tel, serve(Hotel(), tel if wrapped else None))
        seen = served(tel, server, Ask("call_taxi", {}))
        assert counts(seen) == counter("call call_taxi ok")
        assert len(seen.spans) == (0 if IS_2 else 1)
