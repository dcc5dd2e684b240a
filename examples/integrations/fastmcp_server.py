"""
fastmcp with tooltel: one middleware records every call that a server gets, and every name that is no tool.

No network and no key: a scripted model asks for a tool, then for one by its old name, for one with arguments that do
not fit, and for one that it made up.
Run it: `pip install ".[fastmcp]"`, then `python examples/integrations/fastmcp_server.py`.
"""

from __future__ import annotations

import asyncio
from typing import Any

from fastmcp import Client, FastMCP
from prometheus_client import CollectorRegistry

from tooltel import Catalog, Owner, Profile, Tool, Tooltel
from tooltel.integrations.fastmcp import TooltelMiddleware

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


def order_lookup(order_id: str) -> dict[str, str]:
    """Look up one order: what was bought, and where it is now."""
    return {"order": order_id, "where": "on its way"}


async def main() -> None:
    """Let the model ask, and show what was counted."""
    with Tooltel(CATALOG, registry=CollectorRegistry()) as tel:
        server: Any = FastMCP("orders")
        server.tool(order_lookup)
        server.add_middleware(TooltelMiddleware(tel, profile="support", redirect_aliases=True))
        async with Client(server) as client:
            await client.list_tools()
            for name, arguments in ASKED:
                result = await client.call_tool_mcp(name, arguments)
                print(f"{name}: {' '.join(result.content[0].text.split())[:60]}")
        for family in tel.view.collect():
            for sample in family.samples:
                if sample.value and sample.name.endswith(("calls_total", "not_found_total", "rejections_total")):
                    print(f"{sample.name} {sample.labels} {sample.value:g}")


if __name__ == "__main__":
    asyncio.run(main())
