"""The middleware: what no conversation at the hotel shows."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from fastmcp import FastMCP, exceptions
from fastmcp.exceptions import ToolError, ValidationError
from fastmcp.server.middleware import Middleware
from pydantic import BaseModel

from tests.integrations.counting import counter, counts
from tests.integrations.fastmcp.kit import MAJOR, WAYS, connect, serve
from tests.integrations.hotel import telemetry
from tests.integrations.mcp.hotel import Hotel
from tests.integrations.mcp.kit import Desk
from tests.integrations.mcp.loopback import listening
from tests.integrations.mcp.recording import outcomes
from tests.integrations.mcp.script import Ask
from tooltel import Refused, Rejected
from tooltel.call import current_call
from tooltel.integrations.fastmcp import TooltelMiddleware, watch_client
from tooltel.testing import Captured, capture

if TYPE_CHECKING:
    from collections.abc import Callable

    from tooltel import Tooltel


def served(tel: Tooltel, server: Any, *asks: Ask) -> Captured:
    async def converse() -> None:
        async with connect(server) as caller:
            desk = Desk(caller, Hotel())
            for ask in asks:
                await desk.ask(ask)

    with capture(tel) as seen:
        asyncio.run(converse())
    return seen


def shop(tel: Tooltel, *functions: Callable[..., Any], **options: Any) -> Any:
    server: Any = FastMCP("shop", middleware=[TooltelMiddleware(tel)], **options)
    for function in functions:
        server.tool(function)
    return server


class Booking(BaseModel):
    nights: int


@pytest.mark.parametrize("masked", [False, True])
def test_the_real_cause_is_told_however_fastmcp_wraps_it(*, masked: bool) -> None:
    raised: dict[str, BaseException] = {
        "on purpose": ToolError("no"),
        "in fastmcp's words": ToolError("Error calling tool 'pay': no"),
        "a crash": KeyError("x"),
        "not there, it says": exceptions.NotFoundError("no such order"),
        "too late": TimeoutError(),
        "not valid, it says": ValidationError("amount"),
        "rejected": Rejected("amount", problem="no"),
        "refused": Refused("no", policy="night"),
    }

    def pay(how: str) -> str:
        """Pay."""
        if how == "a model of its own":
            Booking.model_validate({"nights": "ten"})
        if how == "on purpose, for a reason":
            raise ToolError("no") from KeyError("x")
        raise raised[how]

    asks = [*raised, "a model of its own", "on purpose, for a reason"]
    with telemetry() as tel:
        seen = served(tel, shop(tel, pay, mask_error_details=masked), *(Ask("pay", {"how": how}) for how in asks))
        told = dict(zip(asks, ((outcome.status.value, outcome.error_type) for outcome in seen.outcomes), strict=True))
        kinds = [outcome.rejections[0].kind.value for outcome in seen.outcomes if outcome.rejections]
    invalid = ("invalid_arguments", "invalid_arguments")
    assert told == {
        "on purpose": invalid,
        "in fastmcp's words": invalid,
        "a crash": ("error", "KeyError"),
        "not there, it says": ("error", "NotFoundError"),
        "too late": ("timeout", "timeout"),
        "not valid, it says": invalid,
        "rejected": invalid,
        "refused": ("refused", "refused"),
        "a model of its own": ("error", "ValidationError"),
        "on purpose, for a reason": invalid,
    }
    assert kinds == ["domain"] * 5


def test_another_middleware_that_denies_a_call_refuses_it() -> None:
    denial: Any = getattr(exceptions, "AuthorizationError", None)

    class Denying(Middleware):
        async def on_call_tool(self, context: Any, call_next: Any) -> Any:
            raise denial("not by night")

    if denial is None:
        assert MAJOR < 3
        return
    with telemetry() as tel:
        server = shop(tel)
        server.add_middleware(Denying())
        assert counts(served(tel, server, Ask("pay"))) == counter("call pay refused\nrefused pay authorization")


def test_a_tool_that_is_over_its_own_time_limit_timed_out() -> None:
    async def wait() -> str:
        """Wait for ever."""
        await asyncio.Event().wait()
        return "never"

    if MAJOR < 3:
        return  # tools have no time limit there
    with telemetry() as tel:
        server = shop(tel)
        server.tool(wait, timeout=0.05)
        assert outcomes(served(tel, server, Ask("wait"))) == [("wait", "timeout", "timeout")]


def test_a_mounted_servers_tool_is_one_call_although_both_servers_are_watched() -> None:
    def pay(amount: int) -> str:
        """Pay."""
        return str(amount)

    with telemetry() as tel:
        inner = shop(tel, pay)
        outer = shop(tel)
        if MAJOR < 3:
            outer.mount(inner, prefix="till")
        else:
            outer.mount(inner, namespace="till")
        seen = served(tel, outer, Ask("till_pay", {"amount": 1}), Ask("till_pay", {"amount": "x"}), Ask("till_bribe"))
    assert outcomes(seen) == [
        ("till_pay", "ok", ""),
        ("till_pay", "invalid_arguments", "invalid_arguments"),
        ("till_bribe", "not_found", "tool_not_found"),
    ]


def test_what_a_tool_calls_on_its_own_server_is_a_call_inside_it() -> None:
    async def outer() -> str:
        """Call another tool."""
        if MAJOR < 3:
            return "alone"  # a server of 2.x is only asked by clients
        await server.call_tool("inner", {})
        return "called"

    def inner() -> str:
        """Be called."""
        return "called"

    with telemetry() as tel:
        server = shop(tel, outer, inner)
        seen = served(tel, server, Ask("outer"))
    assert [(*told[:2], outcome.parent) for told, outcome in zip(outcomes(seen), seen.outcomes, strict=True)] == [
        *([("inner", "ok", "outer")] if MAJOR >= 3 else []),
        ("outer", "ok", None),
    ]


def test_a_call_that_the_host_makes_without_any_client_is_recorded_too() -> None:
    async def call(server: Any) -> None:
        await server.call_tool("call_taxi", {})
        with pytest.raises(exceptions.NotFoundError):
            await server.call_tool("drill", {})
        assert current_call() is None

    if MAJOR < 3:
        return  # a server of 2.x is only asked by clients
    with telemetry() as tel, capture(tel) as seen:
        asyncio.run(call(serve(Hotel(), middleware=[TooltelMiddleware(tel)])))
    assert outcomes(seen) == [("call_taxi", "ok", ""), ("drill", "not_found", "tool_not_found")]


@pytest.mark.parametrize("at", ["server", "client"])
def test_an_old_name_that_the_server_does_not_know_is_served_where_that_was_asked_for(at: str) -> None:
    async def converse(tel: Tooltel, hotel: Hotel, *, redirects: bool) -> None:
        middleware = [TooltelMiddleware(tel, redirect_aliases=redirects and at == "server")]
        async with connect(serve(hotel, old_names=False, middleware=middleware)) as caller:
            if at == "client":
                watch_client(tel, caller.client, redirect_aliases=redirects)
            await caller.call_tool("search_rooms", {"kind": "single"})

    for redirects, recorded in (
        (False, "drop renamed search_rooms"),
        (True, "call find_rooms ok\nalias search_rooms find_rooms"),
    ):
        hotel = Hotel()
        with telemetry() as tel, capture(tel) as seen:
            asyncio.run(converse(tel, hotel, redirects=redirects))
            assert counts(seen) == counter(recorded)
        assert len(hotel.log) == int(redirects)


def test_what_is_listed_is_declared_for_the_servers_profile() -> None:
    async def converse(tel: Tooltel) -> None:
        async with connect(serve(Hotel(), middleware=[TooltelMiddleware(tel, profile="desk")])) as caller:
            await caller.list_tools()

    with telemetry() as tel, capture(tel) as seen:
        asyncio.run(converse(tel))
        assert [set(event["tools"]) for event in seen.logged("tools_offered")] == [set(Hotel().tools())]
        assert seen.increase("tooltel_profile_tools", profile="desk") == len(Hotel().tools())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("http", [False, True], ids=["memory", "http"])
def test_calls_carry_the_session_where_requests_have_one_in_common(way: str, *, http: bool) -> None:
    async def converse(tel: Tooltel) -> None:
        server = serve(Hotel(), middleware=[TooltelMiddleware(tel, profile="desk", agent="concierge")])
        if http:
            async with listening(server.http_app()) as address:
                await bill(address)
        else:
            await bill(server)

    async def bill(server: Any) -> None:
        for _ in range(2):
            async with connect(server, way) as caller:
                for _ in range(2):
                    await caller.call_tool("send_bill", {"room": "12"})

    with telemetry() as tel, capture(tel) as seen:
        asyncio.run(converse(tel))
        ids = [outcome.origin.session_id for outcome in seen.outcomes]
        assert {(outcome.origin.profile, outcome.origin.agent) for outcome in seen.outcomes} == {("desk", "concierge")}
        assert len(ids) == 4
        if way == "modern":
            assert set(ids) == {None}
        else:
            assert [ids[0], ids[2]] == [ids[1], ids[3]]
            assert len(set(ids) - {None}) == 2
            assert seen.increase("tooltel_repeated_calls_total", tool="send_bill") == 2  # one in each session


def test_fastmcps_own_way_of_calling_is_watched_as_well() -> None:
    """`call_tool` raises for an error, and makes data of a result."""

    async def converse(tel: Tooltel) -> Any:
        async with connect(serve(Hotel(ToolError))) as caller:
            client = watch_client(tel, caller.client)
            with pytest.raises(ToolError, match="too many"):
                await client.call_tool("book_table", {"size": 9, "how": "say"})
            return await client.call_tool("book_table", {"size": 2})

    with telemetry() as tel, capture(tel) as seen:
        assert asyncio.run(converse(tel)).data == {"table": 7}
    assert outcomes(seen) == [("book_table", "error", "tool_error"), ("book_table", "ok", "")]


def test_a_client_that_connects_again_is_still_watched() -> None:
    async def converse(tel: Tooltel) -> None:
        from fastmcp import Client

        client = watch_client(tel, Client(serve(Hotel())))
        for _ in range(2):
            async with client:
                await client.call_tool("call_taxi", {})

    with telemetry() as tel, capture(tel) as seen:
        asyncio.run(converse(tel))
        assert counts(seen) == counter("call call_taxi ok\ncall call_taxi ok")
