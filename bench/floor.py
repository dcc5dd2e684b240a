"""
The floor: what recording one call costs, written by hand as tightly as the OpenTelemetry SDK allows.

A span with six attributes given at its start, the context attached and detached by hand, cached
prometheus_client children, an error path. It knows one tool, one outcome and one error type: it is the ruler,
and no example to follow.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from opentelemetry.context import attach, detach, set_value
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer
from opentelemetry.trace.propagation import _SPAN_KEY  # set_span_in_context is one more call around it
from prometheus_client import CollectorRegistry, Counter, Histogram

from tooltel import signals

NAME: Final = "order_lookup"
SPAN: Final = f"{signals.EXECUTE_TOOL} {NAME}"
# In the order in which they are added when each one's cost is measured: a tool's first, then a session's.
ATTRIBUTES: Final[Mapping[str, str]] = {
    signals.OPERATION_NAME: signals.EXECUTE_TOOL,
    signals.TOOL_NAME: NAME,
    signals.TOOL_TYPE: signals.TOOL_TYPE_FUNCTION,
    signals.OWNER: "orders",
    signals.VERSION: "1",
    signals.RISK: signals.Risk.READ.value,
    signals.PROFILE: "support",
    signals.AGENT_NAME: "support_agent",
    signals.CONVERSATION_ID: "s-42",
}
FLOOR_ATTRIBUTES: Final = dict(list(ATTRIBUTES.items())[:6])

_now = time.perf_counter


@dataclass(frozen=True, slots=True)
class Series:
    """The cached children of one tool."""

    ok: Callable[[], None]
    error: Callable[[], None]
    observe: Callable[[float], None]

    @classmethod
    def made(cls) -> Series:
        """Children on a registry of their own, with the labels and buckets of the real ones."""
        registry = CollectorRegistry()
        labels = ("orders", "1", "read")
        counter = Counter("calls", "Calls.", ("tool", "owner", "version", "risk", "outcome"), registry=registry)
        seconds = Histogram(
            "call_seconds",
            "Seconds.",
            ("tool", "owner", "version", "risk"),
            buckets=signals.BUCKETS,
            registry=registry,
        )
        return cls(
            counter.labels(NAME, *labels, "ok").inc,
            counter.labels(NAME, *labels, "error").inc,
            seconds.labels(NAME, *labels).observe,
        )


def _failed(span: Span, error: BaseException) -> None:
    if span.is_recording():
        span.set_attribute(signals.ERROR_TYPE, type(error).__qualname__)
        span.set_status(Status(StatusCode.ERROR))


def floor(
    fn: Callable[..., Any], tracer: Tracer, attributes: Mapping[str, str] = FLOOR_ATTRIBUTES
) -> Callable[..., Any]:
    """*fn*, recorded by hand."""
    series, start = Series.made(), tracer.start_span

    @functools.wraps(fn)
    def shell(*args: Any, **kwargs: Any) -> Any:
        span = start(SPAN, None, SpanKind.INTERNAL, attributes)
        token = attach(set_value(_SPAN_KEY, span))
        began = _now()
        try:
            result = fn(*args, **kwargs)
        except BaseException as error:
            series.observe(_now() - began)
            series.error()
            _failed(span, error)
            raise
        else:
            series.observe(_now() - began)
            series.ok()
            return result
        finally:
            detach(token)
            span.end()

    return shell


def async_floor(
    fn: Callable[..., Awaitable[Any]], tracer: Tracer, attributes: Mapping[str, str] = FLOOR_ATTRIBUTES
) -> Callable[..., Awaitable[Any]]:
    """The coroutine function *fn*, recorded by hand."""
    series, start = Series.made(), tracer.start_span

    @functools.wraps(fn)
    async def shell(*args: Any, **kwargs: Any) -> Any:
        span = start(SPAN, None, SpanKind.INTERNAL, attributes)
        token = attach(set_value(_SPAN_KEY, span))
        began = _now()
        try:
            result = await fn(*args, **kwargs)
        except BaseException as error:
            series.observe(_now() - began)
            series.error()
            _failed(span, error)
            raise
        else:
            series.observe(_now() - began)
            series.ok()
            return result
        finally:
            detach(token)
            span.end()

    return shell


def floor_with_outcome(fn: Callable[..., Any], tracer: Tracer) -> Callable[..., Any]:
    """The floor with every attribute of the table, and one more that is known only at the end."""
    series, start = Series.made(), tracer.start_span

    @functools.wraps(fn)
    def shell(*args: Any, **kwargs: Any) -> Any:
        span = start(SPAN, None, SpanKind.INTERNAL, ATTRIBUTES)
        token = attach(set_value(_SPAN_KEY, span))
        began = _now()
        try:
            result = fn(*args, **kwargs)
        except BaseException as error:
            series.observe(_now() - began)
            series.error()
            _failed(span, error)
            raise
        else:
            series.observe(_now() - began)
            series.ok()
            span.set_attribute(signals.OUTCOME, signals.Status.OK.value)
            return result
        finally:
            detach(token)
            span.end()

    return shell


def careful(fn: Callable[..., Any], tracer: Tracer) -> Callable[..., Any]:
    """What a careful user writes: a `with` block, and cached children."""
    series = Series.made()

    @functools.wraps(fn)
    def shell(*args: Any, **kwargs: Any) -> Any:
        with tracer.start_as_current_span(SPAN, attributes=FLOOR_ATTRIBUTES):
            began = _now()
            result = fn(*args, **kwargs)
            series.observe(_now() - began)
            series.ok()
            return result

    return shell


def counted(fn: Callable[..., Any]) -> Callable[..., Any]:
    """*fn* with two cached prometheus_client children and nothing else."""
    series = Series.made()

    @functools.wraps(fn)
    def shell(*args: Any, **kwargs: Any) -> Any:
        began = _now()
        result = fn(*args, **kwargs)
        series.observe(_now() - began)
        series.ok()
        return result

    return shell


def async_counted(fn: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """The coroutine function *fn* with two cached prometheus_client children and nothing else."""
    series = Series.made()

    @functools.wraps(fn)
    async def shell(*args: Any, **kwargs: Any) -> Any:
        began = _now()
        result = await fn(*args, **kwargs)
        series.observe(_now() - began)
        series.ok()
        return result

    return shell
