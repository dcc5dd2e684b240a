"""The Catalog: every tool, owner, profile and MCP server that an organization has agreed on. Immutable."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from tooltel import signals
from tooltel.catalog.nearest import Nearest
from tooltel.catalog.nouns import (
    SESSION_RETENTION,
    Alias,
    HouseRules,
    McpServer,
    Missing,
    Owner,
    Profile,
    Signature,
    Source,
    Tool,
)
from tooltel.signals import Reason
from tooltel.text import clean

Noun = TypeVar("Noun", Owner, Profile, Tool, McpServer, Source)
AnyNoun: TypeAlias = Owner | Profile | Tool | McpServer | Source
Nouns: TypeAlias = Mapping[str, Noun] | Iterable[Noun]

_COLLECTIONS: Final = ("tools", "owners", "profiles", "mcp", "sources")


@dataclass(frozen=True)
class Catalog:
    """
    All nouns, by name, and the rules they keep.

    The collections may be given as iterables or mappings. Making a Catalog never fails for what it says: ask
    `tooltel.catalog.find_problems(catalog)`. `duplicates` are the nouns that lost to a later one of the same name.
    `open` lets tools name owners and profiles that nobody declared: for a first try without a file.
    `render` holds the options of the artifacts, as written; `source` says where the catalog came from.
    """

    tools: Mapping[str, Tool] = field(default_factory=dict)
    owners: Mapping[str, Owner] = field(default_factory=dict)
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    mcp: Mapping[str, McpServer] = field(default_factory=dict)
    sources: Mapping[str, Source] = field(default_factory=dict)
    signatures: tuple[Signature, ...] = ()
    house: HouseRules = field(default_factory=HouseRules)
    platform_owner: str | None = None
    security_owner: str | None = None
    session_retention: float = SESSION_RETENTION
    render: Mapping[str, Any] = field(default_factory=dict)
    open: bool = False
    source: str = "catalog"
    duplicates: tuple[AnyNoun, ...] = ()

    if TYPE_CHECKING:
        # The generated one takes the same; said once more because it also accepts what is no mapping yet.
        def __init__(  # noqa: PLR0913 - a catalog has that many tables
            self,
            tools: Nouns[Tool] = ...,
            owners: Nouns[Owner] = ...,
            profiles: Nouns[Profile] = ...,
            mcp: Nouns[McpServer] = ...,
            sources: Nouns[Source] = ...,
            *,
            signatures: Iterable[Signature] = ...,
            house: HouseRules = ...,
            platform_owner: str | None = ...,
            security_owner: str | None = ...,
            session_retention: float = ...,
            render: Mapping[str, Any] = ...,
            open: bool = ...,  # noqa: A002 - the field's name
            source: str = ...,
            duplicates: Iterable[AnyNoun] = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        put = object.__setattr__
        lost: list[AnyNoun] = list(self.duplicates)
        for name in _COLLECTIONS:
            given: Any = getattr(self, name)
            nouns: list[Any] = list(given.values() if isinstance(given, Mapping) else given)
            named = {noun.name: noun for noun in nouns}
            lost += [noun for noun in nouns if named[noun.name] is not noun]
            put(self, name, MappingProxyType(named))
        put(self, "duplicates", tuple(lost))
        put(self, "signatures", tuple(self.signatures))

    @cached_property
    def aliases(self) -> Mapping[str, Alias]:
        """Old names that still work, by old name."""
        return MappingProxyType(
            {old: Alias(old, tool.name, tool.owner) for tool in self.tools.values() for old in tool.aliases}
        )

    @cached_property
    def retired(self) -> Mapping[str, Tool]:
        """Old names that no longer work, with the tool that took over."""
        return MappingProxyType({old: tool for tool in self.tools.values() for old in tool.retired})

    @cached_property
    def sha(self) -> str:
        """A short fingerprint of everything the catalog says; equal catalogs have equal fingerprints."""
        nouns = [[_said(noun) for _, noun in sorted(getattr(self, name).items())] for name in _COLLECTIONS]
        house = [self.platform_owner, self.security_owner, self.session_retention, _said(self.house)]
        rest = [house, self.render, [_said(signature) for signature in self.signatures]]
        try:
            text = json.dumps([nouns, rest], sort_keys=True, default=_plain)
        except TypeError:  # keys of several kinds cannot be sorted; only a catalog made in code can have them
            text = json.dumps(_with_text_keys([nouns, rest]), sort_keys=True, default=_plain)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]

    @cached_property
    def _nearest(self) -> Nearest:
        return Nearest((*self.tools, *self.aliases, *self.retired))

    @property
    def fallback_owner(self) -> str:
        """Who gets what has no owner."""
        return self.platform_owner or signals.UNOWNED

    def profile_label(self, profile: str | None) -> str:
        """The bounded label of a session's profile: itself when known, else `none` or `other`."""
        if profile is None:
            return signals.NO_PROFILE
        return profile if profile in self.profiles else signals.OTHER

    def profile_owner(self, profile: str | None) -> str:
        """The owner of a profile, or of the platform where the profile is not known."""
        known = self.profiles.get(profile) if profile is not None else None
        return known.owner if known else self.fallback_owner

    def nearest(self, name: str) -> str | None:
        """The known name most like *name*, or None when nothing is alike. An old name gives its tool's name."""
        found = self._nearest.find(clean(name))
        if found is None or found in self.tools:
            return found
        alias = self.aliases.get(found)
        return alias.tool if alias else self.retired[found].name

    def explain(self, requested: object, profile: str | None, *, suggest: bool = True) -> Missing:
        """
        Tell why a call to *requested*, made by a session of *profile*, reached no tool.

        A name of the catalog is `not_in_profile`, an old one `renamed`; anything else the model made up, or left
        empty. Any object is accepted, as it comes from a model. Without *suggest* no nearest name is sought for what is
        made up: that takes as long as there are names, which a file of such calls would feel.
        """
        if issubclass(type(requested), str):
            name = str.__str__(requested)  # a subclass may hash or compare as it likes
        else:
            name = "" if requested is None else clean(requested)
        if tool := self.tools.get(name):
            return Missing(name, Reason.NOT_IN_PROFILE, known=True, owner=tool.owner)
        if alias := self.aliases.get(name):
            return Missing(name, Reason.RENAMED, known=True, owner=alias.owner, nearest=alias.tool)
        if tool := self.retired.get(name):
            return Missing(name, Reason.RENAMED, known=True, owner=tool.owner, nearest=tool.name)
        owner = self.profile_owner(profile)
        if not name.strip():
            return Missing(clean(name), Reason.EMPTY, known=False, owner=owner)
        nearest = self.nearest(name) if suggest else None
        return Missing(clean(name), Reason.UNKNOWN, known=False, owner=owner, nearest=nearest)

    def with_tool(self, tool: Tool) -> Catalog:
        """The same catalog with one more tool, or with a tool replaced."""
        return replace(self, tools={**self.tools, tool.name: tool})

    def relaxed(self) -> Catalog:
        """The same catalog with its house rules turned into warnings."""
        return replace(self, house=self.house.relaxed())


def _said(noun: Any) -> list[Any]:
    # Not asdict(): it copies deeply, which read-only mappings refuse, and 10,000 tools would feel it.
    return [getattr(noun, each.name) for each in fields(noun)]


def _with_text_keys(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _with_text_keys(each) for key, each in value.items()}
    return [_with_text_keys(each) for each in value] if isinstance(value, (list, tuple)) else value


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    return str(value)
