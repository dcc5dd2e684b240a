"""
A tool's calls, watched where they run: what stands in the place of a FunctionTool's `on_invoke_tool`.

The SDK's own invoker turns whatever the tool raises into text for the model. What is watched is what it calls: there
the exception is still the tool's own, and this is the task in which the tool runs.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from agents.tool import FunctionTool, _FailureHandlingFunctionToolInvoker
from agents.tool_context import ToolContext
from opentelemetry import trace

from tooltel import signals
from tooltel.integrations.hooks import contained
from tooltel.integrations.openai_agents.endings import conclude, conclude_error
from tooltel.signals import ERROR_TIMEOUT, Status

if TYPE_CHECKING:
    from tooltel.integrations.openai_agents.agents import TooltelAgents
    from tooltel.observed import Observed

Invoke = Callable[[Any, str], Awaitable[Any]]

_ALLOW: Final = "allow"  # a guardrail's verdict that lets the call happen
_TICK: Final = 0.001  # s: the loop's timers may fire this much early
_SIGNATURE: Final = inspect.Signature(
    [
        inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=ToolContext),
        inspect.Parameter("input", inspect.Parameter.POSITIONAL_OR_KEYWORD),
    ]
)


class Calls:
    """Records the calls that one agent makes of one tool."""

    def __init__(self, agents: TooltelAgents, agent: str, tool: FunctionTool) -> None:
        self.tel = agents.tel
        self.agents = agents
        self._agent = agent
        self._tool = tool

    def invoker(self, copied: FunctionTool) -> Invoke:
        """Give what *copied*, a copy of the tool, is to be invoked by."""
        inner = copied.on_invoke_tool
        if isinstance(inner, _FailureHandlingFunctionToolInvoker):
            return _Invoker.over(inner, self, copied)

        @functools.wraps(inner)
        def invoke(ctx: Any, arguments: str) -> Awaitable[Any]:
            return self.run(inner, time.monotonic(), ctx, arguments)

        # The SDK reads there which kind of context a tool wants.
        invoke.__annotations__ = dict(getattr(inner, "__annotations__", {}))
        return invoke

    @property
    def has_limit(self) -> bool:
        """Whether the SDK ends a call that takes too long."""
        return self._tool.timeout_seconds is not None

    async def run(self, invoke: Invoke, asked_at: float, ctx: Any, arguments: str) -> Any:
        """
        Invoke the tool; what comes of it is given or raised on.

        The SDK asked for it at *asked_at*, which only matters where there is a limit.
        """
        call = self._begin(ctx, arguments)
        try:
            result = await invoke(ctx, arguments)
        except BaseException as error:
            self._fail(call, arguments, asked_at, error)
            raise
        self._finish(call, ctx, result)
        return result

    @contained
    def judged(self, guardrail: Any, verdict: Any, ctx: Any) -> None:
        """Record the call, if *verdict* keeps it from happening; its policy is the guardrail's name."""
        call = self._begin(ctx, ctx.tool_arguments) if verdict.behavior["type"] != _ALLOW else None
        if call is not None:
            call.refuse(guardrail.get_name())

    @contained
    def _begin(self, ctx: Any, arguments: str) -> Observed | None:
        if self.tel.settings.disabled:
            return None
        name, call_id = self._tool.name, getattr(ctx, "tool_call_id", None)
        self.agents.turns.came(call_id)
        self.tel.raw_arguments(name, arguments, self._tool.params_json_schema)
        session = self.agents.session(self._agent, ctx)
        return self.tel.observe(name, arguments, call_id=call_id, span=_span_of(name), session=session)

    @contained
    def _fail(self, call: Observed | None, arguments: str, asked_at: float, error: BaseException) -> None:
        if call is None:
            return
        limit = self._tool.timeout_seconds
        is_late = limit is not None and time.monotonic() - asked_at >= limit - _TICK
        if is_late and isinstance(error, asyncio.CancelledError):  # as the SDK ends a tool whose time is up
            call.conclude(Status.TIMEOUT, ERROR_TIMEOUT)
        else:
            conclude_error(call, arguments, self._tool.params_json_schema, error)

    @contained
    def _finish(self, call: Observed | None, ctx: Any, result: object) -> None:
        if call is not None:
            conclude(call, self._tool, ctx, result)


class _Invoker(_FailureHandlingFunctionToolInvoker):  # type: ignore[misc, unused-ignore]
    """
    The SDK's invoker, with the tool behind it watched.

    It stays one of the SDK's: approvals ask it to prepare arguments, and copies of the tool are bound to it anew.
    """

    @classmethod
    def over(cls, inner: Any, calls: Calls, tool: FunctionTool) -> _Invoker:
        """The invoker *inner*, watched and bound to *tool*."""
        made = cls.__new__(cls)
        made.__dict__.update(vars(inner), _function_tool=tool, tooltel=calls)
        # The SDK asks at each call which kind of context is wanted. It takes long to find that out of a class.
        made.__dict__.update(__signature__=_SIGNATURE, __annotations__={})
        made.__dict__["_without_limit"] = made.since(0.0)
        return made

    def __agents_bind_function_tool__(self, function_tool: FunctionTool) -> _Invoker:
        return self if self._function_tool is function_tool else self.over(self, self.tooltel, function_tool)

    # No coroutine function: it is called before a time limit begins to run, and a coroutine starts after that.
    def __call__(self, ctx: Any, input: str) -> Awaitable[Any]:  # noqa: A002 - the SDK's word
        invoke = self.since(time.monotonic()) if self.tooltel.has_limit else self._without_limit
        given: Awaitable[Any] = invoke(ctx, input)
        return given

    def since(self, asked_at: float) -> Any:
        """An invoker of the SDK's for one call that was asked for then."""
        run = functools.partial(self.tooltel.run, self._invoke_tool_impl, asked_at)
        return _FailureHandlingFunctionToolInvoker(run, self._on_handled_error, function_tool=self._function_tool)


def _span_of(name: str) -> trace.Span | None:
    """The span that an instrumentation of the host's made for this call; the SDK itself makes none."""
    span = trace.get_current_span()
    attributes = getattr(span, "attributes", None) or {}
    scope = getattr(getattr(span, "instrumentation_scope", None), "name", None)
    return span if scope != signals.SCOPE and attributes.get(signals.TOOL_NAME) == name else None
