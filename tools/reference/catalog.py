"""The page about the catalog file: every table, every key, with type, default and meaning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, fields
from typing import Any, Final

from tools.reference import sentences
from tools.reference.markdown import code, page, table
from tooltel.artifacts import RenderOptions
from tooltel.artifacts.option_values import OPTIONS
from tooltel.catalog import Catalog, HouseRules, McpServer, Owner, Profile, Signature, Source, Tool
from tooltel.catalog.shapes import FIELDS, Shape
from tooltel.loading.tables import REQUIRED, SETTINGS
from tooltel.promql import duration

_HEAD: Final = ("key", "type", "default", "meaning")
# A table of the file, the noun that it makes, and what is said of it.
_TABLES: Final = (
    ("[owners.NAME]", Owner, "A team. Receivers are Alertmanager's own tables, passed through; secrets stay in files."),
    ("[profiles.NAME]", Profile, "A kind of agent, and the set of tools that it may see."),
    ("[tools.NAME]", Tool, "A tool. The name is the one that the model calls."),
    (
        "[mcp.NAME]", McpServer,
        "An MCP server. Checked today; what servers really offer is not yet held against it.",
    ),
    ("[sidecar.sources.NAME]", Source, "What [the sidecar](../sidecar.md) reads. The name is a label."),
    ("[[signatures]]", Signature, "Log lines of your own that tell of a call, for the sidecar and the log processors."),
)  # fmt: skip


def catalog_page() -> str:
    """The whole schema."""
    return page(
        "Catalog keys",
        "Everything that a catalog file may say; an unknown key is an error. [Writing a catalog](../catalog.md) shows "
        "how it is used. Names have at most 128 characters, and none that cannot be printed.",
        *_section("[catalog]", "Who answers for the whole, and the house's rules.", _settings()),
        *(part for head, noun, said in _TABLES for part in _section(head, said, _fields(noun))),
        *_section("[render]", "What [rendering](cli.md) needs to know of the fleet.", _options()),
    )


def _section(head: str, said: str, rows: Iterable[tuple[str, ...]]) -> tuple[str, str, str]:
    return f"## {head}", said, table(_HEAD, rows)


def _settings() -> Iterator[tuple[str, ...]]:
    own = {key: shape for key, shape in SETTINGS.items() if key not in FIELDS[HouseRules]}
    defaults = _defaults(Catalog) | {"session_retention": duration(_defaults(Catalog)["session_retention"])}
    yield from _rows(own, defaults, (), sentences.CATALOG)
    yield from _fields(HouseRules)


def _fields(noun: type) -> Iterator[tuple[str, ...]]:
    yield from _rows(FIELDS[noun], _defaults(noun), REQUIRED.get(noun, ()), sentences.NOUNS[noun])


def _rows(
    shapes: Mapping[str, Shape], defaults: Mapping[str, Any], required: Iterable[str], said: Mapping[str, str]
) -> Iterator[tuple[str, ...]]:
    for key, shape in shapes.items():
        default = "required" if key in required else _written(defaults.get(key))
        yield code(key), shape.words.removeprefix("a "), default, said[key]


def _options() -> Iterator[tuple[str, ...]]:
    defaults = _defaults(RenderOptions)
    for key in (*OPTIONS, "alerts"):
        kind = "table" if isinstance(defaults[key], Mapping) else "string"
        yield code(key), kind, _written(defaults[key]), sentences.RENDER[key]


def _defaults(noun: Any) -> dict[str, Any]:
    found = {}
    for each in fields(noun):
        if each.default is not MISSING:
            found[each.name] = each.default
        elif each.default_factory is not MISSING:
            found[each.name] = each.default_factory()
    return found


def _written(value: object) -> str:
    """A default as a file would have it, or nothing where it means that there is none."""
    if value is None or value in ("", ()) or value == {}:
        return ""
    if isinstance(value, bool):
        return code(str(value).lower())
    return code(f'"{value}"' if isinstance(value, str) else value)
