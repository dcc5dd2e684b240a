"""What an answer to `tools/call` is, in the classes of mcp 1.x and 2.x, or as it goes over the wire."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from mcp.shared import exceptions

# 2.0 gave its error another name, and the fields of models snake case; on the wire they are as they were.
MCPError: Final[type[Exception]] = getattr(exceptions, "MCPError", None) or getattr(exceptions, "McpError")  # noqa: B009
_WIRE: Final = {
    "input_schema": "inputSchema",
    "is_error": "isError",
    "next_cursor": "nextCursor",
    "result_type": "resultType",
    "structured_content": "structuredContent",
}
_INTERIM: Final = "input_required"  # 2.x: the call is made again, once somebody has answered
_ROOM_TO_JUDGE: Final = 65_536  # characters of a result that are read as JSON; a longer one costs more than it tells
_SHAPES: Final = ('"status"', '"replayed"')


class Answer(NamedTuple):
    """
    What came back for a call: `text` of its only block of text, `structured` content where it has any.

    `is_interim` says that it is no result yet, but a question.
    """

    is_error: bool = False
    text: str | None = None
    structured: Any = None
    is_interim: bool = False


def field(value: object, name: str) -> Any:
    """The field *name*, in snake case, of a model of either version or of wire data; None where it has none."""
    wire = _WIRE.get(name, name)
    if isinstance(value, Mapping):
        return value.get(wire)
    # By the old name only where there is no new one: fastmcp 4.x warns of it.
    return getattr(value, name) if hasattr(value, name) else getattr(value, wire, None)


def read_answer(result: object) -> Answer:
    """Read any result of a call: a model, one of 1.x inside its ServerResult, or wire data."""
    result = getattr(result, "root", result)
    return Answer(
        is_error=field(result, "is_error") is True,
        text=_only_text(field(result, "content")),
        structured=field(result, "structured_content"),
        is_interim=field(result, "result_type") == _INTERIM,
    )


def judgeable(answer: Answer) -> object:
    """What the tool gave, in the form whose shape may say something: its mapping, or else its text."""
    structured, text = answer.structured, answer.text
    if isinstance(structured, Mapping):
        inner = structured.get("result") if len(structured) == 1 else None  # what is no object is sent in one
        return inner if isinstance(inner, Mapping) else structured
    if text is None or not text.startswith("{") or len(text) > _ROOM_TO_JUDGE:
        return text
    if not any(shape in text for shape in _SHAPES):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _only_text(content: object) -> str | None:
    if not isinstance(content, Sequence) or isinstance(content, str) or len(content) != 1:
        return None
    text = field(content[0], "text")
    return text if isinstance(text, str) else None
