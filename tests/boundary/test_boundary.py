"""A home-made loop learns before anything runs whether the tool is there and the raw arguments match."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from tooltel import Catalog, Owner, Profile, Tool, Tooltel
from tooltel.boundary import find_faults
from tooltel.signals import Reason
from tooltel.testing import Captured, capture

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "boundary"
SCHEMA = {
    "type": "object",
    "properties": {
        "nights": {"type": "integer"},
        "kind": {"enum": ["single", "double"]},
        "guest": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    },
    "required": ["nights"],
    "additionalProperties": False,
}
OPENAI = [{"type": "function", "function": {"name": "book_room", "parameters": SCHEMA}}]
ANTHROPIC = [{"name": "book_room", "input_schema": SCHEMA}]
GEMINI = [{"functionDeclarations": [{"name": "book_room", "parametersJsonSchema": SCHEMA}]}]


@pytest.fixture
def tel() -> Tooltel:
    """A hotel with a desk and a back office."""
    tools = [
        Tool("book_room", "hotel", profiles=("desk",), aliases=("reserve_room",), retired=("book",)),
        Tool("close_books", "hotel", profiles=("office",)),
    ]
    profiles = [Profile("desk", "hotel", budget_chars=1000), Profile("office", "hotel")]
    catalog = Catalog(tools=tools, owners=[Owner("hotel")], profiles=profiles, platform_owner="hotel")
    return Tooltel(catalog, registry=CollectorRegistry())


@pytest.fixture
def seen(tel: Tooltel) -> Iterator[Captured]:
    """What is recorded in a session of the desk that was offered its one tool."""
    with capture(tel) as found, tel.session(profile="desk", id="s-1"):
        tel.offered(OPENAI)
        yield found


@pytest.mark.parametrize("declarations", [OPENAI, ANTHROPIC, GEMINI])
def test_every_providers_shape_is_understood(tel: Tooltel, declarations: list[Any]) -> None:
    with tel.session(profile="desk"):
        tel.offered(declarations)
        assert tel.requested("book_room", {"nights": 2}).is_good
        assert [fault.field for fault in tel.requested("book_room", {}).faults] == ["nights"]


def test_what_was_offered_is_measured_against_the_profiles_budget(tel: Tooltel, seen: Captured) -> None:
    assert seen.increase("tooltel_declaration_chars", profile="desk") > 100
    assert seen.increase("tooltel_profile_tools", profile="desk") == 1
    assert [facts["tools"] for facts in seen.logged("tools_offered")] == [["book_room"]]


@pytest.mark.parametrize(
    ("name", "reason", "requested"),
    [
        ("book", Reason.RENAMED, "book"),
        ("close_books", Reason.NOT_IN_PROFILE, "close_books"),
        ("get_wether", Reason.UNKNOWN, "other"),
        ("", Reason.EMPTY, "other"),
        (None, Reason.EMPTY, "other"),
        ("functions.book_room", Reason.UNKNOWN, "other"),
        ("x" * 3000 + "\nERROR forged", Reason.UNKNOWN, "other"),
    ],
)
def test_a_name_that_was_not_offered_is_counted_with_its_reason(
    tel: Tooltel, seen: Captured, name: object, reason: Reason, requested: str
) -> None:
    found = tel.requested(name, {"nights": 2}, call_id="c-1")
    assert found.missing is not None
    assert found.missing.reason is reason
    assert not found.is_good
    labels = {"profile": "desk", "reason": reason.value, "requested": requested}
    assert seen.increase("tooltel_tool_not_found_total", **labels) == 1


@pytest.mark.parametrize(
    ("arguments", "fields"),
    [
        ({"nights": "10"}, ["nights"]),
        ({"nights": "ten", "kind": "Single"}, ["nights", "kind"]),
        ({}, ["nights"]),
        (None, ["nights"]),
        ({"nights": 2, "colour": "red"}, ["colour"]),
        ({"nights": None}, ["nights"]),
        ({"nights": 2, "guest": {}}, ["guest.name"]),
        ('{"nights": 2,', [""]),
        ("[1, 2]", [""]),
    ],
)
def test_raw_arguments_that_do_not_match_are_told_by_field_and_counted_once(
    tel: Tooltel, seen: Captured, arguments: object, fields: list[str]
) -> None:
    found = tel.requested("book_room", arguments)
    assert sorted(fault.field for fault in found.faults) == sorted(fields)
    labels = {"tool": "book_room", "kind": "structural", "source": "schema"}
    assert seen.increase("tooltel_rejections_total", **labels) == 1
    assert len(seen.logged("tool_rejected")) == 1
    assert seen.outcomes == []  # nothing has run
    assert seen.increase("tooltel_tool_calls_total") == 0


def test_only_properties_of_the_schema_are_labels(tel: Tooltel, seen: Captured) -> None:
    tel.requested("book_room", {"nights": 2, "made_up_by_the_model": 1})
    tel.requested("book_room", {"nights": 2, "guest": {}})
    assert seen.increase("tooltel_rejected_fields_total", field="other") == 1
    assert seen.increase("tooltel_rejected_fields_total", field="guest") == 1


def test_good_arguments_are_given_as_data_and_an_alias_is_a_tool(tel: Tooltel, seen: Captured) -> None:
    assert tel.requested("book_room", '{"nights": 2}').arguments == {"nights": 2}
    assert tel.requested("reserve_room", {}).missing is None
    assert seen.increases().keys() == {
        key for key in seen.increases() if "declaration" in key[0] or "profile" in key[0]
    }


def test_without_an_offer_the_catalog_says_what_is_there(tel: Tooltel) -> None:
    with tel.session(profile="desk"):
        assert tel.requested("book_room", {"anything": 1}).is_good
        assert tel.requested("get_wether").missing is not None


def test_nothing_that_a_schema_refers_to_is_fetched() -> None:
    """A foreign server's schema must not make the agent's machine ask another one."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.2)
        for kind in ({"$ref": f"http://127.0.0.1:{listener.getsockname()[1]}/x"}, {"$ref": "file:///etc/hostname"}):
            with pytest.raises(Exception, match="Unresolvable"):
                find_faults({}, kind)
        with pytest.raises(TimeoutError):
            listener.accept()


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"pattern": "^(a+)+$"}, "a" * 60 + "!"),
        ({"pattern": "^(a|a){1,99}$"}, "a" * 60 + "!"),
        ({"pattern": "a*a*a*a*a*b"}, "a" * 5000),
        ({"patternProperties": {"^(a+)+$": {}}}, {"a" * 60 + "!": 1}),
        ({"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False}, {"a" * 60 + "!": 1}),
        ({"patternProperties": {"^(a+)+$": {}}, "unevaluatedProperties": False}, {"a" * 60 + "!": 1}),
        ({"uniqueItems": True}, [{"k": number} for number in range(5000)]),
        ({"$ref": "#/$defs/0"}, 1),
    ],
)
def test_no_schema_and_no_arguments_take_forever(schema: dict[str, Any], value: Any) -> None:
    """Each of these would keep an agent busy for minutes, or until the end of the world."""
    doubled = {str(at): {"allOf": [{"$ref": f"#/$defs/{at + 1}"}] * 2} for at in range(40)}
    whole = {"properties": {"a": schema}, "$defs": {**doubled, "40": {"type": "integer"}}}
    assert find_faults({"a": value}, whole) == ()


def test_what_is_quick_to_check_is_checked() -> None:
    schema = {
        "properties": {
            "a": {"pattern": "^o-[0-9]+$"},
            "b": {"uniqueItems": True},
            "c": {"patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": False},
        }
    }
    assert find_faults({"a": "o-1", "b": [1, 2], "c": {"x1": 1}}, schema) == ()
    found = find_faults({"a": "o-x", "b": [1, 1], "c": {"x1": "1", "y": 1}}, schema)
    assert {fault.field for fault in found} == {"a", "b", "c.x1", "c.y"}


def test_offers_of_two_sessions_are_apart(tel: Tooltel) -> None:
    with tel.session(profile="desk"):
        tel.offered(OPENAI)
        with tel.session(profile="office"):
            tel.offered([{"name": "close_books"}])
            assert tel.requested("book_room", {"nights": 2}).missing is not None
        assert tel.requested("book_room", {"nights": 2}).is_good


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_no_arguments_and_no_schema_raise(payload: Any) -> None:
    tel = Tooltel(registry=CollectorRegistry())
    with tel.session():
        tel.offered([{"name": "a_tool", "parameters": payload}, {"name": payload}, payload])
        tel.requested("a_tool", payload)
        tel.requested(payload, payload)


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*_loop.py")), ids=lambda path: path.stem)
def test_the_examples_run(example: Path) -> None:
    done = subprocess.run([sys.executable, example], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "'lines': 10" in lines[0]
    assert "no tool" in lines[1]
    assert "errors" in lines[2]
