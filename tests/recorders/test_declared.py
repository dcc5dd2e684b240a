"""What the model was really sent: sizes, budgets, tokens and fingerprints, as last declared."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.signals.desk import Desk, make_catalog, make_tools, rejection
from tests.signals.scrape import samples, series, total, values
from tooltel import Catalog, Owner, Profile
from tooltel.signals import Status
from tooltel.testing import capture

INFO = "tooltel_tool_declaration_info"


def declaration(name: str, text: str = "Search.", **properties: Any) -> dict[str, Any]:
    return {"name": name, "description": text, "parameters": {"type": "object", "properties": properties}}


def size(*declarations: Any) -> int:
    return sum(len(json.dumps(each, separators=(",", ":"))) for each in declarations)


def shas(desk: Desk, **labels: str) -> set[str]:
    return {dict(has)["sha"] for has in series(samples(desk.tel), INFO, **labels)}


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_a_profile_shows_the_size_and_number_of_what_was_sent_and_its_budget(desk: Desk) -> None:
    sent = [declaration("kb_search", query={}), declaration("order_lookup", "Look up an order.")]
    desk.tel.declared("support", sent)
    found = samples(desk.tel)
    profile = {"profile": "support", "owner": "support-platform"}
    assert total(found, "tooltel_declaration_chars", **profile) == size(*sent)
    assert total(found, "tooltel_profile_tools", **profile) == 2
    assert total(found, "tooltel_declaration_budget_chars", **profile) == 4000
    assert total(found, "tooltel_tool_declaration_chars", tool="kb_search", owner="kb") == size(sent[0])
    assert total(found, "tooltel_tool_declaration_chars", tool="order_lookup", owner="orders") == size(sent[1])


def test_the_last_declaration_of_a_profile_counts(desk: Desk) -> None:
    desk.tel.declared("support", [declaration("kb_search"), declaration("order_lookup")])
    desk.tel.declared("support", [declaration("kb_search")])
    found = samples(desk.tel)
    assert total(found, "tooltel_profile_tools", profile="support") == 1
    assert total(found, "tooltel_declaration_chars", profile="support") == size(declaration("kb_search"))


def test_a_profile_may_declare_nothing(desk: Desk) -> None:
    desk.tel.declared("support", [])
    assert series(samples(desk.tel), "tooltel_declaration_chars") == {
        frozenset({("profile", "support"), ("owner", "support-platform")}): 0.0
    }


@pytest.mark.parametrize("shape", ["list", "generator", "mapping", "json", "bytes"])
def test_whatever_holds_the_declarations_they_are_the_same(desk: Desk, shape: str) -> None:
    sent = [declaration("kb_search"), declaration("order_lookup")]
    shapes: dict[str, Any] = {
        "list": sent,
        "generator": iter(sent),
        "mapping": {"tools": sent},
        "json": json.dumps(sent),
        "bytes": json.dumps(sent).encode(),
    }
    desk.tel.declared("support", shapes[shape])
    found = samples(desk.tel)
    assert total(found, "tooltel_profile_tools", profile="support") == 2
    assert total(found, "tooltel_declaration_chars", profile="support") == size(*sent)


def test_tokens_are_shown_where_a_counter_was_given() -> None:
    desk = Desk(count_tokens=lambda text: len(text.split('"')))
    sent = [declaration("kb_search"), declaration("order_lookup")]
    desk.tel.declared("support", sent)
    expected = sum(len(json.dumps(each, separators=(",", ":")).split('"')) for each in sent)
    found = series(samples(desk.tel), "tooltel_declaration_tokens")
    assert found == {frozenset({("profile", "support"), ("owner", "support-platform")}): expected}


@pytest.mark.parametrize("nonsense", [None, "12", ValueError("no such model")])
def test_a_token_counter_that_fails_costs_only_the_tokens(nonsense: Any) -> None:
    def count(text: str) -> Any:
        if isinstance(nonsense, Exception):
            raise nonsense
        return nonsense

    desk = Desk(count_tokens=count)
    with desk.tel.session(profile="support"):
        desk.tel.declared("support", [declaration("kb_search", sku={})])
    found = samples(desk.tel)
    assert total(found, "tooltel_declaration_chars") == size(declaration("kb_search", sku={}))
    assert len(shas(desk, tool="kb_search")) == 1
    assert not series(found, "tooltel_declaration_tokens")
    assert total(found, "tooltel_internal_errors_total", component="declarations") == 1


# --- fingerprints ---


def test_a_fingerprint_leaves_when_the_declaration_changes(desk: Desk) -> None:
    desk.tel.declared("support", [declaration("kb_search", "Search.")])
    before = shas(desk, tool="kb_search", version="3", owner="kb")
    desk.tel.declared("support", [declaration("kb_search", "Search well.")])
    after = shas(desk, tool="kb_search", version="3", owner="kb")
    assert len(before) == len(after) == 1
    assert before != after
    assert len(series(samples(desk.tel), INFO)) == 1


def test_the_order_of_keys_and_the_providers_wrapping_are_no_change(desk: Desk) -> None:
    desk.tel.declared("support", [declaration("kb_search", query={"type": "string"}, limit={})])
    before = shas(desk)
    turned = {
        "type": "function",
        "function": {
            "parameters": {"properties": {"limit": {}, "query": {"type": "string"}}, "type": "object"},
            "description": "Search.",
            "name": "kb_search",
        },
    }
    with capture(desk.tel) as seen:
        desk.tel.declared("support", [turned])
    assert shas(desk) == before
    assert not seen.logged("declaration_changed")


def test_a_change_without_a_new_version_is_logged_once(desk: Desk) -> None:
    with capture(desk.tel) as seen:
        for text in ("Search.", "Search.", "Search well.", "Search well."):
            desk.tel.declared("support", [declaration("kb_search", text)])
    (event,) = [event for event in seen.events if event.name == "declaration_changed"]
    assert event.level == "warning"
    assert event.facts == {"gen_ai.tool.name": "kb_search", "tool.version": "3", "sha": shas(desk).pop()}


def test_a_change_with_a_new_version_is_as_it_should_be(desk: Desk) -> None:
    desk.tel.declared("support", [declaration("kb_search", "Search.")])
    tools = make_tools()
    desk.tel.reload(make_catalog([replace(tools[0], version="4"), *tools[1:]]))
    with capture(desk.tel) as seen:
        desk.tel.declared("support", [declaration("kb_search", "Search well.")])
    assert not seen.logged("declaration_changed")
    assert len(shas(desk, version="4")) == 1
    assert not shas(desk, version="3"), "the old version is no longer sent"


def test_two_profiles_that_declare_one_tool_differently_are_both_shown_and_told_of_once(desk: Desk) -> None:
    """They differ for good, so each is in use: neither chases the other off, and no line is logged per model call."""
    with capture(desk.tel) as seen:
        for _ in range(5):
            desk.tel.declared("support", [declaration("kb_search", "Search for support.")])
            desk.tel.declared("sales", [declaration("kb_search", "Search for sales.")])
    assert len(shas(desk, tool="kb_search")) == 2
    assert len(seen.logged("declaration_changed")) == 1
    desk.tel.declared("sales", [declaration("kb_search", "Search for support.")])
    assert len(shas(desk, tool="kb_search")) == 1


def test_a_fingerprint_that_two_profiles_share_stays_until_both_have_changed(desk: Desk) -> None:
    for profile in ("support", "sales"):
        desk.tel.declared(profile, [declaration("kb_search", "Search.")])
    desk.tel.declared("support", [declaration("kb_search", "Search well.")])
    assert len(shas(desk)) == 2
    desk.tel.declared("sales", [declaration("kb_search", "Search well.")])
    assert len(shas(desk)) == 1


# --- names ---


def test_names_that_the_catalog_does_not_hold_are_no_labels_and_warned_about_once(desk: Desk) -> None:
    with capture(desk.tel) as seen:
        for _ in range(3):
            desk.tel.declared("support", [declaration("stranger\n"), declaration("kb_search")])
    found = samples(desk.tel)
    assert values(found, "tooltel_tool_declaration_chars", "tool") == {"kb_search"}
    assert values(found, INFO, "tool") == {"kb_search"}
    assert total(found, "tooltel_profile_tools", profile="support") == 2, "it is sent all the same"
    (warning,) = seen.logged("catalog_problem")
    assert "stranger" in warning["problem"]
    assert "\n" not in warning["problem"]


def test_a_profile_over_its_budget_is_warned_about(desk: Desk) -> None:
    with capture(desk.tel) as seen:
        desk.tel.declared("support", [declaration("kb_search", "x" * 5000)])
    (warning,) = seen.logged("catalog_problem")
    assert "its budget is 4000" in warning["problem"]
    assert total(samples(desk.tel), "tooltel_declaration_chars") > 4000


def test_fields_of_a_tool_declared_under_its_old_name_are_the_tools(desk: Desk) -> None:
    desk.tel.declared("support", [declaration("change_order", new_field={})])
    desk.publish(
        Status.INVALID_ARGUMENTS, tool=desk.tel.catalog.tools["order_update"], rejections=(rejection("new_field"),)
    )
    assert values(samples(desk.tel), "tooltel_rejected_fields_total", "field") == {"new_field"}


# --- what the session was offered ---


def test_the_tools_offered_are_logged_once_per_change(desk: Desk) -> None:
    one, two = declaration("kb_search"), declaration("order_lookup")
    with capture(desk.tel) as seen, desk.tel.session(profile="support"):
        for sent in ([one], [one], [one, two], [one, two], [one]):
            desk.tel.declared("support", sent)
    assert [facts["tools"] for facts in seen.logged("tools_offered")] == [
        ["kb_search"],
        ["kb_search", "order_lookup"],
        ["kb_search"],
    ]
    assert {event.level for event in seen.events} == {"info"}


# --- the catalog moves on ---


def with_profiles(*profiles: Profile) -> Catalog:
    owners = [Owner(name) for name in ("kb", "orders", "payments", "support-platform", "platform", "new-team")]
    return Catalog(tools=make_tools(), owners=owners, profiles=profiles, platform_owner="platform")


def test_a_profile_that_changes_hands_takes_its_gauges_along(desk: Desk) -> None:
    """Two owners of one profile would both be paged for its budget."""
    desk.tel.declared("support", [declaration("kb_search")])
    moved = with_profiles(Profile("support", "new-team", budget_chars=9000), Profile("sales", "support-platform"))
    assert not desk.tel.reload(moved)
    found = samples(desk.tel)
    for name in ("tooltel_declaration_chars", "tooltel_profile_tools", "tooltel_declaration_budget_chars"):
        assert values(found, name, "owner") == {"new-team"}
    assert total(found, "tooltel_declaration_budget_chars") == 9000
    assert total(found, "tooltel_declaration_chars") == size(declaration("kb_search"))


def test_a_budget_that_is_taken_away_is_no_longer_shown(desk: Desk) -> None:
    desk.tel.declared("support", [declaration("kb_search")])
    assert not desk.tel.reload(with_profiles(Profile("support", "support-platform"), Profile("sales", "kb")))
    assert not series(samples(desk.tel), "tooltel_declaration_budget_chars")


def test_a_tool_that_changes_hands_is_shown_for_its_new_owner_once_declared(desk: Desk) -> None:
    desk.tel.declared("support", [declaration("kb_search")])
    tools = make_tools()
    assert not desk.tel.reload(make_catalog([replace(tools[0], owner="orders"), *tools[1:]]))
    desk.tel.declared("support", [declaration("kb_search")])
    found = samples(desk.tel)
    assert values(found, "tooltel_tool_declaration_chars", "owner") == {"orders"}
    assert values(found, INFO, "owner") == {"orders"}


# --- what cannot be read ---


def broken() -> Iterator[Any]:
    yield declaration("kb_search")
    raise RuntimeError("the list is broken")


@pytest.mark.parametrize(
    "sent", [None, 7, "no json", [None, 7, {}], [{"name": ["x"]}], broken(), [{"name": "kb_search", "parameters": 7}]]
)
@pytest.mark.parametrize("profile", ["support", "", None, 7, "x" * 3000])
def test_declaring_nonsense_never_raises_and_breaks_no_scrape(desk: Desk, sent: Any, profile: Any) -> None:
    desk.tel.declared(profile, sent)
    found = samples(desk.tel)
    assert values(found, "tooltel_declaration_chars", "profile") <= {"support", "other", "none"}


def test_a_disabled_tooltel_declares_nothing() -> None:
    desk = Desk(settings={"disabled": True})
    desk.tel.declared("support", [declaration("kb_search")])
    assert not series(samples(desk.tel), "tooltel_declaration_chars")


def test_what_is_sent_again_is_not_measured_again_and_a_new_session_is_still_told() -> None:
    measured: list[str] = []

    def count(text: str) -> int:
        measured.append(text)
        return len(text)

    tel = Desk(count_tokens=count).tel
    with capture(tel) as seen:
        for session in ("s-1", "s-1", "s-2"):
            with tel.session(profile="support", id=session):
                tel.declared("support", [declaration("kb_search", query={}), declaration("order_lookup")])
    assert len(measured) == 2
    assert [list(event["tools"]) for event in seen.logged("tools_offered")] == [["kb_search", "order_lookup"]] * 3
    assert total(samples(tel), "tooltel_profile_tools", profile="support") == 2


def test_what_was_changed_in_place_is_measured_again(desk: Desk) -> None:
    sent = [declaration("kb_search", query={})]
    desk.tel.declared("support", sent)
    sent[0]["parameters"]["properties"]["limit"] = {"description": "At most so many."}
    desk.tel.declared("support", sent)
    assert total(samples(desk.tel), "tooltel_declaration_chars", profile="support") == size(*sent)


def test_what_is_sent_again_under_another_catalog_is_measured_again(desk: Desk) -> None:
    sent = [declaration("kb_search", query={})]
    desk.tel.declared("support", sent)
    tools = [replace(tool, owner="orders") if tool.name == "kb_search" else tool for tool in make_tools()]
    assert not desk.tel.reload(make_catalog(tools))
    desk.tel.declared("support", sent)
    found = samples(desk.tel)
    assert total(found, "tooltel_tool_declaration_chars", tool="kb_search", owner="orders") == size(*sent)


class Odd:
    """Refuses to be copied and compared, as what a framework puts into a schema may."""

    def __eq__(self, other: object) -> bool:
        raise TypeError("no")

    __hash__ = None  # type: ignore[assignment]

    def __deepcopy__(self, memo: object) -> Odd:
        raise TypeError("no")


def test_what_cannot_be_copied_or_compared_is_measured_each_time(desk: Desk) -> None:
    for _ in range(2):
        sent = [declaration("kb_search", query=Odd())]
        with capture(desk.tel) as seen:
            desk.tel.declared("support", sent)
        assert not seen.logged("telemetry_error")
    assert total(samples(desk.tel), "tooltel_profile_tools", profile="support") == 1
