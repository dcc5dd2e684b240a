"""
LangGraph's ToolNode, where a graph is made by hand.

    calls = TooltelToolCalls(tel, profile="support")
    ToolNode(tools, wrap_tool_call=calls.wrap_tool_call, awrap_tool_call=calls.awrap_tool_call)

Needs langgraph-prebuilt 1.0.2 or later, whose ToolNode takes these. Agents of `create_agent` take
`tooltel.integrations.langchain.TooltelMiddleware` instead, which also sees what the model is sent and answers.
"""

from __future__ import annotations

from tooltel.integrations import require

require("langgraph.prebuilt", extra="langgraph")

from tooltel.integrations.langgraph.tool_calls import TooltelToolCalls  # noqa: E402 - after the pip line, if need be

__all__ = ["TooltelToolCalls"]
