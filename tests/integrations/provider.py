"""A host's one tracer provider for the process: its spans are kept for the test that asks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

EXPORTER = InMemorySpanExporter()


@pytest.fixture(scope="session", autouse=True)
def host_provider() -> None:
    """The host's provider, as a host sets it: once."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(EXPORTER))
    trace.set_tracer_provider(provider)


@pytest.fixture
def host_spans() -> Iterator[InMemorySpanExporter]:
    """What the host's provider exports during the test, the framework's own spans with it."""
    EXPORTER.clear()
    yield EXPORTER
    EXPORTER.clear()
