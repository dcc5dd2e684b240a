"""
Spans that somebody else made: every tool span gets its owner, version, risk and profile, whoever created it.

SDK spans freeze when they end. What is known at the start is set then; a name that comes later is added to a copy,
which is why the processor that exports is wrapped: `ToolSpanProcessor(tel, BatchSpanProcessor(exporter))`.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.trace import StatusCode, get_current_span

from tooltel import signals
from tooltel.call import current_call
from tooltel.catalog import Tool
from tooltel.outcome import Outcome
from tooltel.signals import Status
from tooltel.text import clean

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import Span

    from tooltel.call import Services
    from tooltel.catalog import Catalog
    from tooltel.outcome import Origin
    from tooltel.recording import Guard

# Where instrumentations keep the name: OpenTelemetry GenAI, OpenInference, OpenLLMetry.
_NAME_KEYS: Final = (signals.TOOL_NAME, "tool.name", "traceloop.entity.name")
_KIND_KEYS: Final = {"openinference.span.kind": "TOOL", "traceloop.span.kind": "tool"}
_SPAN_NAME: Final = re.compile(
    r"(?:execute_tool|(?:MCP send )?tools/call|anthropic\.(?:custom_|mcp_)?tool_use) (?P<name>\S.*)", re.DOTALL
)
_MERGED: Final = "(merged"  # google-adk's span over parallel calls: about no tool in particular
_OPEN_SPANS: Final = 10_000
_MISSING_TYPES: Final = frozenset({signals.ERROR_NOT_FOUND, "NotFoundError"})


class Watcher(Protocol):
    """What is asked of a Tooltel here."""

    guard: Guard
    services: Services

    @property
    def catalog(self) -> Catalog:
        """The catalog in use."""

    def origin(self) -> Origin:
        """Where a call made now would come from."""


def tool_of_span(name: str, attributes: Mapping[str, Any]) -> str | None:
    """The tool that a span is about, by its attributes or by its name; None when it is about no tool."""
    kinds = [attributes[key] for key in _KIND_KEYS if key in attributes]
    if kinds and not any(attributes.get(key) == kind for key, kind in _KIND_KEYS.items()):
        return None
    keys = _NAME_KEYS if kinds else _NAME_KEYS[:1]
    found = next((value for key in keys if isinstance(value := attributes.get(key), str) and value), None)
    if found is None and (match := _SPAN_NAME.fullmatch(name)) is not None:
        found = match["name"]
    return None if found is None or found.startswith(_MERGED) else found


class ToolSpanProcessor(SpanProcessor):
    """
    Tags tool spans, then hands them to *inner*, the processor that exports.

    With `count=True` metrics are derived from them too, for agents that have nothing but a framework's own
    instrumentation. Then **sampling changes the metrics**: a span that is not sampled is never seen here, so counts
    are right only with an always-on sampler. Spans that tooltel made or that a plug-in told the outcome of are never
    counted, nor is a span inside another one of the same tool (an MCP client's inside the agent's), or inside a call
    of it that a wrapper or a plug-in counts.
    """

    def __init__(self, tel: Watcher, inner: SpanProcessor | None = None, *, count: bool = False) -> None:
        self.tel = tel
        self._inner = inner
        self._count = count
        self._open: OrderedDict[int, str] = OrderedDict()  # span id -> tool, of spans that are running
        self._inside: set[int] = set()  # ids of open spans that are inside another one of the same tool
        self._told: set[int] = set()  # and of those whose call something of ours counts
        self._lock = threading.Lock()

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Tag the span where its name is known already."""
        try:
            self._start(span, parent_context)
        except Exception as error:  # noqa: BLE001 - inside the host's tracing
            self.tel.guard.contain(signals.Component.SPANS, error)
        if self._inner is not None:
            self._inner.on_start(span, parent_context)

    def on_end(self, span: ReadableSpan) -> None:
        """Tag a copy where the name came late, and count."""
        tagged = span
        try:
            tagged = self._end(span)
        except Exception as error:  # noqa: BLE001 - inside the host's tracing
            self.tel.guard.contain(signals.Component.SPANS, error)
        if self._inner is not None:
            self._inner.on_end(tagged)

    def shutdown(self) -> None:
        """Shut the exporting processor down."""
        if self._inner is not None:
            self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Flush the exporting processor."""
        return self._inner.force_flush(timeout_millis) if self._inner is not None else True

    # --- what happens ---

    def _start(self, span: Span, parent_context: Context | None) -> None:
        name = tool_of_span(span.name, span.attributes or {})
        if name is None:
            return
        if self._count:
            self._remember(span, name, parent_context)
        if self._key(signals.OWNER) not in (span.attributes or {}):
            span.set_attributes(self._tags(name))

    def _remember(self, span: Span, name: str, parent_context: Context | None) -> None:
        parent = get_current_span(parent_context).get_span_context().span_id
        mine = span.get_span_context().span_id
        call = current_call()
        told = call is not None and name in (call.tool.name, call.alias)
        with self._lock:
            if told:
                self._told.add(mine)
            elif self._open.get(parent) == name:
                self._inside.add(mine)
            self._open[mine] = name
            if len(self._open) > _OPEN_SPANS:
                lost, _ = self._open.popitem(last=False)
                self._inside.discard(lost)
                self._told.discard(lost)

    def _end(self, span: ReadableSpan) -> ReadableSpan:
        attributes = span.attributes or {}
        name = tool_of_span(span.name, attributes)
        if name is None:
            return span
        if self._count and self._stands_for_the_call(span, name):
            self.tel.services.publish_drop(self._outcome(span, name))
        if self._key(signals.OWNER) in attributes:
            return span
        return _copied(span, {**attributes, **self._tags(name)})

    def _stands_for_the_call(self, span: ReadableSpan, name: str) -> bool:
        """Whether *span* is the outermost of its call, and no plug-in told of any of them."""
        context = span.get_span_context()
        mine = context.span_id if context is not None else 0
        around = span.parent.span_id if span.parent is not None else 0
        with self._lock:
            self._open.pop(mine, None)
            has_outer = self._open.get(around) == name
            told = mine in self._told or signals.OUTCOME in (span.attributes or {})
            inside = mine in self._inside or has_outer
            self._told.discard(mine)
            self._inside.discard(mine)
            if told and has_outer:
                self._told.add(around)
        return not told and not inside

    def _outcome(self, span: ReadableSpan, name: str) -> Outcome:
        origin = self.tel.origin()
        attributes = span.attributes or {}
        error_type = str(attributes.get(signals.ERROR_TYPE, ""))
        if name not in self.tel.catalog.tools and _says_not_found(attributes, error_type):
            missing = self.tel.catalog.explain(name, origin.profile)
            return Outcome(Status.NOT_FOUND, None, origin, error_type=signals.ERROR_NOT_FOUND, missing=missing)
        failed = span.status.status_code is StatusCode.ERROR or bool(error_type)
        status = (Status.TIMEOUT if "timeout" in error_type.lower() else Status.ERROR) if failed else Status.OK
        seconds = ((span.end_time or 0) - (span.start_time or 0)) / 1e9
        alias = self.tel.catalog.aliases.get(name)
        return Outcome(
            status,
            self._tool(name),
            origin,
            max(seconds, 0.0),
            error_type=clean(error_type or signals.ERROR_TOOL) if failed else "",
            alias=alias.name if alias else None,
        )

    def _tool(self, name: str) -> Tool:
        catalog = self.tel.catalog
        alias = catalog.aliases.get(name)
        known = catalog.tools.get(alias.tool if alias else name)
        return known or Tool(clean(name), signals.UNOWNED, signals.UNKNOWN_RISK, "")

    def _tags(self, name: str) -> dict[str, str]:
        tool = self._tool(name)
        return {
            self._key(signals.OWNER): tool.owner,
            self._key(signals.VERSION): tool.version,
            self._key(signals.RISK): tool.risk,
            self._key(signals.PROFILE): self.tel.origin().profile,
        }

    def _key(self, name: str) -> str:
        return self.tel.services.keys.get(name, name)


def _says_not_found(attributes: Mapping[str, Any], error_type: str) -> bool:
    # google-adk stands a placeholder in for the tool that is not there, and describes it so.
    return error_type in _MISSING_TYPES or attributes.get("gen_ai.tool.description") == "Tool not found"


def _copied(span: ReadableSpan, attributes: Mapping[str, Any]) -> ReadableSpan:
    return ReadableSpan(
        name=span.name,
        context=span.get_span_context(),
        parent=span.parent,
        resource=span.resource,
        attributes=attributes,
        events=span.events,
        links=span.links,
        kind=span.kind,
        status=span.status,
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )
