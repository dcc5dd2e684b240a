"""The application's own telemetry, as hosts set it up: metrics for a scrape, spans and logs to files or a collector."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import structlog
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
from prometheus_client import CollectorRegistry

from tooltel.demo.declarations import count_tokens
from tooltel.demo.pushing import drop_line, open_push
from tooltel.processors.structlog import add_tool_context
from tooltel.runtime import Tooltel
from tooltel.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import TextIO

    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import Tracer

    from tooltel.demo.pace import Pace
    from tooltel.demo.pushing import Push

CATALOG: Final = Path(__file__).with_name("tools.toml")
SERVICE: Final = "support-desk"


@dataclass(frozen=True, slots=True)
class Telemetry:
    """What an application holds: its Tooltel, and the tracer of its own spans."""

    tel: Tooltel
    tracer: Tracer


@contextmanager
def watched(
    pace: Pace, *, spans: TextIO | None, logs: TextIO | None, environ: Mapping[str, str] | None = None
) -> Iterator[Telemetry]:
    """
    Set up a host's telemetry for the block: *spans* and *logs* get a JSON object a line, None gets nothing.

    Where *environ* names a collector, spans and logs are pushed there as well, and durations carry exemplars that lead
    to the spans. Registry and tracer provider are its own. structlog has one configuration per process: it is put back.
    """
    provider = TracerProvider(resource=Resource({"service.name": SERVICE}), shutdown_on_exit=False)
    if spans is not None:
        # One by one, not in batches: a queue that overflows would lose spans, and here each one is counted.
        provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=spans, formatter=_line)))
    push = open_push(provider.resource, environ or {})
    if push is not None:
        provider.add_span_processor(push.spans)
    with _structlog_into(logs, push):
        tel = Tooltel(
            CATALOG,
            registry=CollectorRegistry(),
            tracer_provider=provider,
            clock=pace.clock,
            count_tokens=count_tokens,
            settings=Settings(log_calls="all", exemplars=push is not None),
        )
        try:
            yield Telemetry(tel, provider.get_tracer(SERVICE))
        finally:
            tel.close()
            provider.shutdown()
            if push is not None:
                push.close()


def _line(span: ReadableSpan) -> str:
    line: str = span.to_json(indent=None)
    return line + "\n"


@contextmanager
def _structlog_into(file: TextIO | None, push: Push | None) -> Iterator[None]:
    before: dict[str, Any] | None = structlog.get_config() if structlog.is_configured() else None
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            add_tool_context,
            *([push.line] if push is not None else []),
            structlog.processors.JSONRenderer() if file is not None else drop_line,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG),
        logger_factory=structlog.WriteLoggerFactory(file=file),
        cache_logger_on_first_use=False,
    )
    try:
        yield
    finally:
        if before is None:
            structlog.reset_defaults()
        else:
            structlog.configure(**before)
