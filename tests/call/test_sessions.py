"""A session: one conversation, whose profile, agent and id every call in it carries."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client import CollectorRegistry

from tooltel import Tooltel
from tooltel.call import current_call, current_session
from tooltel.outcome import Origin
from tooltel.signals import Reason
from tooltel.testing import capture

if TYPE_CHECKING:
    from collections.abc import Callable

    from tooltel.testing import Captured


@pytest.fixture
def lookup(tel: Tooltel) -> Callable[[], str]:
    @tel.tool(owner="desk")
    def order_lookup() -> str:
        return "done"

    return order_lookup


def origins(seen: Captured) -> list[Origin]:
    return [outcome.origin for outcome in seen.outcomes]


def test_a_call_carries_what_its_session_says(tel: Tooltel, seen: Captured, lookup: Callable[[], str]) -> None:
    with tel.session(profile="support", agent="support_agent", id="s-42"):
        lookup()
    assert origins(seen) == [Origin("support", "support_agent", "s-42")]
    attributes = seen.spans[0].attributes or {}
    assert attributes["tool.profile"] == "support"
    assert attributes["gen_ai.agent.name"] == "support_agent"
    assert attributes["gen_ai.conversation.id"] == "s-42"


def test_outside_any_session_a_call_has_no_profile(seen: Captured, lookup: Callable[[], str]) -> None:
    lookup()
    assert origins(seen) == [Origin("none", None, None)]
    assert not {"gen_ai.agent.name", "gen_ai.conversation.id"} & set(seen.spans[0].attributes or {})


def test_what_a_session_leaves_out_is_the_process_default() -> None:
    tel = Tooltel(registry=CollectorRegistry(), profile="default_profile", agent="default_agent")
    tool = tel.tool(str.upper, name="shout_out", owner="desk", description="Says it louder. " * 3)
    with capture(tel) as seen:
        tool("a")
        with tel.session(id="s-1"):
            tool("b")
        with tel.session(agent="other_agent"):
            tool("c")
    assert [(o.agent, o.session_id) for o in origins(seen)] == [
        ("default_agent", None),
        ("default_agent", "s-1"),
        ("other_agent", None),
    ]


def test_sessions_nest_and_the_outer_one_comes_back(tel: Tooltel, seen: Captured, lookup: Callable[[], str]) -> None:
    with tel.session(profile="support", id="outer") as outer:
        lookup()
        with tel.session(profile="sales", id="inner") as inner:
            lookup()
            assert current_session() is inner
        lookup()
        assert current_session() is outer
    assert current_session() is None
    assert [(o.profile, o.session_id) for o in origins(seen)] == [
        ("support", "outer"),
        ("sales", "inner"),
        ("support", "outer"),
    ]


def test_a_session_ends_with_an_exception_too(tel: Tooltel) -> None:
    error = ValueError("of the conversation")
    with pytest.raises(ValueError, match="conversation") as raised, tel.session(id="s-1"):
        raise error
    assert raised.value is error
    assert current_session() is None


def test_an_unknown_profile_is_other_and_warned_about_once(
    tel: Tooltel, seen: Captured, lookup: Callable[[], str]
) -> None:
    for _ in range(3):
        with tel.session(profile="suport"):
            lookup()
    assert {o.profile for o in origins(seen)} == {"other"}
    assert seen.increase("tooltel_tool_calls_total", profile="other", outcome="ok") == 3
    (warning,) = seen.logged("catalog_problem")
    assert "'suport'" in warning["problem"]
    assert "'other'" in warning["problem"]


def test_unknown_profiles_without_end_are_one_label_and_a_bounded_number_of_warnings(
    tel: Tooltel, seen: Captured, lookup: Callable[[], str]
) -> None:
    for number in range(300):
        with tel.session(profile=f"made up {number}\n\x1b[2J"):
            lookup()
    assert seen.increase("tooltel_tool_calls_total", profile="other", outcome="ok") == 300
    warnings = seen.logged("catalog_problem")
    assert 1 <= len(warnings) <= 100
    assert all(warning["problem"].isprintable() for warning in warnings)


@pytest.mark.parametrize("hostile", ["s\n1", "\x00", "\ud800", "x" * 3000, "\x1b[2J", 7, ("a",)])
def test_hostile_names_and_ids_are_cleaned_and_cut(
    tel: Tooltel, seen: Captured, lookup: Callable[[], str], hostile: Any
) -> None:
    with tel.session(agent=hostile, id=hostile):
        lookup()
    (origin,) = origins(seen)
    for kept in (origin.agent, origin.session_id):
        assert kept is not None
        assert kept.isprintable()
        assert len(kept) <= 128
        kept.encode("utf-8")


@pytest.mark.parametrize("profile", ["support", "sales", None])
def test_a_drop_is_explained_by_the_profile_of_its_session(
    tel: Tooltel, seen: Captured, lookup: Callable[[], str], profile: str | None
) -> None:
    with tel.session(profile=profile):
        tel.not_found("order_lookup")
    (outcome,) = seen.outcomes
    assert outcome.missing is not None
    assert outcome.missing.reason is Reason.NOT_IN_PROFILE
    assert outcome.origin.profile == (profile or "none")


def test_an_empty_id_is_no_id(tel: Tooltel, seen: Captured, lookup: Callable[[], str]) -> None:
    with tel.session(id=""):
        lookup()
    assert origins(seen)[0].session_id is None


# --- agents in agents ---


def test_a_tool_that_runs_a_sub_agent_is_the_parent_of_its_calls(
    tel: Tooltel, seen: Captured, lookup: Callable[[], str]
) -> None:
    @tel.tool(owner="desk")
    def delegate() -> str:
        with tel.session(profile="sales", agent="sub_agent", id="s-2"):
            lookup()
            with tel.session(agent="sub_sub_agent"):
                lookup()
                tel.not_found("zork")
            return lookup()

    with tel.session(profile="support", agent="main_agent", id="s-1"):
        delegate()
    assert [(o.tool.name if o.tool else None, o.parent, o.origin.agent) for o in seen.outcomes] == [
        ("order_lookup", "delegate", "sub_agent"),
        ("order_lookup", "delegate", "sub_sub_agent"),
        (None, "delegate", "sub_sub_agent"),
        ("order_lookup", "delegate", "sub_agent"),
        ("delegate", None, "main_agent"),
    ]
    *inner, outer = seen.spans
    assert all(span.parent == outer.context for span in inner)


def test_inside_a_sub_agents_session_the_running_call_is_still_the_delegating_one(tel: Tooltel) -> None:
    """A log line there is emitted inside that call."""
    running: list[str | None] = []

    @tel.tool(owner="desk")
    def delegate() -> None:
        with tel.session(profile="sales"), tel.session(agent="deeper"):
            call = current_call()
            running.append(call.tool.name if call else None)

    delegate()
    assert running == ["delegate"]


# --- where contexts end ---


def test_a_session_that_is_left_in_another_context_than_it_was_entered_in_harms_nothing(tel: Tooltel) -> None:
    """As a fixture or a framework's generator does it."""
    block = tel.session(id="s-1")
    contextvars.copy_context().run(block.__enter__)
    assert current_session() is None
    block.__exit__(None, None, None)
    assert current_session() is None


def test_a_session_held_by_an_async_generator_may_be_closed_by_another_task(tel: Tooltel) -> None:
    async def conversation() -> Any:
        with tel.session(id="s-1"):
            yield current_session()

    async def main() -> None:
        turns = conversation()
        await asyncio.create_task(anext(turns))
        assert current_session() is None
        await turns.aclose()
        assert current_session() is None

    asyncio.run(main())


def test_a_session_object_tells_of_itself(tel: Tooltel) -> None:
    with tel.session(profile="support", id="s-1") as session:
        assert session.origin == Origin("support", None, "s-1")
        assert session.asked_profile == "support"


def rows() -> Iterator[int]:
    yield 1


def test_a_stream_begun_in_a_session_belongs_to_it_and_one_begun_after_it_does_not(
    tel: Tooltel, seen: Captured
) -> None:
    order_search = tel.tool(rows, name="order_search", owner="desk")
    with tel.session(id="s-1"):
        begun, made = order_search(), order_search()
        next(begun)
    assert list(begun) == []
    assert list(made) == [1]
    assert [o.session_id for o in origins(seen)] == ["s-1", None]
