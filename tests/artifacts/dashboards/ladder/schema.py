"""
Rung 1: a JSON schema of the classic format, read off the SDK's typed models.

The SDK ships no schema in its package. Its models say the name and the type of every key, so the schema is
made from them: every key is known, required ones are there, enumerations hold. What a panel's options and
custom fields are is chosen by its type, and the transformations and overrides that we write are spelled out.
"""

from __future__ import annotations

import enum
import types
import typing
from collections.abc import Iterator
from typing import Any, Final

from jsonschema import Draft202012Validator

from tooltel.artifacts.dashboards.sdk import (
    bargauge,
    common,
    dashboard,
    heatmap,
    prometheus,
    stat,
    table,
    timeseries,
)

if typing.TYPE_CHECKING:
    from tests.artifacts.dashboards.ladder.reading import Json

OPTIONS: Final[dict[str, type]] = {
    "stat": stat.Options,
    "timeseries": timeseries.Options,
    "bargauge": bargauge.Options,
    "heatmap": heatmap.Options,
    "table": table.Options,
}
CUSTOM: Final[dict[str, type]] = {
    "timeseries": common.GraphFieldConfig,
    "heatmap": heatmap.FieldConfig,
    "table": common.TableFieldOptions,
}
PRIMITIVES: Final = {str: "string", bool: "boolean", int: "integer", float: "number"}
DROPPED: Final = {"placement"}  # the SDK always writes it, Grafana does not need it

TEXT: Final[Json] = {"type": "string", "minLength": 1}
STEPS: Final[Json] = {
    "type": "array",
    "minItems": 1,
    "items": {
        "type": "object",
        "required": ["value", "color"],
        "properties": {"value": {"type": ["number", "null"]}, "color": TEXT},
        "additionalProperties": False,
    },
}
LINKS: Final[Json] = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["title", "url"],
        "properties": {"title": TEXT, "url": TEXT},
        "additionalProperties": False,
    },
}
OVERRIDES: Final[dict[str, Json]] = {
    "unit": TEXT,
    "decimals": {"type": "integer", "minimum": 0},
    "noValue": TEXT,
    "links": LINKS,
    "mappings": {"type": "array"},
    "thresholds": {"type": "object", "properties": {"mode": {"const": "absolute"}, "steps": STEPS}},
    "color": {"type": "object", "properties": {"mode": {"const": "fixed"}, "fixedColor": TEXT}},
    "custom.width": {"type": "integer", "minimum": 40},
    "custom.cellOptions": {"type": "object", "properties": {"type": {"enum": ["color-text", "gauge"]}}},
    "min": {"type": "number"},
}
TRANSFORMATIONS: Final[dict[str, Json]] = {
    "merge": {"type": "object", "maxProperties": 0},
    "organize": {
        "type": "object",
        "required": ["excludeByName", "indexByName", "renameByName"],
        "properties": {
            "excludeByName": {"type": "object", "additionalProperties": {"type": "boolean"}},
            "indexByName": {"type": "object", "additionalProperties": {"type": "integer"}},
            "renameByName": {"type": "object", "additionalProperties": TEXT},
        },
        "additionalProperties": False,
    },
    "sortBy": {"type": "object", "required": ["fields", "sort"]},
    "limit": {"type": "object", "required": ["limitField"]},
}


def schema_faults(board: Json) -> list[str]:
    """One sentence for everything in *board* that the format does not know."""
    return [f"{'/'.join(str(part) for part in fault.absolute_path)}: {fault.message[:200]}" for fault in _errors(board)]


def _errors(board: Json) -> Iterator[Any]:
    whole = {"$ref": "#/$defs/Dashboard", "$defs": _definitions()}
    yield from Draft202012Validator(whole).iter_errors(board)


class _Schemas:
    """Definitions as they are found; a model is described once."""

    def __init__(self) -> None:
        self.found: dict[str, Json] = {}

    def of(self, kind: Any) -> Json:
        """The schema of any annotation."""
        origin = typing.get_origin(kind)
        if origin in (typing.Union, types.UnionType):
            return {"anyOf": [self.of(each) for each in typing.get_args(kind)]}
        if origin is typing.Literal:
            return {"enum": list(typing.get_args(kind))}
        if origin is list:
            return {"type": "array", "items": self.of(typing.get_args(kind)[0])}
        if origin is dict:
            return {"type": "object", "additionalProperties": self.of(typing.get_args(kind)[1])}
        if kind is type(None):
            return {"type": "null"}
        if kind in PRIMITIVES:
            return {"type": PRIMITIVES[kind]}
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            return {"enum": [member.value for member in kind]}
        if isinstance(kind, type) and hasattr(kind, "to_json"):
            return self.model(kind)
        return {}  # `object`: what it is depends on the plugin

    def model(self, kind: type) -> Json:
        """The schema of a model of the SDK, by reference."""
        if kind.__name__ == "Dataquery":
            kind = prometheus.Dataquery
        name = f"{kind.__module__.rpartition('.')[2]}.{kind.__qualname__}"
        if name not in self.found:
            self.found[name] = {}
            self.found[name] = self.described(kind)
        return {"$ref": f"#/$defs/{name}"}

    def described(self, kind: type) -> Json:
        """Keys, types and required keys of a model, found by letting it write itself."""
        hints = typing.get_type_hints(kind)
        names = {key: attribute for attribute, key in _written(kind, dict.fromkeys(hints, object)).items()}
        required = set(_written(kind, dict.fromkeys(hints, lambda: None)).values())
        properties = {}
        for key, attribute in names.items():
            properties[key] = self.of(_without_none(hints[attribute], keep=key in required))
        return {
            "type": "object",
            "properties": properties,
            "required": sorted(required - DROPPED),
            "additionalProperties": False,
        }


def _written(kind: type, makers: dict[str, Any]) -> dict[str, str]:
    """Attribute and key of everything that *kind* writes when its attributes are made by *makers*."""
    instance: Any = object.__new__(kind)
    values = {attribute: make() for attribute, make in makers.items()}
    for attribute, value in values.items():
        setattr(instance, attribute, value)
    written = instance.to_json()
    if all(value is None for value in values.values()):
        return {key: key for key in written}
    places = {id(value): attribute for attribute, value in values.items()}
    return {places[id(value)]: key for key, value in written.items()}


def _without_none(kind: Any, *, keep: bool) -> Any:
    if keep or typing.get_origin(kind) not in (typing.Union, types.UnionType):
        return kind
    rest = tuple(each for each in typing.get_args(kind) if each is not type(None))
    return typing.Union[rest]  # noqa: UP007 - made at run time


def _definitions() -> dict[str, Json]:
    schemas = _Schemas()
    board = schemas.described(dashboard.Dashboard)
    kinds = [_panel(schemas, name) for name in OPTIONS]
    row = schemas.model(dashboard.RowPanel)
    by_type = [
        {"if": {"properties": {"type": {"const": name}}}, "then": panel}
        for name, panel in zip(OPTIONS, kinds, strict=True)
    ]
    by_type.append({"if": {"properties": {"type": {"const": "row"}}}, "then": row})
    board["properties"]["panels"] = {
        "type": "array",
        "items": {
            "properties": {"type": {"enum": [*OPTIONS, "row"]}},
            "required": ["type"],
            "allOf": by_type,
        },
    }
    board["required"] = sorted({*board["required"], "uid", "title", "time", "refresh", "panels", "tags"})
    return {**schemas.found, "Dashboard": board}


def _panel(schemas: _Schemas, name: str) -> Json:
    panel = schemas.described(dashboard.Panel)
    custom = schemas.model(CUSTOM[name]) if name in CUSTOM else {"not": {}}
    defaults = schemas.described(dashboard.FieldConfig)
    defaults["properties"]["custom"] = custom
    panel["properties"]["options"] = schemas.model(OPTIONS[name])
    panel["properties"]["fieldConfig"] = {
        "type": "object",
        "required": ["defaults", "overrides"],
        "properties": {"defaults": defaults, "overrides": {"type": "array", "items": _override()}},
        "additionalProperties": False,
    }
    panel["properties"]["transformations"] = {
        "type": "array",
        "items": _one_of("id", "options", TRANSFORMATIONS),
    }
    needed = {"id", "title", "description", "datasource", "gridPos", "targets", "options", "fieldConfig"}
    panel["required"] = sorted({*panel["required"], *needed})
    return panel


def _override() -> Json:
    return {
        "type": "object",
        "required": ["matcher", "properties"],
        "properties": {
            "matcher": {
                "type": "object",
                "required": ["id", "options"],
                "properties": {"id": {"enum": ["byName", "byRegexp"]}, "options": TEXT},
                "additionalProperties": False,
            },
            "properties": {"type": "array", "items": _one_of("id", "value", OVERRIDES)},
        },
        "additionalProperties": False,
    }


def _one_of(key: str, value: str, known: dict[str, Json]) -> Json:
    chosen = [
        {"if": {"properties": {key: {"const": name}}}, "then": {"properties": {value: shape}}}
        for name, shape in known.items()
    ]
    return {
        "type": "object",
        "required": [key, value],
        "properties": {key: {"enum": list(known)}, value: {}},
        "additionalProperties": False,
        "allOf": chosen,
    }
