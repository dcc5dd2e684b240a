"""The platform team's tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from tooltel.demo.books import Books
    from tooltel.demo.pace import Pace


class Platform:
    """Handing over to a human. `order_lookup` is another team's tool: a call within a call."""

    def __init__(self, books: Books, pace: Pace, order_lookup: Callable[..., dict[str, Any]]) -> None:
        self._books = books
        self._pace = pace
        self._order_lookup = order_lookup

    def case_hand_over(
        self,
        order_id: Annotated[str, "The order that the conversation is about, like o-10001"],
        summary: Annotated[str, "What the customer wants and what was tried"],
    ) -> dict[str, Any]:
        """Hand the conversation over to a human colleague, with a summary of what was tried."""
        order = self._order_lookup(order_id)
        self._pace.wait(self._books.latency("desk", order_id))
        return {"case": f"case-{order['id']}", "summary": summary, "status": "waiting for a colleague"}
