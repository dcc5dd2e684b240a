"""
A google-adk agent whose tool calls are recorded: `pip install '.[adk]'`, then run this file.

The model is scripted, so that no network and no key is needed: it makes one good call, forgets an argument, and asks
for a tool that nobody has. What was recorded is printed as a scrape would show it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from prometheus_client import CollectorRegistry, generate_latest

from tooltel import Catalog, Owner, Profile, Tool, Tooltel
from tooltel.integrations.adk import TooltelPlugin

CATALOG = Catalog(
    owners=[Owner("orders"), Owner("platform")],
    profiles=[Profile("support", "platform")],
    tools=[
        Tool(
            "order_lookup",
            "orders",
            profiles=("support",),
            description="Look one order up by its number, with its lines and its state.",
        )
    ],
    platform_owner="platform",
    open=True,
)


def order_lookup(order_id: str) -> dict[str, Any]:
    """Look one order up by its number, with its lines and its state."""
    return {"order_id": order_id, "state": "shipped"}


class ScriptedModel(BaseLlm):
    """Stands in for a real model: one call after the other, then some text."""

    model: str = "scripted"

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncGenerator[LlmResponse, None]:  # noqa: ARG002, FBT001, FBT002 - the interface's
        """Answer by how many calls were answered."""
        done = sum(bool(part.function_response) for each in llm_request.contents for part in each.parts)
        calls = [("order_lookup", {"order_id": "o-1"}), ("order_lookup", {}), ("order_find", {"order_id": "o-1"})]
        if done < len(calls):
            name, args = calls[done]
            part = types.Part(function_call=types.FunctionCall(name=name, args=args))
        else:
            part = types.Part(text="Your order was shipped.")
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


async def main() -> None:
    """Run one turn of the agent, and print what was recorded."""
    registry = CollectorRegistry()
    with Tooltel(CATALOG, registry=registry) as tel:
        agent = LlmAgent(name="support_agent", model=ScriptedModel(), tools=[order_lookup])
        app = App(name="support", root_agent=agent, plugins=[TooltelPlugin(tel, profile="support")])
        runner = InMemoryRunner(app=app)
        await runner.session_service.create_session(app_name="support", user_id="u-1", session_id="s-1")
        message = types.Content(role="user", parts=[types.Part(text="Where is my order?")])
        try:
            async for _ in runner.run_async(user_id="u-1", session_id="s-1", new_message=message):
                pass
        except ValueError as error:  # google-adk before 2.9 ends the run where a tool is not found
            print(f"the run ended: {str(error).splitlines()[0]}")
        for line in generate_latest(registry).decode().splitlines():
            counted = line.startswith(
                ("tooltel_tool_calls_total", "tooltel_tool_not_found_total", "tooltel_rejections_total")
            )
            if counted and not line.endswith(" 0.0"):
                print(line)


if __name__ == "__main__":
    asyncio.run(main())
