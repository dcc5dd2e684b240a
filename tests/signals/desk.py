"""A small support desk for tests: a catalog with one tool of each sort, a Tooltel of its own, and what it wraps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry

from tooltel import Catalog, Outcome, Owner, Profile, Tool, Tooltel
from tooltel.call import current_session
from tooltel.outcome import Fault, Origin, Rejection
from tooltel.settings import Settings
from tooltel.signals import RejectionKind, RejectionSource, Status

SENTENCE = "A description that is long enough for the house rule about descriptions."
PLATFORM = "platform"


def make_tools() -> list[Tool]:
    """A read tool in two profiles, one with an objective, a write tool with an alias, an irreversible one, a stream."""
    return [
        Tool("kb_search", "kb", version="3", profiles=("support", "sales"), description=SENTENCE),
        Tool("order_lookup", "orders", profiles=("support",), objective=0.99, description=SENTENCE),
        Tool(
            "order_update",
            "orders",
            "write",
            version="2",
            profiles=("support",),
            aliases=("change_order",),
            description=SENTENCE,
        ),
        Tool(
            "order_refund",
            "payments",
            "irreversible",
            profiles=("support",),
            aliases=("refund_order",),
            retired=("refund",),
            description=SENTENCE,
        ),
        Tool("kb_read_pages", "kb", profiles=("sales",), description=SENTENCE),
    ]


def make_catalog(tools: list[Tool] | None = None) -> Catalog:
    """The desk's catalog, or one with other tools and the same owners and profiles."""
    return Catalog(
        tools=make_tools() if tools is None else tools,
        owners=[Owner(name) for name in ("kb", "orders", "payments", "support-platform", PLATFORM)],
        profiles=[
            Profile("support", "support-platform", budget_chars=4000),
            Profile("sales", "support-platform"),
        ],
        platform_owner=PLATFORM,
    )


class Spans:
    """A tracer provider that keeps what ended."""

    def __init__(self, **options: Any) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider(**options)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    @property
    def ended(self) -> list[Any]:
        """The spans that ended, in that order."""
        return list(self.exporter.get_finished_spans())

    def one(self) -> Any:
        """The only span that ended."""
        (span,) = self.ended
        return span


class Desk:
    """A Tooltel on a registry of its own; `options` are those of Tooltel, `settings` by name."""

    def __init__(
        self, *, catalog: Catalog | None = None, settings: dict[str, Any] | None = None, **options: Any
    ) -> None:
        self.spans = Spans()
        self.registry = options.pop("registry", None) or CollectorRegistry()
        options.setdefault("tracer_provider", self.spans.provider)
        self.tel = Tooltel(
            make_catalog() if catalog is None else catalog,
            registry=self.registry,
            settings=Settings.read(None, **(settings or {})),
            **options,
        )
        self._tools: dict[str, Callable[..., Any]] = {}

    def tool(self, name: str) -> Callable[..., Any]:
        """The wrapped tool *name*: it takes an action and does it; `kb_read_pages` yields what it is given."""
        if name not in self._tools:
            self._tools[name] = self.tel.tool(_read_pages if name == "kb_read_pages" else _act_as(name), name=name)
        return self._tools[name]

    def act(self, name: str, action: Callable[[], Any] = lambda: "done") -> Any:
        """Call a tool, and give its result, or its exception."""
        try:
            return self.tool(name)(action)
        except Exception as error:  # noqa: BLE001 - tests look at what came out
            return error

    def publish(self, status: Status, **facts: Any) -> None:
        """Publish an Outcome made by hand, as a plug-in does, for `order_lookup` unless *tool* says otherwise."""
        session = current_session() or self.tel.services.session
        tool = facts.pop("tool", self.tel.catalog.tools["order_lookup"])
        self.tel.services.publish(Outcome(status, tool, session.origin, **facts))


def _act_as(name: str) -> Callable[..., Any]:
    def tool(action: Callable[[], Any], limit: int = 10, query: str = "") -> Any:
        return action()

    tool.__name__ = tool.__qualname__ = name
    return tool


def _read_pages(pages: Callable[[], Any], start: int = 0) -> Iterator[Any]:
    yield from pages()


def raising(error: BaseException) -> Callable[[], Any]:
    """An action that raises *error*."""

    def action() -> Any:
        raise error

    return action


def rejection(
    *fields: str,
    kind: RejectionKind = RejectionKind.STRUCTURAL,
    source: RejectionSource = RejectionSource.SCHEMA,
) -> Rejection:
    """A verdict that *fields* are wrong."""
    return Rejection(kind, source, tuple(Fault(field, "is wrong") for field in fields))


__all__ = ["SENTENCE", "Desk", "Origin", "Spans", "make_catalog", "make_tools", "raising", "rejection"]
