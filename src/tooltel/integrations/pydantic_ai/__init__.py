"""
pydantic-ai 1.71 and later, 2.x too: `Agent(..., capabilities=[TooltelCapability(tel, profile="support")])`.

Capabilities came with 1.71. pydantic-ai's event hooks are left alone: they would force every request to stream.
"""

from __future__ import annotations

from tooltel.integrations import require

require("pydantic_ai.capabilities", extra="pydantic-ai")

from tooltel.integrations.pydantic_ai.capability import TooltelCapability  # noqa: E402 - after the pip line, if need be

__all__ = ["TooltelCapability"]
