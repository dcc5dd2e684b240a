"""References: owners and profiles must exist, and whoever answers for something must be named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tooltel.catalog.hints import Hints
from tooltel.catalog.paths import key_path, shown
from tooltel.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tooltel.catalog.catalog import Catalog


def find_reference_problems(catalog: Catalog) -> Iterator[Problem]:
    """Missing and unknown owners, unknown profiles."""
    owners = Hints(tuple(catalog.owners))
    for path, owner in _owned(catalog):
        if not owner.strip():
            fix = 'write owner = "..."' + (f", one of {_some(catalog.owners)}" if catalog.owners else "")
            yield Problem("missing_owner", path, "has no owner", fix)
        elif owner not in catalog.owners and not catalog.open:
            fix = owners.fix(owner, otherwise=f"add [{key_path('owners', owner)}]")
            yield Problem("unknown_owner", path, f"no owner {shown(owner)}", fix)
    if not catalog.open:
        yield from _unknown_profiles(catalog)


def _owned(catalog: Catalog) -> Iterator[tuple[str, str]]:
    for name in ("platform_owner", "security_owner"):
        if (owner := getattr(catalog, name)) is not None:
            yield key_path("catalog", name), owner
    for section in ("profiles", "tools", "mcp"):
        for noun in getattr(catalog, section).values():
            yield key_path(section, noun.name, "owner"), noun.owner


def _unknown_profiles(catalog: Catalog) -> Iterator[Problem]:
    profiles = Hints(tuple(catalog.profiles))
    named = [(key_path("tools", tool.name, "profiles"), tool.profiles) for tool in catalog.tools.values()]
    named += [
        (key_path("sidecar", "sources", source.name, "profile"), (source.profile,))
        for source in catalog.sources.values()
        if source.profile is not None
    ]
    for path, names in named:
        for name in dict.fromkeys(names):
            if name not in catalog.profiles:
                fix = profiles.fix(name, otherwise=f"add [{key_path('profiles', name)}]")
                yield Problem("unknown_profile", path, f"no profile {shown(name)}", fix)


def _some(names: Iterable[str], limit: int = 8) -> str:
    every = list(names)
    return ", ".join(shown(name) for name in every[:limit]) + (", ..." if len(every) > limit else "")
