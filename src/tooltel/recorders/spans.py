"""
Spans: one per call, through the host's OpenTelemetry tracer, whatever its provider and sampler.

Always `tracer.start_span`: no span class of our own. Everything known is given at the start, as attributes set
later cost more; only the outcome comes when the call settles.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from opentelemetry.context import get_current
from opentelemetry.trace import INVALID_SPAN, SpanKind, Status, StatusCode, set_span_in_context

from tooltel import signals
from tooltel.text import clean

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

    from tooltel.call import Call, Session
    from tooltel.catalog import Missing, Tool
    from tooltel.outcome import Origin, Outcome

DEFAULT_KEYS: Final[Mapping[str, str]] = {
    signals.OWNER: signals.OWNER,
    signals.VERSION: signals.VERSION,
    signals.RISK: signals.RISK,
    signals.PROFILE: signals.PROFILE,
}
# A call that was called off, or whose consumer went away, did not fail.
_NO_FAULT: Final = frozenset({signals.Status.CANCELLED, signals.Status.ABANDONED})
_OUTCOMES: Final = {status: status.value for status in signals.Status}
_OK: Final = signals.Status.OK.value
_INTERNAL: Final = SpanKind.INTERNAL  # a member looked up on its class costs a tenth of a microsecond
_ERROR: Final = Status(StatusCode.ERROR)


class Spans:
    """Opens a span with a call and ends it with the outcome. `keys` renames the four attributes of a tool."""

    def __init__(
        self, tracer: Tracer, *, keys: Mapping[str, str] = DEFAULT_KEYS, record_exceptions: bool = False
    ) -> None:
        self.tracer = tracer
        self._keys = keys
        self._record_exceptions = record_exceptions

    def opened(self, call: Call) -> None:
        """Start the call's span and make it what the call's steps run in."""
        session, tool = call.session, call.tool
        described = session.spans.get(tool.name)
        if described is None or described[0] is not tool:
            described = self._describe(session, tool)
        name: str = described[1]
        attributes: Mapping[str, str] = described[2]
        if not call.binding.is_simple or call.call_id is not None or call.arguments is not None:
            attributes = more = described[2].copy()  # a tenth of what dict() takes for a proxy
            if call.alias is not None:
                more[signals.ALIAS] = call.alias
            if call.arguments is not None:
                more[signals.CALL_ARGUMENTS] = call.arguments
            if call.call_id is not None:
                more[signals.TOOL_CALL_ID] = call.call_id  # cleaned when the call was made
        if call.span is not None:  # a framework's own span: tag it, never make a second
            if call.span.is_recording():
                call.span.set_attributes(attributes)
            return
        here = get_current()  # asked once: the tracer and the new context would each ask again
        span = self.tracer.start_span(name, here, _INTERNAL, attributes)
        call.span = span
        if span is not INVALID_SPAN:  # without an SDK and without a parent there is nothing to carry
            call.context = set_span_in_context(span, here)

    def went_well(self, call: Call, _seconds: float) -> None:
        """End the span of *call*, of which there is nothing to tell but that it went well."""
        span = call.span
        if span is not None and span.is_recording():
            try:
                span.set_attribute(signals.OUTCOME, _OK)
            finally:
                if not call.borrowed:
                    span.end()

    def settled(self, outcome: Outcome) -> None:
        """Set the outcome, and end the span. A drop gets its span here, as it has no life."""
        span = outcome.span
        if span is None:
            if outcome.missing is None:
                return
            span = self._start_missing(outcome.missing, outcome)
        elif outcome.missing is not None and span.is_recording():
            if not outcome.borrowed:  # made before anybody knew
                span.update_name(signals.EXECUTE_TOOL)
            span.set_attributes(self._describe_missing(outcome.missing, outcome))
        if span.is_recording():  # what records nothing has nothing to end, either
            try:
                self._finish(span, outcome)
            finally:
                if not outcome.borrowed:
                    span.end()

    def _finish(self, span: Span, outcome: Outcome) -> None:
        status = outcome.status
        # One by one: the SDK's set_attributes copies first, which takes longer than two calls.
        span.set_attribute(signals.OUTCOME, _OUTCOMES[status])
        if outcome.result is not None:
            span.set_attribute(signals.CALL_RESULT, outcome.result)
        if outcome.stream is not None:
            span.set_attribute(signals.STREAM_LIFE, outcome.stream.life)
        if not outcome.error_type:
            return
        span.set_attribute(signals.ERROR_TYPE, outcome.error_type)
        if status not in _NO_FAULT:
            span.set_status(_ERROR)  # without a description: messages may hold a user's data
        if self._record_exceptions and outcome.error is not None and status not in _NO_FAULT:
            span.record_exception(outcome.error)

    def _describe(self, session: Session, tool: Tool) -> tuple[Tool, str, MappingProxyType[str, str]]:
        keys = self._keys
        attributes = {
            signals.OPERATION_NAME: signals.EXECUTE_TOOL,
            signals.TOOL_NAME: tool.name,
            signals.TOOL_TYPE: signals.TOOL_TYPE_FUNCTION,
            keys[signals.OWNER]: tool.owner,
            keys[signals.VERSION]: tool.version,
            keys[signals.RISK]: tool.risk,
            keys[signals.PROFILE]: session.origin.profile,
            **_origin_attributes(session.origin),
        }
        # Read-only, as the same attributes start many spans, and samplers are somebody else's code.
        described = (tool, f"{signals.EXECUTE_TOOL} {tool.name}", MappingProxyType(attributes))
        if tool.owner != signals.UNOWNED:  # strangers may be any number, and a session may last as long as the process
            session.spans[tool.name] = described
        return described

    def _start_missing(self, missing: Missing, outcome: Outcome) -> Span:
        # The name of the span stays fixed: a model can invent any number of tool names.
        attributes = self._describe_missing(missing, outcome)
        return self.tracer.start_span(signals.EXECUTE_TOOL, None, SpanKind.INTERNAL, attributes)

    def _describe_missing(self, missing: Missing, outcome: Outcome) -> dict[str, str]:
        attributes = {
            signals.OPERATION_NAME: signals.EXECUTE_TOOL,
            signals.TOOL_NAME: missing.requested,
            signals.TOOL_TYPE: signals.TOOL_TYPE_FUNCTION,
            self._keys[signals.OWNER]: missing.owner,
            self._keys[signals.PROFILE]: outcome.origin.profile,
            **_origin_attributes(outcome.origin),
        }
        if outcome.call_id is not None:
            attributes[signals.TOOL_CALL_ID] = clean(outcome.call_id)
        return attributes


def _origin_attributes(origin: Origin) -> dict[str, str]:
    known = {signals.AGENT_NAME: origin.agent, signals.CONVERSATION_ID: origin.session_id}
    return {key: value for key, value in known.items() if value is not None}
