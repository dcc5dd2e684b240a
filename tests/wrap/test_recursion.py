"""Where the stack ends: a tool that calls itself too deep fails as it would by itself, and telemetry recovers."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.trace import INVALID_SPAN, get_current_span
from prometheus_client import CollectorRegistry

from tooltel import Catalog, HouseRules, Tooltel
from tooltel.call import current_call
from tooltel.errors import Level
from tooltel.settings import Settings
from tooltel.testing import parse_samples

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.mark.parametrize("kind", ["function", "generator"])
@pytest.mark.parametrize("room", range(40))
def test_a_tool_that_recurses_without_end_raises_what_python_raises(kind: str, room: int) -> None:
    """However many frames are left where it is called: telemetry needs some of its own at each level."""
    catalog = Catalog(house=HouseRules(levels={"description": Level.OFF}), open=True)
    tel = Tooltel(catalog, registry=CollectorRegistry(), settings=Settings(log_calls="off"))

    @tel.tool(owner="desk")
    def order_count(number: int) -> int:
        return 1 + order_count(number + 1)

    @tel.tool(owner="desk")
    def order_rows(number: int) -> Iterator[Any]:
        yield from order_rows(number + 1)

    def begin(room: int) -> Any:
        if room:
            return begin(room - 1)
        return order_count(0) if kind == "function" else list(order_rows(0))

    with pytest.raises(RecursionError):
        begin(room)
    gc.collect()
    assert current_call() is None
    assert get_current_span() is INVALID_SPAN

    @tel.tool(owner="desk")
    def order_lookup() -> str:
        return "done"

    assert order_lookup() == "done"
    found = parse_samples(tel.view)
    running = {labels: value for (name, labels), value in found.items() if name == "tooltel_tool_calls_active"}
    assert not any(running.values()), "every call that began has ended"
