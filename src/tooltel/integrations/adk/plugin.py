"""The plug-in: what google-adk's callbacks tell of a call, from its start to its end."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Final

from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.base_tool import BaseTool
from opentelemetry import trace

from tooltel import signals
from tooltel.integrations.adk.requests import Redirects, Sent
from tooltel.integrations.adk.results import conclude, conclude_error, response_in
from tooltel.integrations.conversations import Conversations
from tooltel.integrations.hooks import OPEN_CALLS, contained
from tooltel.signals import Component

if TYPE_CHECKING:
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.models.llm_request import LlmRequest
    from google.adk.models.llm_response import LlmResponse
    from google.adk.tools.tool_context import ToolContext
    from opentelemetry.trace import Span

    from tooltel.call import Session
    from tooltel.observed import Observed
    from tooltel.runtime import Tooltel

# The tool that ADK puts in the place of one that is not there, and its name where the model gave none (2.x).
_NOT_FOUND: Final = "Tool not found"
_UNNAMED: Final = "<unnamed>"
_NOBODY: Final = "unknown"  # what ADK 2.x calls the agent of a tool that a workflow runs


def _callback(plain: Callable[..., None]) -> Callable[..., Coroutine[Any, Any, None]]:
    """
    Let a method that awaits nothing be a callback of ADK's: it changes nothing, and whatever goes wrong is contained.

    As `contained` does for a coroutine method, with one coroutine less on a path that every call takes four times.
    """

    @functools.wraps(plain)
    async def callback(self: TooltelPlugin, **told: Any) -> None:
        try:
            plain(self, **told)
        except Exception as error:  # noqa: BLE001 - any failure of ours, in somebody else's loop
            self.tel.guard.contain(Component.INTEGRATIONS, error)

    return callback


class TooltelPlugin(BasePlugin):
    """
    Records every tool call, every call to no tool, and what the model was sent: `App(plugins=[TooltelPlugin(tel)])`.

    *profile* is the profile of all agents, or a mapping from agent names to profiles. List it before other plug-ins:
    what one before it answers in the tool's place is seen less well, and not at all where that one hides both the
    start and the result of a call. With *redirect_aliases*, a call to an old name runs the tool under its new name,
    and the model's history shows the new name; without it, ADK and the model see exactly what they would see anyway.
    """

    def __init__(
        self,
        tel: Tooltel,
        *,
        profile: str | Mapping[str, str] | None = None,
        redirect_aliases: bool = False,
        name: str = "tooltel",
    ) -> None:
        super().__init__(name)
        self.tel = tel
        self._profile = profile
        self._conversations = Conversations(tel)
        self._sent = Sent(tel)
        self._redirects: Redirects | None = None
        if redirect_aliases:
            self._redirects = Redirects(tel)
            self.after_model_callback = self._rename  # only then: ADK asks each plug-in for each answer
        # Calls that were told of, by the object that all callbacks of a call share; None: no tool was reached.
        self._told: dict[int, Observed | None] = {}

    # --- the model ---

    @_callback
    def before_model_callback(self, *, callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        """Record the declarations that are about to be sent."""
        self._sent.note(llm_request, callback_context.invocation_id, self._session(callback_context))

    @_callback
    def _rename(self, *, callback_context: CallbackContext, llm_response: LlmResponse) -> None:
        """Let old names in the model's answer be new ones."""
        if self._redirects is not None:
            self._redirects.rename(llm_response, self._session(callback_context))

    # --- a call ---

    @_callback
    def before_tool_callback(self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext) -> None:
        """Begin the call, or record that there is no such tool."""
        self._begin(tool, tool_args, tool_context)

    @_callback
    def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: Any
    ) -> None:
        """End the call with its result."""
        call = self._call(tool, tool_args, tool_context)
        if call is not None:
            conclude(call, tool, tool_context, result)

    @_callback
    def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, error: BaseException
    ) -> None:
        """End the call with what was raised, a cancellation included."""
        call = self._call(tool, tool_args, tool_context)
        if call is not None:
            conclude_error(call, tool, error)

    def _call(self, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext) -> Observed | None:
        """Give the call that is still open; where another plug-in answered before ours, it begins only here."""
        if id(tool_context) not in self._told:
            self._begin(tool, tool_args, tool_context)
        call = self._told.get(id(tool_context))
        return call if call is not None and call.is_open else None

    def _begin(self, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext) -> None:
        if self.tel.settings.disabled:
            return
        session, call_id = self._session(tool_context), tool_context.function_call_id
        span = _span_of(tool)
        call: Observed | None = None
        if type(tool) is BaseTool and tool.description == _NOT_FOUND:
            if id(tool_context) in self._told:
                return
            name = "" if tool.name == _UNNAMED else tool.name
            self.tel.not_found(name, call_id=call_id, span=span, session=session)
        else:
            asked = self._redirects.asked(call_id) if self._redirects is not None else None
            name = asked or tool.name
            self.tel.raw_arguments(name, tool_args, self._sent.schema(session.origin.agent, tool.name))
            call = self.tel.observe(name, tool_args, call_id=call_id, span=span, session=session)
        task = asyncio.current_task()
        if task is None:
            return
        # Kept as long as the call's task, which keeps the context, so that no other has its id.
        self._told[id(tool_context)] = call
        task.add_done_callback(functools.partial(self._left, call, tool, tool_context))
        if len(self._told) > OPEN_CALLS:  # of loops that were stopped in the middle
            del self._told[next(iter(self._told))]

    @contained
    def _left(self, call: Observed | None, tool: BaseTool, tool_context: ToolContext, task: asyncio.Task[Any]) -> None:
        """End a call whose end no callback told: it was cancelled (before 2.9), or another plug-in kept it from us."""
        self._told.pop(id(tool_context), None)
        if call is None or not call.is_open:
            return
        if task.cancelled():
            call.fail(asyncio.CancelledError())
        elif isinstance(error := task.exception(), Exception):
            call.fail(error)
        elif error is None and (response := response_in(task.result(), call.call_id)) is not None:
            conclude(call, tool, tool_context, response)
        else:  # a run that pauses for a person's answer leaves its calls so, and makes them again later
            call.put_off()

    def _session(self, context: CallbackContext | ToolContext) -> Session:
        agent: str | None = context.agent_name
        if agent == _NOBODY:
            agent = None
        profile = self._profile
        if profile is not None and not isinstance(profile, str):
            profile = profile.get(agent or "")
        return self._conversations.session(context.session.id, agent=agent, profile=profile)


def _span_of(tool: BaseTool) -> Span | None:
    """ADK's own span of this call; None where there is none, as before 2.9 for a tool that is not there."""
    span = trace.get_current_span()
    if span.is_recording():
        name = f"{signals.EXECUTE_TOOL} {tool.name}"
        return span if getattr(span, "name", name) == name else None
    return span if span.get_span_context().is_valid else None
