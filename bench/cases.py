"""Everything that is timed: bare callables, the floor, and the same tool wrapped in each condition."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Final

import structlog
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, Sampler
from prometheus_client import CollectorRegistry

from bench.exporting import to_nowhere
from bench.floor import (
    ATTRIBUTES,
    NAME,
    async_counted,
    async_floor,
    careful,
    counted,
    floor,
    floor_with_outcome,
)
from bench.timing import AsyncTimer, Case, Fault, timed, timed_faults, timed_stream
from tooltel import Catalog, Owner, Profile, Tool, Tooltel
from tooltel.settings import Settings
from tooltel.signals import LOGGER, SCOPE, Risk

SYNC: Final = "sync"
ASYNC: Final = "async"
CONDITIONS: Final = ("sampled", "unsampled", "no_sdk")


# --- the tool: it does next to nothing, so that what surrounds it is what is seen ---


def order_lookup(order_id: int, region: str) -> dict[str, object]:
    """Look one order up by its number, with its lines and its state."""
    return {"order_id": order_id, "region": region}


async def async_order_lookup(order_id: int, region: str) -> dict[str, object]:
    """Look one order up by its number, with its lines and its state."""
    return {"order_id": order_id, "region": region}


def failing(order_id: int, region: str) -> dict[str, object]:  # noqa: ARG001 - called like the good one
    """Look one order up by its number, and fail."""
    raise Fault


async def async_failing(order_id: int, region: str) -> dict[str, object]:  # noqa: ARG001 - as above
    """Look one order up by its number, and fail."""
    raise Fault


def stream(items: int, region: str) -> Iterator[str]:
    """Give one order after the other, as many as are wanted."""
    for _ in range(items):
        yield region


async def async_stream(items: int, region: str) -> AsyncIterator[str]:
    """Give one order after the other, as many as are wanted."""
    for _ in range(items):
        yield region


class Cases:
    """Builds every case once, each wrapped tool in a Tooltel of its own. Close it when done."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._loop = AsyncTimer()
        self._stack.callback(self._loop.close)
        self._on = self._provider(ALWAYS_ON)
        self._off = self._provider(ALWAYS_OFF)
        self.all: list[Case] = [
            *self._bare(), *self._floors(), *self._tooltel(), *self._beside(), *self._attributes()
        ]  # fmt: skip

    def close(self) -> None:
        """Stop the batch processors' threads and close the event loop."""
        self._stack.close()

    # --- conditions ---

    def _provider(self, sampler: Sampler) -> TracerProvider:
        provider = TracerProvider(sampler=sampler, shutdown_on_exit=False)
        provider.add_span_processor(to_nowhere())
        self._stack.callback(provider.shutdown)
        return provider

    def _providers(self) -> dict[str, TracerProvider | None]:
        # None is OpenTelemetry's global provider. Nothing here sets one, as in a host without the SDK.
        return {"sampled": self._on, "unsampled": self._off, "no_sdk": None}

    def _case(self, name: str, batch: Callable[[int], float], around: Any = None) -> Case:
        # Spans are drained off the clock: else exporting those of one case would fall on the next.
        extra = {} if around is None else {"around": around}
        return Case(name=name, batch=batch, after=self._on.force_flush, **extra)

    # --- rulers ---

    def _bare(self) -> Iterator[Case]:
        loop = self._loop
        yield self._case("sync bare", timed(order_lookup))
        yield self._case("async bare", loop.timed(async_order_lookup))
        yield self._case("sync bare error", timed_faults(failing))
        yield self._case("async bare error", loop.timed_faults(async_failing))
        yield self._case("sync bare item", timed_stream(stream))
        yield self._case("async bare item", loop.timed_stream(async_stream))

    def _floors(self) -> Iterator[Case]:
        loop = self._loop
        for condition, provider in self._providers().items():
            tracer = trace.get_tracer(SCOPE, tracer_provider=provider)
            yield self._case(f"sync floor {condition}", timed(floor(order_lookup, tracer)))
            yield self._case(f"async floor {condition}", loop.timed(async_floor(async_order_lookup, tracer)))
        tracer = self._on.get_tracer(SCOPE)
        yield self._case("sync floor error", timed_faults(floor(failing, tracer)))
        yield self._case("async floor error", loop.timed_faults(async_floor(async_failing, tracer)))
        yield self._case("sync careful", timed(careful(order_lookup, tracer)))
        yield self._case("sync prometheus_client", timed(counted(order_lookup)))
        yield self._case("async prometheus_client", loop.timed(async_counted(async_order_lookup)))

    # --- tooltel ---

    def _tel(
        self, provider: TracerProvider | None, *, settings: Settings | None = None, risk: str = Risk.READ
    ) -> tuple[Tooltel, Callable[[], AbstractContextManager[object]]]:
        catalog = Catalog(
            tools=[Tool(NAME, "orders", risk=risk, profiles=("support",), description=str(order_lookup.__doc__))],
            owners=[Owner("orders", page={"webhook_configs": [{"url_file": "/etc/alertmanager/orders"}]})],
            profiles=[Profile("support", "orders")],
            platform_owner="orders",
        )
        # The log event is off, and so it is not asked for at each call; it is measured beside.
        settings = settings if settings is not None else Settings(log_calls="off")
        tel = Tooltel(catalog, registry=CollectorRegistry(), tracer_provider=provider, settings=settings)
        return tel, lambda: tel.session(profile="support", agent="support_agent", id="s-42")

    def _tooltel(self) -> Iterator[Case]:
        loop = self._loop
        for condition, provider in self._providers().items():
            tel, session = self._tel(provider)
            yield self._case(f"sync {condition}", timed(tel.tool(order_lookup)), session)
            yield self._case(f"async {condition}", loop.timed(tel.tool(async_order_lookup, name=NAME)), session)
        tel, session = self._tel(self._on)
        yield self._case("sync error", timed_faults(tel.tool(failing, name=NAME)), session)
        yield self._case("async error", loop.timed_faults(tel.tool(async_failing, name=NAME)), session)
        yield self._case("sync item", timed_stream(tel.tool(stream, name=NAME)), session)
        yield self._case("async item", loop.timed_stream(tel.tool(async_stream, name=NAME)), session)

    # --- what is opt-in or depends on the tool, one by one ---

    def _beside(self) -> Iterator[Case]:
        tel, session = self._tel(self._on, settings=Settings(log_calls="off", exemplars=True))
        yield self._case("beside exemplar", timed(tel.tool(order_lookup)), session)
        tel, session = self._tel(self._on, risk=Risk.WRITE)
        yield self._case("beside argument_hash", timed(tel.tool(order_lookup)), session)
        for name, logging_to in (("log_event", _null_logging), ("log_event_structlog", _null_structlog)):
            tel, session = self._tel(self._on, settings=Settings(log_calls="all"))
            yield self._case(f"beside {name}", timed(tel.tool(order_lookup)), _both(session, logging_to))
        tel, session = self._tel(self._on, settings=Settings(log_calls="failures"))
        yield self._case(
            "beside error_log_event",
            timed_faults(tel.tool(failing, name=NAME)),
            _both(session, _null_logging),
        )

    def _attributes(self) -> Iterator[Case]:
        tracer = self._on.get_tracer(SCOPE)
        names = list(ATTRIBUTES)
        for count in range(len(names) + 1):
            attributes = {name: ATTRIBUTES[name] for name in names[:count]}
            yield self._case(f"attributes {count}", timed(floor(order_lookup, tracer, attributes)))
        yield self._case("attributes with outcome", timed(floor_with_outcome(order_lookup, tracer)))


def _both(
    first: Callable[[], AbstractContextManager[object]], second: Callable[[], AbstractContextManager[object]]
) -> Callable[[], AbstractContextManager[object]]:
    @contextmanager
    def around() -> Iterator[None]:
        with first(), second():
            yield

    return around


@contextmanager
def _null_logging() -> Iterator[None]:
    """The standard library's logger at debug, with a handler that does nothing."""
    logger, handler = logging.getLogger(LOGGER), logging.NullHandler()
    before = (logger.level, logger.propagate)
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.level, logger.propagate = before


class _NullLogger:
    def msg(self, message: str) -> None:
        """Do nothing with a rendered line."""

    debug = info = warning = error = msg


@contextmanager
def _null_structlog() -> Iterator[None]:
    """A configured structlog that renders JSON for a logger that does nothing."""
    structlog.configure(
        processors=[structlog.processors.add_log_level, structlog.processors.JSONRenderer()],
        wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG),
        logger_factory=lambda *_: _NullLogger(),
    )
    try:
        yield
    finally:
        structlog.reset_defaults()
