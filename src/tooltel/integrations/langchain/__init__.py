"""
LangChain 1.0 and later: `create_agent(..., middleware=[TooltelMiddleware(tel, profile="support")])`.

For a ToolNode in a graph made by hand, see `tooltel.integrations.langgraph`; for langchain-classic,
`tooltel.integrations.langchain_core`.
"""

from __future__ import annotations

from tooltel.integrations import require

require("langchain.agents", extra="langchain")

from tooltel.integrations.langchain.middleware import TooltelMiddleware  # noqa: E402 - after the pip line, if need be

__all__ = ["TooltelMiddleware"]
