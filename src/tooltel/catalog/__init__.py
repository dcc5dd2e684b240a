"""The catalog says what a tool is. Pure data, and pure checks that return problems."""

from tooltel.catalog.catalog import Catalog
from tooltel.catalog.checks import find_problems, find_tool_problems
from tooltel.catalog.nouns import Alias, HouseRules, McpServer, Missing, Owner, Profile, Signature, Source, Tool

__all__ = [
    "Alias",
    "Catalog",
    "HouseRules",
    "McpServer",
    "Missing",
    "Owner",
    "Profile",
    "Signature",
    "Source",
    "Tool",
    "find_problems",
    "find_tool_problems",
]
