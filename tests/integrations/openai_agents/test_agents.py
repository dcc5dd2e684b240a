"""What TooltelAgents record beyond counts, and of the less usual things that agents do."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import json
import sys
import weakref
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import call, patch

import pytest
from agents import (
    Agent,
    FunctionTool,
    MaxTurnsExceeded,
    RunConfig,
    RunContextWrapper,
    Runner,
    ToolGuardrailFunctionOutput,
    ToolOutputGuardrail,
    Usage,
    function_tool,
    handoff,
    trace,
)
from agents.mcp import MCPServerStdio
from agents.tool_context import ToolContext
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic import BaseModel

from tests.integrations.counting import counter, counts
from tests.integrations.openai_agents.kit import (
    Ask,
    Desk,
    Hotel,
    Memory,
    ScriptedModel,
    Way,
    dump,
    named,
    new_desk,
    telemetry,
)
from tooltel.integrations.mcp import watch_client
from tooltel.integrations.openai_agents import TooltelAgents
from tooltel.settings import Settings
from tooltel.testing import capture

if TYPE_CHECKING:
    from tooltel import Tooltel

MCP_SERVER = Path(__file__).resolve().parents[1] / "adk" / "mcp_server.py"
TAXI = Ask("call_taxi", {}, "id-1")
DRILL = Ask("drill", {}, "id-9")


def origins(seen: Any) -> set[Any]:
    return {outcome.origin for outcome in seen.outcomes}


def tool(fn: Any, **options: Any) -> Any:
    return function_tool(fn, **options)


async def look_out() -> str:
    """Look out of the window, to see what the weather is like."""
    return "rain"


LOOK = Ask("look_out", {}, "id-2")


# --- where a call comes from ------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["whole", "streamed"])
def test_a_call_and_a_drop_carry_agent_profile_conversation_and_id(way: Way) -> None:
    with telemetry() as tel, capture(tel) as seen:
        desk = new_desk(Hotel(), agents=TooltelAgents(tel, profile="desk"), way=way)
        asyncio.run(desk.turn([TAXI], [DRILL]))
        assert origins(seen) == {("desk", "desk", "guest-1")}
        assert [outcome.call_id for outcome in seen.outcomes] == ["id-1", "id-9"]


def test_a_profile_may_be_told_by_the_agents_name() -> None:
    with telemetry() as tel, capture(tel) as seen:
        desk = new_desk(Hotel(), agents=TooltelAgents(tel, profile={"desk": "desk"}))
        asyncio.run(desk.turn([TAXI], [DRILL]))
        assert {origin.profile for origin in origins(seen)} == {"desk"}


@pytest.mark.parametrize(
    ("options", "conversation"),
    [
        ({"session": None, "run_config": RunConfig(group_id="g-1")}, "g-1"),
        ({"session": None, "conversation_id": "c-1"}, "c-1"),
        ({"session": Memory("s-1"), "run_config": RunConfig(group_id="g-1")}, "s-1"),
        ({"session": None, "run_config": RunConfig(group_id="g-1", tracing_disabled=True)}, "g-1"),
        ({"session": None}, None),
    ],
)
@pytest.mark.parametrize("way", ["whole", "streamed"])
def test_a_conversation_is_what_the_run_says_it_is(options: dict[str, Any], conversation: str | None, way: Way) -> None:
    with telemetry() as tel, capture(tel) as seen:
        desk = new_desk(Hotel(), agents=TooltelAgents(tel, profile="desk"), way=way, **options)
        asyncio.run(desk.turn([TAXI], [DRILL]))
        assert origins(seen) == {("desk", "desk", conversation)}


def test_a_trace_of_the_hosts_says_which_conversation_a_run_is_of() -> None:
    async def talk(agent: Any) -> None:
        with trace("a whole evening", group_id="g-7"):
            await Runner.run(agent, "Please.")

    with telemetry() as tel, capture(tel) as seen:
        desk = new_desk(Hotel())
        desk.model.script([TAXI], "Done.")
        asyncio.run(talk(TooltelAgents(tel, profile="desk").watch(desk.agent)))
        assert origins(seen) == {("desk", "desk", "g-7")}


@pytest.mark.parametrize("way", ["whole", "streamed"])
def test_the_hosts_own_block_says_of_which_conversation_a_call_is(way: Way) -> None:
    with telemetry() as tel, capture(tel) as seen:
        desk = new_desk(Hotel(), agents=TooltelAgents(tel), way=way)
        with tel.session(id="s-42", profile="desk"):
            asyncio.run(desk.turn([TAXI], [DRILL]))
        assert origins(seen) == {("desk", "desk", "s-42")}


# --- several agents ---------------------------------------------------------------------------------


def two_agents(*, as_object: bool = False, **options: Any) -> Desk:
    model = ScriptedModel()
    porter = Agent(name="porter", model=model, tools=[tool(look_out)])
    lead = handoff(porter, **options) if as_object else porter
    desk = Agent(name="desk", model=model, tools=Hotel().tools(), handoffs=[lead])
    porter.handoffs.append(desk)  # and back again
    return Desk(desk, model)


@pytest.mark.parametrize("as_object", [False, True])
@pytest.mark.parametrize("way", ["whole", "streamed"])
def test_an_agent_that_was_handed_over_to_is_watched_under_its_own_name(way: Way, *, as_object: bool) -> None:
    with telemetry() as tel, capture(tel) as seen:
        desk = two_agents(as_object=as_object)
        desk.runs, desk.way = TooltelAgents(tel, profile="desk"), way
        there, back = Ask("transfer_to_porter", {}, "id-5"), Ask("transfer_to_desk", {}, "id-6")
        result = asyncio.run(desk.turn([TAXI], [there], [LOOK], [back], [TAXI._replace(id="id-7")], "Done."))
        assert result.last_agent.name == "desk"
        told = [(outcome.call_id, outcome.origin.agent) for outcome in seen.outcomes]
        assert told == [("id-1", "desk"), ("id-2", "porter"), ("id-7", "desk")]
        assert counts(seen) == counter("call call_taxi ok\ncall call_taxi ok\ncall look_out ok")


def test_a_tool_of_another_agent_is_no_tool_of_this_one() -> None:
    with telemetry() as tel, capture(tel) as seen:
        desk = two_agents()
        desk.runs = TooltelAgents(tel, profile="desk")
        asyncio.run(desk.turn([LOOK]))
        assert counts(seen) == counter("drop unknown other")


def test_a_handoff_that_is_closed_to_a_run_is_neither_offered_nor_found() -> None:
    with telemetry() as tel, capture(tel) as seen:
        opened = [False]
        desk = two_agents(as_object=True, is_enabled=lambda context, agent: opened[0])
        desk.runs = TooltelAgents(tel, profile="desk")
        asyncio.run(desk.turn([Ask("transfer_to_porter", {})]))
        assert counts(seen) == counter("drop unknown other")
        opened[0] = True
        asyncio.run(desk.turn([Ask("transfer_to_porter", {})], "Done."))
        assert counts(seen) == counter("drop unknown other")
        offered = [event["tools"] for event in seen.logged("tools_offered")]
        assert "transfer_to_porter" not in offered[0]
        assert "transfer_to_porter" in offered[1]


def test_a_watched_agent_is_left_as_it_is_where_it_is_handed_over_to() -> None:
    with telemetry() as tel:
        agents, model = TooltelAgents(tel), ScriptedModel()
        porter = agents.watch(Agent(name="porter", model=model))
        desk = agents.watch(Agent(name="desk", model=model, handoffs=[porter]))
        model.script([Ask("transfer_to_porter", {})], "Done.")
        assert agents.watch(porter) is porter
        assert asyncio.run(agents.run(desk, "Please.")).last_agent is porter


def test_an_agent_has_one_copy_until_it_is_changed() -> None:
    with telemetry() as tel, capture(tel) as seen:
        agents, desk = TooltelAgents(tel, profile="desk"), two_agents()
        porter = desk.agent.handoffs[0]
        first = agents.watch(desk.agent)
        assert agents.watch(desk.agent) is first
        assert agents.watch(porter) is first.handoffs[0]
        assert agents.watch(porter).handoffs[0] is first
        porter.tools.append(tool(Hotel().functions()[1]))
        changed = agents.watch(desk.agent)
        assert changed is not first
        assert agents.watch(Agent(name="lobby", handoffs=[porter])).handoffs[0] is changed.handoffs[0]
        assert agents.watch(desk.agent) is changed
        desk.model.script([Ask("transfer_to_porter", {})], [Ask("find_rooms", {"kind": "single"})], "Done.")
        asyncio.run(agents.run(desk.agent, "Please."))
        assert counts(seen) == counter("call find_rooms ok")


def test_agents_that_a_host_makes_for_one_run_are_not_kept() -> None:
    with telemetry() as tel:
        agents, model = TooltelAgents(tel), ScriptedModel()
        agent = Agent(name="desk", model=model, tools=[tool(look_out)])
        asyncio.run(agents.run(agent, "Please."))
        gone = weakref.ref(agent)
        del agent
        gc.collect()
        assert gone() is None


def test_a_clone_of_a_watched_agent_and_tools_added_to_it_are_watched() -> None:
    with telemetry() as tel, capture(tel) as seen:
        desk = new_desk(Hotel())
        clone = TooltelAgents(tel, profile="desk").watch(desk.agent).clone(name="night desk")
        clone.tools.append(tool(look_out))
        desk.model.script([TAXI, LOOK], [DRILL])
        with pytest.raises(Exception, match="Tool drill not found"):
            asyncio.run(Runner.run(clone, "Please."))
        assert counts(seen) == counter("call call_taxi ok\ncall look_out ok\ndrop unknown other")


def test_an_agent_that_is_a_tool_names_itself_as_the_caller() -> None:
    with telemetry() as tel, capture(tel) as seen:
        agents, model = TooltelAgents(tel, profile="desk"), ScriptedModel()
        helper = agents.watch(Agent(name="helper", model=model, tools=[tool(look_out)]))
        concierge = helper.as_tool(tool_name="concierge", tool_description="Ask the concierge, who knows all.")
        desk = Desk(Agent(name="desk", model=model, tools=[concierge]), model, agents=agents)
        asyncio.run(desk.turn([Ask("concierge", {"input": "?"}, "id-0")], [LOOK], "Rain.", "Done."))
        told = {outcome.call_id: outcome for outcome in seen.outcomes}
        assert [(told[name].parent, told[name].origin.agent) for name in ("id-0", "id-2")] == [
            (None, "desk"),
            ("concierge", "helper"),
        ]
        assert {origin.session_id for origin in origins(seen)} == {"guest-1"}
        assert counts(seen) == counter("call look_out ok\ncall concierge ok")


@pytest.mark.parametrize("way", ["whole", "streamed"])
def test_a_call_of_an_agent_in_which_a_call_waits_for_a_person_is_put_off_and_made_anew(way: Way) -> None:
    async def talk(desk: Desk) -> None:
        result = await desk.turn([Ask("concierge", {"input": "?"}, "id-0")], [LOOK])
        assert counts(seen) == counter("call concierge cancelled")
        state = result.to_state()
        state.approve(result.interruptions[0])
        await desk.turn("Rain.", "Done.", said=state)

    with telemetry() as tel, capture(tel) as seen:
        agents, model = TooltelAgents(tel, profile="desk"), ScriptedModel()
        helper = agents.watch(Agent(name="helper", model=model, tools=[tool(look_out, needs_approval=True)]))
        concierge = helper.as_tool(tool_name="concierge", tool_description="Ask the concierge, who knows all.")
        desk = Desk(Agent(name="desk", model=model, tools=[concierge]), model, agents=agents, way=way)
        asyncio.run(talk(desk))
        assert counts(seen) == counter("call concierge cancelled\ncall look_out ok\ncall concierge ok")


# --- declarations -----------------------------------------------------------------------------------


def test_the_declarations_that_were_sent_are_measured_once_in_a_conversation() -> None:
    with telemetry() as tel, capture(tel) as seen, patch.object(tel, "declared", wraps=tel.declared) as declared:
        desk = two_agents()
        desk.runs = TooltelAgents(tel, profile="desk")
        for _ in range(3):
            asyncio.run(desk.turn([TAXI], "Done."))
        names = [*(each.name for each in desk.agent.tools), "transfer_to_porter"]
        assert [list(event["tools"]) for event in seen.logged("tools_offered")] == [names]
        assert seen.increase("tooltel_profile_tools", profile="desk") == len(names)
        assert seen.increase("tooltel_tool_declaration_chars", tool="book_room") > 100
        assert declared.call_count == 1
        desk.options["session"] = Memory("guest-2")
        asyncio.run(desk.turn([TAXI], "Done."))
        assert declared.call_count == 2


def test_a_tool_that_is_not_enabled_is_neither_offered_nor_found() -> None:
    with telemetry() as tel, capture(tel) as seen:
        hidden = tool(look_out, is_enabled=lambda context, agent: False)
        model = ScriptedModel()
        desk = Desk(Agent(name="desk", model=model, tools=[hidden]), model, agents=TooltelAgents(tel, profile="desk"))
        asyncio.run(desk.turn([LOOK]))
        assert counts(seen) == counter("drop unknown other")
        assert [list(event["tools"]) for event in seen.logged("tools_offered")] == [[]]


def test_arguments_are_handed_in_as_the_model_wrote_them() -> None:
    with telemetry() as tel, patch.object(tel, "raw_arguments") as handed_in:
        desk = new_desk(Hotel(), agents=TooltelAgents(tel, profile="desk"))
        given = {"nights": "10", "kind": "single", "colour": "red"}
        asyncio.run(desk.turn([Ask("book_room", given), Ask("book_room", ["x"])], "Done."))
        schema = desk.agent.tools[0].params_json_schema
        assert handed_in.call_args_list == [call("book_room", json.dumps(each), schema) for each in (given, ["x"])]


# --- what keeps a call from happening ---------------------------------------------------------------


def desk_with(*tools: Any, tel: Tooltel, **agent: Any) -> Desk:
    model = ScriptedModel()
    return Desk(
        Agent(name="desk", model=model, tools=list(tools), **agent), model, agents=TooltelAgents(tel, profile="desk")
    )


@pytest.mark.parametrize("way", ["whole", "streamed"])
@pytest.mark.parametrize(
    ("approved", "recorded"),
    [(True, "call look_out ok"), (False, "call look_out refused\nrefused look_out confirmation")],
)
def test_a_call_that_waits_for_a_person_is_what_the_person_says(way: Way, *, approved: bool, recorded: str) -> None:
    async def talk(desk: Desk) -> Any:
        result = await desk.turn([LOOK])
        assert len(result.interruptions) == 1
        assert counts(seen) == Counter()
        state = result.to_state()
        (state.approve if approved else state.reject)(result.interruptions[0])
        return await desk.turn("Done.", said=state)

    with telemetry() as tel, capture(tel) as seen:
        desk = desk_with(tool(look_out, needs_approval=True), tel=tel)
        desk.way = way
        result = asyncio.run(talk(desk))
        assert result.final_output == "Done."
        assert counts(seen) == counter(recorded)
        assert {outcome.call_id for outcome in seen.outcomes} == {"id-2"}
        asyncio.run(desk.turn("Anything else?"))
        assert counts(seen) == counter(recorded)


def test_a_policy_on_approvals_reads_the_same_arguments_as_without_tooltel() -> None:
    asked: list[Any] = []

    async def is_dear(context: Any, arguments: dict[str, Any], call_id: str) -> bool:
        asked.append(arguments)
        return bool(arguments["price"] > 100)

    async def buy(price: int) -> str:
        """Buy something for the hotel, at a price in euros."""
        return f"bought for {price}"

    def talk(agents: TooltelAgents | None) -> Any:
        model = ScriptedModel()
        desk = Desk(Agent(name="desk", model=model, tools=[tool(buy, needs_approval=is_dear)]), model, agents=agents)
        asked.clear()
        waiting = [
            len(getattr(asyncio.run(desk.turn([Ask("buy", {"price": price})], "Done.")), "interruptions", ()))
            for price in (5, "5", 500)
        ]
        return waiting, list(asked), desk.transcript

    with telemetry() as tel:
        assert talk(TooltelAgents(tel)) == talk(None)


def test_what_an_output_guardrail_says_comes_after_the_call() -> None:
    def rain(data: Any) -> ToolGuardrailFunctionOutput:
        return ToolGuardrailFunctionOutput.reject_content("nobody wants to know")

    with telemetry() as tel, capture(tel) as seen:
        dry = tool(look_out)
        dry.tool_output_guardrails = [ToolOutputGuardrail(guardrail_function=rain, name="rain")]
        asyncio.run(desk_with(dry, tel=tel).turn([LOOK], "Done."))
        assert counts(seen) == counter("call look_out ok")


def test_a_call_that_a_limit_ends_is_a_timeout_where_the_run_ends_with_it_too() -> None:
    async def forever() -> str:
        """Wait, until somebody loses their patience with it."""
        await asyncio.Event().wait()
        return "never"

    with telemetry() as tel, capture(tel) as seen:
        desk = desk_with(tool(forever, timeout=0.02, timeout_behavior="raise_exception"), tel=tel)
        asyncio.run(desk.turn([Ask("forever", {})]))
        assert desk.transcript[0][-1].startswith("ToolTimeoutError")
        assert counts(seen) == counter("call forever timeout")


def test_a_call_that_is_cancelled_before_its_limit_is_a_cancelled_one() -> None:
    async def talk(desk: Desk, hotel: Hotel) -> None:
        running = asyncio.create_task(desk.turn([Ask("patient", {})]))
        await hotel.rung.wait()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    with telemetry() as tel, capture(tel) as seen:
        hotel = Hotel()

        async def patient() -> str:
            """Wait, for as long as it takes somebody to come."""
            hotel.rung.set()
            await asyncio.Event().wait()
            return "never"

        asyncio.run(talk(desk_with(tool(patient, timeout=60.0), tel=tel), hotel))
        assert counts(seen) == counter("call patient cancelled")


# --- other kinds of tools ---------------------------------------------------------------------------


def test_a_tool_that_the_host_invokes_itself_is_watched() -> None:
    kinds: list[type[Any]] = []

    async def invoke(ctx: RunContextWrapper[Any], arguments: str) -> Any:
        kinds.append(type(ctx))
        if json.loads(arguments)["how"] == "crash":
            raise ConnectionError("nobody answers")
        return {"status": "refused", "policy": "night"}

    def talk(agents: TooltelAgents | None) -> Desk:
        schema = {"type": "object", "properties": {"how": {"type": "string"}}}
        own = FunctionTool("phone", "Phone somebody up.", schema, invoke, strict_json_schema=False)
        model = ScriptedModel()
        desk = Desk(Agent(name="desk", model=model, tools=[own]), model, agents=agents)
        asyncio.run(desk.turn([Ask("phone", {"how": "fine"})], [Ask("phone", {"how": "crash"})], "Done."))
        return desk

    plain = talk(None)
    before = list(kinds)
    with telemetry() as tel, capture(tel) as seen:
        watched = talk(TooltelAgents(tel, profile="desk"))
        assert watched.transcript == plain.transcript
        assert kinds == before * 2
        assert counts(seen) == counter("call phone refused\nrefused phone night\ncall phone error")


@pytest.mark.filterwarnings("ignore")  # of the MCP SDK, in this process
def test_tools_of_an_mcp_server_are_offered_and_watched() -> None:
    async def talk(tel: Tooltel) -> None:
        async with MCPServerStdio(params={"command": sys.executable, "args": [str(MCP_SERVER)]}) as server:
            desk = desk_with(tool(look_out), tel=tel, mcp_servers=[server])
            for asks in ([LOOK], [Ask("book_table", {"size": 2}, "id-3")], [Ask("book_table", "{,")], [DRILL]):
                await desk.turn(asks, "Done.")
            assert "table 7" in dump(desk.session.items)

    with telemetry() as tel, capture(tel) as seen:
        asyncio.run(talk(tel))
        assert counts(seen) == counter("""
            call look_out ok
            call book_table ok
            call book_table invalid_arguments
            rejected book_table structural framework
            field book_table structural other
            drop unknown other
        """)
        assert [list(event["tools"]) for event in seen.logged("tools_offered")] == [["book_table", "look_out"]]
        assert {origin.agent for origin in origins(seen)} == {"desk"}


@pytest.mark.filterwarnings("ignore")  # of the MCP SDK, in this process
@pytest.mark.parametrize(("is_watched", "recorded"), [(False, "call book_table ok"), (True, "call book_table error")])
def test_an_error_of_an_mcp_server_is_told_from_an_answer_where_its_client_is_watched(
    recorded: str, *, is_watched: bool
) -> None:
    async def talk(tel: Tooltel) -> None:
        async with MCPServerStdio(params={"command": sys.executable, "args": [str(MCP_SERVER)]}) as server:
            if is_watched:
                watch_client(tel, server.session, declares=False)
            desk = desk_with(tel=tel, mcp_servers=[server])
            await desk.turn([Ask("book_table", {"size": 9}, "id-3")], "Done.")
            assert "Error executing tool book_table" in dump(desk.session.items)

    with telemetry() as tel, capture(tel) as seen:
        asyncio.run(talk(tel))
        assert counts(seen) == counter(recorded)
        assert [outcome.call_id for outcome in seen.outcomes] == ["id-3"]


def test_an_answer_that_a_gateway_wraps_is_no_call_and_no_drop() -> None:
    class Weather(BaseModel):
        sky: str

    with telemetry() as tel, capture(tel) as seen:
        desk = desk_with(tool(look_out), tel=tel, output_type=Weather, tool_use_behavior="stop_on_first_tool")
        asyncio.run(desk.turn([Ask("json_tool_call", {"sky": "grey"})]))
        assert counts(seen) == Counter()


def test_a_tool_under_another_name_rejects_what_does_not_fit_all_the_same() -> None:
    with telemetry() as tel, capture(tel) as seen:
        copied = dataclasses.replace(named(Hotel().tools(), "find_rooms"), name="find_any_rooms")
        asyncio.run(desk_with(copied, tel=tel).turn([Ask("find_any_rooms", {})], "Done."))
        assert counts(seen)["rejected find_any_rooms structural framework"] == 1


def test_arguments_that_did_not_fit_another_tool_inside_are_an_error_of_the_outer_one() -> None:
    with telemetry() as tel, capture(tel) as seen:
        inner = function_tool(Hotel().functions()[1], failure_error_function=None)
        helper = Agent(name="helper", model=ScriptedModel(), tools=[inner])
        concierge = helper.as_tool(tool_name="concierge", tool_description="Ask the concierge, who knows all.")

        async def ask_around() -> str:
            """Ask around, until somebody knows."""
            return str(await inner.on_invoke_tool(ToolContext(None, Usage(), "x", "id-8", "{}"), "{}"))

        desk = desk_with(concierge, tool(ask_around), tel=tel)
        helper.model.script([Ask("find_rooms", {}, "id-7")])  # type: ignore[union-attr, unused-ignore]
        asyncio.run(desk.turn([Ask("concierge", {"input": "?"})], [Ask("ask_around", {})], "Done."))
        assert counts(seen) == counter("call concierge error\ncall ask_around error")


def test_a_nested_run_that_ends_badly_is_an_error_of_the_tool() -> None:
    with telemetry() as tel, capture(tel) as seen:

        async def ask_around() -> str:
            """Ask around, until somebody knows."""
            raise MaxTurnsExceeded("nobody knows")

        asyncio.run(desk_with(tool(ask_around), tel=tel).turn([Ask("ask_around", {})], "Done."))
        assert counts(seen) == counter("call ask_around error")


# --- spans, and switches ----------------------------------------------------------------------------


def test_a_call_has_one_span_of_ours_as_the_sdk_makes_none() -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with telemetry(tracer_provider=provider) as tel:
        desk = new_desk(Hotel(), agents=TooltelAgents(tel, profile="desk"), wrapped=True)
        asyncio.run(desk.turn([TAXI], "Done."))
        asyncio.run(desk.turn([DRILL]))
        spans = exporter.get_finished_spans()
        assert [span.name for span in spans] == ["execute_tool call_taxi", "execute_tool"]  # the drop has one, too
        assert (
            dict(spans[0].attributes or {}).items()
            >= {
                "gen_ai.tool.name": "call_taxi",
                "gen_ai.tool.call.id": "id-1",
                "gen_ai.agent.name": "desk",
                "gen_ai.conversation.id": "guest-1",
            }.items()
        )


def test_a_span_that_an_instrumentation_made_for_the_call_is_tagged_and_not_made_again() -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("somebody.else")

    async def around(ctx: Any, arguments: str) -> Any:
        return "rain"

    with telemetry(tracer_provider=provider) as tel, capture(tel) as seen:
        agents = TooltelAgents(tel, profile="desk")
        own = FunctionTool("look_out", "Look out of the window.", {"type": "object", "properties": {}}, around)
        watched = agents.watch(Agent(name="desk", tools=[own])).tools[0]

        async def call() -> None:
            with tracer.start_as_current_span("look_out", attributes={"gen_ai.tool.name": "look_out"}):
                await watched.on_invoke_tool(RunContextWrapper(context=None), "{}")

        asyncio.run(call())
        (span,) = exporter.get_finished_spans()
        assert span.name == "look_out"
        assert counts(seen) == counter("call look_out ok")


def test_nothing_is_recorded_where_telemetry_is_switched_off() -> None:
    with telemetry(settings=Settings(disabled=True)) as tel, capture(tel) as seen:
        desk = new_desk(Hotel(), agents=TooltelAgents(tel, profile="desk"))
        asyncio.run(desk.turn([TAXI, Ask("send_bill", {"room": "13"})], [DRILL]))
        assert not seen.outcomes
        assert desk.transcript[0][0].startswith("ModelBehaviorError: Tool drill not found")
