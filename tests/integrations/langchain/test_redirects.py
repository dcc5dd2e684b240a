"""Old names that run their tool, where that was asked for."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.messages import ToolMessage

from tests.integrations.counting import counts
from tests.integrations.langchain.kit import Desk, Hotel, ask, telemetry
from tooltel.integrations.langchain import TooltelMiddleware
from tooltel.testing import capture

OLD = ask("rooms_free", {"kind": "single"}, "old")


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("streaming", [False, True])
def test_a_call_to_an_old_name_runs_the_tool_and_is_answered_under_the_old_name(
    streaming: bool, asynchronous: bool
) -> None:
    with telemetry() as tel, capture(tel) as seen:
        desk = Desk(Hotel().tools(), middleware=[TooltelMiddleware(tel, redirect_aliases=True)], remembers=True)
        if asynchronous:
            asyncio.run(desk.aturn([OLD], "Done.", streaming=streaming))
        else:
            desk.turn([OLD], "Done.", streaming=streaming)
        assert counts(seen) == {"call find_rooms ok": 1, "alias rooms_free find_rooms": 1}
        found = desk.agent.get_state({"configurable": {"thread_id": "guest-7"}}).values["messages"]
    (answer,) = (message for message in found if isinstance(message, ToolMessage))
    assert (answer.name, answer.tool_call_id, answer.content) == ("rooms_free", "old", '["12", "14"]')
    assert found[1].tool_calls[0]["name"] == "rooms_free"


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({}, {"call find_rooms invalid_arguments", "rejected find_rooms structural framework"}),
        ({"kind": "single"}, {"call find_rooms ok"}),
    ],
)
def test_what_comes_of_it_is_judged_as_ever(args: dict[str, Any], expected: set[str]) -> None:
    with telemetry() as tel, capture(tel) as seen:
        desk = Desk(Hotel().tools(), middleware=[TooltelMiddleware(tel, redirect_aliases=True)])
        desk.turn([ask("rooms_free", args)], "Done.")
        assert expected < set(counts(seen))
        assert counts(seen)["alias rooms_free find_rooms"] == 1


def test_names_that_are_no_old_names_stay_drops() -> None:
    with telemetry() as tel, capture(tel) as seen:
        desk = Desk(Hotel().tools(), middleware=[TooltelMiddleware(tel, redirect_aliases=True)])
        desk.turn([ask("drill"), ask("reserve_room", {"nights": 1})], "Done.")
        assert counts(seen) == {"drop unknown other": 1, "drop renamed reserve_room": 1}


def test_two_agents_redirect_to_tools_of_their_own() -> None:
    with telemetry() as tel, capture(tel) as seen:
        first, second = Hotel(), Hotel()
        desks = [
            Desk(each.tools(), middleware=[TooltelMiddleware(tel, redirect_aliases=True)]) for each in (first, second)
        ]
        for desk in (*desks, desks[0]):
            desk.turn([OLD], "Done.")
        assert counts(seen)["call find_rooms ok"] == 3
    assert (len(first.log), len(second.log)) == (2, 1)
