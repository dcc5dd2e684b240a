"""With and without the plug-in everything is the same, but for what langchain's hooks force on any middleware."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import HumanMessage, ToolMessage

from tests.integrations.langchain.kit import (
    TAKES_ANY_TOOL,
    Desk,
    Hotel,
    NoSafes,
    ScriptedModel,
    ask,
    dump,
    normal,
    telemetry,
)
from tests.integrations.langchain.script import CONVERSATION, Turn
from tests.integrations.langchain.test_conversation import play
from tooltel.integrations.langchain import TooltelMiddleware
from tooltel.integrations.langchain.model_calls import ModelCall
from tooltel.integrations.langchain_core import schemas, witness
from tooltel.integrations.langchain_core.endings import Endings
from tooltel.integrations.langchain_core.witness import Witness
from tooltel.integrations.langgraph import tool_calls
from tooltel.integrations.langgraph.tool_calls import ToolCall
from tooltel.observed import Observed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tooltel import Tooltel

TOOLTEL = ("observe", "not_found", "declared", "raw_arguments", "session", "origin")
OBSERVED = ("finish", "fail", "reject", "refuse", "conclude", "put_off", "settle", "begin", "leave")
OURS = (
    (Witness, ("__init__",)),
    (witness, ("was_rejected",)),
    (schemas, ("published", "faults_of", "hidden_fields", "misfits")),
    (tool_calls, ("published",)),
    (Endings, ("by_error", "by_result")),
    (ToolCall, ("__init__", "_begin", "_missed")),
    (ModelCall, ("__init__", "_note_sent", "_note_calls", "_note_answers")),
)


SHORT = tuple(turn for turn in CONVERSATION if not turn.called_off)[::4]


class Log(logging.Handler):
    """What LangChain and LangGraph say about a run."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(normal(f"{record.levelname} {record.name} {record.getMessage()}"))


def everything(
    *middleware: AgentMiddleware[Any, Any], streaming: bool, synchronous: bool, script: Sequence[Turn] = CONVERSATION
) -> dict[str, Any]:
    """All that can be seen from outside of a whole conversation."""
    hotel, log = Hotel(), Log()
    desk = Desk(hotel.tools(), middleware=middleware, remembers=script is CONVERSATION and not streaming)

    async def converse() -> None:
        for turn in script:
            await play(desk, hotel, turn, streaming=streaming)

    for name in ("langchain", "langchain_core", "langgraph"):
        logging.getLogger(name).addHandler(log)
    try:
        if synchronous:
            for turn in script:
                if not turn.called_off:
                    desk.turn(*turn.steps, streaming=streaming)
        else:
            asyncio.run(converse())
    finally:
        for name in ("langchain", "langchain_core", "langgraph"):
            logging.getLogger(name).removeHandler(log)
    return {**desk.seen(), "calls": sorted(hotel.log), "log": sorted(log.said)}


@cache
def without(*, streaming: bool, synchronous: bool) -> dict[str, Any]:
    return everything(streaming=streaming, synchronous=synchronous)


@pytest.mark.parametrize("synchronous", [False, True], ids=["async", "sync"])
@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "streaming"])
def test_a_run_with_the_plugin_is_the_run_without_it(*, streaming: bool, synchronous: bool) -> None:
    with telemetry() as tel:
        middleware = TooltelMiddleware(tel, profile="desk")
        with_it = everything(middleware, streaming=streaming, synchronous=synchronous)
    assert with_it == without(streaming=streaming, synchronous=synchronous)
    assert len(with_it["calls"]) > 20
    assert len(with_it["errors"]) > 5
    assert ("AIMessageChunk" in str(with_it["events"])) is streaming


class Nothing(AgentMiddleware[Any, Any]):
    """Wraps everything, and does nothing."""

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        return handler(request)

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        return await handler(request)

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return handler(request)

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        return await handler(request)


class Replaces(AgentMiddleware[Any, Any]):
    """Gives the model something else than the tool gave."""

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        result = handler(request)
        return ToolMessage(f"instead of {result.content[:9]}", tool_call_id=request.tool_call["id"])

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        result = await handler(request)
        return ToolMessage(f"instead of {result.content[:9]}", tool_call_id=request.tool_call["id"])


class Recovers(AgentMiddleware[Any, Any]):
    """Makes a message of whatever is raised."""

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        try:
            return handler(request)
        except Exception as error:  # noqa: BLE001 - whatever it is
            return ToolMessage(f"sorry: {error}", tool_call_id=request.tool_call["id"])

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        try:
            return await handler(request)
        except Exception as error:  # noqa: BLE001 - whatever it is
            return ToolMessage(f"sorry: {error}", tool_call_id=request.tool_call["id"])


class TriesTwice(AgentMiddleware[Any, Any]):
    """Makes every call two times, and asks every model two times."""

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        with suppress(Exception):
            handler(request)
        return handler(request)

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        with suppress(Exception):
            await handler(request)
        return await handler(request)


class Raises(AgentMiddleware[Any, Any]):
    """Is broken for one tool."""

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        if request.tool_call["name"] == "find_rooms":
            raise RuntimeError("a middleware of the host's is broken")
        return handler(request)

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        if request.tool_call["name"] == "find_rooms":
            raise RuntimeError("a middleware of the host's is broken")
        return await handler(request)


@pytest.mark.parametrize("synchronous", [False, True], ids=["async", "sync"])
@pytest.mark.parametrize("other", [Nothing, NoSafes, Replaces, Recovers, TriesTwice, Raises])
def test_other_middleware_does_what_it_does_before_ours_and_after_it(
    other: type[AgentMiddleware[Any, Any]], *, synchronous: bool
) -> None:
    alone = everything(other(), streaming=False, synchronous=synchronous, script=SHORT)
    with telemetry() as tel:
        for both in ([TooltelMiddleware(tel), other()], [other(), TooltelMiddleware(tel)]):
            assert everything(*both, streaming=False, synchronous=synchronous, script=SHORT) == alone


def test_to_redirect_aliases_changes_only_what_becomes_of_old_names() -> None:
    with telemetry() as tel:
        middleware = TooltelMiddleware(tel, redirect_aliases=True)
        redirected = everything(middleware, streaming=False, synchronous=True)
    plain = without(streaming=False, synchronous=True)
    changed = [
        place for place, (one, other) in enumerate(zip(redirected["messages"], plain["messages"], strict=True))
        if one != other
    ]  # fmt: skip
    assert len(changed) == 1
    assert "rooms_free is not a valid tool" in plain["messages"][changed[0]]
    assert '"rooms_free"' in redirected["messages"][changed[0]]
    assert redirected["errors"] == plain["errors"]


def raising(*_: object, **__: object) -> Any:
    raise RuntimeError("tooltel is broken")


def break_parts_of(patch: pytest.MonkeyPatch, tel: Tooltel) -> Sequence[Callable[[], None]]:
    """One way after the other in which tooltel may fail."""
    places = [(tel, TOOLTEL), (Observed, OBSERVED), *OURS]
    return [partial(patch.setattr, owner, name, raising) for owner, names in places for name in names]


@cache
def short() -> dict[str, Any]:
    return everything(streaming=False, synchronous=True, script=SHORT[::2])


WAYS = len(TOOLTEL) + len(OBSERVED) + sum(len(names) for _, names in OURS)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("synchronous", [False, True], ids=["async", "sync"])
def test_a_tooltel_that_raises_in_every_hook_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, *, synchronous: bool
) -> None:
    with telemetry() as tel:
        with monkeypatch.context() as patch:
            for break_it in break_parts_of(patch, tel):
                break_it()
            broken = everything(TooltelMiddleware(tel), streaming=False, synchronous=synchronous, script=SHORT)
        assert broken == everything(streaming=False, synchronous=synchronous, script=SHORT)
        assert "tooltel_internal_errors_total" in str(list(tel.view.collect()))


# A call whose very end is broken cannot even be thrown away quietly.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("way", range(WAYS))
def test_a_tooltel_that_raises_in_one_place_changes_nothing(monkeypatch: pytest.MonkeyPatch, way: int) -> None:
    with telemetry() as tel:
        with monkeypatch.context() as patch:
            break_parts_of(patch, tel)[way]()
            broken = everything(TooltelMiddleware(tel), streaming=False, synchronous=True, script=SHORT[::2])
        assert broken == short()


@pytest.mark.parametrize("version", ["v2"])
def test_the_events_of_a_run_are_the_same(version: Any) -> None:
    """Names, runs and data of every runnable, as `astream_events` tells them to tracers and user interfaces."""

    async def events(*middleware: AgentMiddleware[Any, Any]) -> list[str]:
        desk, found = Desk(Hotel().tools(), middleware=middleware), []
        for turn in SHORT:
            if len(turn.steps[0]) > 1 or turn.moment.name in ("CRASH", "TIMEOUT"):
                continue
            given, config = desk.begin(turn.steps)
            try:
                stream = desk.agent.astream_events(given, config, version=version)
                found.extend([dump(event) async for event in stream])
            except Exception as error:  # noqa: BLE001 - compared, too
                found.append(normal(repr(error)))
        return found

    with telemetry() as tel:
        seen = asyncio.run(events(TooltelMiddleware(tel)))
    assert seen == asyncio.run(events())
    assert len(seen) > 50


def drawn(*middleware: AgentMiddleware[Any, Any]) -> tuple[list[str], list[tuple[str, str]]]:
    graph = Desk(Hotel().tools(), middleware=middleware).agent.get_graph()
    return sorted(graph.nodes), sorted({(edge.source, edge.target) for edge in graph.edges})


def test_the_graph_gains_no_node() -> None:
    with telemetry() as tel:
        nodes, edges = drawn(TooltelMiddleware(tel))
    assert nodes == drawn()[0]
    # Since 1.5, langchain draws the way back for any middleware that wraps the model's calls.
    assert set(edges) - set(drawn()[1]) <= {("model", "model")}
    assert edges == drawn(Nothing())[1]


def test_what_the_graph_takes_and_gives_is_the_same() -> None:
    plain = Desk(Hotel().tools()).agent
    with telemetry() as tel:
        agent = Desk(Hotel().tools(), middleware=[TooltelMiddleware(tel)]).agent
    assert agent.get_input_jsonschema() == plain.get_input_jsonschema()
    assert agent.get_output_jsonschema() == plain.get_output_jsonschema()


# --- the deviations that langchain's hooks force, each shown to be any middleware's that wraps tool calls ---


def answers_of_an_agent_without_tools(*middleware: AgentMiddleware[Any, Any]) -> list[str]:
    from langchain.agents import create_agent

    model = ScriptedModel()
    model.script([ask("drill", {}, "one")], "Done.")
    agent = create_agent(model, [], middleware=middleware)
    found = agent.invoke({"messages": [HumanMessage("hello", id="1")]})["messages"]
    return [f"{type(each).__name__} {each.content}" for each in found]


def test_deviation_an_agent_without_tools_answers_calls_to_no_tool() -> None:
    with telemetry() as tel:
        seen = answers_of_an_agent_without_tools(TooltelMiddleware(tel))
    assert seen == answers_of_an_agent_without_tools(Nothing())
    answered = ["ToolMessage Error: drill is not a valid tool, try one of [].", "AIMessage Done."]
    assert seen == ["HumanMessage hello", "AIMessage ", *(answered if TAKES_ANY_TOOL else [])]
    assert answers_of_an_agent_without_tools() == seen[:2]


class BringsAlong(AgentMiddleware[Any, Any]):
    """Offers the model a tool that the agent was not made with."""

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        extra = [tool for tool in Hotel().tools() if tool.name == "call_taxi"]
        return handler(request.override(tools=extra) if hasattr(request, "override") else request)


def end_of_a_run_with_a_tool_brought_along(*middleware: AgentMiddleware[Any, Any]) -> str:
    from langchain.agents import create_agent

    model = ScriptedModel()
    model.script("Done.")
    tools = [tool for tool in Hotel().tools() if tool.name == "book_room"]
    agent = create_agent(model, tools, middleware=[BringsAlong(), *middleware])
    try:
        return str(agent.invoke({"messages": [HumanMessage("hello")]})["messages"][-1].content)
    except ValueError as error:
        return str(error).strip().splitlines()[0]


def test_deviation_a_tool_that_a_middleware_brings_along_is_not_refused() -> None:
    with telemetry() as tel:
        seen = end_of_a_run_with_a_tool_brought_along(TooltelMiddleware(tel))
    assert seen == end_of_a_run_with_a_tool_brought_along(Nothing())
    refused = end_of_a_run_with_a_tool_brought_along()
    assert refused != "Done."
    assert seen == ("Done." if TAKES_ANY_TOOL else refused)
