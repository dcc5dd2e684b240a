"""A server of MCP tools over standard input and output, for either major of the SDK."""

from __future__ import annotations

from importlib.util import find_spec

if find_spec("mcp.server.mcpserver") is not None:
    from mcp.server.mcpserver import MCPServer as Server
else:
    from mcp.server.fastmcp import FastMCP as Server

server = Server("kitchen")


@server.tool()
def book_table(size: int) -> str:
    """Book a table in the restaurant, for some people."""
    if size > 8:
        raise ValueError(f"{size} is too many")
    return "table 7"


if __name__ == "__main__":
    server.run("stdio")
