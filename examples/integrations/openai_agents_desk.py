"""
openai-agents with tooltel: `TooltelAgents(tel).run` in place of `Runner.run` records every call and every drop.

No network and no key: a scripted model asks for a tool, then forgets an argument, then asks for one that it made up.
Run it: `pip install ".[openai-agents]"`, then `python examples/integrations/openai_agents_desk.py`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, Model, ModelResponse, Usage, function_tool, set_tracing_disabled
from agents.exceptions import ModelBehaviorError
from openai.types.responses import ResponseFunctionToolCall
from prometheus_client import CollectorRegistry

from tooltel import Catalog, Owner, Profile, Tool, Tooltel
from tooltel.integrations.openai_agents import TooltelAgents

CATALOG = Catalog(
    owners=[Owner("orders"), Owner("support-platform")],
    profiles=[Profile("support", "support-platform")],
    tools=[
        Tool(
            "order_lookup",
            "orders",
            profiles=["support"],
            description="Look up one order: what was bought, and where it is now.",
        ),
    ],
)


@function_tool
def order_lookup(order_id: str) -> dict[str, str]:
    """Look up one order: what was bought, and where it is now."""
    return {"order": order_id, "where": "on its way"}


class ScriptedModel(Model):
    """Stands in for a real model: one call after the other."""

    def __init__(self) -> None:
        asked = [("order_lookup", {"order_id": "o-1"}), ("order_lookup", {}), ("order_teleport", {})]
        self._asked = iter(enumerate(asked))

    async def get_response(self, *args: Any, **options: Any) -> ModelResponse:  # noqa: ARG002 - the SDK's
        """Answer with the next call."""
        number, (name, arguments) = next(self._asked)
        call = ResponseFunctionToolCall(
            type="function_call", name=name, arguments=json.dumps(arguments), call_id=f"call-{number}"
        )
        return ModelResponse(output=[call], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **options: Any) -> AsyncIterator[Any]:
        """Never asked for here."""
        raise NotImplementedError


async def main() -> None:
    """Talk to the agent once, and show what was counted."""
    set_tracing_disabled(disabled=True)  # the SDK would send its traces to OpenAI
    with Tooltel(CATALOG, registry=CollectorRegistry()) as tel:
        agents = TooltelAgents(tel, profile="support")
        agent = Agent(name="support_agent", model=ScriptedModel(), tools=[order_lookup])
        try:
            await agents.run(agent, "Where is my order?")
        except ModelBehaviorError as error:  # what the SDK makes of a name that is no tool
            print(error)
        for family in tel.view.collect():
            for sample in family.samples:
                if sample.value and sample.name.endswith(("calls_total", "not_found_total", "rejections_total")):
                    print(f"{sample.name} {sample.labels} {sample.value:g}")


if __name__ == "__main__":
    asyncio.run(main())
