"""
Spans and log lines pushed to a collector, where the environment names one; needs the packages of `tooltel[otlp]`.

The exporters read OpenTelemetry's own OTEL_EXPORTER_OTLP_ variables: endpoint, headers, certificates, time-outs.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, Final

import structlog
from opentelemetry import trace
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from tooltel import signals
from tooltel.errors import MissingExtraError, SettingError
from tooltel.text import clean

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import SpanProcessor

ENDPOINT: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
PROTOCOL: Final = "OTEL_EXPORTER_OTLP_PROTOCOL"
HTTP, GRPC = "http/protobuf", "grpc"

_SEVERITY: Final = {"debug": 5, "info": 9, "warning": 13, "error": 17, "critical": 21}  # of OpenTelemetry's log model
# What the record itself says stands in none of its attributes.
_OF_THE_RECORD: Final = frozenset({"event", "level", "timestamp", signals.KEY_TRACE_ID, signals.KEY_SPAN_ID})
# What a reader of a list of lines wants to see of each, in this order, where the line has it.
_SHOWN: Final = (signals.TOOL_NAME, signals.KEY_REQUESTED, signals.KEY_REASON, signals.OUTCOME, signals.ERROR_TYPE)


class Push:
    """
    The way to a collector: `spans` is for the tracer provider, `line` is structlog's last processor.

    Nothing here waits for the collector: what it does not take in time is dropped, and the exporters say so.
    """

    def __init__(self, resource: Resource, protocol: str = HTTP) -> None:
        self.spans: SpanProcessor
        try:
            span_exporter, log_exporter = _exporters(protocol)
            from opentelemetry.sdk._logs import LoggerProvider
            from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
        except ModuleNotFoundError as error:
            missing = error.name or "opentelemetry-exporter-otlp"
            raise MissingExtraError(missing, extra="otlp", purpose=f"pushing to ${ENDPOINT}") from None
        self.spans = BatchSpanProcessor(span_exporter)
        self._provider = LoggerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_log_record_processor(BatchLogRecordProcessor(log_exporter))
        self._logger = self._provider.get_logger(signals.LOGGER)

    def line(self, _logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        """Push one event as a log record of its trace, and give the event on as it is."""
        from opentelemetry._logs import LogRecord, SeverityNumber

        level = str(event.get("level", "info"))
        self._logger.emit(
            LogRecord(
                timestamp=time.time_ns(),
                context=_context(event),
                severity_text=level.upper(),
                severity_number=SeverityNumber(_SEVERITY.get(level, _SEVERITY["info"])),
                body=_body(event),
                attributes={key: _value(value) for key, value in event.items() if key not in _OF_THE_RECORD},
            )
        )
        return event

    def close(self) -> None:
        """Push what waits, and stop. The tracer provider closes `spans`."""
        self._provider.shutdown()


def open_push(resource: Resource, environ: Mapping[str, str]) -> Push | None:
    """
    The way to the collector that *environ* names, None where it names none.

    Raises SettingError for a protocol that nobody speaks, MissingExtraError where the packages are missing.
    """
    if not environ.get(ENDPOINT):
        return None
    protocol = environ.get(PROTOCOL) or HTTP
    if protocol not in (HTTP, GRPC):
        raise SettingError(PROTOCOL, f"{clean(protocol)} is neither {HTTP} nor {GRPC}")
    return Push(resource, protocol)


def _exporters(protocol: str) -> tuple[Any, Any]:
    if protocol == GRPC:
        from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter as GrpcLogs
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcSpans

        return GrpcSpans(), GrpcLogs()
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter(), OTLPLogExporter()


def _context(event: Mapping[str, Any]) -> Context | None:
    """The span that the line names; None, and so the current one, where it names none."""
    trace_id, span_id = event.get(signals.KEY_TRACE_ID), event.get(signals.KEY_SPAN_ID)
    if not trace_id or not span_id:
        return None
    sampled = trace.TraceFlags(trace.TraceFlags.SAMPLED)
    found = trace.SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=False, trace_flags=sampled)
    return trace.set_span_in_context(trace.NonRecordingSpan(found))


def _body(event: Mapping[str, Any]) -> str:
    shown = (event.get(key) for key in _SHOWN)
    return " ".join([str(event.get("event", "")), *(clean(each) for each in shown if each)])


def _value(value: Any) -> Any:
    if isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return [str(each) for each in value]
    return json.dumps(value, default=str)


def drop_line(_logger: Any, _method: str, _event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Structlog's last processor where no line is to be written."""
    raise structlog.DropEvent
