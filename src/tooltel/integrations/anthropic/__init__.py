"""
anthropic 0.68 and later, its tool runner: `TooltelRunners(tel).tool_runner(client, ...)`.

That stands in place of `client.beta.messages.tool_runner(...)`, for clients of both kinds, streaming or not.
"""

from __future__ import annotations

from tooltel.integrations import require

require("anthropic", extra="anthropic")

from tooltel.integrations.anthropic.runners import TooltelRunners  # noqa: E402 - after the pip line, if need be

__all__ = ["TooltelRunners"]
