"""
What tooltel adds to a tool call of a LangChain agent.

    .matrix/langchain-newest/bin/python bench/integrations/langchain.py

First a single call: a tool that LangChain runs, with and without the hook around it, and for comparison with a wrapper
around its function, tooltel's or one written by hand. Then whole turns of an agent with ten tools, twenty calls one
after the other, each turn a conversation of its own: all that the middleware does, the requests to the model included.
LangChain itself takes its time for any middleware that wraps calls (it offers each to its own tracing), so turns are
also compared with those of one that does nothing, and of tools that are recorded by hand.

Everything is CPU time: of the thread, or of the process where LangGraph runs tools in threads. Spans go to an exporter
that does nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, get_args

if __package__ in (None, ""):  # run as a script, which makes its own folder importable and not the root
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.prebuilt.tool_node import ToolCallRequest
from pydantic import PrivateAttr

from bench.integrations.desk import CALLS, NAMES, by_hand, not_at_all, sampling, telemetry
from bench.integrations.pairs import Added, Marked, compare, compare_alone, compare_calls
from tooltel.integrations.langchain import TooltelMiddleware
from tooltel.integrations.langgraph import TooltelToolCalls

if TYPE_CHECKING:
    from bench.integrations.desk import Recorded

By = Literal["the hook", "a wrapper around the function", "hand"]


class Model(BaseChatModel):
    """Asks for CALLS calls, one in each answer, and then says something."""

    _bound: list[Any] | None = PrivateAttr(default=None)
    _marks: list[int] = PrivateAttr(default_factory=list)
    _clock: Callable[[], int] = PrivateAttr(default=time.process_time_ns)

    @property
    def marks(self) -> list[int]:
        """When it was asked, by the clock of `measured_by`."""
        return self._marks

    def measured_by(self, clock: Callable[[], int]) -> Model:
        """Take that clock."""
        self._clock = clock
        return self

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        """Bind the declarations, converted once: what a conversion takes varies by milliseconds."""
        if self._bound is None:
            self._bound = [convert_to_openai_tool(each) for each in tools]
        return self.bind(tools=self._bound)

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self._marks.append(self._clock())
        done = sum(message.type == "tool" for message in messages)
        call = {"name": NAMES[done % len(NAMES)], "args": {"order_id": done, "region": "x"}, "id": f"call-{done}"}
        message = AIMessage("", tool_calls=[call]) if done < CALLS else AIMessage("Done.")
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return self._generate(messages)


class Nothing(AgentMiddleware[Any, Any]):
    """
    Wraps what ours wraps, and does nothing.

    By plain functions, as ours does: langchain takes a third of a millisecond a call for coroutine functions here.
    """

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        """Let it happen."""
        return handler(request)

    def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        """Let it happen."""
        return handler(request)

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        """Let it happen."""
        return handler(request)

    def awrap_model_call(self, request: Any, handler: Any) -> Any:
        """Let it happen."""
        return handler(request)


def tools(recorded: Recorded = not_at_all) -> list[BaseTool]:
    """Ten tools that do next to nothing, so that what surrounds them is what is seen."""

    def order_lookup(order_id: int, region: str) -> dict[str, Any]:
        """Look one order up by its number, with its lines and its state."""
        return {"order_id": order_id, "region": region}

    async def later(order_id: int, region: str) -> dict[str, Any]:
        """Look one order up by its number, with its lines and its state."""
        return {"order_id": order_id, "region": region}

    return [
        StructuredTool.from_function(recorded(order_lookup), coroutine=recorded(later), name=name) for name in NAMES
    ]


def clock_of(*, asynchronous: bool) -> Callable[[], int]:
    """The CPU clock that sees all of a run: LangGraph runs the tools of synchronous ones in threads."""
    return time.thread_time_ns if asynchronous else time.process_time_ns


def conversation(*middleware: Any, asynchronous: bool, recorded: Recorded = not_at_all) -> Marked:
    """A run of one turn in a thread of its own."""
    model = Model().measured_by(clock_of(asynchronous=asynchronous))
    agent = create_agent(model, tools(recorded), middleware=middleware, name="support_agent")
    turns = iter(range(10**9))

    async def run() -> int:
        given = {"messages": [HumanMessage("Please.")]}
        config: Any = {"configurable": {"thread_id": f"s-{next(turns)}"}, "recursion_limit": 1_000}
        found = await agent.ainvoke(given, config) if asynchronous else agent.invoke(given, config)
        assert sum(message.type == "tool" for message in found["messages"]) == CALLS
        return CALLS

    return Marked(run, model.marks)


def measure_call(rounds: int, *, asynchronous: bool = False, by: By = "the hook") -> Added:
    """Time one call that is recorded *by* one of these against one that is not, in turns."""
    with telemetry(sampling()) as tel:
        (tool,) = (each for each in tools() if each.name == NAMES[0])
        (wrapped,) = (each for each in tools() if each.name == NAMES[0])
        recorded: Recorded = by_hand() if by == "hand" else lambda fn: tel.tool(fn, name=NAMES[0])
        wrapped.func, wrapped.coroutine = (recorded(fn) for fn in (wrapped.func, wrapped.coroutine) if fn is not None)
        hooks = TooltelToolCalls(tel, profile="support", agent="support_agent")
        call: Any = {"name": NAMES[0], "args": {"order_id": 1, "region": "x"}, "id": "call-1", "type": "tool_call"}
        config: Any = {"configurable": {"thread_id": "s-1"}, "metadata": {"thread_id": "s-1"}}
        runtime: Any = SimpleNamespace(config=config)
        requests = [ToolCallRequest(call, each, {"messages": []}, runtime) for each in (tool, wrapped)]

        def handler(request: Any) -> Any:
            return request.tool.invoke(dict(call), config)

        async def ahandler(request: Any) -> Any:
            return await request.tool.ainvoke(dict(call), config)

        async def plain() -> None:
            await ahandler(requests[0]) if asynchronous else handler(requests[0])

        async def ours() -> None:
            if by != "the hook":
                await ahandler(requests[1]) if asynchronous else handler(requests[1])
            elif asynchronous:
                await hooks.awrap_tool_call(requests[0], ahandler)
            else:
                hooks.wrap_tool_call(requests[0], handler)

        return asyncio.run(compare_alone(plain, ours, rounds=rounds))


def measure_turn(rounds: int, *, asynchronous: bool = True, above_nothing: bool = False, whole: bool = False) -> Added:
    """
    Time the calls of runs with the middleware against those without, or with a middleware that does nothing.

    *whole* runs are told as what they take for each of their calls.
    """
    other = [Nothing()] if above_nothing else []
    with telemetry(sampling()) as tel:
        without = conversation(*other, asynchronous=asynchronous)
        with_it = conversation(TooltelMiddleware(tel, profile="support"), asynchronous=asynchronous)
        if whole:
            clock = clock_of(asynchronous=asynchronous)
            return asyncio.run(compare(without.run, with_it.run, rounds=rounds, clock=clock))
        return asyncio.run(compare_calls(without, with_it, rounds=rounds))


def measure_by_hand(rounds: int, *, asynchronous: bool) -> Added:
    """Time the calls of tools that record themselves against those of tools that do not."""
    without = conversation(asynchronous=asynchronous)
    with_it = conversation(asynchronous=asynchronous, recorded=by_hand())
    return asyncio.run(compare_calls(without, with_it, rounds=rounds))


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100, help="turns of each kind; a hundred times as many calls")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
    for asynchronous in (False, True):
        kind = "asynchronous" if asynchronous else "synchronous"
        for by in get_args(By):
            what = f"one {kind} call, by {by}"
            print(f"{what}:")
            found = measure_call(options.rounds * 100, asynchronous=asynchronous, by=by)
            found.print("langchain", version("langchain"), what=what)
        for whole, above_nothing in ((False, False), (False, True), (True, False), (True, True)):
            above = "a middleware that does nothing" if above_nothing else "no middleware"
            what = f"{kind}, {'whole turns' if whole else 'each call of a turn'}, above {above}"
            print(f"{what}:")
            found = measure_turn(options.rounds, asynchronous=asynchronous, above_nothing=above_nothing, whole=whole)
            found.print("langchain", version("langchain"), what=what)
        what = f"{kind}, each tool recorded by hand instead"
        print(f"{what}:")
        measure_by_hand(options.rounds, asynchronous=asynchronous).print("langchain", version("langchain"), what=what)


if __name__ == "__main__":
    main()
