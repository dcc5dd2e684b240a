"""A scripted conversation of every moment: what is recorded is what the script did, no more and no less."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.integrations.counting import counts, is_plain
from tests.integrations.hotel import SHOWN_ELSEWHERE, call_off, telemetry
from tests.integrations.pydantic_ai.kit import WAYS, Desk, Hotel, Way
from tests.integrations.pydantic_ai.script import CONVERSATION, Turn
from tooltel.integrations.compatibility import Moment, rows_of
from tooltel.integrations.pydantic_ai import TooltelCapability
from tooltel.testing import capture

if TYPE_CHECKING:
    from tooltel import Tooltel

ROWS = rows_of("pydantic-ai")


async def play(desk: Desk, hotel: Hotel, turn: Turn) -> None:
    if turn.called_off:
        await call_off(desk.turn(*turn.steps), when=hotel.rung)
    else:
        await desk.turn(*turn.steps)


def expected(script: tuple[Turn, ...]) -> list[tuple[Any, ...]]:
    return [(turn.moment.name, turn.steps[0], Counter(turn.recorded)) for turn in script]


def new_desk(tel: Tooltel, hotel: Hotel, *, wrapped: bool, way: Way) -> Desk:
    capability = TooltelCapability(tel, profile="desk", redirect_aliases=True)
    return Desk(hotel.tools(tel if wrapped else None), capabilities=[capability], way=way)


@pytest.mark.parametrize("wrapped", [False, True], ids=["bare", "wrapped"])
@pytest.mark.parametrize("way", [way for way in WAYS if way != "sync"])
def test_an_asynchronous_run_is_recorded_as_it_was(*, wrapped: bool, way: Way) -> None:
    async def converse(tel: Tooltel) -> list[tuple[Any, ...]]:
        hotel = Hotel()
        desk = new_desk(tel, hotel, wrapped=wrapped, way=way)
        recorded = []
        for turn in CONVERSATION:
            with capture(tel) as seen:
                await play(desk, hotel, turn)
            recorded.append((turn.moment.name, turn.steps[0], counts(seen)))
        return recorded

    with telemetry() as tel:
        assert asyncio.run(converse(tel)) == expected(CONVERSATION)


@pytest.mark.parametrize("wrapped", [False, True], ids=["bare", "wrapped"])
def test_a_synchronous_run_is_recorded_as_it_was(*, wrapped: bool) -> None:
    script = tuple(turn for turn in CONVERSATION if not turn.called_off)  # nobody could
    with telemetry() as tel:
        hotel, recorded = Hotel(), []
        desk = new_desk(tel, hotel, wrapped=wrapped, way="sync")
        for turn in script:
            with capture(tel) as seen:
                desk.turn_sync(*turn.steps)
            recorded.append((turn.moment.name, turn.steps[0], counts(seen)))
        assert recorded == expected(script)


def test_every_call_that_was_counted_was_timed_once() -> None:
    async def converse(tel: Tooltel) -> None:
        hotel = Hotel()
        desk = new_desk(tel, hotel, wrapped=False, way="run")
        for turn in CONVERSATION:
            await play(desk, hotel, turn)

    with telemetry() as tel, capture(tel) as seen:
        asyncio.run(converse(tel))
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
    elif turn.moment not in (Moment.CALL, Moment.PARALLEL, Moment.NULL):
        assert not plain
