"""The desk: every tool of every team, wrapped as an application would do it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tooltel.demo.declarations import declare_all
from tooltel.demo.desk.knowledge import Knowledge
from tooltel.demo.desk.orders import Orders
from tooltel.demo.desk.payments import Payments
from tooltel.demo.desk.platform import Platform

if TYPE_CHECKING:
    from collections.abc import Callable

    from tooltel.demo.books import Books
    from tooltel.demo.pace import Pace
    from tooltel.runtime import Tooltel


class Desk:
    """
    The tools of `tools.toml`, wrapped by *tel*.

    `tools` holds them by the names that work: those of the catalog, and its aliases.
    """

    def __init__(self, tel: Tooltel, books: Books, pace: Pace) -> None:
        self._tel = tel
        knowledge, orders, payments = Knowledge(books, pace), Orders(books, pace), Payments(books, pace)
        order_lookup = tel.tool(orders.order_lookup)
        platform = Platform(books, pace, order_lookup)
        self.tools: dict[str, Callable[..., Any]] = {
            "article_search": tel.tool(knowledge.article_search),
            "article_read": tel.tool(knowledge.article_read),
            "article_suggest_edit": tel.tool(knowledge.article_suggest_edit),
            "order_lookup": order_lookup,
            "get_order": tel.alias("get_order", order_lookup),
            "order_search": tel.tool(orders.order_search),
            "order_cancel": tel.tool(orders.order_cancel),
            "order_address_change": tel.tool(orders.order_address_change),
            "order_bulk_tag": tel.tool(orders.order_bulk_tag),
            "payment_lookup": tel.tool(payments.payment_lookup),
            "payment_refund": tel.tool(payments.payment_refund),
            "payout_release": tel.tool(payments.payout_release),
            "ledger_export": tel.tool(payments.ledger_export),
            "case_hand_over": tel.tool(platform.case_hand_over),
        }

    def declare(self) -> None:
        """Tell what each profile's model is shown, as an agent does when it sends its tools."""
        for profile in self._tel.catalog.profiles:
            names = [tool.name for tool in self._tel.catalog.tools.values() if profile in tool.profiles]
            self._tel.declared(profile, declare_all(self.tools, names))
