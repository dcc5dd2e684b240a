"""What a request to a fastmcp server is told of beside its message; versions differ here."""

from __future__ import annotations

from importlib.util import find_spec
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import trace
from opentelemetry.trace import INVALID_SPAN, NoOpTracer, NoOpTracerProvider, ProxyTracerProvider

from tooltel.integrations.mcp.spans import server_span

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from opentelemetry.trace import Span

_MAKES_SPANS: Final = find_spec("fastmcp.telemetry") is not None  # 3.0 and later
_HAS_VERSIONS: Final = find_spec("fastmcp.utilities.versions") is not None  # of one tool, and no keys: 3.0 and later


def span_of_request() -> Span | None:
    """
    The framework's own span of the request that is being served; 4.x opens it ahead of middleware.

    3.x opens it below, and a call of a 4.x server's own code does so too: that one cannot be reached while it is open.
    A span around it would take it away from the client's trace, so none is made then.
    """
    span = server_span()
    if span is not None or not _MAKES_SPANS:
        return span
    from fastmcp.telemetry import get_tracer

    unrecorded = isinstance(trace.get_tracer_provider(), (ProxyTracerProvider, NoOpTracerProvider))
    return None if unrecorded or isinstance(get_tracer(), NoOpTracer) else INVALID_SPAN


def session_id_of(context: Any) -> str | None:
    """The id of the session, where requests have one in common: since 2026-07-28 of the protocol, none have."""
    told = getattr(context, "fastmcp_context", None)
    request = getattr(told, "request_context", None)
    if told is None or request is None:
        return None
    if hasattr(request, "protocol_version"):  # 4.x
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS

        if request.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return None
    return str(told.session_id)


def shown_tools(tools: Iterable[Any]) -> Sequence[Any]:
    """The declarations of *tools*, as a client is shown them: of each, the newest version."""
    if not _HAS_VERSIONS:
        return [tool.to_mcp_tool(name=tool.key) for tool in tools]
    from fastmcp.utilities import versions

    listed, name_of = list(tools), attrgetter("name")
    if hasattr(versions, "dedupe_with_versions"):  # 3.0 lists the newest alone
        listed = versions.dedupe_with_versions(listed, name_of)
    return [tool.to_mcp_tool(name=tool.name) for tool in listed]
