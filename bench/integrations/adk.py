"""
What the plug-in adds to a tool call of a google-adk agent: `.matrix/adk-newest/bin/python bench/integrations/adk.py`.

First a single call, as ADK makes it, again and again. Then an agent with ten tools is asked for a turn of twenty calls,
one after the other, each turn a conversation of its own: all that the plug-in does, the requests to the model included,
call by call, and for whole turns, which hold what is done once for each conversation; above an agent without plug-ins,
and above one with a plug-in that does nothing, as ADK itself takes some time for any. Everything is CPU time of the
thread; spans go to an exporter that does nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import logging
import sys
import time
import warnings
from collections.abc import AsyncGenerator, Awaitable, Callable
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if __package__ in (None, ""):  # run as a script, which makes its own folder importable and not the root
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from google.adk.agents import LlmAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.apps import App
from google.adk.events import Event
from google.adk.flows.llm_flows.functions import handle_function_calls_async
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.plugins.plugin_manager import PluginManager
from google.adk.runners import InMemoryRunner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import FunctionTool
from google.genai import types
from opentelemetry import trace
from pydantic import PrivateAttr

from bench.integrations.desk import CALLS, NAMES, by_hand, not_at_all, sampling, telemetry
from bench.integrations.pairs import Added, Marked, compare, compare_alone, compare_calls
from tooltel.integrations.adk import TooltelPlugin

if TYPE_CHECKING:
    from bench.integrations.desk import Recorded


class Model(BaseLlm):
    """Asks for CALLS calls, one in each answer, and then says something."""

    model: str = "scripted"
    _marks: list[int] = PrivateAttr(default_factory=list)

    @property
    def marks(self) -> list[int]:
        """When it was asked, by the thread's CPU clock."""
        return self._marks

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncGenerator[LlmResponse, None]:  # noqa: ARG002, FBT001, FBT002 - the interface's
        """Answer by how many answers there were."""
        self._marks.append(time.thread_time_ns())
        done = sum(bool(part.function_response) for each in llm_request.contents for part in each.parts)
        call = types.FunctionCall(name=NAMES[done % len(NAMES)], args={"order_id": done, "region": "x"})
        part = types.Part(function_call=call) if done < CALLS else types.Part(text="Done.")
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def tools(recorded: Recorded = not_at_all) -> list[Callable[..., Any]]:
    """Ten tools that do next to nothing, so that what surrounds them is what is seen."""
    made = []
    for name in NAMES:

        async def order_lookup(order_id: int, region: str) -> dict[str, Any]:
            """Look one order up by its number, with its lines and its state."""
            return {"order_id": order_id, "region": region}

        order_lookup.__name__ = name
        made.append(recorded(order_lookup))
    return made


def conversation(*plugins: Any, recorded: Recorded = not_at_all) -> Marked:
    """A run of one turn in a session of its own."""
    model = Model()
    agent = LlmAgent(name="desk", model=model, tools=list(tools(recorded)))
    runner = InMemoryRunner(app=App(name="bench", root_agent=agent, plugins=list(plugins)))
    sessions = itertools.count()

    async def run() -> int:
        id_ = f"s-{next(sessions)}"
        await runner.session_service.create_session(app_name="bench", user_id="u", session_id=id_)
        message = types.Content(role="user", parts=[types.Part(text="Please.")])
        calls = 0
        async for event in runner.run_async(user_id="u", session_id=id_, new_message=message):
            calls += len(event.get_function_responses())
        assert calls == CALLS
        return calls

    return Marked(run, model.marks)


async def alone(*plugins: Any, recorded: Recorded = not_at_all) -> Callable[[], Awaitable[None]]:
    """What makes one call, as ADK does for an answer of the model that asks for it."""
    sessions = InMemorySessionService()
    session = await sessions.create_session(app_name="bench", user_id="u", session_id="s-1")
    context = InvocationContext(
        invocation_id="i-1",
        agent=LlmAgent(name="desk", model=Model(), tools=list(tools())),
        session=session,
        session_service=sessions,
        plugin_manager=PluginManager(plugins=list(plugins)),
    )
    known: dict[str, Any] = {name: FunctionTool(tool) for name, tool in zip(NAMES, tools(recorded), strict=True)}
    call = types.FunctionCall(id="call-1", name=NAMES[0], args={"order_id": 1, "region": "x"})
    asked = Event(
        author="desk",
        invocation_id="i-1",
        content=types.Content(role="model", parts=[types.Part(function_call=call)]),
    )

    async def one() -> None:
        answered = await handle_function_calls_async(context, asked, known)
        assert answered is not None
        assert len(answered.get_function_responses()) == 1

    return one


class Nothing(BasePlugin):
    """Has the callbacks that ours has, and does nothing."""

    def __init__(self) -> None:
        super().__init__("nothing")

    async def before_model_callback(self, **_: Any) -> None:
        """Let it happen."""

    async def before_tool_callback(self, **_: Any) -> None:
        """Let it happen."""

    async def after_tool_callback(self, **_: Any) -> None:
        """Let it happen."""


def measure(rounds: int, *, above_nothing: bool = False, whole: bool = False) -> Added:
    """
    Time the calls of runs with the plug-in against those without, or with a plug-in that does nothing.

    *whole* runs are told as what they take for each of their calls.
    """
    other = [Nothing()] if above_nothing else []
    with telemetry() as tel:
        plugin = TooltelPlugin(tel, profile="support")
        without, with_it = conversation(*other), conversation(plugin)
        if whole:
            return asyncio.run(compare(without.run, with_it.run, rounds=rounds))
        return asyncio.run(compare_calls(without, with_it, rounds=rounds))


def measure_call(rounds: int, *, hand: bool = False) -> Added:
    """Time one call with the plug-in (or, by *hand*, of a tool that records itself) against a bare one, in turns."""

    async def measured(plugin: TooltelPlugin) -> Added:
        with_it = await (alone(recorded=by_hand()) if hand else alone(plugin))
        return await compare_alone(await alone(), with_it, rounds=rounds)

    with telemetry() as tel:
        return asyncio.run(measured(TooltelPlugin(tel, profile="support")))


def measure_by_hand(rounds: int) -> Added:
    """Time the calls of tools that record themselves against those of tools that do not."""
    return asyncio.run(compare_calls(conversation(), conversation(recorded=by_hand()), rounds=rounds))


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in ("google_adk", "opentelemetry"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    trace.set_tracer_provider(sampling())
    for hand in (False, True):
        what = f"one call{', recorded by hand instead' if hand else ''}"
        print(f"{what}:")
        measure_call(options.rounds * 100, hand=hand).print("google-adk", version("google-adk"), what=what)
    for whole in (False, True):
        for above_nothing in (False, True):
            above = "a plug-in that does nothing" if above_nothing else "no plug-in"
            what = f"{'whole turns' if whole else 'each call'}, above {above}"
            print(f"{what}:")
            found = measure(options.rounds, above_nothing=above_nothing, whole=whole)
            found.print("google-adk", version("google-adk"), what=what)
    print("each tool recorded by hand instead:")
    measure_by_hand(options.rounds).print("google-adk", version("google-adk"), what="by hand")


if __name__ == "__main__":
    main()
