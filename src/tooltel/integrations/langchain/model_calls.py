"""What an agent's model is sent, what cannot be called in its answer, and who answered in a tool's place."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from operator import is_
from typing import TYPE_CHECKING, Any, Final

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.config import get_config

from tooltel.integrations.hooks import contained
from tooltel.integrations.langchain.sent import ModelWitness, Sent
from tooltel.integrations.langchain_core.endings import is_disapproved
from tooltel.integrations.langchain_core.witness import witnesses
from tooltel.outcome import Fault
from tooltel.signals import POLICY_CONFIRMATION, POLICY_MIDDLEWARE

if TYPE_CHECKING:
    from langchain.agents.middleware.types import ModelRequest

    from tooltel.call import Session
    from tooltel.integrations.langgraph.tool_calls import TooltelToolCalls

_CALLS: Final = 10_000  # that the model asked for, and of which is known whether a tool node was asked, too
_Key = tuple[str | None, str | None]


class ModelCalls:
    """Watches the model of an agent whose tool calls are *tool_calls*."""

    def __init__(self, tool_calls: TooltelToolCalls) -> None:
        self.tel = tool_calls.tel
        self.origins = tool_calls.origins
        self.asked = AskedFor()
        self.sent = Sent(self.tel)
        self._tool_calls = tool_calls
        self._tools: Sequence[Any] = ()
        self._names: frozenset[str] = frozenset()
        tool_calls.reached = self.asked.reached

    @contained
    def begin(self, request: ModelRequest) -> ModelCall:
        """Note who answered the last calls, and watch this one."""
        return ModelCall(self, request.messages, request.tools or ())

    def names_of(self, tools: Sequence[Any]) -> frozenset[str]:
        """The names of *tools* without those that are a provider's own; remembered, as they are mostly the same."""
        known = self._tools
        if len(known) != len(tools) or not all(map(is_, tools, known)):
            found = {tool.name: tool for tool in tools if isinstance(tool, BaseTool)}
            self._tool_calls.tools = {**self._tool_calls.tools, **found}
            self._tools, self._names = tuple(tools), frozenset(found)
            return frozenset(found)
        return self._names


class ModelCall:
    """One request to the model, with *messages* and *tools*."""

    __slots__ = ("_calls", "_config", "_messages", "_names", "_token", "_tools", "_witness", "tel")

    def __init__(self, calls: ModelCalls, messages: Sequence[Any], tools: Sequence[Any]) -> None:
        self.tel = calls.tel
        self._calls = calls
        self._tools = tools
        self._messages = messages
        self._config = get_config()
        self._names = calls.names_of(tools)
        if messages and isinstance(messages[-1], ToolMessage):
            self._note_answers()
        self._witness = ModelWitness()
        self._token = witnesses.set(self._witness)

    @contained
    def ended(self, response: object) -> None:
        """Record what was sent, and the calls in the answer that no tool node will be asked for."""
        self._unwatch()
        messages: Sequence[Any] = getattr(response, "result", None) or [response]
        origins = self._calls.origins
        run = origins.run(self._config, messages)
        session = origins.session(run)
        self._note_sent(messages, session)
        for message in messages:
            if isinstance(message, AIMessage) and (message.tool_calls or message.invalid_tool_calls):
                self._note_calls(message, run.thread, session)

    @contained
    def failed(self) -> None:
        """Record what was sent in vain."""
        self._unwatch()
        origins = self._calls.origins
        self._note_sent((), origins.session(origins.run(self._config, self._messages)))

    def _unwatch(self) -> None:
        try:
            witnesses.reset(self._token)
        except ValueError:  # ended in another context than begun: nothing of ours is set in this one
            return

    def _note_sent(self, messages: Sequence[Any], session: Session) -> None:
        self._calls.sent.note(self._witness.sent_for(messages), self._tools, session)

    def _note_calls(self, message: AIMessage, thread: str | None, session: Session) -> None:
        # What was declared and is no tool is the form that the model was to answer in: it has called nothing.
        forms = [name for name in session.offered or () if name not in self._names]
        for call in message.tool_calls:
            if call["name"] not in forms:
                self._calls.asked.for_call(thread, call["id"], call["name"], call["args"])
        for broken in message.invalid_tool_calls:
            name, call_id = broken.get("name") or "", broken.get("id")
            if name in self._names:
                observed = self.tel.observe(name, None, call_id=call_id, session=session)
                observed.reject([Fault("", "arguments are not JSON")])
            elif name not in forms:
                self.tel.not_found(name, call_id=call_id, session=session)

    def _note_answers(self) -> None:
        """Record the calls that were answered with an error before any tool node was asked."""
        errors: list[ToolMessage] = []
        for message in reversed(self._messages):
            if isinstance(message, ToolMessage):
                if message.status == "error":
                    errors.append(message)
            elif isinstance(message, AIMessage):
                for answer in reversed(errors):
                    self._note_answer(answer, message)
                return

    def _note_answer(self, answer: ToolMessage, asking: AIMessage) -> None:
        run, disapproved = self._calls.origins.run(self._config, (asking,)), is_disapproved(answer)
        asked = self._calls.asked.answered(run.thread, answer.tool_call_id, anyway=disapproved)
        if asked is None:
            return
        name, arguments = asked
        if not name:  # asked for in another process, which has waited for a person's answer
            told = next((call for call in asking.tool_calls if call["id"] == answer.tool_call_id), None)
            name, arguments = (told["name"], told["args"]) if told is not None else (answer.name or "", {})
        session = self._calls.origins.session(run)
        if name not in self._names and not disapproved:
            self.tel.not_found(name, call_id=answer.tool_call_id, session=session)
            return
        call = self.tel.observe(name, arguments, call_id=answer.tool_call_id, session=session)
        call.refuse(POLICY_CONFIRMATION if disapproved else POLICY_MIDDLEWARE)


class AskedFor:
    """The calls that a model asked for in this process, until it is known who answered. Bounded."""

    def __init__(self) -> None:
        self._calls: OrderedDict[_Key, tuple[str, Mapping[str, Any]] | None] = OrderedDict()  # None: all is told
        self._lock = threading.Lock()

    def for_call(self, thread: str | None, call_id: str | None, name: str, arguments: Mapping[str, Any]) -> None:
        """Keep a call that the model asked for."""
        self._keep((thread, call_id), (name, arguments))

    def reached(self, thread: str | None, call_id: str | None) -> None:
        """Take note that a tool node was asked for the call, and its end will be told."""
        self._keep((thread, call_id), None)

    def answered(
        self, thread: str | None, call_id: str | None, *, anyway: bool
    ) -> tuple[str, Mapping[str, Any]] | None:
        """Give a call that was answered and not told of yet, once; *anyway*: also one from another process."""
        with self._lock:
            missing: tuple[str, Mapping[str, Any]] | None = ("", {}) if anyway else None
            found = self._calls.get((thread, call_id), missing)
            if found is not None:
                self._calls[thread, call_id] = None
            return found

    def _keep(self, key: _Key, value: tuple[str, Mapping[str, Any]] | None) -> None:
        with self._lock:
            self._calls[key] = value
            self._calls.move_to_end(key)
            if len(self._calls) > _CALLS:
                self._calls.popitem(last=False)
