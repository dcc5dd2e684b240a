"""From plain tables to a Catalog: the schema of a file, with unknown keys and wrong types as problems."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from tooltel.catalog import Catalog, HouseRules, McpServer, Owner, Profile, Signature, Source, Tool
from tooltel.catalog.hints import Hints
from tooltel.catalog.paths import key_path, shown
from tooltel.catalog.shapes import DURATION, FIELDS, TABLE, TABLES, TEXT, Shape, misfit
from tooltel.errors import Problem
from tooltel.loading.durations import parse_duration

if TYPE_CHECKING:
    from tooltel.loading.syntax import Document

Noun = TypeVar("Noun", Owner, Profile, Tool, McpServer, Source, Signature)

_FILE: Final[Mapping[str, Shape]] = MappingProxyType(
    {
        "catalog": TABLE,
        "owners": TABLE,
        "profiles": TABLE,
        "tools": TABLE,
        "mcp": TABLE,
        "sidecar": TABLE,
        "signatures": TABLES,
        "render": TABLE,
    }
)
SETTINGS: Final[Mapping[str, Shape]] = MappingProxyType(
    {
        "session_retention": DURATION,
        "platform_owner": TEXT,
        "security_owner": TEXT,
        **FIELDS[HouseRules],
    }
)
_SIDECAR: Final[Mapping[str, Shape]] = MappingProxyType({"sources": TABLE})
# What a noun cannot be made without; an empty one is reported as missing.
REQUIRED: Final[Mapping[type, tuple[str, ...]]] = MappingProxyType(
    {
        Owner: (),
        Profile: ("owner",),
        Tool: ("owner",),
        McpServer: ("owner", "version"),
        Source: ("files",),
        Signature: ("moment", "pattern"),
    }
)


class Built(NamedTuple):
    """A catalog, the problems of its file, and the paths of which nothing more needs to be said."""

    catalog: Catalog
    problems: list[Problem]
    settled: set[str]


def build(document: Document, *, source: str) -> Built:
    """Make the Catalog of *document*, as far as it says one; what is wrong with its form is reported."""
    reader = _Reader()
    file = reader.fitting(document, _FILE)
    settings = reader.fitting(file.get("catalog", {}), SETTINGS, "catalog")
    sidecar = reader.fitting(file.get("sidecar", {}), _SIDECAR, "sidecar")
    top: dict[str, Any] = {key: settings[key] for key in ("platform_owner", "security_owner") if key in settings}
    if "session_retention" in settings:
        top |= reader.retention(settings["session_retention"])
    if not document:
        reader.say("empty", "file", "says nothing", "declare owners and tools: [owners.orders], [tools.order_lookup]")
    catalog = Catalog(
        tools=reader.nouns(Tool, file.get("tools", {}), "tools"),
        owners=reader.nouns(Owner, file.get("owners", {}), "owners"),
        profiles=reader.nouns(Profile, file.get("profiles", {}), "profiles"),
        mcp=reader.nouns(McpServer, file.get("mcp", {}), "mcp"),
        sources=reader.nouns(Source, sidecar.get("sources", {}), "sidecar", "sources"),
        signatures=reader.signatures(file.get("signatures", [])),
        house=HouseRules(**{key: settings[key] for key in FIELDS[HouseRules] if key in settings}),
        render=file.get("render", {}),
        source=source,
        **top,
    )
    return Built(catalog, reader.problems, reader.settled)


class _Reader:
    """Takes what fits, and collects what does not."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.settled: set[str] = set()

    def say(self, rule: str, path: str, what: str, fix: str) -> None:
        self.problems.append(Problem(rule, path, what, fix))
        self.settled.add(path)

    def fitting(self, table: Mapping[str, Any], shapes: Mapping[str, Shape], *place: str | int) -> dict[str, Any]:
        """The keys of *table* that are in *shapes* and whose values fit."""
        taken = {}
        for key, value in table.items():
            shape = shapes.get(key)
            if shape is None:
                self._unknown(key, shapes, place)
            elif shape.fits(value):
                taken[key] = value
            else:
                problem = misfit(key_path(*place, key), shape, value)
                self.problems.append(problem)
                self.settled.add(problem.path)
        return taken

    def nouns(self, kind: type[Noun], tables: Mapping[str, Any], *section: str) -> list[Noun]:
        """A noun of *kind* for each of *tables*."""
        found = []
        for name, table in tables.items():
            if isinstance(table, Mapping):
                found.append(self._noun(kind, table, (*section, name), name=name))
            else:
                self.problems.append(self._no_table(key_path(*section, name), table))
        return found

    def signatures(self, tables: list[Any]) -> list[Signature]:
        """The user's log signatures."""
        found = []
        for place, table in enumerate(tables):
            if isinstance(table, Mapping):
                found.append(self._noun(Signature, table, ("signatures", place)))
            else:
                self.problems.append(self._no_table(key_path("signatures", place), table))
        return found

    def retention(self, text: str) -> dict[str, float]:
        """The seconds of `session_retention`."""
        try:
            return {"session_retention": parse_duration(text)}
        except ValueError:
            path = key_path("catalog", "session_retention")
            self.say("duration", path, f"{shown(text)} is no duration", 'write a number and a unit: "30d", "12h"')
            return {}

    def _noun(self, kind: type[Noun], table: Mapping[str, Any], place: tuple[str | int, ...], **named: Any) -> Noun:
        values = self.fitting(table, FIELDS[kind], *place)
        for field in REQUIRED[kind]:
            values.setdefault(field, () if field == "files" else "")
        return kind(**named, **values)

    def _unknown(self, key: str, shapes: Mapping[str, Shape], place: tuple[str | int, ...]) -> None:
        hints = Hints(tuple(shapes))
        near = hints.nearest(key)
        if near is not None and (meant := key_path(*place, near)):
            self.settled.add(meant)  # a key that is misspelled is not missing, too
        where = key_path(*place)
        what = f"no key {shown(key)} in [{where}]" if where else f"no table {shown(key)} in a catalog file"
        self.problems.append(Problem("unknown_key", key_path(*place, key), what, hints.fix(key)))

    def _no_table(self, path: str, value: object) -> Problem:
        self.settled.add(path)
        problem = misfit(path, TABLE, value)
        return Problem(problem.rule, path, problem.what, f"write [{path}], and its keys below")
