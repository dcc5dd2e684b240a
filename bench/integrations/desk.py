"""
What every framework's bench asks for: a turn of calls to ten tools, a Tooltel that knows them, and a ruler.

The ruler are the same tools, each of which makes its own span and counts itself, by hand. In a turn, everything takes
two to three times as long as in a loop, as the framework's work has pushed it out of the processor's caches; what a
plug-in adds is to be compared with what this adds in the same turns.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.sdk.trace import TracerProvider
from prometheus_client import CollectorRegistry

from bench.exporting import to_nowhere
from bench.floor import async_floor, floor
from tooltel import Catalog, HouseRules, Profile, Tool, Tooltel
from tooltel.errors import Level

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry import trace

    Recorded = Callable[[Callable[..., Any]], Callable[..., Any]]

CALLS: Final = 20  # of one turn; each is a step of its own, as models mostly make them
NAMES: Final = [f"order_lookup_{number}" for number in range(10)]


def sampling() -> TracerProvider:
    """A provider that samples every span."""
    provider = TracerProvider()
    provider.add_span_processor(to_nowhere())
    return provider


def telemetry(provider: trace.TracerProvider | None = None) -> Tooltel:
    """A Tooltel with spans by *provider* (None: the process' own) that logs nothing that went well."""
    catalog = Catalog(
        tools=[Tool(name, "orders", profiles=("support",)) for name in NAMES],
        profiles=[Profile("support", "orders")],
        house=HouseRules(levels={"description": Level.OFF}),
        open=True,
    )
    return Tooltel(catalog, registry=CollectorRegistry(), tracer_provider=provider)


def by_hand() -> Recorded:
    """What records a tool by hand."""
    tracer = sampling().get_tracer(__name__)
    return lambda fn: async_floor(fn, tracer) if inspect.iscoroutinefunction(fn) else floor(fn, tracer)


def not_at_all(fn: Callable[..., Any]) -> Callable[..., Any]:
    """*fn* itself."""
    return fn
