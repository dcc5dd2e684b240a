"""The systems behind the desk's tools: articles, orders, payments; troubles are part of the data."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

DOWN: Final = "northbank"  # an acquirer that answers nobody during this shift
SLOW: Final = "slowbank"  # one that moves the money and answers too late, the first time
HEALTHY: Final = ("eastbank", "westbank", "cardhouse")

ARTICLES: Final = MappingProxyType(
    {
        "a-101": ("Where is my parcel?", ("Tracking", "Carriers", "When a parcel is late", "Lost parcels")),
        "a-102": ("How refunds work", ("Who may ask", "How long it takes", "Partial refunds")),
        "a-103": ("Changing an address", ("Before shipping", "After shipping")),
        "a-104": (
            "Canceling an order",
            ("What can be canceled", "Stock and vouchers", "When it is too late"),
        ),
        "a-105": ("Returns", ("Labels", "Condition", "Exchange", "Refund")),
        "a-106": ("Invoices", ("Copies", "Companies", "Tax")),
    }
)

# Median seconds and spread of each system. Plausible for a small shop; nothing hangs on the exact values.
LATENCY: Final = MappingProxyType(
    {
        "search": (0.09, 0.45),
        "articles": (0.03, 0.30),
        "orders": (0.035, 0.40),
        "warehouse": (0.11, 0.45),
        "payments": (0.08, 0.40),
        "acquirer": (0.26, 0.35),
        "ledger": (0.02, 0.30),
        "desk": (0.05, 0.30),
    }
)
LONGEST: Final = 1.6  # seconds; a tail that cannot hold up a shift
DEADLINE: Final = 0.75  # seconds that a tool waits for a system before it gives up


class AcquirerUnavailableError(ConnectionError):
    """The bank that holds the card answered with nothing but an error."""


class IndexCorruptError(RuntimeError):
    """One shard of the article search could not be read."""


@dataclass
class Order:
    """One order. Amounts in cents; `stuck` orders make the warehouse hang."""

    id: str
    customer: str
    total: int
    state: str = "paid"
    acquirer: str = HEALTHY[0]
    stuck: bool = False
    refunded: int = 0
    address: str = "12 High Street, 10115"
    tags: set[str] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)


class Books:
    """Everything the desk knows. Each session has orders of its own: none waits for another."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._orders: dict[str, Order] = {}
        self._late: set[str] = set()

    def open(self, order: Order) -> Order:
        """Enter a new order."""
        self._orders[order.id] = order
        return order

    def order(self, order_id: str) -> Order:
        """The order of that number; raises LookupError for one that nobody placed."""
        try:
            return self._orders[order_id]
        except KeyError:
            raise LookupError(f"no order {order_id}") from None

    def orders_of(self, customer: str) -> Iterator[Order]:
        """The orders of one customer, oldest first."""
        return (order for order in tuple(self._orders.values()) if order.customer == customer)

    def answers_late(self, order: Order) -> bool:
        """Whether the acquirer answers this request too late: the first one about an order of a slow bank."""
        if order.acquirer != SLOW or order.id in self._late:
            return False
        self._late.add(order.id)
        return True

    def latency(self, system: str, key: object) -> float:
        """Seconds that *system* takes for *key*; the same for the same seed, whatever happens around it."""
        median, spread = LATENCY[system]
        chance = random.Random(f"{self._seed}/{system}/{key}")  # noqa: S311 - a story, not a secret
        return min(LONGEST, median * math.exp(chance.gauss(0.0, spread)))
