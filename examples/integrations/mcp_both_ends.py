"""
MCP's Python SDK with tooltel: one line watches a server, one line a client.

No network and no key: a scripted model asks for a tool, then for one by its old name, for one with arguments that do
not fit, and for one that it made up. Both ends run in this process here, so that a call is counted once; run each in
a process of its own, and each counts what it sees.
Run it: `pip install ".[mcp]"`, then `python examples/integrations/mcp_both_ends.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from prometheus_client import CollectorRegistry

from tooltel import Catalog, Owner, Profile, Tool, Tooltel
from tooltel.integrations.mcp import watch_client, watch_server

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


def serve() -> Any:
    """A server with one tool, as mcp 1.x and 2.x make it."""
    if version("mcp").startswith("1."):
        from mcp.server.fastmcp import FastMCP as MCPServer
    else:
        from mcp.server.mcpserver import MCPServer
    server = MCPServer("orders")
    server.add_tool(order_lookup)
    return server


@asynccontextmanager
async def connect(server: Any) -> AsyncIterator[Any]:
    """A client that is connected to *server* in this process."""
    if version("mcp").startswith("1."):
        from mcp.shared.memory import create_connected_server_and_client_session as connected

        async with connected(server._mcp_server) as session:  # noqa: SLF001 - the SDK's own way, before 1.2x
            yield session
        return
    from mcp import Client

    async with Client(server) as client:
        yield client


async def main() -> None:
    """Let the model ask, and show what was counted."""
    with Tooltel(CATALOG, registry=CollectorRegistry()) as tel:
        server = watch_server(tel, serve(), redirect_aliases=True)
        async with connect(server) as client:
            watch_client(tel, client)
            with tel.session(profile="support", agent="support_agent", id="s-1"):
                await client.list_tools()
                for name, arguments in ASKED:
                    result = await client.call_tool(name, arguments)
                    print(f"{name}: {' '.join(result.content[0].text.split())[:60]}")
        for family in tel.view.collect():
            for sample in family.samples:
                if sample.value and sample.name.endswith(("calls_total", "not_found_total", "rejections_total")):
                    print(f"{sample.name} {sample.labels} {sample.value:g}")


if __name__ == "__main__":
    asyncio.run(main())
