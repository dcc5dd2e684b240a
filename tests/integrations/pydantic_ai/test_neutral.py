"""The framework, the model and the host see exactly what they would see without tooltel."""

from __future__ import annotations

import asyncio
import functools
from typing import TYPE_CHECKING, Any

import pytest
from pydantic_ai.capabilities import AbstractCapability

from tests.integrations.hotel import telemetry
from tests.integrations.pydantic_ai.kit import WAYS, Desk, Hotel, Way, describe
from tests.integrations.pydantic_ai.script import CONVERSATION
from tests.integrations.pydantic_ai.test_conversation import play
from tooltel.integrations.pydantic_ai import TooltelCapability
from tooltel.observed import Observed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tooltel import Tooltel


class Noting(AbstractCapability[Any]):
    """Somebody else's: notes the order of what it sees, and answers some calls in the tool's place."""

    def __init__(self) -> None:
        self.saw: list[str] = []

    async def before_tool_validate(self, ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
        self.saw.append(f"validate {call.tool_name} {args}")
        return args

    async def wrap_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Any) -> Any:
        self.saw.append(f"execute {call.tool_name} {args}")
        if call.tool_name == "find_rooms":
            return ["none"]
        try:
            result = await handler(args)
        except BaseException as error:
            self.saw.append(f"raised {describe(error)}")
            raise
        self.saw.append(f"gave {result}")
        return result

    async def after_model_request(self, ctx: Any, *, request_context: Any, response: Any) -> Any:
        self.saw.append(f"answer {[part.part_kind for part in response.parts]}")
        return response


def converse(capabilities: Iterable[AbstractCapability[Any]], way: Way) -> dict[str, Any]:
    """The whole conversation, and everything that can be seen of it."""
    script = [turn for turn in CONVERSATION if not (turn.called_off and way == "sync")]
    hotel = Hotel()
    desk = Desk(hotel.tools(), capabilities=capabilities, way=way)

    async def all_turns() -> None:
        for turn in script:
            await play(desk, hotel, turn)

    if way == "sync":
        for turn in script:
            desk.turn_sync(*turn.steps)
    else:
        asyncio.run(all_turns())
    return {**desk.seen(), "ran": hotel.log}


@functools.cache
def without(way: Way) -> dict[str, Any]:
    """The conversation as it is when nobody watches."""
    return converse([], way)


def plug_in(tel: Tooltel) -> TooltelCapability:
    return TooltelCapability(tel, profile="desk")


@pytest.mark.parametrize("way", WAYS)
def test_every_message_request_event_and_exception_is_the_same(way: Way) -> None:
    with telemetry() as tel:
        assert converse([plug_in(tel)], way) == without(way)


@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
def test_other_capabilities_see_the_same_whatever_the_order(*, first: bool) -> None:
    with telemetry() as tel:
        alone, beside = Noting(), Noting()
        untouched = converse([alone], "run")
        capabilities = [plug_in(tel), beside] if first else [beside, plug_in(tel)]
        assert converse(capabilities, "run") == untouched
        assert beside.saw == alone.saw


BROKEN = ("observe", "not_found", "declared", "raw_arguments", "origin")
BROKEN_CALLS = ("finish", "fail", "reject", "refuse", "conclude", "put_off")


@pytest.mark.parametrize("way", ["run", "stream"])
def test_a_tooltel_that_raises_in_every_hook_changes_nothing(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("telemetry is broken")

    with telemetry() as tel:
        for name in BROKEN:
            monkeypatch.setattr(tel, name, fail)
        assert converse([plug_in(tel)], way) == without(way)


@pytest.mark.parametrize("way", ["run", "stream"])
def test_a_call_whose_end_cannot_be_recorded_changes_nothing(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("telemetry is broken")

    with telemetry() as tel:
        for name in BROKEN_CALLS:
            monkeypatch.setattr(Observed, name, fail)
        assert converse([plug_in(tel)], way) == without(way)


def test_the_only_thing_that_the_framework_says_of_it_is_which_hooks_a_realtime_session_never_calls() -> None:
    with telemetry() as tel:
        uncalled = getattr(plug_in(tel), "_realtime_uncalled_hooks", lambda: None)()
        assert uncalled in (None, ("after_node_run", "after_model_request"))
