"""
One module per framework: `from tooltel.integrations.adk import TooltelPlugin`.

Each imports its framework plainly, and receives a Tooltel. A missing framework is told with its pip line by
`tooltel.integrations.require`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tooltel.errors import MissingExtraError


def require(module: str, *, extra: str) -> Any:
    """Import *module* of a framework; raises MissingExtraError, with the pip line, when it is not installed."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or module.partition(".")[0] != error.name.partition(".")[0]:
            raise  # the framework is here, and something that it needs itself is not
        purpose = f"tooltel.integrations.{extra.replace('-', '_')}"
        raise MissingExtraError(module, extra=extra, purpose=purpose) from None
