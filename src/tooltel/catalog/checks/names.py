"""Names: unique, safe as a label and on a terminal, and in the style of the house."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from tooltel import signals
from tooltel.catalog.checks.house import level_of, pattern_error
from tooltel.catalog.nouns import McpServer, Owner, Profile, Source, Tool
from tooltel.catalog.paths import key_path, shown
from tooltel.errors import Level, Problem
from tooltel.signals import NAME_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tooltel.catalog.catalog import Catalog

SECTIONS: Final[dict[type, tuple[str, ...]]] = {
    Owner: ("owners",),
    Profile: ("profiles",),
    Tool: ("tools",),
    McpServer: ("mcp",),
    Source: ("sidecar", "sources"),
}
# Label values that mean something else already: whose series would a tool called `other` have?
RESERVED: Final[dict[type, frozenset[str]]] = {
    Owner: frozenset({signals.UNOWNED}),
    Profile: frozenset({signals.NO_PROFILE, signals.OTHER}),
    Tool: frozenset({signals.OTHER}),
    McpServer: frozenset(),
    Source: frozenset(),
}


_WRITE: Final = "write a name"


def find_name_problems(catalog: Catalog) -> Iterator[Problem]:
    """What is wrong with the names of nouns, with names that lists hold, and with versions."""
    yield from _duplicates(catalog)
    for nouns in (catalog.owners, catalog.profiles, catalog.tools, catalog.mcp, catalog.sources):
        for name, noun in nouns.items():
            yield from _unsafe(name, type(noun), *SECTIONS[type(noun)], name)
    yield from _off_pattern(catalog)
    for tool in catalog.tools.values():
        for field, kind in (("profiles", Profile), ("aliases", Tool), ("retired", Tool)):
            if names := getattr(tool, field):
                yield from _listed(names, kind, "tools", tool.name, field)
        yield from _version(tool, "tools")
    for server in catalog.mcp.values():
        yield from _listed(server.allow, McpServer, "mcp", server.name, "allow")
        yield from _version(server, "mcp")


def flaw(name: str) -> tuple[str, str] | None:
    """What makes *name* unfit to leave the process, and what to write instead; None for a good one."""
    if not name.strip():
        return "is empty", _WRITE
    if len(name) > NAME_LIMIT:
        return f"has {len(name)} characters", f"names have at most {NAME_LIMIT}"
    if not name.isprintable():
        return f"{shown(name)} holds characters that cannot be printed", "remove them"
    if name != name.strip():
        return f"{shown(name)} begins or ends with a space", f"write {shown(name.strip())}"
    return None


def _unsafe(name: str, kind: type, *place: str) -> Iterator[Problem]:
    if found := flaw(name):
        yield Problem("unsafe_name", key_path(*place), *found)
    elif name in RESERVED[kind]:
        yield Problem("reserved_name", key_path(*place), f"{shown(name)} means something else in labels", "rename it")


def _listed(names: tuple[str, ...], kind: type, *place: str) -> Iterator[Problem]:
    for name in names:
        if kind is not Profile:  # a profile that has an unfit name is told of where it is declared
            yield from _unsafe(name, kind, *place)
    if len(names) > 1 and len(set(names)) < len(names):
        twice = sorted({shown(name) for name in names if names.count(name) > 1})
        yield Problem("repeated_value", key_path(*place), f"{', '.join(twice)} is listed twice", "list it once")


def _version(noun: Tool | McpServer, section: str) -> Iterator[Problem]:
    # An empty pin has a rule of its own.
    if (found := flaw(noun.version)) and (noun.version or section == "tools"):
        what, fix = found
        fix = 'write version = "1"' if fix == _WRITE else fix
        yield Problem("unsafe_name", key_path(section, noun.name, "version"), what, fix)


def _off_pattern(catalog: Catalog) -> Iterator[Problem]:
    pattern, level = catalog.house.name_pattern, level_of(catalog, "name_pattern")
    if level is Level.OFF or pattern_error(pattern):
        return
    fits = re.compile(pattern).fullmatch
    for name in catalog.tools:
        if not fits(name) and not flaw(name):
            yield Problem(
                "name_pattern",
                key_path("tools", name),
                f"the name does not match {shown(pattern)}",
                _renamed(name, fits),
                level=level,
                house=True,
            )


def _renamed(name: str, fits: Any) -> str:
    """A name in snake case, where that is what was missing."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    snake = re.sub(r"[^a-z0-9_]+", "_", snake).strip("_")
    if fits(snake):
        return f"rename it, for example to {shown(snake)}, and list the old name in aliases"
    return 'rename it, or write levels = { name_pattern = "warn" } in [catalog]'


def _duplicates(catalog: Catalog) -> Iterator[Problem]:
    tables: tuple[Any, ...] = (catalog.owners, catalog.profiles, catalog.tools, catalog.mcp, catalog.sources)
    by_kind = dict(zip(SECTIONS, tables, strict=True))
    for lost in catalog.duplicates:
        kept = by_kind[type(lost)][lost.name]
        path = key_path(*SECTIONS[type(lost)], lost.name)
        yield duplicate(path, getattr(lost, "owner", None), getattr(kept, "owner", None))


def duplicate(path: str, first_owner: object, second_owner: object, *, first_line: int | None = None) -> Problem:
    """The problem that *path* is declared twice, naming the owners and where the first one stands."""
    where = f"first in line {first_line}" if first_line else "two have this name"
    if first_owner is None and second_owner is None:
        what = f"is declared twice, {where}"
    elif first_owner == second_owner:
        what = f"is declared twice, {where}, both times by {shown(first_owner)}"
    else:
        what = f"is declared twice, {where}: by {_owner(first_owner)} and by {_owner(second_owner)}"
    return Problem("duplicate_name", path, what, "rename one of them, or remove it")


def _owner(owner: object) -> str:
    return "nobody" if owner in (None, "") else shown(owner)
