"""One tracer provider for the process, as the SDK takes it."""

from __future__ import annotations

from importlib.util import find_spec

from tests.integrations.provider import host_provider, host_spans

__all__ = ["host_provider", "host_spans"]

# What only one version of the SDK has is tested there alone.
collect_ignore = ["test_handlers.py"] if find_spec("mcp_types") else ["test_middleware.py"]
