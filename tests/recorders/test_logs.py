"""Log events: their names, levels and keys; where they go; and that no text of a model can forge a line."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

import tooltel
from tests.signals.desk import Desk, make_catalog, raising, rejection
from tooltel.signals import Status
from tooltel.testing import FakeClock, capture

TOOL_KEYS = {
    "gen_ai.tool.name": "kb_search",
    "tool.owner": "kb",
    "tool.version": "3",
    "tool.risk": "read",
    "tool.profile": "support",
    "gen_ai.agent.name": "a-1",
    "gen_ai.conversation.id": "s-1",
    "seconds": 0.0,
}


@pytest.fixture(autouse=True)
def own_structlog() -> Iterator[None]:
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()


@pytest.fixture
def desk() -> Desk:
    return Desk(clock=FakeClock())


def events(desk: Desk, action: Any) -> list[tuple[str, str, dict[str, Any]]]:
    """Level, name and facts of what *action* logs, in a session."""
    with desk.tel.session(profile="support", agent="a-1", id="s-1"), capture(desk.tel) as seen:
        action()
    return [(event.level, event.name, dict(event.facts)) for event in seen.events]


def ids(desk: Desk, seen: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in seen.items() if key not in ("trace_id", "span_id")}


# --- what is said ---


def test_a_good_call_is_one_debug_line_with_the_keys_of_its_span(desk: Desk) -> None:
    ((level, name, facts),) = events(desk, lambda: desk.act("kb_search"))
    assert (level, name) == ("debug", "tool_call")
    assert len(facts.pop("trace_id")) == 32
    assert len(facts.pop("span_id")) == 16
    assert facts == TOOL_KEYS | {"tool.outcome": "ok"}


@pytest.mark.parametrize(
    ("action", "outcome", "error_type"),
    [
        (raising(ValueError("secret")), "error", "ValueError"),
        (raising(TimeoutError()), "timeout", "timeout"),
        (lambda: {"content": [], "isError": True}, "error", "tool_error"),
    ],
)
def test_a_failed_call_is_one_warning_without_the_exceptions_words(
    desk: Desk, action: Any, outcome: str, error_type: str
) -> None:
    ((level, name, facts),) = events(desk, lambda: desk.act("kb_search", action))
    assert (level, name) == ("warning", "tool_call")
    assert ids(desk, facts) == TOOL_KEYS | {"tool.outcome": outcome, "error.type": error_type}


def test_a_rejection_says_kind_source_and_each_fault(desk: Desk) -> None:
    action = raising(tooltel.Rejected("limit", problem="5000 is out of range", expected="1 to 100"))
    (_, name, facts), (level, call, _) = events(desk, lambda: desk.act("kb_search", action))
    assert (name, level, call) == ("tool_rejected", "warning", "tool_call")
    assert facts["faults"] == ["limit: 5000 is out of range"]
    assert (facts["kind"], facts["source"]) == ("domain", "tool")
    assert facts["tool.outcome"] == "invalid_arguments"


def test_a_call_that_went_well_and_was_rejected_by_the_schema_warns_of_that(desk: Desk) -> None:
    found = events(desk, lambda: desk.publish(Status.OK, rejections=(rejection("limit", "query"),)))
    assert [(level, name) for level, name, _ in found] == [("warning", "tool_rejected"), ("debug", "tool_call")]
    assert found[0][2]["faults"] == ["limit: is wrong", "query: is wrong"]
    assert (found[0][2]["kind"], found[0][2]["source"]) == ("structural", "schema")


def test_a_refusal_says_its_policy(desk: Desk) -> None:
    found = events(desk, lambda: desk.act("order_refund", raising(tooltel.Refused("secret", policy="refunds"))))
    assert [(level, name) for level, name, _ in found] == [("warning", "tool_refused"), ("warning", "tool_call")]
    assert found[0][2]["policy"] == "refunds"
    assert "secret" not in str(found)


def test_a_partial_result_says_what_became_of_the_items(desk: Desk) -> None:
    result = {"status": "partial", "results": [{"status": "ok"}, {"status": "failed"}]}
    found = events(desk, lambda: desk.act("order_update", lambda: result))
    assert [(level, name) for level, name, _ in found] == [
        ("warning", "tool_result_partial"),
        ("warning", "tool_call"),
    ]
    assert found[0][2]["items"] == {"ok": 1, "failed": 1}


def test_an_alias_call_is_an_info(desk: Desk) -> None:
    old = desk.tel.alias("change_order", desk.tool("order_update"))
    found = events(desk, lambda: old(lambda: "done"))
    assert [(level, name) for level, name, _ in found] == [("info", "tool_alias_called"), ("debug", "tool_call")]
    assert found[0][2]["tool.alias"] == "change_order"


def test_a_repeated_call_says_when_it_was_first_seen(desk: Desk) -> None:
    def twice() -> None:
        for _ in range(2):
            desk.act("order_update", str)

    found = events(desk, twice)
    assert [(level, name) for level, name, _ in found] == [
        ("debug", "tool_call"),
        ("warning", "tool_call_repeated"),
        ("debug", "tool_call"),
    ]
    assert 0 <= found[1][2]["first_seen"] < 60


@pytest.mark.parametrize(
    ("requested", "reason", "nearest", "owner"),
    [
        ("kb_serch", "unknown", "kb_search", "support-platform"),
        ("refund", "renamed", "order_refund", "payments"),
        ("kb_read_pages", "not_in_profile", None, "kb"),
        ("", "empty", None, "support-platform"),
        ("zzzzzzzzzzz", "unknown", None, "support-platform"),
    ],
)
def test_a_drop_is_one_warning_that_says_why_and_what_was_meant(
    desk: Desk, requested: str, reason: str, nearest: str | None, owner: str
) -> None:
    ((level, name, facts),) = events(desk, lambda: desk.tel.not_found(requested, call_id="c-7"))
    assert (level, name) == ("warning", "tool_not_found")
    expected = {
        "requested": requested,
        "reason": reason,
        "nearest": nearest,
        "tool.profile": "support",
        "tool.owner": owner,
        "gen_ai.agent.name": "a-1",
        "gen_ai.conversation.id": "s-1",
        "gen_ai.tool.call.id": "c-7",
        "tool.outcome": "not_found",
        "error.type": "tool_not_found",
    }
    assert facts == {key: value for key, value in expected.items() if value is not None}


def test_a_drop_inside_the_hosts_span_carries_its_trace(desk: Desk) -> None:
    def drop() -> None:
        with desk.spans.provider.get_tracer("host").start_as_current_span("agent") as span:
            desk.tel.not_found("zork")
            context.append(span.get_span_context())

    context: list[Any] = []
    ((_, _, facts),) = events(desk, drop)
    assert facts["trace_id"] == f"{context[0].trace_id:032x}"
    assert facts["span_id"] == f"{context[0].span_id:016x}"


def test_an_unknown_profile_is_warned_about_once(desk: Desk) -> None:
    with capture(desk.tel) as seen:
        for _ in range(3):
            with desk.tel.session(profile="nobody\n"):
                desk.act("kb_search")
    (facts,) = seen.logged("catalog_problem")
    assert "nobody" in facts["problem"]
    assert {event.name for event in seen.events} == {"catalog_problem", "tool_call"}


def test_reloads_are_logged_with_what_came_of_them(desk: Desk) -> None:
    with capture(desk.tel) as seen:
        desk.tel.reload(make_catalog())
        desk.tel.reload("/nowhere/tools.toml")
    (reloaded, failed) = seen.events
    assert (reloaded.level, reloaded.name) == ("info", "catalog_reloaded")
    assert reloaded.facts == {"sha": desk.tel.catalog.sha, "tools": 5}
    assert (failed.level, failed.name) == ("error", "catalog_reload_failed")
    assert "/nowhere/tools.toml" in failed.facts["problems"][0]


def test_renamed_attributes_rename_the_keys_too() -> None:
    desk = Desk(settings={"attribute_owner": "team", "attribute_profile": "agent.profile"})
    ((_, _, facts),) = events(desk, lambda: desk.act("kb_search"))
    assert (facts["team"], facts["agent.profile"]) == ("kb", "support")
    assert not {"tool.owner", "tool.profile"} & set(facts)


# --- how much is said ---

NOISE = {
    "all": ["tool_call", "tool_call", "tool_not_found", "tool_alias_called", "tool_call"],
    "failures": ["tool_call", "tool_not_found", "tool_alias_called"],
    "off": [],
}


@pytest.mark.parametrize("level", [logging.DEBUG, logging.INFO])
@pytest.mark.parametrize("log_calls", ["all", "failures", "off", "auto"])
@pytest.mark.parametrize("alias_first", [True, False])
def test_log_calls_settles_which_calls_are_written(
    caplog: pytest.LogCaptureFixture, log_calls: str, level: int, alias_first: bool
) -> None:
    """`auto` writes good calls where debug is logged; whether the first call was a plain one makes no difference."""
    caplog.set_level(level, "tooltel")
    desk = Desk(settings={"log_calls": log_calls})
    old = desk.tel.alias("change_order", desk.tool("order_update"))
    if alias_first:
        old(lambda: "done")
    desk.act("kb_search")
    desk.act("kb_search", raising(OSError()))
    desk.tel.not_found("zork")
    if not alias_first:
        old(lambda: "done")
    written = [record.getMessage().split()[0] for record in caplog.records]
    expected = NOISE["all" if (log_calls, level) == ("auto", logging.DEBUG) else log_calls.replace("auto", "failures")]
    if level == logging.INFO and log_calls == "all":
        expected = NOISE["failures"]  # debug lines are asked for, and the logger drops them
    assert sorted(written) == sorted(expected)
