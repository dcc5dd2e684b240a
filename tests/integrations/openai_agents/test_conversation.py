"""A scripted conversation of every moment: what is recorded is what the script did, no more and no less."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from agents import RunConfig

from tests.integrations.counting import counts, is_plain
from tests.integrations.hotel import SHOWN_ELSEWHERE
from tests.integrations.openai_agents.kit import GOES_ON, Ask, Desk, Hotel, Way, new_desk, telemetry
from tests.integrations.openai_agents.script import CONVERSATION, Turn
from tooltel.integrations.compatibility import Moment, rows_of
from tooltel.integrations.openai_agents import TooltelAgents
from tooltel.testing import capture

if TYPE_CHECKING:
    from tooltel import Tooltel

ROWS = rows_of("openai-agents")


async def play(desk: Desk, hotel: Hotel, turn: Turn) -> None:
    if not turn.called_off:
        await desk.turn(*turn.steps)
        return
    hotel.rung.clear()
    running = asyncio.create_task(desk.turn(*turn.steps))
    ringing = asyncio.create_task(hotel.rung.wait())
    await asyncio.wait({running, ringing}, return_when=asyncio.FIRST_COMPLETED)
    for task in (running, ringing):
        task.cancel()
    await asyncio.gather(running, ringing, return_exceptions=True)


def expected(script: tuple[Turn, ...]) -> list[tuple[Any, ...]]:
    return [(turn.moment.name, turn.steps[0], Counter(turn.recorded)) for turn in script]


async def converse(desk: Desk, hotel: Hotel, tel: Tooltel) -> list[tuple[Any, ...]]:
    recorded = []
    for turn in CONVERSATION:
        with capture(tel) as seen:
            await play(desk, hotel, turn)
        recorded.append((turn.moment.name, turn.steps[0], counts(seen)))
    return recorded


@pytest.mark.parametrize("wrapped", [False, True], ids=["bare", "wrapped"])
@pytest.mark.parametrize("way", ["whole", "streamed"])
def test_an_asynchronous_conversation_is_recorded_as_it_was(way: Way, *, wrapped: bool) -> None:
    with telemetry() as tel:
        hotel = Hotel()
        desk = new_desk(hotel, agents=TooltelAgents(tel, profile="desk"), way=way, wrapped=wrapped)
        assert asyncio.run(converse(desk, hotel, tel)) == expected(CONVERSATION)


@pytest.mark.parametrize("wrapped", [False, True], ids=["bare", "wrapped"])
def test_a_synchronous_conversation_is_recorded_as_it_was(*, wrapped: bool) -> None:
    script = tuple(turn for turn in CONVERSATION if not turn.called_off)  # nobody could
    with telemetry() as tel:
        hotel, recorded = Hotel(), []
        desk = new_desk(hotel, agents=TooltelAgents(tel, profile="desk"), way="sync", wrapped=wrapped)
        for turn in script:
            with capture(tel) as seen:
                desk.turn_sync(*turn.steps)
            recorded.append((turn.moment.name, turn.steps[0], counts(seen)))
        assert recorded == expected(script)


@pytest.mark.skipif(not GOES_ON, reason="before, a name that is no tool always ended the run")
@pytest.mark.parametrize("way", ["whole", "streamed"])
def test_a_conversation_that_goes_on_after_unknown_names_is_recorded_as_it_was(way: Way) -> None:
    with telemetry() as tel:
        hotel = Hotel()
        options: Any = {"tool_not_found_behavior": "return_error_to_model"}
        agents = TooltelAgents(tel, profile="desk")
        desk = new_desk(hotel, agents=agents, way=way, run_config=RunConfig(**options))
        assert asyncio.run(converse(desk, hotel, tel)) == expected(CONVERSATION)
        with capture(tel) as seen:
            asyncio.run(desk.turn([Ask("drill"), Ask("call_taxi"), Ask("")], [Ask("drill")], "Sorry."))
        assert counts(seen) == Counter({"drop unknown other": 2, "drop empty other": 1, "call call_taxi ok": 1})


def test_calls_beside_a_name_that_is_no_tool_never_happen() -> None:
    with telemetry() as tel, capture(tel) as seen:
        hotel = Hotel()
        desk = new_desk(hotel, agents=TooltelAgents(tel, profile="desk"))
        asyncio.run(desk.turn([Ask("call_taxi"), Ask("drill"), Ask("ring_bell")]))
        assert desk.transcript[0][0].startswith("ModelBehaviorError: Tool drill not found in agent desk")
        assert counts(seen) == Counter(["drop unknown other"])
        assert not hotel.log


def test_every_call_that_was_counted_was_timed_once() -> None:
    with telemetry() as tel, capture(tel) as seen:
        hotel = Hotel()
        desk = new_desk(hotel, agents=TooltelAgents(tel, profile="desk"))
        asyncio.run(converse(desk, hotel, tel))
        calls = seen.increase("tooltel_tool_calls_total")
        assert calls == len([line for turn in CONVERSATION for line in turn.recorded if line.startswith("call ")])
        assert seen.increase("gen_ai_execute_tool_duration_seconds_count") == calls


def test_the_script_has_forty_turns_and_every_moment_that_a_turn_can_show() -> None:
    assert len(CONVERSATION) >= 40
    assert {turn.moment for turn in CONVERSATION} == set(Moment) - SHOWN_ELSEWHERE


@pytest.mark.parametrize("turn", CONVERSATION, ids=lambda turn: turn.moment.name)
def test_what_the_table_calls_unseen_is_recorded_as_a_plain_call(turn: Turn) -> None:
    plain = is_plain(turn.recorded)
    if not ROWS[turn.moment].seen:
        assert plain
        assert ROWS[turn.moment].why_not
    elif turn.moment not in (Moment.CALL, Moment.PARALLEL):
        assert not plain
