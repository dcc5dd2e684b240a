"""Structlog processors: every line emitted inside a call tells whose tool it is about, and a line of a drop counts."""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

from opentelemetry.trace import INVALID_SPAN, get_current_span

from tooltel import signals
from tooltel.call import Call, current_call, current_session
from tooltel.drops import Teller
from tooltel.text import clean

if TYPE_CHECKING:
    from opentelemetry.trace import Span

    from tooltel.processors.watching import Watched


def add_tool_context(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """
    Add the running call's tool, owner, version, risk, profile and trace id; in a session outside any call, its profile.

    Put it before the renderer: `structlog.configure(processors=[..., tooltel.add_tool_context, ...])`. Keys that
    the line already has are kept.
    """
    if signals.OUTCOME in event:  # an event of ours, which tells of a call that is over: the running one is another
        return event
    call = current_call()
    if call is None:
        session = current_session()
        if session is not None:
            event.setdefault(session.profile_key, session.origin.profile)
        return event
    for key, value in call_keys(call).items():
        event.setdefault(key, value)
    return event


def call_keys(call: Call) -> dict[str, str]:
    """The keys that tell of *call* on a log line; the names are those of its span attributes."""
    tool, origin, keys = call.tool, call.session.origin, call.services.keys
    found = {
        signals.TOOL_NAME: tool.name,
        keys.get(signals.OWNER, signals.OWNER): tool.owner,
        keys.get(signals.VERSION, signals.VERSION): tool.version,
        keys.get(signals.RISK, signals.RISK): tool.risk,
        keys.get(signals.PROFILE, signals.PROFILE): origin.profile,
    }
    if origin.session_id is not None:
        found[signals.CONVERSATION_ID] = origin.session_id
    if call.call_id is not None:
        found[signals.TOOL_CALL_ID] = clean(call.call_id)
    try:
        trace_id, span_id = _trace_ids(call)
    except Exception as error:  # noqa: BLE001 - a span is the host's, and the line of its log must not be lost
        call.services.guard.contain(signals.Component.LOGS, error)
        return found
    if trace_id:
        found[signals.KEY_TRACE_ID] = trace_id
        found[signals.KEY_SPAN_ID] = span_id
    return found


def _trace_ids(call: Call) -> tuple[str, str]:
    span = get_current_span()
    if span is call.span and call.trace_ids is not None:
        return call.trace_ids
    found = trace_ids_of(span)
    if span is call.span:
        call.trace_ids = found  # formatting costs microseconds; a call may log many lines
    return found


def trace_ids_of(span: Span | None) -> tuple[str, str]:
    """Trace and span id as hexadecimal text; empty where there is no valid span."""
    if span is None or span is INVALID_SPAN:
        return ("", "")
    context = span.get_span_context()
    if not context.is_valid:
        return ("", "")
    return (f"{context.trace_id:032x}", f"{context.span_id:016x}")


class DropCounter:
    """
    A structlog processor that counts the drops that only a log shows; it changes no event.

    Put it beside `add_tool_context`, before the renderer. Records of the standard library that structlog formats
    (`foreign_pre_chain`) count once, whether a LogFilter saw them or not.
    """

    def __init__(self, tel: Watched) -> None:
        from tooltel.match import Record  # late, as what is below: signatures are read from files
        from tooltel.processors.stdlib import see_record
        from tooltel.processors.watching import level_named, watch_of

        self._tel = tel
        self._watch = watch_of(tel)
        self._see_record = see_record
        self._level_named = level_named
        self._record = Record

    def __call__(self, logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        """Give *event* as it is. Never raises."""
        try:
            self._see(logger, method, event)
        except Exception as error:  # noqa: BLE001 - inside the host's logging
            self._tel.guard.contain(signals.Component.LOGS, error)
        return event

    def _see(self, logger: Any, method: str, event: MutableMapping[str, Any]) -> None:
        record = event.get("_record")
        if record is not None and isinstance(record, logging.LogRecord):
            if signs := self._watch.signs(record.name, record.levelname):
                self._see_record(self._watch, record, signs)
            return
        message = event.get("event")
        if type(message) is not str or signals.OUTCOME in event:  # the latter is an event of ours
            return
        name = event.get("logger") or getattr(logger, "name", None)
        name = name if isinstance(name, str) else None
        level = event.get("level")
        level = level if isinstance(level, str) else method
        for sign in self._watch.signs(name, level):
            if sign in message:
                self._watch.see(self._record(message, name, self._level_named(level)), Teller.STRUCTLOG)
                return
