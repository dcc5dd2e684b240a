"""Observability and alerting for the tool calls of LLM agents."""

from tooltel._version import version as __version__
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
