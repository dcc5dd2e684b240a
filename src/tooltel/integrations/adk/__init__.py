"""
google-adk 1.18 and later: `App(..., plugins=[TooltelPlugin(tel, profile="support")])`.

One plug-in sees the calls of every agent of the app, of sub-agents and agent tools too.
"""

from __future__ import annotations

from tooltel.integrations import require

require("google.adk", extra="adk")

from tooltel.integrations.adk.plugin import TooltelPlugin  # noqa: E402 - after what is missing was told with its pip line

__all__ = ["TooltelPlugin"]
