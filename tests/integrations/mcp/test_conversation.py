"""A scripted conversation of every moment: what is recorded is what the script did, no more and no less."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.integrations.counting import counter, counts, is_plain
from tests.integrations.hotel import SHOWN_ELSEWHERE, rejected, telemetry
from tests.integrations.mcp.hotel import Hotel
from tests.integrations.mcp.kit import WAYS, Desk, ToolError, connect, serve
from tests.integrations.mcp.script import Ask, Turn, conversation
from tooltel.integrations.compatibility import Moment, rows_of
from tooltel.integrations.mcp import watch_client, watch_server
from tooltel.testing import capture

if TYPE_CHECKING:
    from tooltel import Tooltel

CONVERSATION = conversation(rejects_extra=False)
Recorded = list[tuple[str, tuple[Ask, ...], Counter[str]]]
NOT_IN_A_TURN = SHOWN_ELSEWHERE | {Moment.MALFORMED}  # and arguments that are no data reach no server


async def converse(tel: Tooltel, way: str, *, ends: str, wrapped: bool = False) -> Recorded:
    hotel = Hotel(ToolError)
    server = serve(hotel, tel if wrapped else None)
    if "server" in ends:
        watch_server(tel, server, profile="desk")
    recorded: Recorded = []
    async with connect(server, way) as client:
        if "client" in ends:
            watch_client(tel, client, profile="desk")
        desk = Desk(client, hotel)
        await client.list_tools()
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


@pytest.mark.parametrize("wrapped", [False, True], ids=["bare", "wrapped"])
@pytest.mark.parametrize("way", WAYS)
def test_at_both_ends_in_one_process_it_is_recorded_once_as_it_was(way: str, *, wrapped: bool) -> None:
    with telemetry() as tel:
        assert asyncio.run(converse(tel, way, ends="server and client", wrapped=wrapped)) == expected()


@pytest.mark.parametrize("ends", ["server", "client", "server and client"])
def test_every_call_that_was_counted_was_timed_once_and_none_is_left_running(ends: str) -> None:
    with telemetry() as tel, capture(tel) as seen:
        asyncio.run(converse_in(tel, ends))
        calls = seen.increase("tooltel_tool_calls_total")
        assert calls == sum(line.startswith("call ") for turn in CONVERSATION for line in turn.recorded.elements())
        assert seen.increase("gen_ai_execute_tool_duration_seconds_count") == calls
        assert seen.increase("tooltel_tool_calls_active") == 0


@pytest.mark.parametrize("way", WAYS)
def test_arguments_that_are_no_data_are_rejected_at_the_client_and_never_reach_a_server(way: str) -> None:
    async def ask(tel: Tooltel, end: str) -> Counter[str]:
        hotel = Hotel(ToolError)
        server = serve(hotel)
        if end == "mcp (server)":
            watch_server(tel, server, profile="desk")
        async with connect(server, way) as client:
            if end == "mcp (client)":
                watch_client(tel, client, profile="desk")
            await client.list_tools()
            with capture(tel) as seen:
                assert "ValidationError" in await Desk(client, hotel).ask(Ask("book_room", '{"nights": 2,'))
        assert hotel.log == []
        return counts(seen)

    with telemetry() as tel:
        at_server, at_client = (asyncio.run(ask(tel, end)) for end in ("mcp (server)", "mcp (client)"))
    assert (at_server, rows_of("mcp (server)")[Moment.MALFORMED].seen) == ({}, False)
    assert at_client == counter(rejected("other"))
    assert rows_of("mcp (client)")[Moment.MALFORMED].seen


def test_no_call_id_and_no_agent_is_known_where_the_table_says_so() -> None:
    with telemetry() as tel, capture(tel) as seen:
        asyncio.run(converse_in(tel, "server"))
    rows = rows_of("mcp (server)")
    assert {outcome.call_id for outcome in seen.outcomes} == {None}
    assert {outcome.origin.agent for outcome in seen.outcomes} == {None}
    assert not any(rows[moment].seen for moment in (Moment.CALL_ID, Moment.AGENT))
    with telemetry() as tel, capture(tel) as seen:
        asyncio.run(converse_in(tel, "client"))
    assert {outcome.call_id for outcome in seen.outcomes} == {None}
    assert not rows_of("mcp (client)")[Moment.CALL_ID].seen


async def converse_in(tel: Tooltel, ends: str) -> None:
    hotel = Hotel(ToolError)
    server = serve(hotel)
    if "server" in ends:
        watch_server(tel, server, profile="desk")
    async with connect(server) as client:
        if "client" in ends:
            watch_client(tel, client, profile="desk")
        desk = Desk(client, hotel)
        for turn in CONVERSATION:
            await desk.play(turn)


def test_the_script_has_forty_turns_and_every_moment_that_a_turn_can_show() -> None:
    assert len(CONVERSATION) >= 40
    assert {turn.moment for turn in CONVERSATION} == set(Moment) - NOT_IN_A_TURN


@pytest.mark.parametrize("end", ["mcp (server)", "mcp (client)"])
@pytest.mark.parametrize("moment", [moment for moment in Moment if moment not in NOT_IN_A_TURN])
def test_the_table_says_what_is_seen_and_why_the_rest_is_not(moment: Moment, end: str) -> None:
    row = rows_of(end)[moment]
    right = [is_right(turn, end) for turn in CONVERSATION if turn.moment is moment]
    assert all(right) is row.seen
    assert row.seen or row.why_not


def is_right(turn: Turn, end: str) -> bool:
    """Whether what is recorded at one end tells what happened."""
    recorded = turn.recorded if end == "mcp (server)" else turn.at_client
    plain = is_plain(recorded)
    return recorded == turn.recorded and (not plain or turn.moment in (Moment.CALL, Moment.PARALLEL))
