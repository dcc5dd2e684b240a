"""
Observability and alerting for the tool calls of LLM agents.

Everything here is imported when it is first used: `import tooltel` in a module that only raises `tooltel.Rejected`
costs nothing, and what an application does not use is never loaded.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tooltel._version import version as __version__

if TYPE_CHECKING:
    from tooltel.boundary import Requested
    from tooltel.call import Session, propagate
    from tooltel.catalog import Alias, Catalog, HouseRules, McpServer, Owner, Profile, Tool
    from tooltel.errors import (
        CatalogError,
        MissingExtraError,
        NotConfiguredError,
        Problem,
        Refused,
        RegistryError,
        Rejected,
        SettingError,
        SignalError,
        TooltelError,
        UnknownToolError,
    )
    from tooltel.outcome import Fault, Outcome, Recorder, Rejection
    from tooltel.processors.structlog import add_tool_context
    from tooltel.runtime import Tooltel, configure, default
    from tooltel.signals import Reason, Risk, Status

__all__ = [
    "Alias",
    "Catalog",
    "CatalogError",
    "Fault",
    "HouseRules",
    "McpServer",
    "MissingExtraError",
    "NotConfiguredError",
    "Outcome",
    "Owner",
    "Problem",
    "Profile",
    "Reason",
    "Recorder",
    "Refused",
    "RegistryError",
    "Rejected",
    "Rejection",
    "Requested",
    "Risk",
    "Session",
    "SettingError",
    "SignalError",
    "Status",
    "Tool",
    "Tooltel",
    "TooltelError",
    "UnknownToolError",
    "__version__",
    "add_tool_context",
    "configure",
    "default",
    "propagate",
]

_HOMES = {
    "Alias": "tooltel.catalog",
    "Catalog": "tooltel.catalog",
    "CatalogError": "tooltel.errors",
    "Fault": "tooltel.outcome",
    "HouseRules": "tooltel.catalog",
    "McpServer": "tooltel.catalog",
    "MissingExtraError": "tooltel.errors",
    "NotConfiguredError": "tooltel.errors",
    "Outcome": "tooltel.outcome",
    "Owner": "tooltel.catalog",
    "Problem": "tooltel.errors",
    "Profile": "tooltel.catalog",
    "Reason": "tooltel.signals",
    "Recorder": "tooltel.outcome",
    "Refused": "tooltel.errors",
    "RegistryError": "tooltel.errors",
    "Rejected": "tooltel.errors",
    "Rejection": "tooltel.outcome",
    "Requested": "tooltel.boundary",
    "Risk": "tooltel.signals",
    "Session": "tooltel.call",
    "SettingError": "tooltel.errors",
    "SignalError": "tooltel.errors",
    "Status": "tooltel.signals",
    "Tool": "tooltel.catalog",
    "Tooltel": "tooltel.runtime",
    "TooltelError": "tooltel.errors",
    "UnknownToolError": "tooltel.errors",
    "add_tool_context": "tooltel.processors.structlog",
    "configure": "tooltel.runtime",
    "default": "tooltel.runtime",
    "propagate": "tooltel.call",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(home), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
