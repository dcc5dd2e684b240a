"""What a TooltelCapability records beyond counts, and what other capabilities and approvals make of a call."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest.mock import patch

import pytest
from pydantic_ai import Agent, ModelRetry, RunContext, exceptions
from pydantic_ai import Tool as FrameworkTool
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, SkipToolExecution
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, ToolDenied

from tests.integrations.counting import counter, counts
from tests.integrations.hotel import telemetry
from tests.integrations.pydantic_ai.kit import VERSION, Ask, Desk, Hotel, Script, Step, Way
from tooltel.integrations.pydantic_ai import TooltelCapability
from tooltel.testing import capture

if TYPE_CHECKING:
    from tooltel.outcome import Outcome
    from tooltel.testing import Sample

TELLS_AGENT = VERSION >= (1, 76)
TELLS_CONVERSATION = VERSION >= (1, 89)
BOOK = Ask("book_room", {"nights": 2, "kind": "single"}, "id-1")


class Play(NamedTuple):
    """One run of a desk with a TooltelCapability, and what was recorded."""

    desk: Desk
    outcomes: list[Outcome]
    counted: Counter[str]
    increases: dict[Sample, float]
    offered: list[list[str]]


def play(
    *steps: Step, tools: list[Any] | None = None, beside: list[Any] | None = None, output: Any = str, **options: Any
) -> Play:
    with telemetry() as tel, capture(tel) as seen:
        used = [TooltelCapability(tel, **{"profile": "desk", **options}), *(beside or [])]
        desk = Desk(Hotel().tools() if tools is None else tools, capabilities=used, output_type=output)
        asyncio.run(desk.turn(*steps))
        offered = [event["tools"] for event in seen.logged("tools_offered")]
        return Play(desk, seen.outcomes, counts(seen), seen.increases(), offered)


# --- where a call comes from ----------------------------------------------------------------------


def test_a_call_carries_agent_profile_conversation_and_id() -> None:
    played = play([BOOK])
    (outcome,) = played.outcomes
    message = played.desk.history[0]
    assert outcome.origin.profile == "desk"
    assert outcome.origin.agent == ("desk" if TELLS_AGENT else None)
    assert outcome.origin.session_id == (message.conversation_id if TELLS_CONVERSATION else message.run_id)
    assert outcome.call_id == "id-1"


def test_a_name_that_is_no_tool_carries_them_too() -> None:
    played = play([Ask("get_wether", {}, "id-9")], agent="concierge")
    (outcome,) = played.outcomes
    assert (outcome.origin.profile, outcome.origin.agent, outcome.call_id) == ("desk", "concierge", "id-9")
    assert outcome.origin.session_id


def test_the_next_run_of_a_conversation_is_of_the_same_session() -> None:
    with telemetry() as tel, capture(tel) as seen:
        desk = Desk(Hotel().tools(), capabilities=[TooltelCapability(tel)])

        async def talk() -> None:
            await desk.turn([BOOK])
            await desk.turn([BOOK])

        asyncio.run(talk())
        sessions = {outcome.origin.session_id for outcome in seen.outcomes}
        assert len(sessions) == (1 if TELLS_CONVERSATION else 2)


def test_the_hosts_own_block_says_of_which_conversation_a_call_is() -> None:
    with telemetry() as tel, capture(tel) as seen:
        desk = Desk(Hotel().tools(), capabilities=[TooltelCapability(tel)])
        with tel.session(id="s-42", profile="desk"):
            asyncio.run(desk.turn([BOOK, Ask("get_wether")]))
        assert {(outcome.origin.session_id, outcome.origin.profile) for outcome in seen.outcomes} == {("s-42", "desk")}


def test_profiles_may_go_by_agent() -> None:
    played = play([BOOK], profile={"desk": "back_office", "": "desk"})
    assert played.outcomes[0].origin.profile == ("back_office" if TELLS_AGENT else "desk")


def test_an_agent_inside_a_tool_calls_in_the_same_conversation_and_names_its_caller() -> None:
    with telemetry() as tel, capture(tel) as seen:
        ours = TooltelCapability(tel, profile="desk")
        inner = Desk(Hotel().tools(), capabilities=[ours])

        async def ask_colleague() -> str:
            """Ask a colleague, who has tools of their own."""
            await inner.turn([Ask("find_rooms", {"kind": "single"}, "id-2"), Ask("drill", {}, "id-3")])
            return "done"

        outer = Desk([ask_colleague], capabilities=[ours])
        asyncio.run(outer.turn([Ask("ask_colleague", {}, "id-1")]))
        told = {outcome.call_id: outcome for outcome in seen.outcomes}
        assert [told[name].parent for name in ("id-1", "id-2", "id-3")] == [None, "ask_colleague", "ask_colleague"]
        assert len({outcome.origin.session_id for outcome in seen.outcomes}) == 1


# --- declarations ---------------------------------------------------------------------------------


def test_the_declarations_that_were_sent_are_measured() -> None:
    played = play([BOOK])
    names = [tool.__name__ for tool in Hotel().functions()]
    assert [sorted(tools) for tools in played.offered] == [sorted(names)]
    sizes = {name: value for (name, labels), value in played.increases.items() if ("profile", "desk") in labels}
    assert sizes["tooltel_profile_tools"] == len(names)
    assert sizes["tooltel_declaration_chars"] > 100 * len(names)


def test_a_tool_that_comes_later_is_declared_when_it_comes() -> None:
    async def from_second_step(ctx: RunContext[Any], tool_def: Any) -> Any:
        return tool_def if ctx.run_step > 1 else None

    late = FrameworkTool(Hotel().functions()[1], name="find_rooms", prepare=from_second_step)
    first = Hotel().functions()[0]
    played = play([Ask("find_rooms", {"kind": "x"})], [Ask("find_rooms", {"kind": "x"})], tools=[first, late])
    assert played.offered == [["book_room"], ["book_room", "find_rooms"]]
    assert played.counted == counter("drop not_in_profile find_rooms\ncall find_rooms ok")


def test_a_new_conversation_is_told_what_it_was_offered_and_no_more_is_measured_than_what_changed() -> None:
    with telemetry() as tel, capture(tel) as seen, patch.object(tel, "declared", wraps=tel.declared) as declared:
        desk = Desk(Hotel().tools(), capabilities=[TooltelCapability(tel, profile="desk")])

        async def talk() -> None:
            await desk.turn([BOOK], [BOOK])
            desk.history = []
            await desk.turn([BOOK], [BOOK])

        asyncio.run(talk())
        assert len(seen.logged("tools_offered")) == declared.call_count == 2


class Hiding(AbstractCapability[Any]):
    """Takes a tool out of what the model is told of."""

    async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
        parameters = request_context.model_request_parameters
        shown = [tool for tool in parameters.function_tools if tool.name != "book_room"]
        return replace(request_context, model_request_parameters=replace(parameters, function_tools=shown))


@pytest.mark.skipif(VERSION < (1, 78), reason="which tools a run has is told since 1.78")
def test_a_tool_that_the_model_was_not_told_of_is_still_a_tool() -> None:
    assert play([BOOK], beside=[Hiding()]).counted == counter("call book_room ok")


@pytest.mark.parametrize("way", ["run", "stream"])
def test_arguments_are_handed_in_as_the_model_wrote_them(way: Way) -> None:
    with telemetry() as tel, patch.object(tel, "raw_arguments") as handed_in:
        desk = Desk(Hotel().tools(), capabilities=[TooltelCapability(tel)], way=way)
        asyncio.run(desk.turn([Ask("book_room", {"nights": "10", "colour": "red"}), Ask("book_room", "no JSON")]))
        ((name, arguments, schema),) = [call.args for call in handed_in.call_args_list]
        assert (name, arguments) == ("book_room", {"nights": "10", "colour": "red"})
        assert set(schema["properties"]) == {"nights", "kind", "note"}


def test_a_form_of_the_result_is_declared_but_is_no_tool() -> None:
    async def never(output: int) -> int:
        raise ModelRetry("not that one")

    played = play(
        [Ask("final_result", {"response": 1}), BOOK],
        [Ask("final_result", {"response": "x"})],
        output=never,
    )
    calls = [line for line in played.counted if line.split()[0] in ("call", "drop", "rejected")]
    assert calls in ([], ["call book_room ok"])  # whether the tool beside it runs is the framework's affair
    assert all("final_result" in tools for tools in played.offered)


# --- approvals, and calls that are put off ---------------------------------------------------------


def approving(raising: type[Exception] | None = None) -> list[Any]:
    """A tool that a person must approve: by its declaration, or because it asks when it is called."""

    def pay_refund(ctx: RunContext[Any]) -> str:
        """Pay a refund, once a person has approved it."""
        if raising is not None and not ctx.tool_call_approved:
            raise raising()
        return "paid"

    return [FrameworkTool(pay_refund, takes_ctx=True, requires_approval=raising is None)]


def ask_and_answer(tools: list[Any], answer: Any) -> Counter[str]:
    with telemetry() as tel, capture(tel) as seen:
        ours = TooltelCapability(tel, profile="desk")
        desk = Desk(tools, capabilities=[ours], output_type=[str, DeferredToolRequests])

        async def talk() -> None:
            await desk.turn([Ask("pay_refund", {}, "id-1")])
            assert isinstance(desk.output, DeferredToolRequests)
            await desk.turn("Good.", deferred_tool_results=DeferredToolResults(approvals={"id-1": answer}))
            assert desk.output == "Good."

        asyncio.run(talk())
        return counts(seen)


def test_a_call_that_a_person_denied_was_refused() -> None:
    assert ask_and_answer(approving(), ToolDenied("not today")) == counter(
        "call pay_refund refused\nrefused pay_refund confirmation"
    )


def test_a_call_that_a_person_approved_counts_once() -> None:
    assert ask_and_answer(approving(), answer=True) == counter("call pay_refund ok")


@pytest.mark.parametrize("raising", [ApprovalRequired, CallDeferred])
@pytest.mark.parametrize("wrapped", [False, True], ids=["bare", "wrapped"])
def test_a_call_that_the_tool_itself_puts_off_did_not_fail(raising: type[Exception], *, wrapped: bool) -> None:
    def pay_refund() -> str:
        """Pay a refund, once a person has approved it."""
        raise raising()

    with telemetry() as tel, capture(tel) as seen:
        desk = Desk(
            [tel.tool(pay_refund) if wrapped else pay_refund],
            capabilities=[TooltelCapability(tel)],
            output_type=[str, DeferredToolRequests],
        )
        asyncio.run(desk.turn([Ask("pay_refund")]))
        assert counts(seen) == counter("call pay_refund cancelled")


def test_a_call_put_off_and_then_approved_runs_anew() -> None:
    assert ask_and_answer(approving(ApprovalRequired), answer=True) == counter(
        "call pay_refund cancelled\ncall pay_refund ok"
    )


# --- other capabilities ---------------------------------------------------------------------------


class Answering(AbstractCapability[Any]):
    """Answers in the tool's place."""

    async def wrap_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Any) -> Any:
        return {"status": "refused", "policy": "night", "answer": "not at night"}


class Skipping(AbstractCapability[Any]):
    """Lets the framework skip the tool."""

    async def wrap_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Any) -> Any:
        raise SkipToolExecution({"replayed": True})


class Mending(AbstractCapability[Any]):
    """Mends arguments that the schema rejects."""

    async def on_tool_validate_error(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, error: Any) -> Any:
        return {"nights": 1, "kind": "single"}


class Guarding(AbstractCapability[Any]):
    """Asks the model to call otherwise, before anything runs."""

    def __init__(self, hook: str) -> None:
        setattr(self, hook, self._object)

    async def _object(self, ctx: Any, **_: Any) -> Any:
        raise ModelRetry("not like that")


@pytest.mark.parametrize(
    ("beside", "recorded"),
    [
        (Answering(), "call book_room refused\nrefused book_room night"),
        (Skipping(), "call book_room replayed"),
    ],
    ids=["answering", "skipping"],
)
def test_an_answer_in_the_tools_place_is_the_calls(beside: Any, recorded: str) -> None:
    assert play([BOOK], beside=[beside]).counted == counter(recorded)


@pytest.mark.skipif(VERSION < (1, 80), reason="a capability can ask for its place since 1.80")
def test_it_sees_what_a_capability_before_it_in_the_list_makes_of_a_call() -> None:
    with telemetry() as tel, capture(tel) as seen:
        desk = Desk(Hotel().tools(), capabilities=[Answering(), TooltelCapability(tel)])
        asyncio.run(desk.turn([BOOK]))
        assert counts(seen) == counter("call book_room refused\nrefused book_room night")


def test_arguments_that_another_capability_mends_were_not_rejected() -> None:
    assert play([Ask("book_room", {})], beside=[Mending()]).counted == counter("call book_room ok")


@pytest.mark.parametrize("hook", ["before_tool_validate", "after_tool_validate", "before_tool_execute"])
def test_an_objection_of_another_capability_is_a_rejection(hook: str) -> None:
    played = play([BOOK], beside=[Guarding(hook)])
    if "ModelRetry" in played.desk.transcript[0][0]:  # where it ends the run (1.71), nobody was told of a call
        assert (hook, played.counted) == ("before_tool_execute", Counter())
    else:
        assert played.counted == counter(
            "call book_room invalid_arguments\nrejected book_room domain tool\nfield book_room domain other"
        )


# --- exceptions that mean something else -------------------------------------------------------------


def test_a_validator_of_the_tools_own_rejects_for_the_tool() -> None:
    def no_sundays(ctx: RunContext[Any], day: str) -> None:
        if day == "sunday":
            raise ModelRetry("not on Sundays")

    def ring_bell(day: str) -> str:
        """Ring the bell, so that somebody comes to the desk."""
        return day

    tools = [FrameworkTool(ring_bell, args_validator=no_sundays)]
    assert play([Ask("ring_bell", {"day": "sunday"})], tools=tools).counted == counter(
        "call ring_bell invalid_arguments\nrejected ring_bell domain tool\nfield ring_bell domain other"
    )


def test_a_validation_error_inside_the_tool_is_a_crash_of_the_tool() -> None:
    from pydantic import TypeAdapter

    def ring_bell() -> None:
        """Ring the bell, so that somebody comes to the desk."""
        TypeAdapter(int).validate_python("a backend's odd answer")

    assert play([Ask("ring_bell")], tools=[ring_bell]).counted == counter("call ring_bell error")


def test_the_end_of_a_run_inside_a_tool_is_a_crash_of_that_tool_and_no_rejection() -> None:
    script = Script()
    inner: Agent[Any, Any] = Agent(script.model, tools=Hotel().tools(), name="inner")

    async def ask_colleague() -> str:
        """Ask a colleague, who has tools of their own."""
        asks: list[Step] = [[Ask("book_table", {"size": 9, "how": "retry"})]] * 2
        script.play(*asks)
        return str((await inner.run("Please.")).output)

    assert play([Ask("ask_colleague")], tools=[ask_colleague]).counted == counter("call ask_colleague error")


@pytest.mark.skipif(not hasattr(exceptions, "ToolFailed"), reason="tools can report a failure since 2.2x only")
@pytest.mark.parametrize("wrapped", [False, True], ids=["bare", "wrapped"])
def test_a_failure_that_the_tool_reports_is_an_error(*, wrapped: bool) -> None:
    def ring_bell() -> str:
        """Ring the bell, so that somebody comes to the desk."""
        raise exceptions.ToolFailed("the bell is broken")

    with telemetry() as tel, capture(tel) as seen:
        tools = [tel.tool(ring_bell) if wrapped else ring_bell]
        asyncio.run(Desk(tools, capabilities=[TooltelCapability(tel)]).turn([Ask("ring_bell")]))
        assert counts(seen) == counter("call ring_bell error")
        assert [outcome.error_type for outcome in seen.outcomes] == ["ToolFailed"]


def test_a_result_with_more_for_the_model_is_judged_by_its_value() -> None:
    from pydantic_ai.messages import ToolReturn

    def ring_bell() -> Any:
        """Ring the bell, so that somebody comes to the desk."""
        return ToolReturn(return_value={"replayed": True}, content="The bell has rung.")

    assert play([Ask("ring_bell")], tools=[ring_bell]).counted == counter("call ring_bell replayed")


# --- old names, and who else it is ------------------------------------------------------------------


def test_without_redirection_an_old_name_is_a_rename() -> None:
    assert play([Ask("search_rooms", {"kind": "x"})]).counted == counter("drop renamed search_rooms")


def test_with_redirection_the_history_shows_the_new_name() -> None:
    played = play([Ask("search_rooms", {"kind": "x"}, "id-1")], redirect_aliases=True)
    assert played.counted == counter("call find_rooms ok\nalias search_rooms find_rooms")
    parts = [part for message in played.desk.history for part in message.parts]
    assert [part.tool_name for part in parts if part.part_kind == "tool-call"] == ["find_rooms"]


def test_an_old_name_that_is_a_tool_of_its_own_is_not_redirected() -> None:
    find, old = Hotel().functions()[1], FrameworkTool(Hotel().functions()[1], name="search_rooms")
    played = play([Ask("search_rooms", {"kind": "x"})], tools=[find, old], redirect_aliases=True)
    assert played.counted == counter("call find_rooms ok\nalias search_rooms find_rooms")
    parts = [part for message in played.desk.history for part in message.parts]
    assert [part.tool_name for part in parts if part.part_kind == "tool-call"] == ["search_rooms"]


def test_an_old_name_of_a_tool_that_the_model_was_not_offered_is_not_redirected() -> None:
    played = play([Ask("search_rooms", {"kind": "x"})], tools=[Hotel().functions()[0]], redirect_aliases=True)
    assert played.counted == counter("drop renamed search_rooms")


def test_rejected_arguments_of_an_old_name_are_of_the_old_name() -> None:
    assert play([Ask("search_rooms", {}, "id-1")], redirect_aliases=True).counted == counter(
        """
        call find_rooms invalid_arguments
        alias search_rooms find_rooms
        rejected find_rooms structural framework
        field find_rooms structural kind
        """
    )


def test_it_cannot_be_written_into_a_specification() -> None:
    assert TooltelCapability.get_serialization_name() is None
