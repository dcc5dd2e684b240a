"""What a settled call or a drop adds to the metrics, and what it leaves alone."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import tooltel
from tests.signals.desk import Desk, make_catalog, make_tools, raising, rejection
from tests.signals.scrape import samples, series, total
from tooltel.catalog import Tool
from tooltel.signals import RejectionKind, RejectionSource, Status
from tooltel.testing import FakeClock, capture

CALLS = "tooltel_tool_calls_total"
DURATIONS = "gen_ai_execute_tool_duration_seconds_count"


@pytest.mark.parametrize(
    ("action", "outcome", "error_type"),
    [
        (lambda: "done", "ok", ""),
        (lambda: {"replayed": True}, "replayed", ""),
        (lambda: {"status": "partial", "results": [{"status": "ok"}]}, "partial", ""),
        (raising(ValueError()), "error", "ValueError"),
        (raising(TimeoutError()), "timeout", "timeout"),
        (raising(tooltel.Rejected("limit")), "invalid_arguments", "invalid_arguments"),
        (raising(tooltel.Refused("no", policy="p")), "refused", "refused"),
    ],
)
def test_a_call_counts_once_with_its_outcome_and_once_in_the_histogram(
    action: Any, outcome: str, error_type: str
) -> None:
    desk = Desk()
    with desk.tel.session(profile="support"):
        desk.act("kb_search", action)
    found = samples(desk.tel)
    tool = {"tool": "kb_search", "owner": "kb", "version": "3", "risk": "read"}
    assert total(found, CALLS) == total(found, CALLS, **tool, profile="support", outcome=outcome) == 1
    same = {"gen_ai_tool_name": "kb_search", "error_type": error_type, "owner": "kb", "risk": "read"}
    assert total(found, DURATIONS) == total(found, DURATIONS, **same) == 1


@pytest.mark.parametrize(
    ("requested", "profile", "labels"),
    [
        ("zork", "support", {"owner": "support-platform", "reason": "unknown", "requested": "other"}),
        ("", "support", {"owner": "support-platform", "reason": "empty", "requested": "other"}),
        (" \n", "sales", {"owner": "support-platform", "reason": "empty", "requested": "other"}),
        (None, "sales", {"owner": "support-platform", "reason": "empty", "requested": "other"}),
        ("refund", "support", {"owner": "payments", "reason": "renamed", "requested": "refund"}),
        ("order_refund", "sales", {"owner": "payments", "reason": "not_in_profile", "requested": "order_refund"}),
        ("zork", None, {"owner": "platform", "reason": "unknown", "requested": "other", "profile": "none"}),
        ("zork", "nobody", {"owner": "platform", "reason": "unknown", "requested": "other", "profile": "other"}),
        (["a", {}], "support", {"owner": "support-platform", "reason": "unknown", "requested": "other"}),
    ],
)
def test_a_drop_touches_not_found_and_nothing_else(requested: Any, profile: str | None, labels: dict[str, str]) -> None:
    desk = Desk()
    for tool in make_tools():
        desk.tool(tool.name)
    before = samples(desk.tel)
    with desk.tel.session(profile=profile):
        desk.tel.not_found(requested)
    after = samples(desk.tel)
    changed = {key: value for key, value in after.items() if before.get(key, 0.0) != value}
    ((name, has),) = changed
    assert name == "tooltel_tool_not_found_total"
    assert dict(has) == {"profile": profile} | labels
    assert set(after) - set(before) <= {(name, has)}
    assert changed[name, has] == 1


def test_a_call_outside_any_session_has_the_process_profile_or_none() -> None:
    for profile, label in ((None, "none"), ("sales", "sales"), ("nobody", "other")):
        desk = Desk(profile=profile)
        desk.act("kb_search")
        assert total(samples(desk.tel), CALLS, profile=label, outcome="ok") == 1


def test_a_rejected_call_counts_once_however_many_fields_are_wrong() -> None:
    desk = Desk()
    desk.tool("order_lookup")
    desk.publish(Status.INVALID_ARGUMENTS, rejections=(rejection("limit", "query", "limit", "zork", "zonk"),))
    found = samples(desk.tel)
    assert total(found, "tooltel_rejections_total") == 1
    fields = {dict(has)["field"]: value for has, value in series(found, "tooltel_rejected_fields_total").items()}
    assert fields == {"limit": 1, "query": 1, "other": 1}


def test_a_call_rejected_by_two_sources_counts_once_for_each() -> None:
    desk = Desk()
    both = (
        rejection("limit", source=RejectionSource.SCHEMA),
        rejection("limit", source=RejectionSource.FRAMEWORK),
    )
    desk.publish(Status.INVALID_ARGUMENTS, rejections=both)
    found = samples(desk.tel)
    assert total(found, "tooltel_rejections_total", kind="structural", source="schema") == 1
    assert total(found, "tooltel_rejections_total", kind="structural", source="framework") == 1


def test_two_verdicts_of_one_source_are_one_rejection() -> None:
    """A plug-in may hand in a verdict per argument; the call was rejected once all the same."""
    desk = Desk()
    desk.tool("order_lookup")
    desk.publish(Status.INVALID_ARGUMENTS, rejections=(rejection("limit"), rejection("limit", "query")))
    found = samples(desk.tel)
    assert total(found, "tooltel_rejections_total") == 1
    fields = {dict(has)["field"]: value for has, value in series(found, "tooltel_rejected_fields_total").items()}
    assert fields == {"limit": 1, "query": 1}


def test_a_call_may_be_ok_and_rejected_by_the_schema() -> None:
    """The framework coerced the arguments: the tool never knew, and the model still called it wrongly."""
    desk = Desk()
    desk.tool("order_lookup")
    desk.publish(Status.OK, rejections=(rejection("limit"),))
    found = samples(desk.tel)
    assert total(found, CALLS, outcome="ok") == total(found, CALLS) == 1
    assert total(found, "tooltel_rejections_total", source="schema", kind="structural") == 1
    assert total(found, "tooltel_rejected_fields_total", field="limit") == 1
    assert total(found, DURATIONS, error_type="") == 1


@pytest.mark.parametrize(
    ("field", "label"),
    [
        ("limit", "limit"),
        ("limit.deep.inside", "limit"),
        ("limit[0].sku", "limit"),
        ("items.limit", "other"),
        ("", "other"),
        ("LIMIT", "other"),
        ("limit\n", "other"),
        ("dotted.name", "dotted.name"),
        ("list[]", "list[]"),
    ],
)
def test_a_wrong_field_is_named_by_the_declared_property_it_is_in(field: str, label: str) -> None:
    desk = Desk()
    desk.tool("order_lookup")
    properties: Any = {"properties": {"dotted.name": {}, "list[]": {}}}
    desk.tel.declared("support", [{"name": "order_lookup", "parameters": properties}])
    desk.publish(Status.INVALID_ARGUMENTS, rejections=(rejection(field),))
    ((has, value),) = series(samples(desk.tel), "tooltel_rejected_fields_total").items()
    assert (dict(has)["field"], value) == (label, 1)


def test_a_domain_rejection_names_source_tool() -> None:
    desk = Desk()
    desk.act("order_lookup", raising(tooltel.Rejected("query")))
    found = samples(desk.tel)
    assert total(found, "tooltel_rejections_total") == 1
    assert total(found, "tooltel_rejections_total", kind=RejectionKind.DOMAIN.value, source="tool") == 1
    assert total(found, "tooltel_rejected_fields_total", kind="domain", field="query") == 1


def test_refusals_count_by_policy_even_without_a_name() -> None:
    desk = Desk()
    desk.act("order_refund", raising(tooltel.Refused("no", policy="refunds")))
    desk.act("order_refund", raising(tooltel.Refused("no", policy="")))
    desk.act("order_refund", lambda: {"status": "refused", "policy": ""})
    counted = series(samples(desk.tel), "tooltel_policy_refusals_total", tool="order_refund", risk="irreversible")
    assert {dict(has)["policy"]: value for has, value in counted.items()} == {"refunds": 1, "other": 2}


def test_items_of_a_partial_result_count_by_what_became_of_them() -> None:
    desk = Desk()
    results = [{"status": "ok"}, {"status": "ok"}, {"status": "failed"}, {"status": "compensated"}, {"status": "?"}, 7]
    desk.act("order_update", lambda: {"status": "partial", "results": results})
    counted = series(samples(desk.tel), "tooltel_batch_items_total", tool="order_update")
    assert {dict(has)["status"]: value for has, value in counted.items()} == {
        "ok": 2,
        "failed": 1,
        "compensated": 1,
        "outstanding": 2,
    }


def test_a_repeat_and_an_alias_count_beside_the_call() -> None:
    desk = Desk()
    old = desk.tel.alias("refund_order", desk.tool("order_refund"))
    with desk.tel.session(profile="support", id="s-1"):
        for _ in range(3):
            assert old(_done) == "done"
    found = samples(desk.tel)
    assert total(found, CALLS, tool="order_refund", outcome="ok", profile="support") == 3
    assert total(found, "tooltel_alias_calls_total", alias="refund_order", tool="order_refund") == 3
    assert total(found, "tooltel_repeated_calls_total", tool="order_refund", risk="irreversible") == 2


def _done() -> str:
    return "done"


# --- time and what is running ---


def test_the_duration_of_a_stream_is_the_time_in_its_own_steps() -> None:
    """A slow reader must not page the tool's owner."""
    clock = FakeClock()
    desk = Desk(clock=clock)

    def pages() -> Any:
        for page in range(3):
            clock.advance(0.5)
            yield page

    for _ in desk.tool("kb_read_pages")(pages):
        clock.advance(100.0)  # the reader
    found = samples(desk.tel)
    assert total(found, "gen_ai_execute_tool_duration_seconds_sum", gen_ai_tool_name="kb_read_pages") == 1.5
    assert total(found, "tooltel_stream_first_item_seconds_sum", tool="kb_read_pages", owner="kb") == 0.5
    assert total(found, "tooltel_stream_first_item_seconds_count") == 1


def test_a_stream_without_items_has_no_first_item() -> None:
    desk = Desk()
    assert list(desk.tool("kb_read_pages")(list)) == []
    assert total(samples(desk.tel), "tooltel_stream_first_item_seconds_count") == 0
    assert total(samples(desk.tel), CALLS, tool="kb_read_pages", outcome="ok") == 1


@pytest.mark.parametrize("end", [lambda: "done", raising(ValueError()), raising(KeyboardInterrupt())])
def test_a_call_is_active_while_it_runs_and_not_after(end: Any) -> None:
    desk = Desk()
    seen: list[float] = []

    def action() -> Any:
        seen.append(total(samples(desk.tel), "tooltel_tool_calls_active", tool="kb_search", owner="kb"))
        return end()

    try:
        desk.act("kb_search", action)
    except KeyboardInterrupt:
        seen.append(-1)
    assert seen[0] == 1
    assert total(samples(desk.tel), "tooltel_tool_calls_active") == 0


def test_an_outcome_that_no_wrapper_opened_leaves_the_gauge_alone() -> None:
    desk = Desk()
    desk.tool("order_lookup")
    desk.publish(Status.ERROR, error_type="Odd")
    assert total(samples(desk.tel), "tooltel_tool_calls_active") == 0


def test_a_call_that_outlives_a_change_of_owner_leaves_no_gauge_behind() -> None:
    desk = Desk()
    moved = [
        Tool(tool.name, "payments" if tool.name == "kb_search" else tool.owner, tool.risk, description="x" * 50)
        for tool in make_tools()
        if not tool.aliases
    ]

    def action() -> str:
        assert not desk.tel.reload(make_catalog(moved))
        return "done"

    desk.act("kb_search", action)
    found = samples(desk.tel)
    assert total(found, "tooltel_tool_calls_active", tool="kb_search") == 0
    assert all(value == 0 for value in series(found, "tooltel_tool_calls_active").values())
    assert total(found, CALLS, tool="kb_search", owner="kb", outcome="ok") == 1


def test_threads_that_meet_new_labels_at_once_lose_no_count() -> None:
    desk = Desk()
    tool = desk.tool("kb_search")
    ready = threading.Barrier(8)

    def work(number: int) -> None:
        ready.wait()
        for turn in range(200):
            error = type(f"Error{turn % 20}", (Exception,), {})
            with pytest.raises(error):
                tool(raising(error()))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = samples(desk.tel)
    assert total(found, CALLS, outcome="error") == total(found, DURATIONS) == 1600
    assert total(found, "tooltel_tool_calls_active") == 0


def test_the_kit_sees_the_same_increases_as_a_scrape() -> None:
    desk = Desk()
    desk.tool("kb_search")
    before = samples(desk.tel)
    with capture(desk.tel) as seen:
        desk.act("kb_search", raising(OSError()))
    after = samples(desk.tel)
    scraped = {key: value - before.get(key, 0.0) for key, value in after.items() if value != before.get(key, 0.0)}
    assert seen.increases() == scraped
