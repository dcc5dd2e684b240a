"""With and without tooltel all is the same: events, items, requests, tool calls, hooks, spans, exceptions, the log."""

from __future__ import annotations

import asyncio
import logging
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from agents import Agent, AgentHooks, FunctionTool, RunHooks, function_tool

from tests.integrations.openai_agents.kit import Ask, Desk, Hotel, ScriptedModel, Way, named, new_desk, telemetry
from tests.integrations.openai_agents.script import CONVERSATION
from tests.integrations.openai_agents.test_conversation import play
from tooltel.integrations.openai_agents import TooltelAgents
from tooltel.observed import Observed

if TYPE_CHECKING:
    from collections.abc import Callable

    from tooltel import Tooltel

# What the SDK forces on a run: it has no hook around a tool, so that copies run in place of the host's own objects.
DEVIATIONS = {
    "identity": "results, events and hooks speak of the watched copies of agents, tools and guardrails",
}

TOOLTEL = ("observe", "not_found", "declared", "raw_arguments", "session", "origin")
OBSERVED = ("finish", "fail", "reject", "refuse", "conclude", "settle", "begin", "leave")

# One turn of each moment and end, where the whole conversation would prove no more.
SHORT = tuple({(turn.moment, turn.recorded): turn for turn in CONVERSATION}.values())


class Log(logging.Handler):
    """What the SDK says about a run, in whatever order its tasks said it."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


def everything(
    agents: TooltelAgents | None, *, way: Way = "whole", short: bool = False, hooks: Any = None
) -> dict[str, Any]:
    """All that can be seen from outside of a conversation."""
    hotel, log = Hotel(), Log()
    desk = new_desk(hotel, agents=agents, way=way)
    desk.agent.hooks = hooks() if hooks is not None else None

    async def converse() -> None:
        for turn in SHORT if short else CONVERSATION:
            await play(desk, hotel, turn)

    logging.getLogger("openai.agents").addHandler(log)
    try:
        asyncio.run(converse())
    finally:
        logging.getLogger("openai.agents").removeHandler(log)
    told = getattr(desk.agent.hooks, "said", None)
    return _sorted({**desk.seen(), "calls": hotel.log, "log": log.said, "told": told})


def _sorted(seen: dict[str, Any]) -> dict[str, Any]:
    # Parallel calls run in tasks and threads of their own, which end in any order.
    return {name: sorted(said) if name in ("calls", "hooks", "spans", "log", "told") and said else said
            for name, said in seen.items()}  # fmt: skip


@cache
def without(*, way: Way = "whole", short: bool = False, hooks: Any = None) -> dict[str, Any]:
    return everything(None, way=way, short=short, hooks=hooks)


@pytest.mark.parametrize("way", ["whole", "streamed"])
def test_a_watched_run_is_the_run_that_nobody_watches(way: Way) -> None:
    with telemetry() as tel:
        watched = everything(TooltelAgents(tel, profile="desk"), way=way)
    plain = without(way=way)
    assert {name: watched[name] == said for name, said in plain.items()} == dict.fromkeys(plain, True)
    assert len(watched["calls"]) > 20
    assert set(DEVIATIONS) == {"identity"}


def test_a_synchronous_run_is_the_run_that_nobody_watches() -> None:
    def converse(agents: TooltelAgents | None) -> dict[str, Any]:
        hotel = Hotel()
        desk = new_desk(hotel, agents=agents, way="sync")
        for turn in CONVERSATION:
            if not turn.called_off:
                desk.turn_sync(*turn.steps)
        return _sorted({**desk.seen(), "calls": hotel.log})

    with telemetry() as tel:
        assert converse(TooltelAgents(tel, profile="desk")) == converse(None)


def broken(*args: object, **kwargs: object) -> Any:
    raise ZeroDivisionError("tooltel is broken")


def break_all(tel: Tooltel, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in TOOLTEL:
        monkeypatch.setattr(tel, name, broken)


def break_verbs(tel: Tooltel, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in OBSERVED:
        monkeypatch.setattr(Observed, name, broken)


@pytest.mark.parametrize("way", ["whole", "streamed"])
@pytest.mark.parametrize("breaks", [break_all, break_verbs])
def test_a_tooltel_that_raises_in_every_hook_changes_nothing(
    breaks: Callable[[Tooltel, pytest.MonkeyPatch], None], way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    with telemetry() as tel:
        contained: list[BaseException] = []
        monkeypatch.setattr(tel.guard, "contain", lambda component, error: contained.append(error))
        agents = TooltelAgents(tel, profile="desk")
        breaks(tel, monkeypatch)
        assert everything(agents, short=True, way=way) == without(short=True, way=way)
        monkeypatch.undo()
    assert len(contained) > len(SHORT)
    assert {type(error) for error in contained} == {ZeroDivisionError}


@pytest.mark.parametrize("what", ["Copies.of", "Calls.invoker"])
def test_an_agent_that_cannot_be_watched_runs_all_the_same(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"tooltel.integrations.openai_agents.copies.{what}", broken)
    with telemetry() as tel:
        assert everything(TooltelAgents(tel, profile="desk"), short=True) == without(short=True)


class Told(AgentHooks[Any]):
    """A host's hooks of one agent."""

    def __init__(self) -> None:
        self.said: list[str] = []

    async def on_start(self, context: Any, agent: Any) -> None:
        self.said.append("start")

    async def on_end(self, context: Any, agent: Any, output: Any) -> None:
        self.said.append(f"end {output}")

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        self.said.append(f"start of {tool.name}")

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
        self.said.append(f"end of {tool.name} {result}")

    async def on_llm_start(self, context: Any, agent: Any, system_prompt: Any, input_items: Any) -> None:
        self.said.append(f"request {len(input_items)}")

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        self.said.append(f"answer {len(response.output)}")


class Raises(Told):
    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        raise RuntimeError("a hook of the host's is broken")


@pytest.mark.parametrize("hooks", [Told, Raises])
def test_the_hosts_own_hooks_of_an_agent_are_told_the_same(hooks: Any) -> None:
    with telemetry() as tel:
        watched = everything(TooltelAgents(tel, profile="desk"), short=True, hooks=hooks)
    assert watched == without(short=True, hooks=hooks)
    assert watched["told"]


class Stops(RunHooks[Any]):
    def __init__(self) -> None:
        self.said: list[str] = []

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        raise RuntimeError("a hook of the host's is broken")


def test_a_hook_that_ends_the_run_ends_it_the_same() -> None:
    def converse(agents: TooltelAgents | None) -> dict[str, Any]:
        desk = new_desk(Hotel(), agents=agents)
        desk.hooks = desk.options["hooks"] = Stops()
        asyncio.run(desk.turn([Ask("call_taxi")], "Done."))
        return desk.seen()

    with telemetry() as tel:
        assert converse(TooltelAgents(tel)) == converse(None)


def test_two_that_watch_the_same_agent_both_leave_it_as_it_is() -> None:
    with telemetry() as tel, telemetry() as other:
        inner, outer = TooltelAgents(tel, profile="desk"), TooltelAgents(other, profile="desk")

        class Both(TooltelAgents):
            def watch(self, agent: Any) -> Any:
                return outer.watch(inner.watch(agent))

        assert everything(Both(tel), short=True) == without(short=True)


def test_an_agent_without_tools_is_the_same_too() -> None:
    def converse(agents: TooltelAgents | None) -> dict[str, Any]:
        model = ScriptedModel()
        desk = Desk(Agent(name="desk", model=model), model, agents=agents)
        asyncio.run(desk.turn("Good morning."))
        asyncio.run(desk.turn([Ask("book_room", {})], "Done."))
        return desk.seen()

    with telemetry() as tel:
        assert converse(TooltelAgents(tel)) == converse(None)


def test_the_hosts_own_agent_and_tools_stay_untouched() -> None:
    with telemetry() as tel:
        desk = new_desk(Hotel(), agents=TooltelAgents(tel))
        before = [dict(vars(each)) for each in (desk.agent, *desk.agent.tools)]
        asyncio.run(desk.turn([Ask("call_taxi"), Ask("send_bill", {"room": "13"})], "Done."))
        assert [vars(each) for each in (desk.agent, *desk.agent.tools)] == before
        assert type(desk.agent) is Agent


def test_a_copy_is_what_its_agent_is_in_all_but_identity() -> None:
    with telemetry() as tel:
        desk = new_desk(Hotel(), agents=TooltelAgents(tel))
        copied = TooltelAgents(tel).watch(desk.agent)
        assert isinstance(copied, Agent)
        assert type(copied).__name__ == "Agent"
        assert type(copied).__doc__ == Agent.__doc__
        assert (copied.name, copied.instructions, copied.model) == ("desk", "Be kind.", desk.model)
        guarded, own = named(copied.tools, "send_bill"), named(desk.agent.tools, "send_bill")
        assert guarded.tool_input_guardrails == own.tool_input_guardrails


def test_the_sdk_still_tells_a_time_limit_on_a_synchronous_tool_is_none() -> None:
    def bell() -> str:
        """Ring the bell, so that somebody comes to the desk."""
        return "ding"

    with telemetry() as tel:
        agents = TooltelAgents(tel)
        copied = agents.watch(Agent(name="desk", tools=[function_tool(bell)])).tools[0]
        assert isinstance(copied, FunctionTool)
        import copy

        limited = copy.copy(copied)
        limited.timeout_seconds = 1.0
        with pytest.raises(ValueError, match="only supported for async"):
            FunctionTool.__post_init__(limited)
