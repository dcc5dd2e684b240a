"""What a model is offered in each turn, and what it asks for: declarations, names that are no tools, and denials."""

from __future__ import annotations

import operator
import threading
import weakref
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from agents import AgentHooks, ApplyPatchTool, FunctionTool, Handoff

from tooltel import signals
from tooltel.boundary import read_arguments
from tooltel.call import entered
from tooltel.integrations.hooks import contained
from tooltel.signals import POLICY_CONFIRMATION

if TYPE_CHECKING:
    from tooltel.call import Session
    from tooltel.integrations.openai_agents.agents import TooltelAgents

_AGENTS: Final = 1_000  # whose last declarations are kept
_WAITING: Final = 1_000  # calls that may wait for a person at once
_CALL: Final = "function_call"
_ANSWERED: Final = "function_call_output"
# How some gateways wrap the final answer of an agent with an output type; the SDK runs it as if it were a tool.
_WRAPPED_ANSWER: Final = "json_tool_call"


class _Offer:
    """What the model is offered in a turn of a run."""

    def __init__(self, context: weakref.ref[Any], tools: list[Any]) -> None:
        self.context = context
        self.tools = tools
        self.shut: set[str] = set()  # handoffs that the host keeps from this run

    def handoffs(self, agent: Any) -> list[Any]:
        return [each for each in getattr(agent, "handoffs", ()) if self._is_open(each)]

    def _is_open(self, handoff: Any) -> bool:
        if not isinstance(handoff, Handoff):
            return True
        return handoff.is_enabled is not False and handoff.tool_name not in self.shut


class _Sent(NamedTuple):
    """What an agent's model was last sent: the objects, and the declarations that they turn into."""

    parts: list[Any]
    declarations: list[dict[str, Any]]


class _Waiting(NamedTuple):
    """A call that may have to wait for a person."""

    tool: str
    arguments: Any
    session: Session


class Turns:
    """Takes note of each request to a model, and of each answer, in any run of a watched agent."""

    def __init__(self, agents: TooltelAgents) -> None:
        self.tel = agents.tel
        self._agents = agents
        self._offers: dict[int, _Offer] = {}  # by the run's context, as long as it lives
        self._sent: OrderedDict[str, _Sent] = OrderedDict()  # by agent
        self._waiting: OrderedDict[str, _Waiting] = OrderedDict()  # by call id
        self._lock = threading.Lock()

    def offer(self, context: Any, tools: list[Any]) -> None:
        """Take note of the tools that the model is about to be offered in the run of that context."""
        key = id(context)
        self._offers[key] = _Offer(weakref.ref(context, lambda _: self._offers.pop(key, None)), tools)

    def shut(self, context: Any, handoff: str, *, is_shut: bool) -> None:
        """Take note of whether a handoff is kept from the model in the run of that context."""
        offer = self._offers.get(id(context))
        if offer is not None:
            (offer.shut.add if is_shut else offer.shut.discard)(handoff)

    def came(self, call_id: str | None) -> None:
        """Take note that a call has begun, or was refused: no person denied it."""
        if self._waiting and call_id is not None:
            self._waiting.pop(call_id, None)

    # --- a request, and its answer ---

    @contained
    def ask(self, context: Any, agent: Any, items: Any) -> None:
        """Record the declarations that are about to be sent, and the denials that *items* tell the model of."""
        if self.tel.settings.disabled:
            return
        if self._waiting:
            self._find_denials(items)
        offer = self._offers.get(id(context))
        if offer is not None:
            self._declare(agent.name, [*offer.tools, *offer.handoffs(agent)], self._agents.session(agent.name, context))

    def _declare(self, agent: str, parts: list[Any], session: Session) -> None:
        last = self._sent.get(agent)
        is_known = last is not None and are_same(last.parts, parts)
        if is_known and session.offered is not None:
            return
        declarations = last.declarations if is_known and last is not None else [_declaration(each) for each in parts]
        is_known = last is not None and declarations == last.declarations
        with self._lock:
            self._sent[agent] = _Sent(parts, declarations)
            if len(self._sent) > _AGENTS:
                self._sent.popitem(last=False)
        if not is_known or session.offered is None:
            with entered(session):
                self.tel.declared(session.asked_profile or signals.NO_PROFILE, declarations)

    @contained
    def answer(self, context: Any, agent: Any, response: Any) -> None:
        """Record the names in the model's answer that are no tools."""
        calls = [item for item in response.output if getattr(item, "type", None) == _CALL]
        if not calls or self.tel.settings.disabled:
            return
        offer = self._offers.get(id(context)) or _Offer(weakref.ref(context), agent.tools)
        for call in calls:
            tool = _find(call, offer, agent)
            if tool is None:
                session = self._agents.session(agent.name, context)
                self.tel.not_found(call.name, call_id=call.call_id, session=session)
            elif getattr(tool, "needs_approval", False):
                data, _ = read_arguments(call.arguments)
                with self._lock:
                    self._waiting[call.call_id] = _Waiting(tool.name, data, self._agents.session(agent.name, context))
                    if len(self._waiting) > _WAITING:
                        self._waiting.popitem(last=False)

    def _find_denials(self, items: Any) -> None:
        """Record the calls that were answered although they never began: a person has denied them."""
        for item in items:
            is_answer = isinstance(item, dict) and item.get("type") == _ANSWERED
            call_id = str(item.get("call_id")) if is_answer else ""
            denied = self._waiting.pop(call_id, None) if is_answer else None
            if denied is not None:
                given = denied.arguments if isinstance(denied.arguments, dict) else None
                self.tel.observe(denied.tool, given, call_id=call_id, session=denied.session).refuse(
                    POLICY_CONFIRMATION
                )


class Hooks(AgentHooks[Any]):  # type: ignore[misc, unused-ignore]
    """An agent's hooks: the host's own, and before them what tooltel wants to know."""

    def __init__(self, turns: Turns, inner: Any) -> None:
        self._turns = turns
        self._inner = inner
        for name in dir(inner) if inner is not None else ():
            if name.startswith("on_") and name not in vars(Hooks):
                setattr(self, name, getattr(inner, name))

    async def on_llm_start(self, context: Any, agent: Any, system_prompt: Any, input_items: Any) -> None:
        """Take note of a request to the model."""
        self._turns.ask(context, agent, input_items)
        if self._inner is not None:
            await self._inner.on_llm_start(context, agent, system_prompt, input_items)

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        """Take note of the model's answer."""
        self._turns.answer(context, agent, response)
        if self._inner is not None:
            await self._inner.on_llm_end(context, agent, response)


def are_same(some: list[Any], others: list[Any]) -> bool:
    """Whether both lists hold the very same objects."""
    return len(some) == len(others) and all(map(operator.is_, some, others))


def _find(call: Any, offer: _Offer, agent: Any) -> Any:
    """The tool or handoff that *call* asks for, as the SDK finds it; None where there is none."""
    space = getattr(call, "namespace", None)
    is_within = space and space != call.name
    for tool in offer.tools:
        is_it = _qualified(tool) == f"{space}.{call.name}" if is_within else tool.name == call.name
        if is_it and isinstance(tool, (FunctionTool, ApplyPatchTool)):
            return tool
    for handoff in offer.handoffs(agent):
        if call.name == _name_of(handoff):
            return handoff
    return agent if call.name == _WRAPPED_ANSWER and agent.output_type not in (None, str) else None


def _qualified(tool: Any) -> str:
    return str(getattr(tool, "qualified_name", tool.name))


def _name_of(handoff: Any) -> str:
    """The name by which the model asks for *handoff*, which may be an agent."""
    return str(handoff.tool_name if isinstance(handoff, Handoff) else Handoff.default_tool_name(handoff))


def _declaration(part: Any) -> dict[str, Any]:
    """What the model is shown of a tool, of a handoff or of an agent to hand over to."""
    if isinstance(part, FunctionTool):
        return _function(part.name, part.description, part.params_json_schema)
    if isinstance(part, Handoff):
        return _function(part.tool_name, part.tool_description, part.input_json_schema)
    if hasattr(part, "handoff_description"):
        return _function(Handoff.default_tool_name(part), Handoff.default_tool_description(part), {})
    return {"name": part.name}  # hosted: what the model is shown of it is OpenAI's own


def _function(name: str, description: str, schema: Any) -> dict[str, Any]:
    return {"type": "function", "name": name, "description": description, "parameters": schema}
