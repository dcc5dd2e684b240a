"""One tool and its catalog, for the three loops beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import tooltel

CATALOG = tooltel.Catalog(
    tools=[tooltel.Tool("order_lookup", "orders", profiles=("support",), retired=("order_find",))],
    owners=[tooltel.Owner("orders")],
    profiles=[tooltel.Profile("support", "orders", budget_chars=2000)],
    platform_owner="orders",
)
SCHEMA = {
    "type": "object",
    "properties": {"order_id": {"type": "string"}, "limit": {"type": "integer"}},
    "required": ["order_id"],
    "additionalProperties": False,
}
DESCRIPTION = "Look up one order by its number: items, delivery state and what was paid."


def order_lookup(order_id: str, limit: int = 10) -> dict[str, object]:
    """Look up one order by its number: items, delivery state and what was paid."""
    return {"order_id": order_id, "lines": limit}


def answer(requested: tooltel.Requested, tools: Mapping[str, Callable[..., object]]) -> object:
    """What a loop gives back to the model for one tool call that it asked for; *tools* are wrapped."""
    if requested.missing is not None:
        nearest = requested.missing.nearest
        return f"There is no tool {requested.name!r}." + (f" Did you mean {nearest!r}?" if nearest else "")
    if requested.faults:
        return {"errors": [fault._asdict() for fault in requested.faults]}
    return tools[requested.name](**requested.arguments)
