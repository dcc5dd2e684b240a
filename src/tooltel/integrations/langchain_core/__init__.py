"""
langchain-core: `TooltelCallback` for loops that run tools themselves, such as langchain-classic's AgentExecutor.

Where there is a choice, take `tooltel.integrations.langchain` or `tooltel.integrations.langgraph`: callbacks see less.
"""

from __future__ import annotations

from tooltel.integrations import require

require("langchain_core", extra="langchain")

from tooltel.integrations.langchain_core.callback import TooltelCallback  # noqa: E402 - after the pip line, if need be

__all__ = ["TooltelCallback"]
