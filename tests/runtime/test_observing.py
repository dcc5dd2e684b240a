"""Calls that a plug-in tells of: the session they are of, and the raw arguments that it hands in."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from opentelemetry.trace import INVALID_SPAN, get_current_span
from prometheus_client import CollectorRegistry

from tooltel import Catalog, HouseRules, Tool, Tooltel, signals
from tooltel.call import current_call, current_session
from tooltel.errors import Level
from tooltel.outcome import Fault
from tooltel.redact import REDACTED
from tooltel.settings import Settings
from tooltel.signals import RejectionKind, Status
from tooltel.testing import capture

if TYPE_CHECKING:
    from tooltel.call import Session
    from tooltel.testing import Captured


def a_session(tel: Tooltel, id_: str, profile: str = "support") -> Session:
    with tel.session(profile=profile, agent="desk_agent", id=id_) as session:
        return session


def test_an_observed_call_is_of_the_session_that_it_is_given(tel: Tooltel, seen: Captured) -> None:
    call = tel.observe("kb_search", {}, session=a_session(tel, "s-1"))
    call.finish("found")
    assert [outcome.origin for outcome in seen.outcomes] == [("support", "desk_agent", "s-1")]


def test_what_an_observed_call_calls_is_of_that_session_too(tel: Tooltel, seen: Captured) -> None:
    @tel.tool(owner="kb", risk="read", description="Search the knowledge base for one text.")
    def kb_inner() -> None:
        return None

    call = tel.observe("agent_tool", {}, session=a_session(tel, "s-1"))
    kb_inner()
    call.finish(None)
    inner, outer = seen.outcomes
    assert (inner.origin.session_id, inner.parent) == ("s-1", "agent_tool")
    assert (outer.origin.session_id, outer.parent) == ("s-1", None)


def test_a_drop_is_of_the_session_that_it_is_given_and_names_the_call_that_it_was_asked_in(
    tel: Tooltel, seen: Captured
) -> None:
    outer = tel.observe("agent_tool", {}, session=a_session(tel, "s-1"))
    tel.not_found("kb_find", session=a_session(tel, "s-2", "sales"))
    outer.finish(None)
    drop = seen.outcomes[0]
    assert (drop.origin.profile, drop.origin.session_id, drop.parent) == ("sales", "s-2", "agent_tool")


def test_a_call_of_another_session_inside_a_call_still_names_its_parent(tel: Tooltel, seen: Captured) -> None:
    outer = tel.observe("agent_tool", {}, session=a_session(tel, "s-1"))
    inner = tel.observe("kb_search", {}, session=a_session(tel, "s-2", "sales"))
    inner.finish(None)
    outer.finish(None)
    assert [(outcome.origin.session_id, outcome.parent) for outcome in seen.outcomes] == [
        ("s-2", "agent_tool"),
        ("s-1", None),
    ]


def test_the_end_of_an_observed_call_leaves_nothing_in_the_context(tel: Tooltel, seen: Captured) -> None:
    with tel.session(id="around") as around:
        tel.observe("kb_search", {}, session=a_session(tel, "s-1")).finish(None)
        assert current_session() is around
    assert current_session() is None
    assert current_call() is None
    assert get_current_span() is INVALID_SPAN


def test_a_wrapper_inside_is_counted_once_and_in_the_session_given(tel: Tooltel, seen: Captured) -> None:
    @tel.tool(owner="kb", risk="read", description="Search the knowledge base for one text.")
    def kb_search() -> str:
        return "found"

    call = tel.observe("kb_search", {}, session=a_session(tel, "s-1"))
    call.finish(kb_search())
    assert [outcome.origin.session_id for outcome in seen.outcomes] == ["s-1"]


@pytest.mark.parametrize(
    ("gives", "says", "counted"),
    [
        ({}, (Status.ERROR, "RuntimeError"), Status.OK),
        ({}, (Status.ERROR, "tool_error"), Status.ERROR),
        ({}, (Status.TIMEOUT, "timeout"), Status.TIMEOUT),
        ({"status": "refused", "policy": "house"}, (Status.ERROR, "tool_error"), Status.REFUSED),
        ({"status": "refused", "policy": "house"}, (Status.OK, ""), Status.REFUSED),
    ],
)
def test_a_wrapper_inside_outweighs_all_but_what_only_the_framework_can_know(
    tel: Tooltel, seen: Captured, gives: object, says: tuple[Status, str], counted: Status
) -> None:
    @tel.tool(owner="kb", risk="read", description="Search the knowledge base for one text.")
    def kb_search() -> object:
        return gives

    call = tel.observe("kb_search", {})
    kb_search()
    call.conclude(*says)
    assert [outcome.status for outcome in seen.outcomes] == [counted]


def test_the_schema_of_raw_arguments_names_the_fields_that_a_rejection_may_tell(tel: Tooltel, seen: Captured) -> None:
    tel.raw_arguments("kb_search", {"text": 1}, {"type": "object", "properties": {"text": {}, 3: {}}})
    tel.observe("kb_search", {}).reject([Fault("text", "no text"), Fault("made_up", "unknown")])
    fields = {"tool": "kb_search", "kind": RejectionKind.STRUCTURAL.value}
    assert seen.increase("tooltel_rejected_fields_total", field="text", **fields) == 1
    assert seen.increase("tooltel_rejected_fields_total", field="other", **fields) == 1


def test_raw_arguments_accept_any_schema(tel: Tooltel, seen: Captured) -> None:
    for schema in (None, [], "text", {"properties": []}, {"properties": {"\x00": 1, "\ud800": 2}}, object()):
        tel.raw_arguments("kb_search", {}, schema)


def test_a_call_that_is_put_off_has_not_failed_whatever_the_tool_raised_to_say_so(tel: Tooltel, seen: Captured) -> None:
    @tel.tool(owner="kb", risk="read", description="Search the knowledge base for one text.")
    def kb_search() -> None:
        raise LookupError("ask somebody first")

    call = tel.observe("kb_search", {})
    with pytest.raises(LookupError):
        kb_search()
    call.put_off()
    assert [(outcome.status, outcome.error_type) for outcome in seen.outcomes] == [(Status.CANCELLED, "cancelled")]


def test_an_end_that_a_framework_tells_twice_counts_once_and_breaks_nothing(tel: Tooltel, seen: Captured) -> None:
    call = tel.observe("kb_search", {})
    assert call.finish("found") == call.finish("found") == "found"
    call.reject()
    call.conclude(Status.ERROR)
    assert [outcome.status for outcome in seen.outcomes] == [Status.OK]
    assert current_call() is None


def test_an_error_that_nobody_names_is_an_error_all_the_same(tel: Tooltel, seen: Captured) -> None:
    tel.observe("kb_search", {}).conclude(Status.ERROR)
    assert seen.outcomes[0].error_type == "other"
    assert not seen.spans[0].status.is_ok


def test_arguments_that_are_the_models_text_are_read_where_repeats_are_counted(tel: Tooltel, seen: Captured) -> None:
    @tel.tool(owner="payments", risk="irreversible")
    def order_refund(order_id: str) -> None:
        """Pay an order back, once and for all."""

    texts = ('{"order_id": "o-1", "why": "late"}', '{"why": "late", "order_id": "o-1"}', '{"order_id": "o-2"}')
    for text in texts:
        tel.observe("order_refund", text, session=a_session(tel, "s-1")).finish(None)
    assert [outcome.repeated is not None for outcome in seen.outcomes] == [False, True, False]


@pytest.mark.parametrize("text", ["no JSON", "[1]", "null", "[" * 100_000, '{"n": ' + "9" * 5_000 + "}", "\ud800"])
def test_text_that_holds_no_arguments_is_a_call_all_the_same(tel: Tooltel, seen: Captured, text: str) -> None:
    @tel.tool(owner="payments", risk="irreversible")
    def order_refund(order_id: str) -> None:
        """Pay an order back, once and for all."""

    for _ in range(2):
        tel.observe("order_refund", text, session=a_session(tel, "s-1")).finish(None)
    assert [(outcome.status, outcome.repeated) for outcome in seen.outcomes] == [(Status.OK, None)] * 2


def test_payloads_of_the_models_own_text_are_kept_as_data_and_redacted() -> None:
    tel = Tooltel(registry=CollectorRegistry(), settings=Settings(capture_payloads=True))
    with capture(tel) as seen:
        tel.observe("card_pay", '{"card_number": "4111", "amount": 5}').finish(None)
    kept = json.loads(str((seen.spans[0].attributes or {})[signals.CALL_ARGUMENTS]))
    assert kept == {"card_number": REDACTED, "amount": 5}


def test_a_schema_that_changes_names_further_fields(tel: Tooltel, seen: Captured) -> None:
    for field in ("text", "limit"):
        for _ in range(2):
            tel.raw_arguments("kb_search", '{"text": 1}', {"properties": {field: {}}})
    tel.observe("kb_search").reject([Fault("text", "no text"), Fault("limit", "too many")])
    assert [seen.increase("tooltel_rejected_fields_total", field=name) for name in ("text", "limit")] == [1, 1]


def test_a_name_that_became_another_tools_is_noted_for_that_one(tel: Tooltel, seen: Captured) -> None:
    schema: dict[str, object] = {"properties": {"text": {}}}
    tel.raw_arguments("kb_find", {}, schema)
    tool = Tool("kb_search", "kb", risk="read", aliases=("kb_find",))
    tel.reload(Catalog(tools=[tool], house=HouseRules(levels={"description": Level.OFF}), open=True))
    tel.raw_arguments("kb_find", {}, schema)
    tel.observe("kb_find").reject([Fault("text", "no text")])
    assert seen.increase("tooltel_rejected_fields_total", tool="kb_search", field="text") == 1
