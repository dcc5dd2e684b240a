"""
MCP's Python SDK, 1.10 and later, 2.x too: `watch_client(tel, session)`, `watch_server(tel, server)`.

Each end of a connection sees what the other cannot, so watch the end that you run; the server's knows causes better.
Where both ends are in one process and watched by one Tooltel, a call is one: the client's, with the server's knowledge
of what came of it. That holds in memory and over loopback; a call is known again there by its name and arguments.
"""

from __future__ import annotations

from tooltel.integrations import require

require("mcp", extra="mcp")

from tooltel.integrations.mcp.client import watch_client  # noqa: E402 - after the pip line, if need be
from tooltel.integrations.mcp.middleware import TooltelMiddleware  # noqa: E402
from tooltel.integrations.mcp.server import watch_server  # noqa: E402

__all__ = ["TooltelMiddleware", "watch_client", "watch_server"]
