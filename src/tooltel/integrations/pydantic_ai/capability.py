"""TooltelCapability: what pydantic-ai tells a capability of calls, and of names that are no tools."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import trace
from opentelemetry.trace import INVALID_SPAN, NoOpTracer
from pydantic_ai import capabilities
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelResponse, ToolCallPart

from tooltel import signals
from tooltel.call import entered
from tooltel.integrations.conversations import Conversations
from tooltel.integrations.hooks import contained
from tooltel.integrations.pydantic_ai import endings

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_ai import ModelRetry, RunContext
    from pydantic_ai.tools import ToolDefinition

    from tooltel.call import Session
    from tooltel.observed import Observed
    from tooltel.runtime import Tooltel

_OUTPUT: Final = "output"  # a form of the run's result is no tool, though early hooks (1.71) are called for it, too
_KEPT: Final = 10_000  # calls told of, in all runs; one that is forgotten could only be told of twice

# Since 1.80 a capability may ask for its place. Before 1.95 the loop made a span for each call, even for one that it
# had rejected or found no tool for; since then a capability makes them, and since 2.28 for rejected calls, too.
_Instrumentation: Final = getattr(capabilities, "Instrumentation", None)
_Ordering: Final = getattr(capabilities, "CapabilityOrdering", None)
_SPANS_OF_DROPS: Final = _Instrumentation is None
_SPANS_OF_REJECTED: Final = _SPANS_OF_DROPS or "on_tool_validate_error" in vars(_Instrumentation)


class TooltelCapability(AbstractCapability[Any]):
    """
    Records every tool call, every call to no tool, and what the model was sent.

    `Agent(..., capabilities=[TooltelCapability(tel)])` is all that it takes.

    *profile* is the profile of every agent that has it, or a mapping from agent names to profiles. *agent* is the
    agent's name, where the run does not tell it (before 1.76) or another is wanted. With *redirect_aliases*, a call to
    an old name runs the tool under its new name, and the model's history shows the new name; without it, the framework
    and the model see exactly what they would see anyway. Where a capability cannot ask for its place (before 1.80),
    list it first. In a realtime session calls are recorded, but neither declarations nor names that are no tools, and
    pydantic-ai warns of the hooks that it never calls there.
    """

    def __init__(
        self,
        tel: Tooltel,
        *,
        profile: str | Mapping[str, str] | None = None,
        agent: str | None = None,
        redirect_aliases: bool = False,
    ) -> None:
        self.tel = tel
        self._profile = profile
        self._agent = agent
        self._redirect = redirect_aliases
        self._conversations = Conversations(tel)
        self._sent: OrderedDict[str | None, list[ToolDefinition]] = OrderedDict()  # by agent, as last sent
        # By run and call id: what was told of already, and the old name under which a call was made.
        self._told: OrderedDict[tuple[str | None, str], None] = OrderedDict()
        self._renamed: OrderedDict[tuple[str | None, str], str] = OrderedDict()

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """None: a Tooltel cannot be written into an agent's specification."""
        return None

    def get_ordering(self) -> Any:
        """Outside of every other capability, to see what they make of a call, but inside the one that makes spans."""
        if _Ordering is None:
            return None
        return _Ordering(position="outermost", wrapped_by=[_Instrumentation] if _Instrumentation is not None else [])

    # --- the model ---

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: Any, response: ModelResponse
    ) -> ModelResponse:
        """Record what was declared, and the names that are no tools; let old names be new ones, where asked for."""
        return self._answered(ctx, request_context.model_request_parameters, response) or response

    @contained
    def _answered(self, ctx: RunContext[Any], parameters: Any, response: ModelResponse) -> ModelResponse | None:
        offered = [*parameters.function_tools, *parameters.output_tools]
        session = self._session(ctx)
        self._note_declarations(offered, session)
        names = frozenset(tool.name for tool in offered)
        renamed = self._rename(ctx, response, names) if self._redirect else None
        for part in (renamed or response).parts:
            if isinstance(part, ToolCallPart) and part.tool_name not in names and not _is_tool(ctx, part.tool_name):
                self._drop(ctx, part.tool_name, part.tool_call_id)
        return renamed

    def _note_declarations(self, offered: list[ToolDefinition], session: Session) -> None:
        agent = session.origin.agent
        if offered == self._sent.get(agent) and session.offered is not None:
            return
        _remember(self._sent, agent, offered)
        with entered(session):
            self.tel.declared(session.asked_profile or signals.NO_PROFILE, [_declaration(tool) for tool in offered])

    def _rename(self, ctx: RunContext[Any], response: ModelResponse, names: frozenset[str]) -> ModelResponse | None:
        parts = [self._redirected(ctx, part, names) for part in response.parts]
        if all(new is old for new, old in zip(parts, response.parts, strict=True)):
            return None
        return replace(response, parts=parts)

    def _redirected(self, ctx: RunContext[Any], part: Any, names: frozenset[str]) -> Any:
        alias = self.tel.catalog.aliases.get(part.tool_name) if isinstance(part, ToolCallPart) else None
        if alias is None or alias.name in names or alias.tool not in names:
            return part
        _remember(self._renamed, (ctx.run_id, part.tool_call_id), alias.name)
        return replace(part, tool_name=alias.tool)

    # --- a call ---

    async def before_tool_validate(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: Any
    ) -> Any:
        """Hand in the arguments as the model wrote them."""
        if tool_def.kind != _OUTPUT:
            self._note_raw(ctx, call, tool_def, args)
        return args

    @contained
    def _note_raw(self, ctx: RunContext[Any], call: ToolCallPart, tool_def: ToolDefinition, args: Any) -> None:
        arguments = _mapping(args)
        if arguments is not None:
            self.tel.raw_arguments(self._name(ctx, call), arguments, tool_def.parameters_json_schema)

    async def on_tool_validate_error(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: Any,
        error: ValidationError | ModelRetry,
    ) -> dict[str, Any]:
        """Record that the arguments were rejected, which no other capability could mend."""
        if tool_def.kind != _OUTPUT:
            self._note_rejection(ctx, call, args, error)
        given: dict[str, Any] = await super().on_tool_validate_error(
            ctx, call=call, tool_def=tool_def, args=args, error=error
        )
        return given

    @contained
    def _note_rejection(
        self, ctx: RunContext[Any], call: ToolCallPart, args: Any, error: ValidationError | ModelRetry
    ) -> None:
        span = _unseen_span(ctx, made=_SPANS_OF_REJECTED)
        endings.conclude_rejection(self._begin(ctx, call, _mapping(args), span), error)

    async def wrap_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: Any, handler: Any
    ) -> Any:
        """Record the call: what came of it, and how long it took."""
        if tool_def.kind == _OUTPUT:
            return await handler(args)
        observed = self._start(ctx, call, args)
        try:
            result = await handler(args)
        except BaseException as error:
            self._end(observed, call, error)
            raise
        self._finish(observed, result)
        return result

    @contained
    def _start(self, ctx: RunContext[Any], call: ToolCallPart, args: Any) -> Observed:
        return self._begin(ctx, call, args, _span_of(call))

    @contained
    def _end(self, observed: Observed | None, call: ToolCallPart, error: BaseException) -> None:
        if observed is not None:
            endings.conclude_error(observed, call.tool_name, error)

    @contained
    def _finish(self, observed: Observed | None, result: Any) -> None:
        if observed is not None:
            endings.conclude(observed, result)

    # --- what no other hook tells of ---

    async def after_node_run(self, ctx: RunContext[Any], *, node: Any, result: Any) -> Any:
        """Record the calls that were answered without any other hook of ours: denied ones, and those of other hooks."""
        del node
        self._read_answers(ctx, result)
        return result

    @contained
    def _read_answers(self, ctx: RunContext[Any], result: Any) -> None:
        for part in getattr(getattr(result, "request", None), "parts", ()):
            cause = endings.cause_of(part)
            if cause is None or (ctx.run_id, part.tool_call_id) in self._told or self._is_output(ctx, part.tool_name):
                continue
            if cause in endings.MISSING:
                self._drop(ctx, part.tool_name, part.tool_call_id)
            else:
                call = ToolCallPart(part.tool_name, tool_call_id=part.tool_call_id)
                endings.conclude_cause(self._begin(ctx, call, None, None), cause, part.content)

    def _is_output(self, ctx: RunContext[Any], name: str) -> bool:
        """Whether *name* is a form of the run's result, which is no tool."""
        sent = self._sent.get(self._session(ctx).origin.agent, ())
        return any(tool.name == name and tool.kind == _OUTPUT for tool in sent)

    # --- all of them ---

    def _begin(self, ctx: RunContext[Any], call: ToolCallPart, arguments: Any, span: trace.Span | None) -> Observed:
        name = self._name(ctx, call)
        self._tell(ctx, call.tool_call_id)
        return self.tel.observe(name, arguments, call_id=call.tool_call_id, span=span, session=self._session(ctx))

    def _drop(self, ctx: RunContext[Any], name: str, call_id: str) -> None:
        self._tell(ctx, call_id)
        span = _unseen_span(ctx, made=_SPANS_OF_DROPS)
        self.tel.not_found(name, call_id=call_id, span=span, session=self._session(ctx))

    def _tell(self, ctx: RunContext[Any], call_id: str) -> None:
        _remember(self._told, (ctx.run_id, call_id), None)

    def _name(self, ctx: RunContext[Any], call: ToolCallPart) -> str:
        """The name by which the model called."""
        return self._renamed.get((ctx.run_id, call.tool_call_id)) or str(call.tool_name)

    def _session(self, ctx: RunContext[Any]) -> Session:
        agent = self._agent or getattr(getattr(ctx, "agent", None), "name", None)
        profile = self._profile.get(agent or "") if isinstance(self._profile, Mapping) else self._profile
        conversation = getattr(ctx, "conversation_id", None) or ctx.run_id
        return self._conversations.session(conversation, agent=agent, profile=profile)


def _remember(memory: OrderedDict[Any, Any], key: object, value: object) -> None:
    memory[key] = value
    if len(memory) > _KEPT:
        memory.popitem(last=False)


def _is_tool(ctx: RunContext[Any], name: str) -> bool:
    """Whether the run would find *name* all the same: a tool that this request did not offer."""
    manager = getattr(ctx, "tool_manager", None)
    tools = getattr(manager, "tools", None)
    return tools is not None and name in tools


def _declaration(tool: ToolDefinition) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters_json_schema": tool.parameters_json_schema,
    }


def _mapping(args: Any) -> Mapping[str, Any] | None:
    """The arguments as the model wrote them; None where that is no JSON object."""
    if isinstance(args, str):
        try:
            args = json.loads(args or "{}")
        except ValueError:
            return None
    return args if isinstance(args, Mapping) else None


def _unseen_span(ctx: RunContext[Any], *, made: bool) -> trace.Span | None:
    """In place of a span that the framework makes later, and that no hook gets to see; None where it makes none."""
    return INVALID_SPAN if made and not isinstance(ctx.tracer, NoOpTracer) else None


def _span_of(call: ToolCallPart) -> trace.Span | None:
    """The framework's own span of this call, where it makes one."""
    span = trace.get_current_span()
    attributes = getattr(span, "attributes", None) or {}
    return span if attributes.get(signals.TOOL_CALL_ID) == call.tool_call_id else None
