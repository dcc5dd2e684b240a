"""Whose call it is: conversation, agent, profile, call id; and in what context the tool runs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

from tests.integrations.langchain.kit import NAMES_AGENTS, THREAD, Desk, Hotel, ScriptedModel, ask, telemetry
from tooltel.call import current_call, current_session
from tooltel.integrations.langchain import TooltelMiddleware
from tooltel.testing import Captured, capture

if TYPE_CHECKING:
    from collections.abc import Callable

    from tooltel.outcome import Outcome

TAXI = ask("call_taxi", {}, "taxi-1")


def run(desk: Desk) -> None:
    desk.turn([TAXI], "Done.")


def arun(desk: Desk) -> None:
    asyncio.run(desk.aturn([TAXI], "Done."))


def only(seen: Captured) -> Outcome:
    (outcome,) = seen.outcomes
    return outcome


@pytest.mark.parametrize("play", [run, arun])
def test_a_call_carries_the_thread_the_agent_the_profile_and_its_id(play: Callable[[Desk], None]) -> None:
    with telemetry() as tel, capture(tel) as seen:
        play(Desk(Hotel().tools(), middleware=[TooltelMiddleware(tel, profile="desk")]))
    outcome = only(seen)
    assert outcome.call_id == "taxi-1"
    assert outcome.origin.session_id == THREAD
    assert outcome.origin.profile == "desk"
    assert outcome.origin.agent == ("front_desk" if NAMES_AGENTS else None)
    (span,) = seen.spans
    assert span.attributes is not None
    assert span.attributes["gen_ai.conversation.id"] == THREAD
    assert span.attributes["gen_ai.tool.call.id"] == "taxi-1"


@pytest.mark.parametrize("play", [run, arun])
def test_what_the_middleware_was_told_wins(play: Callable[[Desk], None]) -> None:
    with telemetry(profile="back_office", agent="somebody") as tel, capture(tel) as seen:
        play(Desk(Hotel().tools(), middleware=[TooltelMiddleware(tel, profile="desk", agent="night_desk")]))
    assert only(seen).origin[:2] == ("desk", "night_desk")


@pytest.mark.parametrize("play", [run, arun])
def test_the_block_of_the_host_counts_for_what_the_run_does_not_tell(play: Callable[[Desk], None]) -> None:
    with telemetry() as tel, capture(tel) as seen:
        desk = Desk(Hotel().tools(), middleware=[TooltelMiddleware(tel)])
        with tel.session(profile="desk", agent="concierge", id="s-42"):
            play(desk)
    origin = only(seen).origin
    assert origin.profile == "desk"
    assert origin.session_id == "s-42"
    assert origin.agent == ("front_desk" if NAMES_AGENTS else "concierge")


def test_without_any_of_these_the_defaults_of_the_process_count() -> None:
    with telemetry(profile="desk", agent="somebody") as tel, capture(tel) as seen:
        model = ScriptedModel()
        model.script([TAXI], "Done.")
        agent = create_agent(model, Hotel().tools(), middleware=[TooltelMiddleware(tel)])
        agent.invoke({"messages": [HumanMessage("hello")]})
    assert only(seen).origin == ("desk", "somebody", None)


def test_equal_calls_are_repeated_within_a_thread_and_nowhere_else() -> None:
    model = ScriptedModel()

    def bill(thread: str | None) -> None:
        model.script([ask("send_bill", {"room": "12"})], "Done.")
        agent.invoke({"messages": [HumanMessage("hello")]}, {"configurable": {"thread_id": thread} if thread else {}})

    with telemetry() as tel, capture(tel) as seen:
        agent = create_agent(model, Hotel().tools(), middleware=[TooltelMiddleware(tel)])
        for thread in ("a", "b", None, None):
            bill(thread)
        assert seen.increase("tooltel_repeated_calls_total") == 0
        for _ in range(2):
            bill("a")
        assert seen.increase("tooltel_repeated_calls_total") == 2


def test_a_catalog_that_is_read_again_counts_for_the_next_call() -> None:
    from tooltel import Catalog, HouseRules, Profile, Tool
    from tooltel.errors import Level

    later = Catalog(
        tools=[Tool("call_taxi", "drivers", profiles=("night",))],
        profiles=[Profile("night", "hotel")],
        house=HouseRules(levels={"description": Level.OFF}),
        open=True,
    )
    with telemetry() as tel, capture(tel) as seen:
        desk = Desk(Hotel().tools(), middleware=[TooltelMiddleware(tel, profile="night")])
        run(desk)
        assert not tel.reload(later)
        run(desk)
    before, after = seen.outcomes
    assert before.origin.profile == "other"
    assert after.origin.profile == "night"
    assert after.tool is not None
    assert after.tool.owner == "drivers"


@pytest.mark.parametrize("play", [run, arun])
def test_a_sub_agent_has_a_name_and_a_profile_of_its_own_and_shares_the_conversation(
    play: Callable[[Desk], None],
) -> None:
    with telemetry() as tel, capture(tel) as seen:
        inner = ScriptedModel()

        def helper() -> Any:
            inner.script([ask("find_rooms", {"kind": "single"}, "inner-1"), ask("drill", {}, "inner-2")], "Done.")
            return create_agent(
                inner,
                Hotel().tools(),
                middleware=[TooltelMiddleware(tel, profile="back_office", agent="helper")],
            )

        def call_taxi() -> str:
            """Call a taxi, with a helper."""
            return str(helper().invoke({"messages": [HumanMessage("help")]})["messages"][-1].content)

        async def acall_taxi() -> str:
            """Call a taxi, with a helper."""
            return str((await helper().ainvoke({"messages": [HumanMessage("help")]}))["messages"][-1].content)

        outer_tool = tool("call_taxi")(acall_taxi if play is arun else call_taxi)
        play(Desk([outer_tool], middleware=[TooltelMiddleware(tel, profile="desk", agent="front_desk")]))
    by_id = {outcome.call_id: outcome for outcome in seen.outcomes}
    assert set(by_id) == {"inner-1", "inner-2", "taxi-1"}
    assert by_id["inner-1"].origin == ("back_office", "helper", THREAD)
    assert by_id["inner-2"].origin == ("back_office", "helper", THREAD)
    assert by_id["inner-1"].parent == by_id["inner-2"].parent == "call_taxi"
    assert by_id["taxi-1"].origin == ("desk", "front_desk", THREAD)
    assert by_id["taxi-1"].parent is None


@pytest.mark.parametrize("play", [run, arun])
def test_the_tool_runs_in_the_span_of_its_call_and_leaves_nothing_behind(play: Callable[[Desk], None]) -> None:
    found: list[Any] = []

    def look() -> str:
        call, session = current_call(), current_session()
        found.append((call and call.tool.name, session and session.origin.session_id, trace.get_current_span()))
        return "it is coming"

    def call_taxi() -> str:
        """Call a taxi."""
        return look()

    async def acall_taxi() -> str:
        """Call a taxi."""
        return look()

    host = TracerProvider().get_tracer("host")
    with telemetry() as tel, capture(tel) as seen, host.start_as_current_span("request") as request:
        outer_tool = tool("call_taxi")(acall_taxi if play is arun else call_taxi)
        play(Desk([outer_tool], middleware=[TooltelMiddleware(tel)]))
        assert trace.get_current_span() is request
        assert current_call() is None
        assert current_session() is None
    ((name, session_id, inside),) = found
    (span,) = seen.spans
    assert (name, session_id) == ("call_taxi", THREAD)
    assert span.context is not None
    assert inside.get_span_context().span_id == span.context.span_id
    assert span.parent is not None
    assert span.parent.span_id == request.get_span_context().span_id


def test_hostile_ids_are_cut_and_cleaned() -> None:
    with telemetry() as tel, capture(tel) as seen:
        desk = Desk(Hotel().tools(), middleware=[TooltelMiddleware(tel)])
        desk.turn([ask("call_taxi", {}, "x\n" * 3_000), ask("drill", {}, "y\n" * 3_000)], "Done.")
    ids = [span.attributes["gen_ai.tool.call.id"] for span in seen.spans if span.attributes is not None]
    assert len(ids) == 2
    assert all(isinstance(each, str) and len(each) <= 128 and "\n" not in each for each in ids)


def test_metadata_and_tags_of_a_tool_reach_the_hosts_callbacks_as_ever() -> None:
    from langchain_core.callbacks import BaseCallbackHandler

    class Heard(BaseCallbackHandler):
        def __init__(self) -> None:
            self.heard: list[Any] = []

        def on_tool_start(self, serialized: Any, input_str: str, **told: Any) -> None:
            kept = {key: told.get(key) for key in ("tags", "inputs")}
            self.heard.append((serialized, input_str, kept, sorted(told["metadata"])))

        def on_tool_end(self, output: Any, **_: Any) -> None:
            self.heard.append(str(output.content))

    def heard(*middleware: Any) -> list[Any]:
        (taxi,) = (each for each in Hotel().tools() if each.name == "call_taxi")
        taxi.metadata, taxi.tags = {"owner": "porters"}, ["outside"]
        desk, handler = Desk([taxi], middleware=middleware), Heard()
        given, config = desk.begin(([TAXI], "Done."))
        desk.agent.invoke(given, {**config, "callbacks": [handler]})
        return handler.heard

    with telemetry() as tel:
        with_it = heard(TooltelMiddleware(tel))
    assert with_it == heard()
    assert "owner" in str(with_it)
    assert "outside" in str(with_it)
