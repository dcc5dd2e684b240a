"""The signature table: every framework's rules, read from the data files beside the code when first asked for."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import tomli

from tooltel.match.patterns import Pattern
from tooltel.match.rules import Needs, Rule
from tooltel.signals import Status

FRAMEWORKS: Final = (
    "google-adk",
    "google-adk-java",
    "google-adk-go",
    "google-adk-js",
    "agno",
    "anthropic",
    "autogen",
    "fastmcp",
    "haystack-ai",
    "langchain4j",
    "mcp",
    "openai-agents",
    "semantic-kernel",
    "spring-ai",
    "strands-agents",
    "vercel-ai",
)


@cache
def builtin_rules() -> tuple[Rule, ...]:
    """Every framework's rules, in the order in which they are tried."""
    return tuple(_rule(framework, entry) for framework in FRAMEWORKS for entry in _read(framework)["rules"])


@cache
def known_writers() -> tuple[str, ...]:
    """The loggers of Python frameworks that are known to write lines of a drop; there may be others."""
    return tuple(writer for framework in FRAMEWORKS for writer in _read(framework).get("writers", ()))


@cache
def _read(framework: str) -> Mapping[str, Any]:
    # importlib.resources would take longer to import than all of the tables to read.
    data = pkgutil.get_data(__name__, f"frameworks/{framework}.toml")
    if data is None:
        raise FileNotFoundError(f"the signatures of {framework} are not installed: install tooltel again")
    return tomli.loads(data.decode("utf-8"))


def _rule(framework: str, entry: Mapping[str, Any]) -> Rule:
    second = entry.get("second")
    return Rule(
        id=f"{framework}.{entry['id']}",
        framework=framework,
        moment=Status(entry["moment"]),
        literal=entry["literal"].encode("ascii"),
        pattern=Pattern(entry["pattern"], re.DOTALL),
        loggers=tuple(entry.get("loggers", ())),
        levels=tuple(entry.get("levels", ())),
        second=Pattern(second, re.DOTALL) if second is not None else None,
        needs=Needs(entry.get("needs", Needs.NOTHING)),
        is_partial=entry.get("is_partial", False),
        is_unlisted=entry.get("is_unlisted", False),
        times=entry.get("times", 1),
    )
