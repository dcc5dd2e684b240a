"""A scripted conversation of every moment: what is recorded is what the script did, no more and no less."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from fastmcp.exceptions import ToolError

from tests.integrations.counting import counts, is_plain
from tests.integrations.fastmcp.kit import WAYS, connect, serve
from tests.integrations.hotel import SHOWN_ELSEWHERE, telemetry
from tests.integrations.mcp.hotel import Hotel
from tests.integrations.mcp.kit import Desk
from tests.integrations.mcp.loopback import listening
from tests.integrations.mcp.script import Ask, Turn, conversation
from tooltel.integrations.compatibility import Moment, rows_of
from tooltel.integrations.fastmcp import TooltelMiddleware, watch_client
from tooltel.testing import capture

if TYPE_CHECKING:
    from typing import Any

    from tooltel import Tooltel

CONVERSATION = conversation(rejects_extra=True)
Recorded = list[tuple[str, tuple[Ask, ...], Counter[str]]]
NOT_IN_A_TURN = SHOWN_ELSEWHERE | {Moment.MALFORMED}  # and arguments that are no data reach no server


async def converse(tel: Tooltel, way: str, *, ends: str, wrapped: bool = False, http: bool = False) -> Recorded:
    hotel = Hotel(ToolError)
    server = serve(hotel, tel if wrapped else None)
    if "server" in ends:
        server.add_middleware(TooltelMiddleware(tel, profile="desk"))
    if http:
        async with listening(server.http_app()) as address:
            return await talk(tel, address, hotel, way, ends)
    return await talk(tel, server, hotel, way, ends)


async def talk(tel: Tooltel, server: Any, hotel: Hotel, way: str, ends: str) -> Recorded:
    recorded: Recorded = []
    async with connect(server, way) as caller:
        if "client" in ends:
            watch_client(tel, caller.client, profile="desk")
        desk = Desk(caller, hotel)
        await caller.list_tools()
        for turn in CONVERSATION:
            with capture(tel) as seen:
                await desk.play(turn)
            recorded.append((turn.moment.name, turn.asks, counts(seen)))
    return recorded


def expected(*, at_client: bool = False) -> Recorded:
    return [(turn.moment.name, turn.asks, turn.at_client if at_client else turn.recorded) for turn in CONVERSATION]


@pytest.mark.parametrize("wrapped", [False, True], ids=["bare", "wrapped"])
@pytest.mark.parametrize("way", WAYS)
def test_at_the_server_it_is_recorded_as_it_was(way: str, *, wrapped: bool) -> None:
    with telemetry() as tel:
        assert asyncio.run(converse(tel, way, ends="server", wrapped=wrapped)) == expected()


@pytest.mark.parametrize("way", WAYS)
def test_at_the_client_it_is_recorded_as_far_as_answers_tell(way: str) -> None:
    with telemetry() as tel:
        assert asyncio.run(converse(tel, way, ends="client")) == expected(at_client=True)


@pytest.mark.parametrize("http", [False, True], ids=["memory", "http"])
@pytest.mark.parametrize("way", WAYS)
def test_at_both_ends_in_one_process_it_is_recorded_once_as_it_was(way: str, *, http: bool) -> None:
    with telemetry() as tel:
        assert asyncio.run(converse(tel, way, ends="server and client", http=http)) == expected()


def test_every_call_that_was_counted_was_timed_once_and_none_is_left_running() -> None:
    async def run(tel: Tooltel) -> None:
        hotel = Hotel(ToolError)
        server = serve(hotel, middleware=[TooltelMiddleware(tel, profile="desk")])
        async with connect(server) as caller:
            desk = Desk(caller, hotel)
            for turn in CONVERSATION:
                await desk.play(turn)

    with telemetry() as tel, capture(tel) as seen:
        asyncio.run(run(tel))
        calls = seen.increase("tooltel_tool_calls_total")
        assert calls == sum(line.startswith("call ") for turn in CONVERSATION for line in turn.recorded.elements())
        assert seen.increase("gen_ai_execute_tool_duration_seconds_count") == calls
        assert seen.increase("tooltel_tool_calls_active") == 0


@pytest.mark.parametrize("way", WAYS)
def test_arguments_that_are_no_data_never_reach_a_server(way: str) -> None:
    async def run(tel: Tooltel) -> None:
        hotel = Hotel(ToolError)
        async with connect(serve(hotel, middleware=[TooltelMiddleware(tel)]), way) as caller:
            assert "ValidationError" in await Desk(caller, hotel).ask(Ask("book_room", '{"nights": 2,'))
        assert hotel.log == []

    with telemetry() as tel, capture(tel) as seen:
        asyncio.run(run(tel))
        assert counts(seen) == {}
    assert not rows_of("fastmcp")[Moment.MALFORMED].seen


def test_no_call_id_and_no_agent_is_known() -> None:
    async def run(tel: Tooltel) -> None:
        hotel = Hotel(ToolError)
        async with connect(serve(hotel, middleware=[TooltelMiddleware(tel)])) as caller:
            for turn in CONVERSATION:
                await Desk(caller, hotel).play(turn)

    with telemetry() as tel, capture(tel) as seen:
        asyncio.run(run(tel))
    assert {(outcome.call_id, outcome.origin.agent) for outcome in seen.outcomes} == {(None, None)}
    assert not any(rows_of("fastmcp")[moment].seen for moment in (Moment.CALL_ID, Moment.AGENT))


def test_the_script_has_forty_turns_and_every_moment_that_a_turn_can_show() -> None:
    assert len(CONVERSATION) >= 40
    assert {turn.moment for turn in CONVERSATION} == set(Moment) - NOT_IN_A_TURN


@pytest.mark.parametrize("moment", [moment for moment in Moment if moment not in NOT_IN_A_TURN])
def test_the_table_says_what_is_seen_and_why_the_rest_is_not(moment: Moment) -> None:
    row = rows_of("fastmcp")[moment]
    assert all(is_right(turn) for turn in CONVERSATION if turn.moment is moment) is row.seen
    assert row.seen or row.why_not


def is_right(turn: Turn) -> bool:
    """Whether what is recorded tells what happened."""
    plain = is_plain(turn.recorded)
    return not plain or turn.moment in (Moment.CALL, Moment.PARALLEL)
