"""One tracer provider for the process, as ADK takes it."""

from __future__ import annotations

from tests.integrations.provider import host_provider, host_spans

__all__ = ["host_provider", "host_spans"]
