"""
OpenTelemetry's log pipeline: a log-record processor that enriches records inside a call and counts drops.

    provider.add_log_record_processor(ToolLogProcessor(tel))       # before the one that exports

Works with every SDK from 1.27, whose log classes were renamed on the way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry.sdk._logs import LogRecordProcessor

from tooltel import signals
from tooltel.drops import Teller
from tooltel.match import Record
from tooltel.processors.watching import context_keys, level_named, watch_of
from tooltel.signals import Component

if TYPE_CHECKING:
    from tooltel.processors.watching import Watched


class ToolLogProcessor(LogRecordProcessor):
    """Adds the running call's facts to a record's attributes, where the record has none of its own; counts drops."""

    def __init__(self, tel: Watched) -> None:
        self._tel = tel
        self._watch = watch_of(tel)

    def on_emit(self, log_record: Any) -> None:
        """Enrich and count one record. Never raises."""
        try:
            self._emit(log_record)
        except Exception as error:  # noqa: BLE001 - inside the host's logging
            self._tel.guard.contain(Component.LOGS, error)

    emit = on_emit  # its name until 1.36

    def shutdown(self) -> None:
        """Nothing is held."""

    def force_flush(self, timeout_millis: int = 30_000) -> bool:  # noqa: ARG002 - the interface's
        """Nothing waits."""
        return True

    def _emit(self, emitted: Any) -> None:
        record = emitted.log_record
        keys = context_keys()
        if keys:
            attributes = record.attributes
            if attributes is None:
                attributes = record.attributes = {}
            for key, value in keys.items():
                if key not in attributes:
                    attributes[key] = value
        body, logger, level = record.body, getattr(emitted.instrumentation_scope, "name", None), record.severity_text
        level = level if isinstance(level, str) else None
        if type(body) is not str or signals.KEY_COUNTED in (record.attributes or ()):
            return
        if any(sign in body for sign in self._watch.signs(logger, level)):
            self._watch.see(Record(body, logger, level_named(level)), Teller.OTEL)
