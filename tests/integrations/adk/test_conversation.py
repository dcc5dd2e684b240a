"""A scripted conversation of every moment: what is recorded is what the script did, no more and no less."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.integrations.adk.kit import Desk, Hotel, telemetry
from tests.integrations.adk.script import CONVERSATION, Turn
from tests.integrations.counting import counts, is_plain
from tests.integrations.hotel import SHOWN_ELSEWHERE, call_off
from tooltel.integrations.adk import TooltelPlugin
from tooltel.integrations.compatibility import Moment, rows_of
from tooltel.testing import capture

if TYPE_CHECKING:
    from tooltel import Tooltel

ROWS = rows_of("google-adk")


async def play(desk: Desk, hotel: Hotel, turn: Turn) -> None:
    if turn.called_off:
        await call_off(desk.turn(*turn.steps), when=hotel.rung)
    else:
        await desk.turn(*turn.steps)


def expected(script: tuple[Turn, ...]) -> list[tuple[Any, ...]]:
    return [(turn.moment.name, turn.steps[0], Counter(turn.recorded)) for turn in script]


def new_desk(tel: Tooltel, hotel: Hotel, *, wrapped: bool, streaming: bool = False) -> Desk:
    plugin = TooltelPlugin(tel, profile="desk")
    return Desk(hotel.tools(tel if wrapped else None), plugins=[plugin], streaming=streaming)


@pytest.mark.parametrize("wrapped", [False, True], ids=["bare", "wrapped"])
@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "streaming"])
def test_an_asynchronous_run_is_recorded_as_it_was(*, wrapped: bool, streaming: bool) -> None:
    async def converse(tel: Tooltel) -> list[tuple[Any, ...]]:
        hotel = Hotel()
        desk = await new_desk(tel, hotel, wrapped=wrapped, streaming=streaming).open()
        recorded = []
        for turn in CONVERSATION:
            with capture(tel) as seen:
                await play(desk, hotel, turn)
            recorded.append((turn.moment.name, turn.steps[0], counts(seen)))
        return recorded

    with telemetry() as tel:
        assert asyncio.run(converse(tel)) == expected(CONVERSATION)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # ADK's thread lets them pass
@pytest.mark.parametrize(("wrapped", "streaming"), [(False, False), (True, True)], ids=["bare", "wrapped-streaming"])
def test_a_synchronous_run_is_recorded_as_it_was(*, wrapped: bool, streaming: bool) -> None:
    script = tuple(turn for turn in CONVERSATION if not turn.called_off)  # nobody could
    with telemetry() as tel:
        hotel, recorded = Hotel(), []
        desk = asyncio.run(new_desk(tel, hotel, wrapped=wrapped, streaming=streaming).open())
        for turn in script:
            with capture(tel) as seen:
                desk.turn_sync(*turn.steps)
            recorded.append((turn.moment.name, turn.steps[0], counts(seen)))
        assert recorded == expected(script)


def test_every_call_that_was_counted_was_timed_once(host_spans: object) -> None:
    async def converse(tel: Tooltel) -> None:
        hotel = Hotel()
        desk = await new_desk(tel, hotel, wrapped=False).open()
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
    elif turn.moment not in (Moment.CALL, Moment.PARALLEL):
        assert not plain
