"""The forms in which frameworks and model providers write a declaration, told apart by their keys."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_LISTS: Final = ("function_declarations", "functionDeclarations")  # Gemini: a tool is a list of functions
_WRAPPERS: Final = ("toolSpec", "function")  # Bedrock, OpenAI's chat completions
_SCHEMAS: Final = (
    "parameters",  # OpenAI, Gemini
    "input_schema",  # Anthropic
    "inputSchema",  # MCP, Bedrock
    "parameters_json_schema",  # Gemini, JSON Schema instead of its own types
    "parametersJsonSchema",
)
_DUMPS: Final = ("model_dump", "to_dict", "dict")  # pydantic 2, hand-written, pydantic 1


class Form(NamedTuple):
    """One declaration: what is `sent` for it, and what it says; `problem` where that is too little."""

    sent: Any
    name: str = ""
    description: str = ""
    schema: Mapping[str, Any] | None = None
    problem: str | None = None


def read_forms(given: object) -> Iterator[Form]:
    """
    Find every declaration in *given*: one, a list, a table with `tools`, JSON text, objects with a dump.

    A piece that is no declaration comes as a Form with a `problem`; what raises in a dump, raises here.
    """
    plain = _plain(given)
    if isinstance(plain, Mapping):
        inner = next((plain[key] for key in ("tools", *_LISTS) if _is_list(plain.get(key))), None)
        if inner is None:
            yield _form(plain)
        else:
            yield from chain.from_iterable(map(read_forms, inner))
    elif _is_list(plain):
        yield from chain.from_iterable(map(read_forms, plain))
    else:
        yield Form(plain, problem=f"is no declaration but a {type(plain).__name__}")


def _form(sent: Mapping[str, Any]) -> Form:
    body = next((sent[key] for key in _WRAPPERS if isinstance(sent.get(key), Mapping)), sent)
    name, description = body.get("name"), body.get("description")
    schema = next((body[key] for key in _SCHEMAS if body.get(key) is not None), None)
    if isinstance(schema, Mapping) and set(schema) == {"json"}:  # Bedrock
        schema = schema["json"]
    if hasattr(type(schema), "model_dump"):
        schema = _plain(schema)
    problem = None
    if not isinstance(name, str) or not name:
        # A provider's own tool, such as {"type": "web_search"}, is shown to the model under its type.
        kind = sent.get("type")
        name = kind if isinstance(kind, str) and kind not in ("function", "object") else ""
        problem = None if name else "has no name"
    if schema is not None and not isinstance(schema, Mapping):
        problem, schema = problem or "its schema is no object", None
    return Form(sent, name, description if isinstance(description, str) else "", schema, problem)


def _is_list(value: object) -> bool:
    return isinstance(value, (list, tuple))


def _plain(value: Any) -> Any:
    """Turn JSON text and dumpable objects into plain data; give anything else back."""
    if isinstance(value, (str, bytes, bytearray)):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return as_data(value)


def as_data(value: Any) -> Any:
    """Dump an object of a framework's class; give anything else back."""
    if isinstance(value, (Mapping, list, tuple)):
        return value
    for name in _DUMPS:
        # Asked of the class: a mock or a proxy answers to every name.
        if callable(getattr(type(value), name, None)):
            dump = getattr(value, name)
            return dump(mode="json", by_alias=True, exclude_none=True) if name == "model_dump" else dump()
    return value
