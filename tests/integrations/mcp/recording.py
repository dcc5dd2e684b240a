"""What tests look at of what was recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

    from tooltel.testing import Captured


def outcomes(seen: Captured) -> list[tuple[str, str, str]]:
    """Tool or requested name, status and error type of each outcome."""
    return [
        (
            outcome.tool.name if outcome.tool is not None else outcome.missing.requested if outcome.missing else "",
            outcome.status.value,
            outcome.error_type,
        )
        for outcome in seen.outcomes
    ]


def attributes(span: ReadableSpan, *names: str) -> dict[str, object]:
    """Some attributes of *span*, None where it has no such."""
    return {name: (span.attributes or {}).get(name) for name in names}
