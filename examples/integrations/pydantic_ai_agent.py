"""
pydantic-ai with tooltel: one capability records every call, and every name that is no tool.

No network and no key: a scripted model asks for a tool, then for one by its old name, then for one that it made up.
Run it: `pip install ".[pydantic-ai]"`, then `python examples/integrations/pydantic_ai_agent.py`.
"""

from __future__ import annotations

import asyncio

from prometheus_client import CollectorRegistry
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tooltel import Catalog, Owner, Profile, Tool, Tooltel
from tooltel.integrations.pydantic_ai import TooltelCapability

CATALOG = Catalog(
    owners=[Owner("orders"), Owner("support-platform")],
    profiles=[Profile("support", "support-platform")],
    tools=[
        Tool(
            "order_lookup",
            "orders",
            profiles=["support"],
            description="Look up one order: what was bought, and where it is now.",
            aliases=["find_order"],
        ),
    ],
)

ASKED = iter(
    [
        ToolCallPart("order_lookup", {"order_id": "o-1"}),
        ToolCallPart("find_order", {"order_id": "o-2"}),  # an old name, which still works here
        ToolCallPart("order_lookup", {"order": "o-3"}),  # arguments that do not fit
        ToolCallPart("order_teleport", {}),  # no such tool
    ]
)


def order_lookup(order_id: str) -> dict[str, str]:
    """Look up one order: what was bought, and where it is now."""
    return {"order": order_id, "where": "on its way"}


async def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Answer as a model would: with the next call, and with words at the end."""
    del messages, info
    return ModelResponse(parts=[next(ASKED, TextPart("Your order is on its way."))])


async def main() -> None:
    """Talk to the agent once, and show what was counted."""
    with Tooltel(CATALOG, registry=CollectorRegistry()) as tel:
        agent = Agent(
            FunctionModel(scripted),
            name="support_agent",
            tools=[order_lookup],
            retries=3,
            capabilities=[TooltelCapability(tel, profile="support", redirect_aliases=True)],
        )
        result = await agent.run("Where is my order?")
        print(result.output)
        for family in tel.view.collect():
            for sample in family.samples:
                if sample.value and sample.name.endswith(("calls_total", "not_found_total", "rejections_total")):
                    print(f"{sample.name} {sample.labels} {sample.value:g}")


if __name__ == "__main__":
    asyncio.run(main())
