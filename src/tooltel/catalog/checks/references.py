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
    for place, owner in _owned(catalog):
        if not owner.strip():
            fix = 'write owner = "..."' + (f", one of {_some(catalog.owners)}" if catalog.owners else "")
            yield Problem("missing_owner", key_path(*place), "has no owner", fix)
        elif owner not in catalog.owners and not catalog.open:
            fix = owners.fix(owner, otherwise=f"add [{key_path('owners', owner)}]")
            yield Problem("unknown_owner", key_path(*place), f"no owner {shown(owner)}", fix)
    if not catalog.open:
        yield from _unknown_profiles(catalog)


def _owned(catalog: Catalog) -> Iterator[tuple[tuple[str, ...], str]]:
    for name in ("platform_owner", "security_owner"):
        if (owner := getattr(catalog, name)) is not None:
            yield ("catalog", name), owner
    for section in ("profiles", "tools", "mcp"):
        for noun in getattr(catalog, section).values():
            yield (section, noun.name, "owner"), noun.owner


def _unknown_profiles(catalog: Catalog) -> Iterator[Problem]:
    profiles = Hints(tuple(catalog.profiles))
    for place, names in _profiled(catalog):
        for name in names:
            if name not in catalog.profiles:
                fix = profiles.fix(name, otherwise=f"add [{key_path('profiles', name)}]")
                yield Problem("unknown_profile", key_path(*place), f"no profile {shown(name)}", fix)


def _profiled(catalog: Catalog) -> Iterator[tuple[tuple[str, ...], Iterable[str]]]:
    for tool in catalog.tools.values():
        yield ("tools", tool.name, "profiles"), dict.fromkeys(tool.profiles)
    for source in catalog.sources.values():
        if source.profile is not None:
            yield ("sidecar", "sources", source.name, "profile"), (source.profile,)


def _some(names: Iterable[str], limit: int = 8) -> str:
    every = list(names)
    return ", ".join(shown(name) for name in every[:limit]) + (", ..." if len(every) > limit else "")
