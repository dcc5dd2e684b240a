"""
Log events, through the host's structlog where it is configured, else through the standard library's logging.

An unconfigured structlog would print to stdout, which is the wire of many an MCP server: then the events go to the
logger `tooltel`, rendered as `event key=value` with every value escaped, so that no model output can forge a line.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import structlog
from opentelemetry.trace import get_current_span

from tooltel import signals
from tooltel.outcome import Outcome
from tooltel.processors.structlog import trace_ids_of
from tooltel.signals import Event, Status
from tooltel.text import clean

if TYPE_CHECKING:
    from tooltel.catalog import Tool
    from tooltel.outcome import Origin, Rejection

VALUE_LIMIT: Final = 500  # characters of one value on a line
_QUIET: Final = frozenset({Status.OK, Status.REPLAYED})


class EventLog:
    """
    Writes named events. `keys` renames the four attributes of a tool, as on spans.

    `sink` takes level, event name and facts; a test kit puts its own there.
    """

    def __init__(self, keys: Mapping[str, str]) -> None:
        self.keys = keys
        self.sink: Callable[[str, str, dict[str, Any]], None] = write

    def emit(self, level: str, event: Event, /, **facts: Any) -> None:
        """
        Write *event* at *level* (debug, info, warning, error) with *facts*, None left out.

        Texts are cleaned here, whoever made them: a host's own renderer may print them as they are.
        """
        self.sink(level, event.value, {key: _safe(value) for key, value in facts.items() if value is not None})

    def is_enabled(self, level: int) -> bool:
        """Whether a line at *level* would be written at all."""
        if self.sink is not write:
            return True
        if not structlog.is_configured():
            return logging.getLogger(signals.LOGGER).isEnabledFor(level)
        # A wrapper class that cannot tell is asked to write, and decides then.
        probe = getattr(_logger(), "is_enabled_for", None)
        return bool(probe(level)) if probe is not None else True


def _safe(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value, limit=VALUE_LIMIT)
    if isinstance(value, (list, tuple)):
        return [_safe(each) for each in value]
    return value


def write(level: str, event: str, facts: dict[str, Any]) -> None:
    """Write one line to the host's log."""
    getattr(_logger(), level)(event, **facts)


def _logger() -> Any:
    if structlog.is_configured():
        if structlog.get_config()["wrapper_class"] is structlog.stdlib.AsyncBoundLogger:
            # Its methods are coroutines, and a call may settle where nothing can await them.
            plain = structlog.stdlib.BoundLogger
            return structlog.wrap_logger(None, wrapper_class=plain, logger_factory_args=(signals.LOGGER,))
        return structlog.get_logger(signals.LOGGER)
    return structlog.wrap_logger(
        logging.getLogger(signals.LOGGER), processors=[_render], wrapper_class=structlog.stdlib.BoundLogger
    )


def _render(_logger: Any, _method: str, event: Any) -> str:
    name = event.pop("event")
    return " ".join([name, *(f"{key}={_quoted(value)}" for key, value in event.items())])


def _quoted(value: object) -> str:
    text = clean(value, limit=VALUE_LIMIT)
    if text and not any(char in ' "=\\' for char in text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


class LogRecorder:
    """
    Writes one `tool_call` line per call, debug when it went well and warning otherwise.

    Each thing that a person would want to read by itself gets a line of its own before: a drop, an alias, a
    rejection, a refusal, a repeat.

    `log_calls` is auto (good calls only where debug is enabled), all, failures or off. `good_calls` is what that
    came to, None until the first good call asked: a logger's level is looked up once, not at every call.
    """

    def __init__(self, log: EventLog, *, log_calls: str = "auto") -> None:
        self._log = log
        self._calls = log_calls
        self.on_nobody_listens: Callable[[], None] | None = None  # called when good calls are written nowhere
        self.good_calls: bool | None = {"all": True, "failures": False, "off": False}.get(log_calls)

    def settled(self, outcome: Outcome) -> None:
        """Write what there is to say; a good call, where nobody listens, costs one comparison."""
        if outcome.is_plain:
            if self._wants_good_calls():
                self._log.emit("debug", Event.TOOL_CALL, **self._facts(outcome))
            elif self.on_nobody_listens is not None:
                self.on_nobody_listens()
            return
        if self._calls != "off" and self._log.is_enabled(logging.WARNING):
            self._write(outcome)

    def _wants_good_calls(self) -> bool:
        if self.good_calls is None:
            self.good_calls = self._log.is_enabled(logging.DEBUG)
        return self.good_calls

    def rejected(self, rejection: Rejection, tool: Tool, origin: Origin) -> None:
        """Write of arguments that were judged before anything ran."""
        if self._calls != "off":
            outcome = Outcome(Status.INVALID_ARGUMENTS, tool, origin, error_type=signals.ERROR_INVALID)
            facts = {**self._facts(outcome), signals.KEY_SECONDS: None, **_rejection_facts(rejection)}
            self._log.emit("warning", Event.TOOL_REJECTED, **facts)

    def _write(self, outcome: Outcome) -> None:
        emit, facts = self._log.emit, self._facts(outcome)
        if outcome.missing is not None:
            missing = outcome.missing
            emit(
                "warning", Event.TOOL_NOT_FOUND, **facts, requested=missing.requested, reason=missing.reason.value,
                nearest=missing.nearest,
            )  # fmt: skip
            return
        if outcome.alias is not None:
            emit("info", Event.TOOL_ALIAS_CALLED, **facts)
        for rejection in outcome.rejections:
            emit("warning", Event.TOOL_REJECTED, **facts, **_rejection_facts(rejection))
        if outcome.policy is not None:
            emit("warning", Event.TOOL_REFUSED, **facts, policy=outcome.policy)
        if outcome.items is not None:
            emit("warning", Event.TOOL_RESULT_PARTIAL, **facts, items=dict(outcome.items))
        if outcome.repeated is not None:
            emit("warning", Event.TOOL_CALL_REPEATED, **facts, first_seen=round(outcome.repeated, 3))
        if outcome.status not in _QUIET:
            emit("warning", Event.TOOL_CALL, **facts)
        elif self._wants_good_calls():
            emit("debug", Event.TOOL_CALL, **facts)

    def _facts(self, outcome: Outcome) -> dict[str, Any]:
        tool, origin, keys = outcome.tool, outcome.origin, self._log.keys
        # A drop has no span of its own yet; the agent's, in which it happened, is what a reader looks for.
        trace_id, span_id = trace_ids_of(get_current_span() if outcome.missing is not None else outcome.span)
        owner = tool.owner if tool else (outcome.missing.owner if outcome.missing else None)
        return {
            signals.TOOL_NAME: tool.name if tool else None,
            keys[signals.OWNER]: owner,
            keys[signals.VERSION]: tool.version if tool else None,
            keys[signals.RISK]: tool.risk if tool else None,
            keys[signals.PROFILE]: origin.profile,
            signals.AGENT_NAME: origin.agent,
            signals.CONVERSATION_ID: origin.session_id,
            signals.TOOL_CALL_ID: outcome.call_id,
            signals.OUTCOME: outcome.status.value,
            signals.ERROR_TYPE: outcome.error_type or None,
            signals.ALIAS: outcome.alias,
            signals.KEY_SECONDS: round(outcome.seconds, 6) if tool else None,
            signals.KEY_TRACE_ID: trace_id or None,
            signals.KEY_SPAN_ID: span_id or None,
        }


def _rejection_facts(rejection: Rejection) -> dict[str, Any]:
    faults = [f"{fault.field or '(call)'}: {fault.problem}" for fault in rejection.faults]
    return {
        signals.KEY_KIND: rejection.kind.value,
        signals.KEY_SOURCE: rejection.source.value,
        signals.KEY_FAULTS: faults,
    }
