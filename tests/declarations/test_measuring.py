from __future__ import annotations

import json
from collections import OrderedDict
from enum import Enum
from types import MappingProxyType
from typing import Any
from unittest.mock import MagicMock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltel.declarations import Declaration, measure

SCHEMA = {
    "type": "object",
    "properties": {"order_id": {"type": "string", "description": "Such as o-17, grüße"}, "limit": {"type": "integer"}},
    "required": ["order_id"],
}
SAID = {"name": "order_lookup", "description": "Look up one order."}
PLAIN = {**SAID, "parameters": SCHEMA}


class Dumped:
    """An object as frameworks have them, with a method that gives plain data."""

    def __init__(self, data: dict[str, Any]) -> None:
        self._data = data


class Pydantic(Dumped):
    def model_dump(self, *, mode: str, by_alias: bool, exclude_none: bool) -> dict[str, Any]:
        assert (mode, by_alias, exclude_none) == ("json", True, True)
        return self._data


class WithToDict(Dumped):
    def to_dict(self) -> dict[str, Any]:
        return self._data


class WithDict(Dumped):
    def dict(self) -> dict[str, Any]:
        return self._data


FORMS: dict[str, Any] = {
    "plain": PLAIN,
    "OpenAI chat completions": {"type": "function", "function": PLAIN},
    "OpenAI responses": {"type": "function", **PLAIN, "strict": True},
    "Anthropic": {**SAID, "input_schema": SCHEMA, "cache_control": {"type": "ephemeral"}},
    "Gemini": {"function_declarations": [PLAIN]},
    "Gemini on the wire": {"functionDeclarations": [PLAIN]},
    "Gemini with JSON Schema": {"functionDeclarations": [{**SAID, "parametersJsonSchema": SCHEMA}]},
    "MCP": {**SAID, "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}},
    "MCP list": {"tools": [{**SAID, "inputSchema": SCHEMA}]},
    "Bedrock": {"toolSpec": {**SAID, "inputSchema": {"json": SCHEMA}}},
    "Bedrock tool configuration": {"tools": [{"toolSpec": {**SAID, "inputSchema": {"json": SCHEMA}}}]},
    "JSON text": json.dumps(PLAIN),
    "JSON bytes": json.dumps([PLAIN]).encode(),
    "pydantic": Pydantic(PLAIN),
    "pydantic tool of a list": Pydantic({"function_declarations": [PLAIN]}),
    "to_dict": WithToDict(PLAIN),
    "dict": WithDict(PLAIN),
    "another mapping": MappingProxyType(PLAIN),
    "another order of keys": OrderedDict(reversed(PLAIN.items())),
    "nested list": [[PLAIN]],
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_name_fingerprint_and_properties(form: str) -> None:
    (declaration,) = measure([FORMS[form]])
    (plain,) = measure([PLAIN])
    assert declaration.name == "order_lookup"
    assert declaration.properties == {"order_id", "limit"}
    assert declaration.sha == plain.sha
    assert declaration.problem is None


@pytest.mark.parametrize("form", ["plain", "OpenAI chat completions", "Anthropic", "MCP", "Bedrock"])
def test_characters_are_those_of_the_compact_json_that_is_sent(form: str) -> None:
    (declaration,) = measure([FORMS[form]])
    assert declaration.text == json.dumps(FORMS[form], ensure_ascii=False, separators=(",", ":"))
    assert declaration.chars == len(declaration.text)
    assert "grüße" in declaration.text


def test_one_declaration_may_come_alone() -> None:
    assert measure(PLAIN) == measure([PLAIN]) == measure(json.dumps(PLAIN))


def test_a_tool_of_many_functions_is_many_declarations() -> None:
    other = {**PLAIN, "name": "order_find"}
    found = measure([{"functionDeclarations": [PLAIN, other]}, PLAIN])
    assert [declaration.name for declaration in found] == ["order_lookup", "order_find", "order_lookup"]


@pytest.mark.parametrize(
    "change",
    [
        {"name": "order_find"},
        {"description": "Look up one order!"},
        {"parameters": {**SCHEMA, "required": []}},
        {"parameters": {**SCHEMA, "required": ["limit", "order_id"]}},
        {"parameters": None},
    ],
)
def test_whatever_the_model_is_shown_changes_the_fingerprint(change: dict[str, Any]) -> None:
    assert measure([{**PLAIN, **change}])[0].sha != measure([PLAIN])[0].sha


def test_a_declaration_without_parameters_has_no_properties() -> None:
    (declaration,) = measure([SAID])
    assert (declaration.name, declaration.properties, declaration.problem) == ("order_lookup", frozenset(), None)


@pytest.mark.parametrize(
    ("sent", "name"),
    [({"type": "web_search_preview"}, "web_search_preview"), ({"type": "bash_1", "name": "bash"}, "bash")],
)
def test_a_tool_of_the_provider_counts_under_its_name_or_type(sent: dict[str, str], name: str) -> None:
    (declaration,) = measure([sent])
    assert (declaration.name, declaration.problem) == (name, None)


def _cycle() -> dict[str, Any]:
    cycle: dict[str, Any] = {"name": "order_lookup"}
    cycle["parameters"] = {"properties": cycle}
    return cycle


class RaisingDump:
    def to_dict(self) -> dict[str, Any]:
        raise KeyError("no")


class RaisingText:
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    "sent",
    [
        None,
        5,
        "no JSON",
        b"\xff",
        {},
        {"name": ""},
        {"name": 5},
        {"description": "nameless"},
        {"type": "function"},
        {"function": {"description": "nameless"}},
        {"name": "order_lookup", "parameters": []},
        {"name": "order_lookup", "parameters": {(1, 2): 3}},
        {"name": "order_lookup", "parameters": {"properties": {"x": RaisingText()}}},
        _cycle(),
        RaisingDump(),
        MagicMock(),
        print,
        [[None]],
        '{"name": "a"' + "[" * 100_000,
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_declaration_comes_back_nameless_with_a_problem_and_hides_no_other(sent: Any) -> None:
    before, bad, after = measure([PLAIN, sent, PLAIN])
    assert before == after == measure([PLAIN])[0]
    assert bad.name == ""
    assert bad.problem
    assert bad.problem.isprintable()
    assert bad.chars == len(bad.text)


def test_a_malformed_declaration_still_counts_its_characters() -> None:
    (declaration,) = measure([{"description": "nameless"}])
    assert declaration.chars == len('{"description":"nameless"}')


def test_an_iterable_that_raises_gives_what_came_before() -> None:
    def sent() -> Any:
        yield PLAIN
        raise RuntimeError("gone")

    first, second = measure(sent())
    assert first.name == "order_lookup"
    assert "RuntimeError" in (second.problem or "")


def test_values_that_json_does_not_know_are_measured_the_same_every_time() -> None:
    class Kind(Enum):
        ONE = 1

    schema = {"properties": {"a": {"enum": {"x", "y", "z"}, "default": Kind.ONE}}, "type": Pydantic({"a": 1})}
    (declaration,) = measure([{"name": "order_lookup", "parameters": schema}])
    assert declaration.problem is None
    assert '"enum":["x","y","z"]' in declaration.text
    assert '"type":{"a":1}' in declaration.text


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
keys = st.sampled_from(["name", "description", "parameters", "function", "tools", "toolSpec", "inputSchema", "type"])


@pytest.mark.slow
@given(st.lists(st.dictionaries(keys, json_values) | json_values, max_size=4))
def test_measuring_never_raises(sent: list[Any]) -> None:
    for declaration in measure(sent):
        assert isinstance(declaration, Declaration)
        assert declaration.chars == len(declaration.text)
        assert bool(declaration.name) != bool(declaration.problem)
