"""
What watching adds to a tool call of an openai-agents agent.

Run it: `.matrix/openai-agents-newest/bin/python bench/integrations/openai_agents.py`. First a single call, as the SDK
makes it, again and again. Then an agent with ten tools is asked for a turn of twenty calls, one after the other, with
the SDK's own tracing going nowhere: all that the plug-in does, with the copies of the agent and the requests to the
model. As the SDK makes no spans of OpenTelemetry's, each call gets one of tooltel's, to an exporter that does nothing;
then again without a provider. The SDK finds out at each call what a tool takes; a watched one tells it at once, which
takes off some of what is added.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if __package__ in (None, ""):  # run as a script, which makes its own folder importable and not the root
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from agents import Agent, FunctionTool, Model, ModelResponse, Runner, Usage, function_tool, set_trace_processors
from agents.tool import invoke_function_tool
from agents.tool_context import ToolContext
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from bench.integrations.desk import CALLS, NAMES, by_hand, not_at_all, sampling, telemetry
from bench.integrations.pairs import Added, compare, compare_alone
from tooltel.integrations.openai_agents import TooltelAgents

if TYPE_CHECKING:
    from bench.integrations.desk import Recorded


class Scripted(Model):
    """Asks for CALLS calls, one in each answer, and then says something."""

    def __init__(self) -> None:
        self.done = 0

    async def get_response(self, *args: Any, **options: Any) -> ModelResponse:  # noqa: ARG002 - the SDK's
        """Answer by how many answers there were."""
        if self.done == CALLS:
            self.done = 0
            text = ResponseOutputText(type="output_text", text="Done.", annotations=[])
            said: Any = ResponseOutputMessage(
                id="m", type="message", role="assistant", status="completed", content=[text]
            )
        else:
            arguments = json.dumps({"order_id": self.done, "region": "x"})
            said = ResponseFunctionToolCall(
                type="function_call",
                name=NAMES[self.done % len(NAMES)],
                arguments=arguments,
                call_id=f"call-{self.done}",
            )
            self.done += 1
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **options: Any) -> AsyncIterator[Any]:
        """Never asked for here."""
        raise NotImplementedError


def tools(recorded: Recorded = not_at_all) -> list[Any]:
    """Ten tools that do next to nothing, so that what surrounds them is what is seen."""
    made = []
    for name in NAMES:

        async def order_lookup(order_id: int, region: str) -> dict[str, Any]:
            """Look one order up by its number, with its lines and its state."""
            return {"order_id": order_id, "region": region}

        made.append(function_tool(recorded(order_lookup), name_override=name))
    return made


def conversation(run: Callable[..., Awaitable[Any]], recorded: Recorded = not_at_all) -> Callable[[], Awaitable[int]]:
    """A run of one turn."""
    agent = Agent(name="desk", model=Scripted(), tools=tools(recorded))

    async def turn() -> int:
        result = await run(agent, "Please.", max_turns=CALLS + 1)
        assert result.final_output == "Done."
        return CALLS

    return turn


def measure(rounds: int, *, spans: bool = True) -> Added:
    """Time both, in turns, with a span for each call or without."""
    set_trace_processors([])
    with telemetry(sampling() if spans else None) as tel:
        watched = TooltelAgents(tel, profile="support").run
        return asyncio.run(compare(conversation(Runner.run), conversation(watched), rounds=rounds))


def alone(agent: Agent[Any]) -> Callable[[], Awaitable[None]]:
    """What makes one call of the agent's first tool, as the SDK does."""
    (tool, *_) = (each for each in agent.tools if isinstance(each, FunctionTool))
    arguments = json.dumps({"order_id": 1, "region": "x"})
    context = ToolContext(None, tool_name=tool.name, tool_call_id="call-1", tool_arguments=arguments)

    async def one() -> None:
        assert await invoke_function_tool(function_tool=tool, context=context, arguments=arguments)

    return one


def measure_call(rounds: int, *, hand: bool = False) -> Added:
    """Time one call of a watched agent's tool (or, by *hand*, of one that records itself) against a bare one's."""
    agent = Agent(name="desk", tools=tools())
    with telemetry(sampling()) as tel:
        recorded = Agent(name="desk", tools=tools(by_hand())) if hand else TooltelAgents(tel).watch(agent)
        return asyncio.run(compare_alone(alone(agent), alone(recorded), rounds=rounds))


def measure_by_hand(rounds: int) -> Added:
    """Time a turn whose tools record themselves against one whose tools do not."""
    set_trace_processors([])
    return asyncio.run(compare(conversation(Runner.run), conversation(Runner.run, by_hand()), rounds=rounds))


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    options = parser.parse_args()
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
    for hand in (False, True):
        what = f"one call{', recorded by hand instead' if hand else ''}"
        print(f"{what}:")
        measure_call(options.rounds * 100, hand=hand).print("openai-agents", version("openai-agents"), what=what)
    for spans in (True, False):
        kind = "with a span for each call" if spans else "without spans"
        print(f"{kind}:")
        measure(options.rounds, spans=spans).print("openai-agents", version("openai-agents"), what=kind)
    print("each tool recorded by hand instead:")
    measure_by_hand(options.rounds).print("openai-agents", version("openai-agents"), what="by hand")


if __name__ == "__main__":
    main()
