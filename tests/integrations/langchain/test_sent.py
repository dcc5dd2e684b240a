"""The declarations as they were really sent to the model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain.agents.structured_output import ToolStrategy
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel

from tests.integrations.counting import counts
from tests.integrations.langchain.kit import Desk, Hotel, ScriptedModel, ask, telemetry
from tooltel.integrations.langchain import TooltelMiddleware
from tooltel.testing import Captured, capture

PROFILE = {"profile": "desk"}


def run(desk: Desk) -> None:
    desk.turn([ask("call_taxi")], "Done.")


def arun(desk: Desk) -> None:
    asyncio.run(desk.aturn([ask("call_taxi")], "Done."))


def chars(tools: Any) -> int:
    forms = [each if isinstance(each, dict) else convert_to_openai_tool(each) for each in tools]
    return sum(len(json.dumps(form, ensure_ascii=False, separators=(",", ":"))) for form in forms)


def offered(seen: Captured) -> list[list[str]]:
    return [list(event["tools"]) for event in seen.logged("tools_offered")]


@pytest.mark.parametrize("play", [run, arun])
def test_size_and_names_of_what_the_model_was_sent_are_recorded_once(play: Callable[[Desk], None]) -> None:
    tools = Hotel().tools()
    with telemetry() as tel, capture(tel) as seen:
        desk = Desk(tools, middleware=[TooltelMiddleware(tel, profile="desk")])
        play(desk)
        play(desk)
        assert seen.increase("tooltel_declaration_chars", **PROFILE) == chars(tools)
        assert seen.increase("tooltel_profile_tools", **PROFILE) == len(tools)
        (taxi,) = (tool for tool in tools if tool.name == "call_taxi")
        assert seen.increase("tooltel_tool_declaration_chars", tool="call_taxi") == chars([taxi])
    assert offered(seen) == [[tool.name for tool in tools]]


def test_another_conversation_is_offered_its_tools_anew() -> None:
    with telemetry() as tel, capture(tel) as seen:
        middleware = TooltelMiddleware(tel, profile="desk")
        for thread in ("a", "a", "b"):
            model = ScriptedModel()
            agent = create_agent(model, Hotel().tools(), middleware=[middleware])
            agent.invoke({"messages": [HumanMessage("hello")]}, {"configurable": {"thread_id": thread}})
    assert len(offered(seen)) == 2


class Narrows(AgentMiddleware[Any, Any]):
    """Sends fewer tools than the agent has, and asks a model of its own which."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.own = ScriptedModel()

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        self.own.bind_tools([tool for tool in Hotel().tools() if tool.name == "open_safe"]).invoke("which?")
        fewer = [tool for tool in request.tools if tool.name in self.names]
        response = handler(request.override(tools=fewer) if hasattr(request, "override") else _with(request, fewer))
        self.own.bind_tools([tool for tool in Hotel().tools() if tool.name == "ring_bell"]).invoke("fine?")
        return response


def _with(request: Any, tools: Any) -> Any:
    request.tools = tools
    return request


@pytest.mark.parametrize("ours_first", [True, False])
def test_what_another_middleware_leaves_out_was_not_sent(ours_first: bool) -> None:
    with telemetry() as tel, capture(tel) as seen:
        both = [TooltelMiddleware(tel, profile="desk"), Narrows("call_taxi", "find_rooms")]
        run(Desk(Hotel().tools(), middleware=both if ours_first else both[::-1]))
    assert offered(seen) == [["find_rooms", "call_taxi"]]


def test_a_providers_own_tool_was_sent_too() -> None:
    search = {"type": "web_search"}

    class Provider(ScriptedModel):
        def bind_tools(self, tools: Any, **options: Any) -> Any:
            forms = [each if isinstance(each, dict) else convert_to_openai_tool(each) for each in tools]
            return self.bind(tools=forms)

    with telemetry() as tel, capture(tel) as seen:
        agent = create_agent(
            Provider(), [*Hotel().tools()[:1], search], middleware=[TooltelMiddleware(tel, profile="desk")]
        )
        agent.invoke({"messages": [HumanMessage("hello")]})
    assert offered(seen) == [["book_room", "web_search"]]


class Weather(BaseModel):
    """The weather."""

    degrees: int


def test_a_form_that_the_model_must_answer_in_is_sent_and_is_no_tool() -> None:
    with telemetry() as tel, capture(tel) as seen:
        model = ScriptedModel()
        model.script(
            [ask("Weather", "degrees: 3")],
            [ask("Weather", {"degrees": "x"})],
            [ask("Weather", {"degrees": 3})],
        )
        agent = create_agent(
            model,
            Hotel().tools()[:1],
            middleware=[TooltelMiddleware(tel, profile="desk")],
            response_format=ToolStrategy(Weather),
        )
        agent.invoke({"messages": [HumanMessage("hello")]})
        found = agent.invoke({"messages": [HumanMessage("hello")]})
        assert found["structured_response"] == Weather(degrees=3)
        assert counts(seen) == {}
    assert offered(seen) == [["book_room", "Weather"]]


def test_where_a_model_does_not_tell_what_it_was_sent_the_tools_of_the_request_are_measured() -> None:
    class Silent(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **options: Any) -> Any:
            return self

    tools = Hotel().tools()
    with telemetry() as tel, capture(tel) as seen:
        agent = create_agent(
            Silent(messages=iter([AIMessage("hello")] * 2)), tools, middleware=[TooltelMiddleware(tel, profile="desk")]
        )
        for _ in range(2):
            agent.invoke({"messages": [HumanMessage("hello")]})
        assert seen.increase("tooltel_declaration_chars", **PROFILE) == chars(tools)
    assert len(offered(seen)) == 1


def test_a_model_that_fails_was_sent_the_tools_all_the_same() -> None:
    class Fails(ScriptedModel):
        def _generate(self, *_: Any, **__: Any) -> Any:
            raise ConnectionError("no model")

    with telemetry() as tel, capture(tel) as seen:
        agent = create_agent(Fails(), Hotel().tools(), middleware=[TooltelMiddleware(tel, profile="desk")])
        with pytest.raises(ConnectionError, match="no model"):
            agent.invoke({"messages": [HumanMessage("hello")]})
    assert len(offered(seen)) == 1


def test_an_agent_without_tools_was_sent_none() -> None:
    with telemetry() as tel, capture(tel) as seen:
        agent = create_agent(ScriptedModel(), [], middleware=[TooltelMiddleware(tel, profile="desk")])
        agent.invoke({"messages": [HumanMessage("hello")]})
        assert seen.increase("tooltel_declaration_chars", **PROFILE) == 0
    assert offered(seen) == []


def test_a_changed_declaration_without_a_new_version_is_told() -> None:
    with telemetry() as tel, capture(tel) as seen:
        middleware = TooltelMiddleware(tel, profile="desk")
        for description in ("Call a taxi.", "Call a taxi, at once."):
            (taxi,) = (tool for tool in Hotel().tools() if tool.name == "call_taxi")
            taxi.description = description
            create_agent(ScriptedModel(), [taxi], middleware=[middleware]).invoke({"messages": [HumanMessage("hello")]})
    assert [event["gen_ai.tool.name"] for event in seen.logged("declaration_changed")] == ["call_taxi"]
