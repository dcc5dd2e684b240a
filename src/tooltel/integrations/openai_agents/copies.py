"""Watched copies of agents: the same agents, with tools, guardrails, handoffs and hooks that tell what they see."""

from __future__ import annotations

import copy
import functools
import inspect
import threading
import types
import weakref
from collections import OrderedDict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from agents import Agent, FunctionTool, Handoff

from tooltel.integrations.hooks import contained
from tooltel.integrations.openai_agents.calls import Calls
from tooltel.integrations.openai_agents.turns import Hooks, are_same

if TYPE_CHECKING:
    from agents.agent import AgentBase

    from tooltel.integrations.openai_agents.agents import TooltelAgents

_KEPT: Final = 1_000  # agents whose copies are kept
_OFFERED: Final = "tooltel_offered"  # in a copy: the tools that were offered last, all of them watched


class _Kept(NamedTuple):
    """The copy of an agent, as long as that lives, with all that it held and led to when the copy was made."""

    copy: Any
    alive: weakref.ref[Any]
    held: list[Any]
    leads: list[Any]


class Copies:
    """The watched copies of agents, one for each; an agent that was changed since is copied anew."""

    def __init__(self, agents: TooltelAgents) -> None:
        self.tel = agents.tel
        self._agents = agents
        self._kept: OrderedDict[int, _Kept] = OrderedDict()
        self._classes: dict[type[Any], type[Any]] = {}
        self._lock = threading.RLock()

    def of(self, agent: Any) -> Any:
        """The watched copy of *agent*, or the agent itself where it is one."""
        if self._is_copy(agent):
            return agent
        with self._lock:
            reached = {id(each): each for each in self._reach(agent, set())}
            stale = self._stale(reached)
            for key in stale:
                self._kept.pop(key, None)  # its successor is the newest
                self._kept[key] = self._empty(reached[key])
            for key in stale:  # now that each can name the others
                self._kept[key] = self._filled(reached[key], self._kept[key])
            while len(self._kept) > max(_KEPT, len(reached)):
                self._kept.popitem(last=False)
            return self._kept[id(agent)].copy

    def _is_copy(self, agent: Any) -> bool:
        return getattr(type(agent), "tooltel", None) is self

    def _reach(self, agent: Any, seen: set[int]) -> Iterator[Any]:
        """The agent and all that it may hand over to, but those that are watched already."""
        if id(agent) in seen or self._is_copy(agent):
            return
        seen.add(id(agent))
        yield agent
        for target in _targets(agent):
            yield from self._reach(target, seen)

    def _stale(self, reached: dict[int, Any]) -> set[int]:
        """Those that have no copy yet, or were changed since, and all that lead to one of them."""
        stale = {key for key, agent in reached.items() if not self._is_fresh(agent)}
        leads = {key: {id(target) for target in _targets(agent)} for key, agent in reached.items()}
        while more := {key for key in reached if key not in stale and leads[key] & stale}:
            stale |= more
        return stale

    def _is_fresh(self, agent: Any) -> bool:
        kept = self._kept.get(id(agent))
        return kept is not None and are_same(kept.held, _held(agent)) and are_same(kept.leads, self._leads(agent))

    def _leads(self, agent: Any) -> list[Any]:
        """The copies, where there are any, of those that *agent* may hand over to."""
        return [self._copy(target) for target in _targets(agent)]

    def _copy(self, agent: Any) -> Any:
        kept = self._kept.get(id(agent))
        return agent if kept is None else kept.copy

    def _empty(self, agent: Any) -> _Kept:
        key = id(agent)  # nobody else's, until the agent is gone
        alive = weakref.ref(agent, lambda _: self._kept.pop(key, None))
        return _Kept(object.__new__(self._class(type(agent))), alive, [], [])

    def _filled(self, agent: Any, kept: _Kept) -> _Kept:
        held = vars(kept.copy)
        held.update(vars(agent))
        held["tools"] = [self.tool(tool, agent.name) for tool in agent.tools]
        held["handoffs"] = [self._handoff(each) for each in getattr(agent, "handoffs", ())]
        held["hooks"] = Hooks(self._agents.turns, agent.hooks)
        return kept._replace(held=_held(agent), leads=self._leads(agent))

    def _class(self, kind: type[Any]) -> type[Any]:
        """The class of copies of agents of class *kind*: they tell which tools the model is about to be offered."""
        if kind not in self._classes:

            async def get_all_tools(agent: AgentBase[Any], run_context: Any) -> list[Any]:
                tools: list[Any] = await kind.get_all_tools(agent, run_context)
                return self._offered(agent, run_context, tools) or tools

            names = {
                "__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__,
                "get_all_tools": get_all_tools, "tooltel": self,
            }  # fmt: skip
            self._classes[kind] = types.new_class(kind.__name__, (kind,), exec_body=lambda body: body.update(names))
        return self._classes[kind]

    @contained
    def _offered(self, agent: Any, context: Any, tools: list[Any]) -> list[Any]:
        watched = vars(agent).get(_OFFERED)
        if watched is None or not are_same(watched, tools):  # those of MCP servers are made for each turn
            watched = vars(agent)[_OFFERED] = [self.tool(tool, agent.name) for tool in tools]
        self._agents.turns.offer(context, watched)
        return list(watched)

    # --- what an agent has ---

    def tool(self, tool: Any, agent: str) -> Any:
        """A watched copy of a function tool of the agent of that name; what is no function tool, as it is."""
        known = getattr(getattr(tool, "on_invoke_tool", None), "tooltel", None)
        if not isinstance(tool, FunctionTool) or (isinstance(known, Calls) and known.agents is self._agents):
            return tool
        return self._watched(tool, agent) or tool

    @contained
    def _watched(self, tool: Any, agent: str) -> Any:
        calls = Calls(self._agents, agent, tool)
        copied = copy.copy(tool)
        copied.on_invoke_tool = calls.invoker(copied)
        copied.on_invoke_tool.tooltel = calls
        if getattr(tool, "tool_input_guardrails", None):
            copied.tool_input_guardrails = [self._guardrail(each, calls) for each in tool.tool_input_guardrails]
        return copied

    def _guardrail(self, guardrail: Any, calls: Calls) -> Any:
        copied = copy.copy(guardrail)  # equal to the host's, as `run` is no field of it

        async def run(data: Any) -> Any:
            verdict = await guardrail.run(data)
            calls.judged(guardrail, verdict, data.context)
            return verdict

        copied.run = run
        return copied

    def _handoff(self, given: Any) -> Any:
        if not isinstance(given, Handoff):
            return self._copy(given) if isinstance(given, Agent) else given
        inner = given.on_invoke_handoff
        copied = copy.copy(given)

        @functools.wraps(inner)
        async def hand_over(*told: Any) -> Any:
            return self._agents.watch(await inner(*told))

        copied.on_invoke_handoff = hand_over
        target = _target(given)
        if target is not None:
            copied._agent_ref = weakref.ref(self._copy(target))  # noqa: SLF001 - where a run that was saved finds it
        if not isinstance(given.is_enabled, bool):
            copied.is_enabled = self._noted(given)
        return copied

    def _noted(self, handoff: Any) -> Any:
        """The host's say on whether *handoff* is offered, taken note of."""

        @functools.wraps(handoff.is_enabled)
        async def is_enabled(context: Any, agent: Any) -> bool:
            said = handoff.is_enabled(context, agent)
            verdict = bool(await said if inspect.isawaitable(said) else said)
            self._agents.turns.shut(context, handoff.tool_name, is_shut=not verdict)
            return verdict

        return is_enabled


def _targets(agent: Any) -> list[Any]:
    """The agents that *agent* may hand over to, as far as they are known before."""
    return [target for target in map(_target, getattr(agent, "handoffs", ())) if target is not None]


def _target(handoff: Any) -> Any:
    if isinstance(handoff, Handoff):
        known = getattr(handoff, "_agent_ref", None)
        return known() if known is not None else None
    return handoff if isinstance(handoff, Agent) else None


def _held(agent: Any) -> list[Any]:
    """All that *agent* and its tools hold, to be compared by identity."""
    tools = [value for tool in agent.tools for value in (tool, *vars(tool).values())]
    return [*vars(agent).values(), *tools, *getattr(agent, "handoffs", ())]
