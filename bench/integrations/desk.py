"""What every framework's bench asks for: a turn of calls to ten tools, and a Tooltel that knows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from opentelemetry.sdk.trace import TracerProvider
from prometheus_client import CollectorRegistry

from bench.exporting import to_nowhere
from tooltel import Catalog, HouseRules, Profile, Tool, Tooltel
from tooltel.errors import Level

if TYPE_CHECKING:
    from opentelemetry import trace

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
