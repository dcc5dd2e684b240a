"""Label values are few and clean, whatever a model, a tool or a server makes up; what is folded is counted."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prometheus_client import generate_latest

import tooltel
from tests.signals.desk import Desk, make_catalog, make_tools, raising, rejection
from tests.signals.scrape import OPENMETRICS, families, parse, samples, series, total, values
from tooltel import signals
from tooltel.signals import Status

DURATIONS = "gen_ai_execute_tool_duration_seconds_count"
OVERFLOW = "tooltel_label_overflow_total"

HOSTILE = st.one_of(
    st.text(st.characters(), max_size=40),  # lone surrogates, controls, separators included
    st.sampled_from(
        [
            "", " ", "\n", "\x00", "\ud800", "\x1b[2J", "functions.order_lookup", "order_lookup<|channel|>commentary",
            'x"} 1\ntooltel_fake_total{tool="y', "other", "none", "limit", "query", "a" * 3000, "refund",
            "order_refund", "\u2028", "\u202eevil", "é", "工具",
        ]
    ),
)  # fmt: skip


def error_named(name: str) -> Exception:
    made: Exception = type(name, (Exception,), {})()
    return made


def types_of(desk: Desk, tool: str = "kb_search") -> set[str]:
    return {dict(has)["error_type"] for has in series(samples(desk.tel), DURATIONS, gen_ai_tool_name=tool)}


def test_fifty_error_types_of_a_tool_keep_their_names_and_the_rest_is_other() -> None:
    desk = Desk()
    for number in range(60):
        desk.act("kb_search", raising(error_named(f"Error{number}")))
    assert types_of(desk) == {f"Error{number}" for number in range(50)} | {"other"}
    found = samples(desk.tel)
    assert total(found, DURATIONS, error_type="other") == 10
    assert total(found, OVERFLOW, metric="gen_ai_execute_tool_duration_seconds") == 10
    assert total(found, OVERFLOW) == 10


def test_a_good_call_is_no_error_type_whether_it_comes_first_or_last() -> None:
    for first in (True, False):
        desk = Desk()
        if first:
            desk.act("kb_search")
        for number in range(60):
            desk.act("kb_search", raising(error_named(f"Error{number}")))
        desk.act("kb_search")
        assert types_of(desk) == {""} | {f"Error{number}" for number in range(50)} | {"other"}
        assert total(samples(desk.tel), DURATIONS, error_type="") == (2 if first else 1)


def test_an_error_type_that_was_there_early_keeps_its_name_after_the_bound() -> None:
    desk = Desk()
    for number in range(60):
        desk.act("kb_search", raising(error_named(f"Error{number}")))
    desk.act("kb_search", raising(error_named("Error0")))
    assert total(samples(desk.tel), DURATIONS, error_type="Error0") == 2


def test_each_tool_has_fifty_of_its_own() -> None:
    desk = Desk()
    for tool in ("kb_search", "order_lookup"):
        for number in range(55):
            desk.act(tool, raising(error_named(f"{tool}{number}")))
    assert len(types_of(desk, "kb_search")) == len(types_of(desk, "order_lookup")) == 51


def test_fifty_policies_of_a_tool_keep_their_names_and_the_rest_is_other() -> None:
    desk = Desk()
    for number in range(60):
        desk.act("order_refund", raising(tooltel.Refused("no", policy=f"policy {number}")))
    found = samples(desk.tel)
    assert values(found, "tooltel_policy_refusals_total", "policy") == {f"policy {n}" for n in range(50)} | {"other"}
    assert total(found, "tooltel_policy_refusals_total", policy="other") == 10
    assert total(found, OVERFLOW, metric="tooltel_policy_refusals_total") == total(found, OVERFLOW) == 10


def test_two_hundred_unowned_tools_keep_their_names_and_the_rest_is_other() -> None:
    desk = Desk()
    for number in range(230):
        with desk.tel.call(f"stranger_{number}") as call:
            call.returned("done")
    found = samples(desk.tel)
    expected = {f"stranger_{number}" for number in range(200)} | {"other"}
    assert values(found, DURATIONS, "gen_ai_tool_name") == expected
    assert {dict(has)["tool"] for has in series(found, "tooltel_tool_calls_total", owner="unowned")} == expected
    assert total(found, "tooltel_tool_calls_total", tool="other", owner="unowned", risk="unknown") == 30
    assert total(found, OVERFLOW, metric="tooltel_tool_calls_total") == total(found, OVERFLOW) == 30
    assert total(found, "tooltel_tool_calls_active") == 0


def test_an_early_unowned_tool_keeps_its_name_after_the_bound() -> None:
    desk = Desk()
    for number in (*range(230), 0):
        with desk.tel.call(f"stranger_{number}"):
            pass
    assert total(samples(desk.tel), "tooltel_tool_calls_total", tool="stranger_0") == 2


def test_threads_do_not_stretch_a_bound() -> None:
    desk = Desk()
    tool = desk.tool("order_refund")
    ready = threading.Barrier(8)

    def work(mine: int) -> None:
        ready.wait()
        for number in range(40):
            for error in (error_named(f"E{mine}_{number}"), tooltel.Refused("", policy=f"p{mine}_{number}")):
                with pytest.raises(type(error)):
                    tool(raising(error))

    threads = [threading.Thread(target=work, args=(mine,)) for mine in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = samples(desk.tel)
    assert len(types_of(desk, "order_refund")) == 51
    assert len(values(found, "tooltel_policy_refusals_total", "policy")) == 51
    assert total(found, "tooltel_policy_refusals_total") == 320
    assert total(found, DURATIONS) == 640


def test_requested_is_only_ever_a_name_that_the_catalog_knows() -> None:
    desk = Desk()
    known = {"refund", "refund_order", "order_lookup", "kb_search"}
    for name in (*known, "invented", "Refund", "refund ", "functions.refund", "", "order_lookup\n"):
        with desk.tel.session(profile="support"):
            desk.tel.not_found(name)
    assert values(samples(desk.tel), "tooltel_tool_not_found_total", "requested") == known | {"other"}


def test_profiles_are_those_of_the_catalog_or_other_or_none() -> None:
    desk = Desk()
    desk.act("kb_search")
    for profile in ("support", "sales", "nobody", "SUPPORT", "", "x" * 3000, "a\nb"):
        with desk.tel.session(profile=profile):
            desk.act("kb_search")
            desk.tel.not_found("zork")
    found = samples(desk.tel)
    assert values(found, "tooltel_tool_calls_total", "profile") == {"support", "sales", "other", "none"}
    assert values(found, "tooltel_tool_not_found_total", "profile") == {"support", "sales", "other"}


def test_a_server_that_declares_hostile_properties_cannot_break_a_scrape() -> None:
    """Declarations of an MCP server are as foreign as the model's text: a lone surrogate fails every scrape."""
    desk = Desk()
    desk.tool("order_lookup")
    names = ["\ud800", "x\ny", "z" * 500, "\x1b[2J", "", "sane"]
    declaration = {"name": "order_lookup", "parameters": {"properties": {name: {} for name in names}}}
    desk.tel.declared("support", [declaration])
    desk.publish(Status.INVALID_ARGUMENTS, rejections=(rejection(*names),))
    assert values(samples(desk.tel), "tooltel_rejected_fields_total", "field") == {"sane", "other"}


def test_properties_that_change_with_every_declaration_do_not_grow_the_labels() -> None:
    desk = Desk()
    desk.tool("order_lookup")
    for number in range(2000):
        declaration = {"name": "order_lookup", "parameters": {"properties": {f"p{number}": {}}}}
        desk.tel.declared("support", [declaration])
        desk.publish(Status.INVALID_ARGUMENTS, rejections=(rejection(f"p{number}"),))
    assert len(values(samples(desk.tel), "tooltel_rejected_fields_total", "field")) <= 210


def test_a_name_outside_the_catalog_that_is_declared_becomes_no_label() -> None:
    desk = Desk()
    before = {name: len(has) for name, has in by_name(desk).items()}
    for number in range(300):
        desk.tel.declared("support", [{"name": f"stranger{number}", "parameters": {}}])
        desk.tel.declared(f"profile{number}", [{"name": "kb_search"}])
    after = {name: len(has) for name, has in by_name(desk).items()}
    grown = {name: count for name, count in after.items() if before.get(name) != count}
    assert max(grown.values()) <= 2, grown
    assert values(samples(desk.tel), "tooltel_declaration_chars", "profile") == {"support", "other"}


def by_name(desk: Desk) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for name, has in samples(desk.tel):
        found.setdefault(name, []).append(has)
    return found


# --- fuzz: one desk lives through everything that hypothesis makes up ---


@pytest.fixture(scope="module")
def battered() -> Desk:
    desk = Desk(catalog=make_catalog())
    for tool in make_tools():
        desk.tool(tool.name)
    return desk


def unowned_call(desk: Desk, name: str) -> None:
    with desk.tel.call(name) as call:
        call.returned({"status": "refused", "policy": name})


def hostile_class(name: str) -> Exception:
    cleaned = name.replace("\x00", "").encode("utf-8", "replace").decode()  # what `type` accepts as a name
    return error_named(cleaned)


ACTIONS: dict[str, Any] = {
    "not_found": lambda desk, text: desk.tel.not_found(text),
    "unowned": unowned_call,
    "rejected": lambda desk, text: desk.act("order_lookup", raising(tooltel.Rejected(text, problem=text))),
    "refused": lambda desk, text: desk.act("order_refund", raising(tooltel.Refused(text, policy=text))),
    "class": lambda desk, text: desk.act("kb_search", raising(hostile_class(text))),
    "errors": lambda desk, text: desk.act("order_update", lambda: {"status": text, "errors": [{"field": text}, text]}),
    "invalid": lambda desk, text: desk.act(
        "order_update", lambda: {"status": "invalid_arguments", "errors": [{"field": text}, text, None]}
    ),
    "partial": lambda desk, text: desk.act(
        "order_update", lambda: {"status": "partial", "results": [{"status": text}, text]}
    ),
    "framework": lambda desk, text: desk.publish(Status.INVALID_ARGUMENTS, rejections=(rejection(text, text + ".x"),)),
    "declared": lambda desk, text: desk.tel.declared(
        text, [{"name": text, "parameters": {"properties": {text: {}}}}, {"name": "kb_search", "description": text}]
    ),
}  # fmt: skip

# What the bounds allow in all: fifty error types or policies for each of five tools and two hundred strangers ...
PER_SERIES = {
    "tooltel_tool_calls_total": (5 + 201) * 4 * 10,
    DURATIONS: 5 * 52 + 201 * 3,
    "tooltel_policy_refusals_total": 51 + 201 * 51,
    "tooltel_tool_not_found_total": 4 * 60,
    "tooltel_rejected_fields_total": 5 * 210 * 2,
    "tooltel_rejections_total": 5 * 6,
    "tooltel_batch_items_total": 5 * 4,
    "tooltel_declaration_chars": 4,
    "tooltel_tool_declaration_info": 5,
}
CLOSED = {
    "outcome": {status.value for status in Status},
    "reason": {reason.value for reason in signals.Reason},
    "kind": {kind.value for kind in signals.RejectionKind},
    "source": {source.value for source in signals.RejectionSource},
    "status": {status.value for status in signals.ItemStatus},
    "risk": {risk.value for risk in signals.Risk} | {"unknown"},
    "profile": {"support", "sales", "other", "none"},
    "owner": {"kb", "orders", "payments", "support-platform", "platform", "unowned"},
}


@pytest.mark.slow
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    steps=st.lists(st.tuples(st.sampled_from(sorted([*ACTIONS, "missing argument"])), HOSTILE), min_size=1, max_size=8),
    profile=st.one_of(st.none(), st.sampled_from(["support", "sales"]), HOSTILE),
    agent=st.one_of(st.none(), HOSTILE),
    session_id=st.one_of(st.none(), HOSTILE),
)
def test_no_hostile_text_makes_an_unbounded_or_unreadable_series(
    battered: Desk, steps: list[tuple[str, str]], profile: str | None, agent: str | None, session_id: str | None
) -> None:
    with battered.tel.session(profile=profile, agent=agent, id=session_id):
        for action, text in steps:
            if action == "missing argument":
                with pytest.raises(TypeError):
                    battered.tool("order_lookup")(lambda: None, **{text: 1}, **{text + "_": 1})
            else:
                ACTIONS[action](battered, text)
    text = generate_latest(battered.tel.view).decode()
    counted: dict[str, int] = {}
    for name, has in parse(text):
        counted[name] = counted.get(name, 0) + 1
        for label, value in has:
            assert len(value) <= 128
            assert value.isprintable(), (name, label, value)
            assert value in CLOSED.get(label, {value}), (name, label, value)
    for name, bound in PER_SERIES.items():
        assert counted.get(name, 0) <= bound, name
    assert total(parse(text), "tooltel_internal_errors_total") == 0


def test_the_battered_desk_is_still_valid_openmetrics(battered: Desk) -> None:
    for text in ("a\nb", 'x"y\\z', "工具", ""):
        battered.act("kb_search", raising(hostile_class(text)))
        unowned_call(battered, text)
    with battered.tel.serve(port=0) as exposition:
        assert families(exposition.url, OPENMETRICS)
