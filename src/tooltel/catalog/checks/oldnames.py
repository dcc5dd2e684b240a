"""Old names: an alias or a retired name must lead to exactly one tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tooltel.catalog.paths import key_path, shown
from tooltel.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tooltel.catalog.catalog import Catalog


def find_old_name_problems(catalog: Catalog) -> Iterator[Problem]:
    """Aliases and retired names that are a tool's name, or belong to two tools, or are both."""
    seen: dict[str, tuple[str, str, str]] = {}  # old name -> how it is old, its tool, the tool's owner
    for tool in catalog.tools.values():
        for field, noun in (("aliases", "alias"), ("retired", "retired name")):
            for old in dict.fromkeys(getattr(tool, field)):
                clash = _clash(catalog, tool.name, old, seen)
                if clash:
                    path = key_path("tools", tool.name, field)
                    yield Problem("old_name", path, f"the {noun} {shown(old)} {clash[0]}", clash[1])
                else:
                    seen[old] = (noun, tool.name, tool.owner)


def _clash(catalog: Catalog, tool: str, old: str, seen: dict[str, tuple[str, str, str]]) -> tuple[str, str] | None:
    if old == tool:
        return "is the tool's own name", "remove it"
    if taken := catalog.tools.get(old):
        return f"is a tool{_of(taken.owner)}", "remove it, or rename that tool"
    if old not in seen:
        return None
    noun, other, owner = seen[old]
    article = "an" if noun == "alias" else "a"
    if other == tool:
        return (
            f"is {article} {noun} of the same tool, too",
            "keep it in one list: retired, once it no longer works",
        )
    return (
        f"is {article} {noun} of {shown(other)}{_of(owner)}, too",
        "keep it at one of the two tools",
    )


def _of(owner: str) -> str:
    return f" of the owner {shown(owner)}" if owner else ""
