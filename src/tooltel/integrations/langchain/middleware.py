"""The middleware: what langchain's agents tell of their calls, and of what the model is sent and answers."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from langchain.agents.middleware import AgentMiddleware
from langchain_core.tools import ToolException

from tooltel.integrations.langchain.model_calls import ModelCalls
from tooltel.integrations.langgraph.tool_calls import TooltelToolCalls

if TYPE_CHECKING:
    from langchain.agents.middleware.types import ModelRequest, ModelResponse
    from langgraph.prebuilt.tool_node import ToolCallRequest

    from tooltel.integrations.langgraph.tool_calls import Result
    from tooltel.runtime import Tooltel

_HOOKS: Final = ("wrap_tool_call", "awrap_tool_call", "wrap_model_call", "awrap_model_call")


class TooltelMiddleware(AgentMiddleware):
    """
    Records an agent's tool calls, calls to no tool, and what the model is sent: one for each agent.

    List it first, and a call that another middleware makes again is one call, with what came of it at last; listed
    last, each try is a call of its own. *profile* and *agent* are what the calls carry; left out, they are the host's
    session's, the agent's own name, the process' default. The conversation's id is the config's `thread_id`.

    With *redirect_aliases*, a call to an old name runs the tool under its new one, and is answered under the old.
    *domain_errors* are the exceptions by which tools tell the model that they do not want a call: pass () where
    tools raise ToolException for crashes.

    Any middleware that wraps tool calls changes two things, and so does this one: an agent without tools gets a tool
    node, which answers calls to no tool; and langchain no longer refuses tools that another middleware brings along.
    """

    def __init__(
        self,
        tel: Tooltel,
        *,
        profile: str | None = None,
        agent: str | None = None,
        redirect_aliases: bool = False,
        domain_errors: tuple[type[Exception], ...] = (ToolException,),
    ) -> None:
        super().__init__()
        self.tel = tel
        self._tool_calls = TooltelToolCalls(
            tel, profile=profile, agent=agent, redirect_aliases=redirect_aliases, domain_errors=domain_errors
        )
        self._model_calls = ModelCalls(self._tool_calls)
        for hook in _HOOKS:
            setattr(self, hook, _signed(getattr(self, hook)))

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Result]) -> Result:
        """Let *handler* make the call, and record it."""
        return self._tool_calls.wrap_tool_call(request, handler)

    def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Result]]
    ) -> Awaitable[Result]:
        """Let *handler* make the call, and record it."""
        return self._tool_calls.awrap_tool_call(request, handler)

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse]) -> ModelResponse:
        """Let *handler* ask the model, and record what it was sent and what cannot be called in its answer."""
        call = self._model_calls.begin(request)
        try:
            response = handler(request)
        except BaseException:
            if call is not None:
                call.failed()
            raise
        if call is not None:
            call.ended(response)
        return response

    def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[ModelResponse]]
    ) -> Awaitable[ModelResponse]:
        """Let *handler* ask the model, and record what it was sent and what cannot be called in its answer."""
        return self._awrap_model_call(request, handler)

    async def _awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[Any]]
    ) -> ModelResponse:
        call = self._model_calls.begin(request)
        try:
            response = await handler(request)
        except BaseException:
            if call is not None:
                call.failed()
            raise
        if call is not None:
            call.ended(response)
        return response


def _signed(method: Callable[..., Any]) -> Callable[..., Any]:
    """*method*, which says what it takes: langchain's tracing asks at every call, and a bound method takes longest."""
    signed = functools.partial(method)
    signed.__signature__ = inspect.signature(method)  # type: ignore[attr-defined]
    return signed
