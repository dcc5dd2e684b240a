"""What a langchain-core tool publishes of its arguments, kept by the class (or the JSON Schema) that says it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from pydantic import ValidationError

from tooltel.integrations import validation
from tooltel.outcome import MAX_FAULTS, Fault
from tooltel.text import clean

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

# Making either costs milliseconds, and nothing in it depends on more than the class of the arguments.
_published: Final[WeakKeyDictionary[type, Mapping[str, Any]]] = WeakKeyDictionary()
_visible: Final[WeakKeyDictionary[type, Any]] = WeakKeyDictionary()


def published(tool: BaseTool) -> Mapping[str, Any] | None:
    """The JSON Schema that the model is shown for the arguments of *tool*; None where there is no class to ask."""
    schema = tool.args_schema
    if not isinstance(schema, type):
        return schema if isinstance(schema, Mapping) else None  # JSON Schema, as of a tool from an MCP server
    found = _published.get(schema)
    if found is None:
        shown = _shown(tool, schema)
        made = shown.model_json_schema() if hasattr(shown, "model_json_schema") else shown.schema()
        found = _published.setdefault(schema, made)
    return found


def hidden_fields(tool: BaseTool) -> frozenset[str]:
    """The arguments of *tool* that the host injects, and the model never sees."""
    schema = tool.args_schema
    return frozenset() if not isinstance(schema, type) else _fields(schema) - _fields(_shown(tool, schema))


def misfits(tool: BaseTool, arguments: Mapping[str, Any]) -> Sequence[Fault]:
    """What is wrong with *arguments* by the schema of *tool*; empty when nothing is, or nobody can say."""
    schema = tool.args_schema
    if not isinstance(schema, type):
        return ()
    shown = _shown(tool, schema)
    try:
        (shown.model_validate if hasattr(shown, "model_validate") else shown.parse_obj)(dict(arguments))
    except ValueError as error:  # as which pydantic's validation errors of both generations count
        return faults_of(error)
    return ()


def faults_of(error: BaseException) -> Sequence[Fault]:
    """What a validation error of pydantic's (of either generation) found; empty for any other error."""
    if isinstance(error, ValidationError):
        return validation.faults_of(error)
    tell = getattr(error, "errors", None)
    if not callable(tell):
        return ()
    # The first generation, which langchain-core takes too: asked by its look, as newer Pythons cannot import it.
    found = [each for each in tell() if isinstance(each, Mapping) and "loc" in each and "msg" in each]
    return [Fault(clean(".".join(map(str, each["loc"]))), clean(each["msg"])) for each in found[:MAX_FAULTS]]


def _shown(tool: BaseTool, schema: type) -> Any:
    found = _visible.get(schema)
    if found is None:
        found = _visible.setdefault(schema, tool.tool_call_schema)
    return found


def _fields(schema: Any) -> frozenset[str]:
    return frozenset(getattr(schema, "model_fields", None) or getattr(schema, "__fields__", {}))
