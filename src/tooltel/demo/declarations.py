"""What the model is shown of the desk's tools: built from signatures, as agent frameworks do it."""

from __future__ import annotations

import inspect
import re
import types
from typing import TYPE_CHECKING, Annotated, Any, Final, Union, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_TYPES: Final[Mapping[type, str]] = types.MappingProxyType(
    {str: "string", int: "integer", bool: "boolean", float: "number"}
)


def declare(name: str, tool: Callable[..., Any]) -> dict[str, Any]:
    """The declaration of one tool: its name, its docstring, and a JSON Schema of its parameters."""
    hints = get_type_hints(tool, include_extras=True)
    parameters = inspect.signature(tool).parameters
    properties = {key: _schema(hints[key]) for key in parameters}
    required = [key for key, parameter in parameters.items() if parameter.default is parameter.empty]
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"name": name, "description": inspect.getdoc(tool) or "", "parameters": schema}


def declare_all(tools: Mapping[str, Callable[..., Any]], names: Iterable[str]) -> list[dict[str, Any]]:
    """The declarations of the tools of those *names*."""
    return [declare(name, tools[name]) for name in names]


def _schema(hint: Any) -> dict[str, Any]:
    description: dict[str, Any] = {}
    if get_origin(hint) is Annotated:
        hint, text = get_args(hint)[:2]
        description = {"description": text}
    if get_origin(hint) in (Union, types.UnionType):
        hint = next(each for each in get_args(hint) if each is not type(None))
    if get_origin(hint) is list:
        return {"type": "array", "items": _schema(get_args(hint)[0]), **description}
    return {"type": _TYPES[hint], **description}


def count_tokens(text: str) -> int:
    """About as many tokens as a model would see: a word or a sign is one. No tokenizer, a demo's guess."""
    return len(re.findall(r"[A-Za-z]+|\d{1,3}|[^\sA-Za-z0-9]", text))
