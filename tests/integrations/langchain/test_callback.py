"""The callback handler: for langchain-classic's AgentExecutor, and for loops that run tools themselves."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from langchain_classic.agents import AgentExecutor, create_tool_calling_agent
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.tools import ToolException

from tests.integrations.counting import counts
from tests.integrations.langchain.kit import Desk, Hotel, ScriptedModel, Step, ask, normal, telemetry
from tooltel.call import current_call
from tooltel.integrations.langchain import TooltelMiddleware
from tooltel.integrations.langchain_core import TooltelCallback
from tooltel.testing import capture

if TYPE_CHECKING:
    from tooltel import Tooltel

PROMPT = ChatPromptTemplate.from_messages([("human", "{input}"), ("placeholder", "{agent_scratchpad}")])


def executor(*steps: Step, tel: Tooltel | None = None) -> AgentExecutor:
    model = ScriptedModel()
    model.script(*steps)
    tools = Hotel().tools(tel)
    agent = create_tool_calling_agent(model, tools, PROMPT)
    return AgentExecutor(agent=agent, tools=tools, return_intermediate_steps=True)


def outcome(made: AgentExecutor, handler: TooltelCallback | None, *, asynchronous: bool) -> str:
    config: Any = {"callbacks": [] if handler is None else [handler], "metadata": {"thread_id": "guest-7"}}
    try:
        given = {"input": "hello"}
        return normal(str(asyncio.run(made.ainvoke(given, config)) if asynchronous else made.invoke(given, config)))
    except Exception as error:  # noqa: BLE001 - compared
        return normal(repr(error))


STEPS: tuple[Step, ...] = (
    [ask("call_taxi", {}, "taxi")],
    [ask("get_wether", {"x": 1}, "drop")],
    [ask("", {}, "empty")],
    [ask("a\nforged", {}, "hostile")],
    [ask("search_rooms", {"kind": "single"}, "alias")],
    [ask("send_bill", {"room": "1", "how": "shape"}, "refused")],
    [ask("find_rooms", {"kind": "single"}, "one"), ask("drill", {}, "two")],
    "Done.",
)
RECORDED = {
    "call call_taxi ok": 1,
    "drop unknown other": 3,
    "drop empty other": 1,
    "call find_rooms ok": 2,
    "alias search_rooms find_rooms": 1,
    "call send_bill refused": 1,
    "refused send_bill bills": 1,
}


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_calls_and_drops_of_an_executor_are_recorded_and_nothing_changes(asynchronous: bool, wrapped: bool) -> None:
    with telemetry() as tel, capture(tel) as seen:
        handler = TooltelCallback(tel, profile="desk")
        made = outcome(executor(*STEPS, tel=tel if wrapped else None), handler, asynchronous=asynchronous)
        assert counts(seen) == RECORDED
        assert seen.increase("tooltel_tool_calls_active") == 0
        assert current_call() is None
    assert made == outcome(executor(*STEPS), None, asynchronous=asynchronous)
    assert {each.origin for each in seen.outcomes} == {("desk", None, "guest-7")}


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(
    ("asked", "recorded"),
    [
        (ask("book_room", {"nights": "ten", "kind": "single"}), "structural framework"),
        (ask("book_table", {"size": 9, "how": "exception"}), "domain tool"),
        (ask("book_table", {"size": 9, "how": "raise"}), "domain tool"),
    ],
)
def test_rejections_end_an_executors_run_and_are_told_apart(asked: Any, recorded: str, asynchronous: bool) -> None:
    with telemetry() as tel, capture(tel) as seen:
        made = outcome(executor([asked], "Done."), TooltelCallback(tel, profile="desk"), asynchronous=asynchronous)
        assert counts(seen)[f"call {asked.name} invalid_arguments"] == 1
        assert counts(seen)[f"rejected {asked.name} {recorded}"] == 1
    assert made == outcome(executor([asked], "Done."), None, asynchronous=asynchronous)


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(("how", "recorded"), [("crash", "error"), ("type", "error"), ("validation", "error")])
def test_crashes_end_an_executors_run(how: str, recorded: str, asynchronous: bool) -> None:
    with telemetry() as tel, capture(tel) as seen:
        made = executor([ask("call_taxi", {"how": how})], "Done.")
        outcome(made, TooltelCallback(tel, profile="desk"), asynchronous=asynchronous)
        assert counts(seen) == {f"call call_taxi {recorded}": 1}


def test_an_exception_that_the_tool_was_told_to_handle_looks_like_a_result() -> None:
    with telemetry() as tel, capture(tel) as seen:
        made = executor([ask("book_sauna", {"persons": 9})], "Done.")
        outcome(made, TooltelCallback(tel, profile="desk"), asynchronous=False)
        assert counts(seen) == {"call book_sauna ok": 1}


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_tool_that_the_host_runs_by_hand_is_recorded_too(asynchronous: bool) -> None:
    (taxi,) = (tool for tool in Hotel().tools() if tool.name == "call_taxi")
    call: Any = {"name": "call_taxi", "args": {}, "id": "by-hand", "type": "tool_call"}
    with telemetry() as tel, capture(tel) as seen:
        config: Any = {"callbacks": [TooltelCallback(tel, profile="desk", agent="loop")]}
        answer = asyncio.run(taxi.ainvoke(call, config)) if asynchronous else taxi.invoke(call, config)
        assert counts(seen) == {"call call_taxi ok": 1}
    assert answer.content == "it is coming"
    assert seen.outcomes[0].origin.agent == "loop"


@pytest.mark.parametrize("asynchronous", [False, True])
def test_beside_the_middleware_every_call_is_still_one(asynchronous: bool) -> None:
    with telemetry() as tel, capture(tel) as seen:
        desk = Desk(Hotel().tools(), middleware=[TooltelMiddleware(tel, profile="desk")])
        given, config = desk.begin(([ask("call_taxi"), ask("search_rooms", {"kind": "x"}), ask("drill")], "Done."))
        config = {**config, "callbacks": [TooltelCallback(tel, profile="desk")]}
        if asynchronous:
            asyncio.run(desk.agent.ainvoke(given, config))
        else:
            desk.agent.invoke(given, config)
        assert counts(seen) == {
            "call call_taxi ok": 1,
            "call find_rooms ok": 1,
            "alias search_rooms find_rooms": 1,
            "drop unknown other": 1,
        }


def test_a_handler_that_is_broken_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> Any:
        raise ToolException("tooltel is broken")

    plain = outcome(executor(*STEPS), None, asynchronous=False)
    with telemetry() as tel:
        for name in ("observe", "not_found"):
            monkeypatch.setattr(tel, name, broken)
        assert outcome(executor(*STEPS), TooltelCallback(tel), asynchronous=False) == plain
        assert "tooltel_internal_errors_total" in str(list(tel.view.collect()))
