"""A ToolNode in a graph made by hand."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt import tool_node as prebuilt
from langgraph.types import interrupt

from tests.integrations.counting import counts, is_plain
from tests.integrations.hotel import SHOWN_ELSEWHERE
from tests.integrations.langchain.kit import MODES, Ask, Hotel, dump, normal, telemetry
from tests.integrations.langchain.script import CONVERSATION, Turn
from tooltel.integrations.compatibility import Moment, rows_of
from tooltel.integrations.langgraph import TooltelToolCalls
from tooltel.testing import capture

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ROWS = rows_of("langgraph")
THREAD = {"configurable": {"thread_id": "guest-7"}}
# A ToolNode is asked for calls that are JSON; the house's policy is a middleware's, and there is none.
SCRIPT = [turn for turn in CONVERSATION if turn.moment is not Moment.MALFORMED and turn.steps[0][0].name != "open_safe"]  # type: ignore[union-attr]
HAS_TOOLS = any(each.name == "tools" for each in getattr(prebuilt.ToolRuntime, "__dataclass_fields__", {}).values())
LETS_INTERRUPTS_PASS = "except GraphBubbleUp" in inspect.getsource(prebuilt.ToolNode._run_one)


def graph(tools: Any, calls: TooltelToolCalls | None = None, **options: Any) -> Any:
    hooks = {} if calls is None else {"wrap_tool_call": calls.wrap_tool_call, "awrap_tool_call": calls.awrap_tool_call}
    made = StateGraph(MessagesState)
    made.add_node("tools", ToolNode(tools, **hooks, **options))
    made.add_edge(START, "tools")
    return made.compile()


def message(turn: Turn) -> AIMessage:
    asks = [each for each in turn.steps[0] if isinstance(each, Ask)]
    return AIMessage("", tool_calls=[{"name": each.name, "args": each.args, "id": each.id} for each in asks])


def in_order(events: Iterable[Any]) -> list[str]:
    """What was streamed; of parallel calls, nobody knows which ends first."""
    return sorted(dump(each) for each in events)


class Run:
    """A conversation of ToolNodes, and what is seen of it."""

    def __init__(self, calls: TooltelToolCalls | None = None, *, streaming: bool = False, **options: Any) -> None:
        self.hotel = Hotel()
        self.graph = graph(self.hotel.tools(), calls, **options)
        self.seen: list[str] = []
        self._streaming = streaming

    def play(self, turn: Turn) -> None:
        given = {"messages": [message(turn)]}
        try:
            if self._streaming:
                self.seen.append(dump(in_order(self.graph.stream(given, THREAD, stream_mode=MODES))))
            else:
                self.seen.append(dump(self.graph.invoke(given, THREAD)))
        except Exception as error:  # noqa: BLE001 - compared, too
            self.seen.append(normal(repr(error)))

    async def _found(self, given: Any) -> Any:
        if not self._streaming:
            return await self.graph.ainvoke(given, THREAD)
        return in_order([each async for each in self.graph.astream(given, THREAD, stream_mode=MODES)])

    async def aplay(self, turn: Turn) -> None:
        self.hotel.rung = asyncio.Event()
        running = asyncio.create_task(self._found({"messages": [message(turn)]}))
        if turn.called_off:
            await self.hotel.rung.wait()
            running.cancel()
        found: Any = (await asyncio.gather(running, return_exceptions=True))[0]
        self.seen.append(normal(repr(found)) if isinstance(found, BaseException) else dump(found))


@pytest.mark.parametrize("handles", [None, True], ids=["default", "all"])
@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "streaming"])
def test_an_asynchronous_conversation_is_recorded_as_it_was_and_is_the_same_without(
    *, handles: Any, streaming: bool
) -> None:
    options = {"streaming": streaming} | ({} if handles is None else {"handle_tool_errors": handles})

    async def converse(run: Run, turns: Sequence[Turn]) -> list[str]:
        for turn in turns:
            await run.aplay(turn)
        return run.seen

    with telemetry() as tel:
        run = Run(TooltelToolCalls(tel, profile="desk"), **options)
        for turn in SCRIPT:
            with capture(tel) as seen:
                asyncio.run(run.aplay(turn))
            assert (turn.steps, counts(seen)) == (turn.steps, Counter(turn.recorded))
    assert run.seen == asyncio.run(converse(Run(**options), SCRIPT))


@pytest.mark.parametrize("handles", [None, True], ids=["default", "all"])
@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "streaming"])
def test_a_synchronous_conversation_is_recorded_as_it_was_and_is_the_same_without(
    *, handles: Any, streaming: bool
) -> None:
    options = {"streaming": streaming} | ({} if handles is None else {"handle_tool_errors": handles})
    script = [turn for turn in SCRIPT if not turn.called_off]
    plain = Run(**options)
    with telemetry() as tel:
        run = Run(TooltelToolCalls(tel, profile="desk"), **options)
        for turn in script:
            with capture(tel) as seen:
                run.play(turn)
            assert (turn.steps, counts(seen)) == (turn.steps, Counter(turn.recorded))
            plain.play(turn)
    assert run.seen == plain.seen
    assert sorted(run.hotel.log) == sorted(plain.hotel.log)


def test_the_script_has_forty_turns_and_every_moment_that_a_tool_node_can_show() -> None:
    assert len(SCRIPT) >= 40
    assert {turn.moment for turn in SCRIPT} == set(Moment) - SHOWN_ELSEWHERE - {Moment.MALFORMED}
    assert not ROWS[Moment.MALFORMED].seen
    assert not ROWS[Moment.DECLARATIONS].seen


@pytest.mark.parametrize("turn", SCRIPT, ids=lambda turn: turn.moment.name)
def test_what_the_table_calls_unseen_is_recorded_as_a_plain_call(turn: Turn) -> None:
    if not ROWS[turn.moment].seen:
        assert is_plain(turn.recorded)
        assert ROWS[turn.moment].why_not


@pytest.mark.parametrize("given", ["list", "calls"])
def test_a_tool_node_takes_messages_and_bare_calls_as_ever(given: str) -> None:
    call = {"name": "call_taxi", "args": {}, "id": "taxi", "type": "tool_call"}
    asked: Any = [AIMessage("", tool_calls=[call])] if given == "list" else [call]

    def found(*calls: TooltelToolCalls) -> str:
        hooks = {"wrap_tool_call": calls[0].wrap_tool_call} if calls else {}
        made = StateGraph(list)
        made.add_node("tools", ToolNode(Hotel().tools(), **hooks))
        made.add_edge(START, "tools")
        return dump(made.compile().invoke(asked))

    with telemetry() as tel, capture(tel) as seen:
        assert found(TooltelToolCalls(tel)) == found()
        assert counts(seen) == {"call call_taxi ok": 1}


def test_the_synchronous_wrapper_alone_also_serves_an_asynchronous_run() -> None:
    with telemetry() as tel, capture(tel) as seen:
        calls = TooltelToolCalls(tel)
        made = StateGraph(MessagesState)
        made.add_node("tools", ToolNode(Hotel().tools(), wrap_tool_call=calls.wrap_tool_call))
        made.add_edge(START, "tools")
        asyncio.run(made.compile().ainvoke({"messages": [message(SCRIPT[0])]}))
        assert counts(seen) == {"call book_room ok": 1}


def test_origin_is_the_thread_and_what_the_hooks_were_told() -> None:
    with telemetry() as tel, capture(tel) as seen:
        graph(Hotel().tools(), TooltelToolCalls(tel, profile="desk", agent="porter")).invoke(
            {"messages": [message(SCRIPT[0])]}, THREAD
        )
        graph(Hotel().tools(), TooltelToolCalls(tel)).invoke(
            {"messages": [AIMessage("", name="maid", tool_calls=[{"name": "fly", "args": {}, "id": "1"}])]}, THREAD
        )
    assert [outcome.origin for outcome in seen.outcomes] == [("desk", "porter", "guest-7"), ("none", "maid", "guest-7")]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_old_name_runs_its_tool_where_that_was_asked_for(asynchronous: bool) -> None:
    old = AIMessage("", tool_calls=[{"name": "rooms_free", "args": {"kind": "single"}, "id": "old"}])
    with telemetry() as tel, capture(tel) as seen:
        calls = TooltelToolCalls(tel, profile="desk", redirect_aliases=True)
        if not HAS_TOOLS:  # langgraph-prebuilt before 1.0.12 tells a wrapper nothing of the other tools
            calls.tools = {tool.name: tool for tool in Hotel().tools()}
        made = graph(Hotel().tools(), calls)
        given = {"messages": [HumanMessage("hello"), old]}
        answer = (asyncio.run(made.ainvoke(given)) if asynchronous else made.invoke(given))["messages"][-1]
        assert counts(seen) == {"call find_rooms ok": 1, "alias rooms_free find_rooms": 1}
    assert isinstance(answer, ToolMessage)
    assert (answer.name, answer.tool_call_id, answer.content) == ("rooms_free", "old", '["12", "14"]')


def test_an_old_name_whose_tool_is_not_here_is_a_drop() -> None:
    old = AIMessage("", tool_calls=[{"name": "rooms_free", "args": {}, "id": "old"}])
    with telemetry() as tel, capture(tel) as seen:
        tools = [tool for tool in Hotel().tools() if tool.name == "call_taxi"]
        graph(tools, TooltelToolCalls(tel, profile="desk", redirect_aliases=True)).invoke({"messages": [old]})
        assert counts(seen) == {"drop renamed rooms_free": 1}


def test_fields_of_rejected_calls_are_known_without_any_declaration() -> None:
    with telemetry() as tel, capture(tel) as seen:
        graph(Hotel().tools(), TooltelToolCalls(tel)).invoke(
            {"messages": [AIMessage("", tool_calls=[{"name": "book_room", "args": {}, "id": "1"}])]}
        )
        assert counts(seen)["field book_room structural nights"] == 1


# --- the deviations that ToolNode's hooks force, each shown to be any wrapper's ---


def nothing(request: Any, handler: Any) -> Any:
    return handler(request)


def end(wrapper: Any, turn: AIMessage, tools: Any, **options: Any) -> str:
    hooks = {} if wrapper is None else {"wrap_tool_call": wrapper}
    made = StateGraph(MessagesState)
    made.add_node("tools", ToolNode(tools, **hooks, **options))
    made.add_edge(START, "tools")
    try:
        return normal(str(made.compile().invoke({"messages": [turn]})["messages"][-1].content))
    except Exception as error:  # noqa: BLE001 - compared
        return repr(error)


CRASH = AIMessage("", tool_calls=[{"name": "call_taxi", "args": {"how": "crash"}, "id": "1"}])


@pytest.mark.parametrize("handles", [ValueError, (ValueError, KeyError)])
def test_deviation_a_wrapped_tool_node_handles_exceptions_that_it_was_not_told_to_handle(handles: Any) -> None:
    with telemetry() as tel, capture(tel) as seen:
        wrapper = TooltelToolCalls(tel).wrap_tool_call
        answered = end(wrapper, CRASH, Hotel().tools(), handle_tool_errors=handles)
        assert counts(seen) == {"call call_taxi error": 1}
    assert answered == end(nothing, CRASH, Hotel().tools(), handle_tool_errors=handles)
    assert "no line" in answered
    assert end(None, CRASH, Hotel().tools(), handle_tool_errors=handles) == "RuntimeError('no line')"


def test_deviation_before_1_1_a_wrapped_tool_node_that_handles_everything_handles_interrupts_too() -> None:
    def asks() -> str:
        """Ask a person."""
        return str(interrupt("really?"))

    turn = AIMessage("", tool_calls=[{"name": "asks", "args": {}, "id": "1"}])
    with telemetry() as tel, capture(tel) as seen:
        wrapper = TooltelToolCalls(tel).wrap_tool_call
        answered = end(wrapper, turn, [asks], handle_tool_errors=True)
        assert counts(seen) == {"call asks cancelled": 1}
    assert answered == end(nothing, turn, [asks], handle_tool_errors=True)
    assert (answered == end(None, turn, [asks], handle_tool_errors=True)) is LETS_INTERRUPTS_PASS


def test_langchain_itself_is_not_needed() -> None:
    program = (
        "import sys; sys.modules['langchain'] = None; import tooltel.integrations.langgraph as m; print(m.__all__)"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "['TooltelToolCalls']"
