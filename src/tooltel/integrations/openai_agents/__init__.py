"""
openai-agents 0.10.4 and later: `await TooltelAgents(tel).run(agent, "...")`, in place of `Runner.run`.

Where something else runs an agent, `TooltelAgents(tel).watch(agent)` is what to hand to it.
"""

from __future__ import annotations

from tooltel.integrations import require

require("agents", extra="openai-agents")

from tooltel.integrations.openai_agents.agents import TooltelAgents  # noqa: E402 - after the pip line, if need be

__all__ = ["TooltelAgents"]
