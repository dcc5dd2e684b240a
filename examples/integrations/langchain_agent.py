"""
LangChain with tooltel: one middleware records every call, and every name that is no tool.

No network and no key: a scripted model asks for a tool, then for one by its old name, then with arguments that do not
fit, then for one that it made up. Run it: `pip install ".[langchain]"`, then
`python examples/integrations/langchain_agent.py`.
"""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from prometheus_client import CollectorRegistry

from tooltel import Catalog, Owner, Profile, Tool, Tooltel
from tooltel.integrations.langchain import TooltelMiddleware

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

ASKED: list[tuple[str, dict[str, Any]]] = [
    ("order_lookup", {"order_id": "o-1"}),
    ("find_order", {"order_id": "o-2"}),  # an old name, which still works here
    ("order_lookup", {"order": "o-3"}),  # arguments that do not fit
    ("order_teleport", {}),  # no such tool
]


@tool
def order_lookup(order_id: str) -> dict[str, str]:
    """Look up one order: what was bought, and where it is now."""
    return {"order": order_id, "where": "on its way"}


class ScriptedModel(GenericFakeChatModel):
    """Answers as a model would: with the next call, and with words at the end."""

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        """Bind the declarations as a provider's class does."""
        return self.bind(tools=[convert_to_openai_tool(each) for each in tools])


def main() -> None:
    """Talk to the agent once, and show what was counted."""
    calls = [
        AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call-{number}"}])
        for number, (name, arguments) in enumerate(ASKED)
    ]
    with Tooltel(CATALOG, registry=CollectorRegistry()) as tel:
        agent = create_agent(
            ScriptedModel(messages=iter([*calls, AIMessage("Your order is on its way.")])),
            [order_lookup],
            name="support_agent",
            middleware=[TooltelMiddleware(tel, profile="support", redirect_aliases=True)],
        )
        asked = {"messages": [HumanMessage("Where is my order?")]}
        result = agent.invoke(asked, {"configurable": {"thread_id": "t-1"}})
        print(result["messages"][-1].content)
        for family in tel.view.collect():
            for sample in family.samples:
                if sample.value and sample.name.endswith(("calls_total", "not_found_total", "rejections_total")):
                    print(f"{sample.name} {sample.labels} {sample.value:g}")


if __name__ == "__main__":
    main()
