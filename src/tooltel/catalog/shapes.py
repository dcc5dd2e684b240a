"""What type of value each field of each noun takes: one table, for catalogs made in code and in files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from tooltel.catalog.nouns import HouseRules, McpServer, Owner, Profile, Signature, Source, Tool
from tooltel.catalog.paths import shown
from tooltel.errors import Problem


class Shape(NamedTuple):
    """A type of value: its `words` for a sentence, whether a value `fits`, and an `example` as TOML."""

    words: str
    fits: Callable[[Any], bool]
    example: str


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_version(value: object) -> bool:
    # No float: 1.10 would silently become 1.1.
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def _is_texts(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(each, str) for each in value)


def _is_table(value: object) -> bool:
    return isinstance(value, Mapping)


TEXT: Final = Shape("a string", _is_text, '"text"')
WHOLE: Final = Shape("a whole number", _is_whole, "40")
NUMBER: Final = Shape("a number", _is_number, "0.99")
FLAG: Final = Shape("true or false", _is_flag, "true")
VERSION: Final = Shape("a string or a whole number", _is_version, '"1.10"')
TEXTS: Final = Shape("a list of strings", _is_texts, '["one", "two"]')
TABLE: Final = Shape("a table", _is_table, "{ key = value }")
TABLES: Final = Shape("a list of tables", lambda value: isinstance(value, list), "[{ key = value }]")
DURATION: Final = Shape("a duration in quotes", _is_text, '"30d"')

FIELDS: Final[Mapping[type, Mapping[str, Shape]]] = MappingProxyType(
    {
        Owner: {"page": TABLE, "ticket": TABLE, "digest": TABLE},
        Profile: {"owner": TEXT, "budget_chars": WHOLE},
        Tool: {
            "owner": TEXT,
            "risk": TEXT,
            "version": VERSION,
            "profiles": TEXTS,
            "description": TEXT,
            "aliases": TEXTS,
            "retired": TEXTS,
            "objective": NUMBER,
            "latency_bound": NUMBER,
            "repeatable": FLAG,
            "result_shape": FLAG,
            "alerts": TABLE,
        },
        McpServer: {"owner": TEXT, "version": VERSION, "allow": TEXTS},
        Source: {"files": TEXTS, "format": TEXT, "profile": TEXT, "framework": TEXT, "plugin": FLAG},
        Signature: {"moment": TEXT, "pattern": TEXT, "logger": TEXT, "level": TEXT},
        HouseRules: {
            "name_pattern": TEXT,
            "description_min_chars": WHOLE,
            "budget_chars": WHOLE,
            "levels": TABLE,
        },
    }
)

# Fields that a noun may leave open. A file leaves the key out instead: TOML knows no null.
OPTIONAL: Final = frozenset(
    {
        "budget_chars",
        "description",
        "objective",
        "latency_bound",
        "repeatable",
        "profile",
        "framework",
        "logger",
        "level",
    }
)

# What a field may look like, where its shape alone says too little.
_EXAMPLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "aliases": '["old_name"]',
        "alerts": '{ ToolLatencyHigh = { severity = "page" } }',
        "allow": '["kb_search"]',
        "budget_chars": "12000",
        "files": '["/var/log/agent/*.log"]',
        "latency_bound": "2.56",
        "levels": '{ description = "warn" }',
        "moment": '"not_found"',
        "name_pattern": "'^[a-z][a-z0-9_]+$'",
        "owner": '"orders"',
        "page": '{ slack_configs = [{ channel = "#orders" }] }',
        "profiles": '["support"]',
        "retired": '["old_name"]',
        "risk": '"read"',
    }
)

_KINDS: Final = (
    (bool, "a boolean"),
    (int, "a whole number"),
    (float, "a number"),
    (str, "a string"),
    ((list, tuple), "a list"),
    (Mapping, "a table"),
    ((datetime, date, time), "a date or time"),
)


def misfit(path: str, shape: Shape, value: object) -> Problem:
    """The problem that *value*, found at *path*, is not of *shape*."""
    if shape is TEXTS and isinstance(value, (list, tuple)):
        odd = next(each for each in value if not isinstance(each, str))
        what = f"holds {_kind(odd)} where each item must be a string"
    else:
        what = f"is {_kind(value)} where {shape.words} belongs"
    field = path.rpartition(".")[2]
    better = _meant(shape, value) or _EXAMPLES.get(field, shape.example)
    if shape is VERSION and _is_number(value):  # 1.10 has become 1.1 by now: which was written is not known any more
        better += f', or "{value}0" if that was written: as numbers they are equal'
    return Problem("wrong_type", path, what, f"write {field} = {better}")


def _kind(value: object) -> str:
    return next((words for kind, words in _KINDS if isinstance(value, kind)), f"a {type(value).__name__}")


def _meant(shape: Shape, value: object) -> str | None:
    """The value as it was probably meant, as TOML."""
    if shape is TEXTS and isinstance(value, str):
        return f'["{shown(value)[1:-1]}"]'
    if shape in (TEXT, VERSION) and _is_number(value):
        return f'"{value}"'
    if isinstance(value, str) and shape in (WHOLE, NUMBER, FLAG):
        bare = value.strip().lower()
        if shape is FLAG and bare in ("true", "false"):
            return bare
        if shape is not FLAG and bare.replace(".", "", 1).isdecimal() and (shape is NUMBER or "." not in bare):
            return bare
    return None
