"""The spans that frameworks make of their own accord for calls over MCP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from opentelemetry import trace
from opentelemetry.trace import SpanKind

from tooltel import signals
from tooltel.call import current_call

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.trace import Span

_METHOD: Final = "mcp.method.name"
_CALL: Final = "tools/call"


def server_span() -> Span | None:
    """The span of the request that is being served: mcp 2.x makes one, fastmcp since 4.0."""
    span, attributes = _current()
    is_one = attributes.get(_METHOD) == _CALL and getattr(span, "kind", None) is SpanKind.SERVER
    return span if is_one and signals.OUTCOME not in attributes else None


def client_span(name: str) -> Span | None:
    """
    The span of tool *name*'s call that is around the client: of fastmcp's client, or of an agent's framework.

    The SDK's own `MCP send` spans are of messages, whatever their method; they begin and end below the client.
    """
    span, attributes = _current()
    here, called = current_call(), getattr(span, "name", None)
    is_clients = called == f"{_CALL} {name}" and getattr(span, "kind", None) is SpanKind.CLIENT
    if not is_clients and called != f"{signals.EXECUTE_TOOL} {name}":
        return None
    is_told_of = signals.OUTCOME in attributes or (here is not None and here.span is span)
    return None if is_told_of else span


def _current() -> tuple[Span, Mapping[str, Any]]:
    span = trace.get_current_span()
    return span, getattr(span, "attributes", None) or {}
