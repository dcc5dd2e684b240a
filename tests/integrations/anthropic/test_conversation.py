"""A scripted conversation of every moment: what is recorded is what the script did, no more and no less."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.integrations.anthropic.kit import WAYS, Desk, Hotel, Way
from tests.integrations.anthropic.script import CONVERSATION, Turn, script
from tests.integrations.counting import counts, is_plain
from tests.integrations.hotel import SHOWN_ELSEWHERE, call_off, telemetry
from tooltel.integrations.anthropic import TooltelRunners
from tooltel.integrations.compatibility import Moment, rows_of
from tooltel.testing import capture

if TYPE_CHECKING:
    from tooltel import Tooltel

ROWS = rows_of("anthropic")


async def play(desk: Desk, hotel: Hotel, turn: Turn) -> None:
    if turn.called_off:
        await call_off(desk.turn(*turn.steps), when=hotel.rung)
    else:
        await desk.turn(*turn.steps)


def new_desk(tel: Tooltel, hotel: Hotel, way: Way, *, wrapped: bool = False) -> Desk:
    runners = TooltelRunners(tel, profile="desk", agent="desk")

    def make(client: Any, **params: Any) -> Any:
        return runners.tool_runner(client, conversation_id="guest-1", **params)

    return Desk(hotel.tools(way, tel if wrapped else None), make=make, way=way)


@pytest.mark.parametrize("wrapped", [False, True], ids=["bare", "wrapped"])
@pytest.mark.parametrize("way", WAYS)
def test_a_conversation_is_recorded_as_it_was(way: Way, *, wrapped: bool) -> None:
    async def converse(tel: Tooltel) -> list[tuple[Any, ...]]:
        hotel = Hotel()
        desk = new_desk(tel, hotel, way, wrapped=wrapped)
        recorded = []
        for turn in script(way):
            with capture(tel) as seen:
                await play(desk, hotel, turn)
            recorded.append((turn.moment.name, turn.steps[0], counts(seen)))
        return recorded

    expected = [(turn.moment.name, turn.steps[0], Counter(turn.recorded)) for turn in script(way)]
    with telemetry() as tel:
        assert asyncio.run(converse(tel)) == expected


def test_every_call_that_was_counted_was_timed_once() -> None:
    async def converse(tel: Tooltel) -> None:
        hotel = Hotel()
        desk = new_desk(tel, hotel, "async")
        for turn in script("async"):
            await play(desk, hotel, turn)

    with telemetry() as tel, capture(tel) as seen:
        asyncio.run(converse(tel))
        calls = seen.increase("tooltel_tool_calls_total")
        assert calls == len([line for turn in script("async") for line in turn.recorded if line.startswith("call ")])
        assert seen.increase("gen_ai_execute_tool_duration_seconds_count") == calls


@pytest.mark.parametrize("way", WAYS)
def test_the_script_has_forty_turns_and_every_moment_that_a_turn_can_show(way: Way) -> None:
    cannot_happen = set() if way.startswith("async") else {Moment.CANCELLED}
    cannot_happen |= set() if way.endswith("stream") else {Moment.MALFORMED}
    assert len(script(way)) >= 40
    assert {turn.moment for turn in script(way)} == set(Moment) - SHOWN_ELSEWHERE - cannot_happen


@pytest.mark.parametrize("turn", CONVERSATION, ids=lambda turn: turn.moment.name)
def test_what_the_table_calls_unseen_is_recorded_as_a_plain_call_or_not_at_all(turn: Turn) -> None:
    plain = is_plain(turn.recorded)
    if not ROWS[turn.moment].seen:
        assert plain
        assert ROWS[turn.moment].why_not
    elif turn.moment not in (Moment.CALL, Moment.PARALLEL, Moment.NULL):
        assert not plain
