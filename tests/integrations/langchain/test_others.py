"""Beside other middleware: retries, people who approve, limits, tools that are brought along; and runs that pause."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    ToolCallLimitMiddleware,
    ToolRetryMiddleware,
)
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import ParentCommand
from langgraph.graph import StateGraph
from langgraph.types import Command, interrupt

from tests.integrations.counting import counts
from tests.integrations.langchain.kit import (
    MARKS_DECISIONS,
    Hotel,
    NoSafes,
    ScriptedModel,
    Step,
    ask,
    telemetry,
)
from tooltel.integrations.langchain import TooltelMiddleware
from tooltel.testing import capture

CONFIG = {"configurable": {"thread_id": "one"}}
DENIED = "confirmation" if MARKS_DECISIONS else "middleware"


class Agent:
    """An agent that is asked synchronously or not, and may be interrupted and resumed."""

    def __init__(self, *middleware: Any, asynchronous: bool, tools: Any = None, saver: Any = None) -> None:
        self.model = ScriptedModel()
        self.saver = saver or InMemorySaver()
        self._asynchronous = asynchronous
        tools = Hotel().tools() if tools is None else tools
        self.agent = create_agent(self.model, tools, middleware=middleware, checkpointer=self.saver)

    def ask(self, *steps: Step) -> dict[str, Any]:
        self.model.script(*steps)
        return self.run({"messages": [HumanMessage("hello")]})

    def run(self, given: Any) -> dict[str, Any]:
        if self._asynchronous:
            return dict(asyncio.run(self.agent.ainvoke(given, CONFIG)))
        return dict(self.agent.invoke(given, CONFIG))


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def asynchronous(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def flaky() -> tuple[Callable[[], str], list[int]]:
    tries: list[int] = []

    def call_taxi() -> str:
        """Call a taxi."""
        tries.append(1)
        if len(tries) % 3:
            raise ConnectionError("busy")
        return "it is coming"

    return call_taxi, tries


def retries() -> ToolRetryMiddleware:
    return ToolRetryMiddleware(max_retries=2, initial_delay=0, jitter=False)


def test_listed_first_a_call_that_is_tried_again_is_one_call_with_what_came_of_it_at_last(asynchronous: bool) -> None:
    fn, tries = flaky()
    tool = StructuredTool.from_function(fn)
    with telemetry() as tel, capture(tel) as seen:
        Agent(TooltelMiddleware(tel), retries(), asynchronous=asynchronous, tools=[tool]).ask(
            [ask("call_taxi")], "Done."
        )
        assert counts(seen) == {"call call_taxi ok": 1}
    assert len(tries) == 3


def test_listed_last_each_try_is_a_call_of_its_own(asynchronous: bool) -> None:
    tool = StructuredTool.from_function(flaky()[0])
    with telemetry() as tel, capture(tel) as seen:
        Agent(retries(), TooltelMiddleware(tel), asynchronous=asynchronous, tools=[tool]).ask(
            [ask("call_taxi")], "Done."
        )
        assert counts(seen) == {"call call_taxi error": 2, "call call_taxi ok": 1}


def test_an_exception_that_a_middleware_makes_a_message_of_is_still_the_exception(asynchronous: bool) -> None:
    def call_taxi() -> str:
        """Call a taxi."""
        raise TimeoutError

    tool = StructuredTool.from_function(call_taxi)
    with telemetry() as tel, capture(tel) as seen:
        Agent(TooltelMiddleware(tel), retries(), asynchronous=asynchronous, tools=[tool]).ask(
            [ask("call_taxi")], "Done."
        )
        assert counts(seen) == {"call call_taxi timeout": 1}


def test_a_middleware_that_answers_with_an_error_in_the_tools_place_is_a_policy(asynchronous: bool) -> None:
    with telemetry() as tel, capture(tel) as seen:
        Agent(TooltelMiddleware(tel), NoSafes(), asynchronous=asynchronous).ask(
            [ask("open_safe", {"room": "1"})], "Done."
        )
        assert counts(seen) == {"call open_safe refused": 1, "refused open_safe middleware": 1}


class Answers(AgentMiddleware[Any, Any]):
    """Answers every call, as a cache or an emulator does."""

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        return ToolMessage("from memory", tool_call_id=request.tool_call["id"])

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        return self.wrap_tool_call(request, handler)


def test_a_middleware_that_answers_well_in_the_tools_place_made_a_call_that_went_well(asynchronous: bool) -> None:
    with telemetry() as tel, capture(tel) as seen:
        Agent(TooltelMiddleware(tel), Answers(), asynchronous=asynchronous).ask([ask("call_taxi"), ask("fly")], "Done.")
        assert counts(seen) == {"call call_taxi ok": 1, "call fly ok": 1}


class BringsAlong(AgentMiddleware[Any, Any]):
    """Runs a tool that the agent does not know."""

    def __init__(self, tool: Any) -> None:
        self.tool = tool

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        known = request.tool_call["name"] != self.tool.name
        return handler(request if known else request.override(tool=self.tool))

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        known = request.tool_call["name"] != self.tool.name
        return await handler(request if known else request.override(tool=self.tool))


def test_a_tool_that_a_middleware_brings_along_makes_calls_like_any_other(asynchronous: bool) -> None:
    def call_taxi(persons: int = 1) -> str:
        """Call a taxi."""
        if persons == 9:
            raise RuntimeError("no line")
        return "it is coming"

    brought = BringsAlong(StructuredTool.from_function(call_taxi))
    table = [tool for tool in Hotel().tools() if tool.name == "book_table"]
    with telemetry() as tel, capture(tel) as seen:
        agent = Agent(TooltelMiddleware(tel), brought, retries(), asynchronous=asynchronous, tools=table)
        agent.ask(
            [ask("call_taxi"), ask("call_taxi", {"persons": "x"}), ask("call_taxi", {"persons": 9}), ask("drill")],
            "Done.",
        )
        assert counts(seen) == {
            "call call_taxi ok": 1,
            "call call_taxi invalid_arguments": 1,
            "rejected call_taxi structural framework": 1,
            "field call_taxi structural other": 1,
            "call call_taxi error": 1,
            "drop unknown other": 1,
        }
        assert seen.increase("tooltel_tool_calls_active") == 0


# --- people ---


def approves(**on: Any) -> HumanInTheLoopMiddleware:
    allowed = {"allowed_decisions": ["approve", "edit", "reject"]}
    return HumanInTheLoopMiddleware(interrupt_on={"send_bill": allowed, "call_taxi": allowed, **on})


def decide(*decisions: dict[str, Any]) -> Command[Any]:
    return Command(resume={"decisions": list(decisions)})


APPROVE = {"type": "approve"}
REJECT = {"type": "reject", "message": "not today"}
EDIT = {"type": "edit", "edited_action": {"name": "send_bill", "args": {"room": "14"}}}
BILLS = [ask("send_bill", {"room": "12"}, "bill"), ask("call_taxi", {}, "taxi")]


@pytest.mark.parametrize("ours_first", [True, False])
@pytest.mark.parametrize(
    ("decisions", "expected"),
    [
        ((APPROVE, APPROVE), {"call send_bill ok": 1, "call call_taxi ok": 1}),
        ((EDIT, APPROVE), {"call send_bill ok": 1, "call call_taxi ok": 1}),
        (
            (REJECT, APPROVE),
            {"call send_bill refused": 1, f"refused send_bill {DENIED}": 1, "call call_taxi ok": 1},
        ),
        (
            (REJECT, REJECT),
            {
                "call send_bill refused": 1,
                f"refused send_bill {DENIED}": 1,
                "call call_taxi refused": 1,
                f"refused call_taxi {DENIED}": 1,
            },
        ),
    ],
)
def test_a_call_that_a_person_denied_was_refused_and_one_that_was_approved_went_well(
    decisions: Any, expected: dict[str, int], ours_first: bool, asynchronous: bool
) -> None:
    with telemetry() as tel, capture(tel) as seen:
        ours, theirs = TooltelMiddleware(tel, profile="desk"), approves()
        agent = Agent(*([ours, theirs] if ours_first else [theirs, ours]), asynchronous=asynchronous)
        assert "__interrupt__" in agent.ask(BILLS, "Sorry.", "Done.")
        assert counts(seen) == {}
        agent.run(decide(*decisions))
        assert counts(seen) == expected
        agent.ask("Anything else?")
        assert counts(seen) == expected
    assert all(outcome.origin.session_id == "one" for outcome in seen.outcomes)
    assert {outcome.call_id for outcome in seen.outcomes} == {"bill", "taxi"}


@pytest.mark.parametrize("marks", [MARKS_DECISIONS])
def test_a_denial_after_which_another_process_goes_on_is_seen_where_langchain_marks_it(
    marks: bool, asynchronous: bool
) -> None:
    with telemetry() as first, telemetry() as second, capture(first) as asked, capture(second) as answered:
        before = Agent(TooltelMiddleware(first), approves(), asynchronous=asynchronous)
        before.ask(BILLS)
        after = Agent(TooltelMiddleware(second), approves(), asynchronous=asynchronous, saver=before.saver)
        after.run(decide(REJECT, APPROVE))
        assert counts(asked) == {}
        denied = {"call send_bill refused": 1, "refused send_bill confirmation": 1} if marks else {}
        assert counts(answered) == {**denied, "call call_taxi ok": 1}


if MARKS_DECISIONS:  # before, decisions are asked for after the model alone

    def test_a_denial_where_each_call_is_asked_for_is_told_once(asynchronous: bool) -> None:
        people = HumanInTheLoopMiddleware(interrupt_on={"send_bill": True}, interrupt_mode="per_call")
        with telemetry() as tel, capture(tel) as seen:
            agent = Agent(TooltelMiddleware(tel), people, asynchronous=asynchronous)
            (paused,) = agent.ask([ask("send_bill", {"room": "12"}, "bill")], "Sorry.", "Done.")["__interrupt__"]
            assert counts(seen) == {"call send_bill cancelled": 1}
            agent.run(Command(resume={paused.id: {"type": "reject", "message": "no"}}))
            agent.ask("Anything else?")
            assert counts(seen) == {
                "call send_bill cancelled": 1,
                "call send_bill refused": 1,
                "refused send_bill confirmation": 1,
            }


class Blocks(AgentMiddleware[Any, Any]):
    """Answers every call before any tool node is asked, as a limit does."""

    def after_model(self, state: Any, runtime: Any) -> dict[str, Any]:
        calls = state["messages"][-1].tool_calls
        return {"messages": [ToolMessage("enough", tool_call_id=call["id"], status="error") for call in calls]}


def test_a_middleware_that_blocks_calls_is_a_policy(asynchronous: bool) -> None:
    with telemetry() as tel, capture(tel) as seen:
        agent = Agent(TooltelMiddleware(tel), Blocks(), asynchronous=asynchronous)
        agent.ask([ask("call_taxi"), ask("drill")], [ask("call_taxi")], "Done.")
        assert counts(seen) == {
            "call call_taxi refused": 2,
            "refused call_taxi middleware": 2,
            "drop unknown other": 1,
        }


def test_a_limit_that_ends_the_run_leaves_no_trace_of_what_it_kept_from_happening(asynchronous: bool) -> None:
    limit = ToolCallLimitMiddleware(run_limit=1, exit_behavior="end")
    with telemetry() as tel, capture(tel) as seen:
        agent = Agent(TooltelMiddleware(tel), limit, asynchronous=asynchronous)
        agent.ask([ask("call_taxi")], [ask("call_taxi")], "Done.")
        assert counts(seen) == {"call call_taxi ok": 1}


def test_answers_that_the_host_put_into_the_conversation_are_no_calls(asynchronous: bool) -> None:
    asking = AIMessage("", tool_calls=[{"name": "call_taxi", "args": {}, "id": "old"}])
    answered = ToolMessage("no", tool_call_id="old", status="error")
    with telemetry() as tel, capture(tel) as seen:
        agent = Agent(TooltelMiddleware(tel), asynchronous=asynchronous)
        agent.run({"messages": [HumanMessage("hello"), asking, answered]})
        assert counts(seen) == {}


# --- runs that pause, and hand over ---


def test_a_tool_that_asks_a_person_is_put_off_and_then_a_call_that_went_well(asynchronous: bool) -> None:
    def send_bill(room: str) -> str:
        """Send a room's bill."""
        return f"{room}: {interrupt('really?')}"

    tool = StructuredTool.from_function(send_bill)
    with telemetry() as tel, capture(tel) as seen:
        agent = Agent(TooltelMiddleware(tel, profile="desk"), asynchronous=asynchronous, tools=[tool])
        agent.ask([ask("send_bill", {"room": "12"})], "Done.")
        assert counts(seen) == {"call send_bill cancelled": 1}
        assert all(span.status.status_code.name == "UNSET" for span in seen.spans)
        assert agent.run(Command(resume="yes"))["messages"][-1].content == "Done."
        assert counts(seen) == {"call send_bill cancelled": 1, "call send_bill ok": 1}


def test_a_wrapped_tool_that_asks_a_person_is_put_off_too(asynchronous: bool) -> None:
    with telemetry() as tel, capture(tel) as seen:

        @tel.tool
        def send_bill(room: str) -> str:
            """Send a room's bill."""
            return f"{room}: {interrupt('really?')}"

        tool = StructuredTool.from_function(send_bill)
        agent = Agent(TooltelMiddleware(tel, profile="desk"), asynchronous=asynchronous, tools=[tool])
        agent.ask([ask("send_bill", {"room": "12"})], "Done.")
        agent.run(Command(resume="yes"))
        assert counts(seen) == {"call send_bill cancelled": 1, "call send_bill ok": 1}


def test_a_command_that_hands_over_is_no_error(asynchronous: bool) -> None:
    def call_taxi() -> Command[Any]:
        """Call a taxi."""
        return Command(graph=Command.PARENT, goto="somebody", update={"messages": []})

    with telemetry() as tel, capture(tel) as seen:
        model = ScriptedModel()
        model.script([ask("call_taxi", {}, "taxi")], "Done.")
        inner = create_agent(model, [StructuredTool.from_function(call_taxi)], middleware=[TooltelMiddleware(tel)])
        graph = StateGraph(AgentState)
        graph.add_node("agent", inner, destinations=("somebody",))
        graph.add_node("somebody", lambda state: {"messages": []})
        graph.set_entry_point("agent")
        outer = graph.compile()
        given = {"messages": [HumanMessage("hello")]}
        found = asyncio.run(outer.ainvoke(given)) if asynchronous else outer.invoke(given)
        assert counts(seen) == {"call call_taxi ok": 1}
    assert "messages" in found


def test_a_graph_inside_a_tool_that_hands_over_is_no_error(asynchronous: bool) -> None:
    def call_taxi() -> str:
        """Call a taxi."""
        raise ParentCommand(Command(graph="elsewhere", goto="somebody"))

    with telemetry() as tel, capture(tel) as seen:
        agent = Agent(
            TooltelMiddleware(tel), asynchronous=asynchronous, tools=[StructuredTool.from_function(call_taxi)]
        )
        with suppress(ParentCommand):  # nobody is there to take over
            agent.ask([ask("call_taxi")], "Done.")
        assert counts(seen) == {"call call_taxi ok": 1}


def test_a_subclass_that_has_a_say_in_calls_is_asked(asynchronous: bool) -> None:
    said: list[str] = []

    class Sayer(TooltelMiddleware):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            said.append(request.tool_call["name"])
            return super().wrap_tool_call(request, handler)

        def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            said.append(request.tool_call["name"])
            return super().awrap_tool_call(request, handler)

    with telemetry() as tel, capture(tel) as seen:
        Agent(Sayer(tel, profile="desk"), asynchronous=asynchronous).ask([ask("call_taxi")], "Done.")
    assert said == ["call_taxi"]
    assert [outcome.tool.name for outcome in seen.outcomes if outcome.tool] == ["call_taxi"]
