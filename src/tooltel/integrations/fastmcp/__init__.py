"""
fastmcp 2.14 and later, 3.x and 4.x: `mcp.add_middleware(TooltelMiddleware(tel))`, and `watch_client(tel, client)`.

Add it to the outermost server, before other middleware. What mounted servers serve is seen there.
"""

from __future__ import annotations

from tooltel.integrations import require

require("fastmcp", extra="fastmcp")

from tooltel.integrations.fastmcp.middleware import TooltelMiddleware  # noqa: E402 - after the pip line, if need be
from tooltel.integrations.mcp import watch_client  # noqa: E402

__all__ = ["TooltelMiddleware", "watch_client"]
