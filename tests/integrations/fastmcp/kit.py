"""The hotel's desk on fastmcp, 2.14 to 4.x, and everything that can be seen of it from outside."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from fastmcp import Client, FastMCP
from fastmcp.tools import Tool

if TYPE_CHECKING:
    from tests.integrations.mcp.hotel import Hotel
    from tooltel import Tooltel

MAJOR = int(version("fastmcp").split(".")[0])
MAKES_SPANS = MAJOR >= 3
SPAN_IS_AROUND = MAJOR >= 4  # of middleware; before, it begins below

# 4.x prefers the stateless protocol of 2026-07-28.
WAYS = ("legacy", "modern") if MAJOR >= 4 else ("legacy",)


def serve(hotel: Hotel, tel: Tooltel | None = None, *, old_names: bool = True, **options: Any) -> Any:
    """The hotel's tools on a server; *old_names*: one of them under its old name too."""
    server: Any = FastMCP("hotel", **options)
    for name, function in hotel.tools(tel).items():
        if old_names or name != "search_rooms":
            server.add_tool(Tool.from_function(function, name=name))
    return server


@asynccontextmanager
async def connect(server: Any, way: str = "legacy", **options: Any) -> AsyncIterator[Caller]:
    """A client that is connected to *server*, which may be an address."""
    if MAJOR >= 4:
        options["mode"] = "legacy" if way == "legacy" else "auto"
    async with Client(server, **options) as client:
        yield Caller(client)


class Caller:
    """fastmcp's client, with the methods of the SDK's: it gives what the server answered, not what it makes of it."""

    def __init__(self, client: Any) -> None:
        self.client = client

    async def call_tool(self, name: str, arguments: Any = None, *, read_timeout_seconds: Any = None) -> Any:
        return await self.client.call_tool_mcp(name, arguments or {}, timeout=read_timeout_seconds)

    async def list_tools(self) -> Any:
        return await self.client.list_tools()

    @property
    def session(self) -> Any:
        return self.client.session
