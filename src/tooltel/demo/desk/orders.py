"""The orders team's tools."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from tooltel.demo.books import DEADLINE, Books

if TYPE_CHECKING:
    from tooltel.demo.pace import Pace

STATES = ("paid", "packed", "shipped", "canceled")
TAG_LIMIT = 4  # orders that the warehouse tags in one go; the rest stays outstanding


class Orders:
    """Orders: looked up, searched, canceled, readdressed, tagged."""

    def __init__(self, books: Books, pace: Pace) -> None:
        self._books = books
        self._pace = pace

    def order_lookup(self, order_id: Annotated[str, "The order's number, like o-10001"]) -> dict[str, Any]:
        """Look up one order by its number: items, delivery state and what was paid."""
        self._pace.wait(self._books.latency("orders", order_id))
        order = self._books.order(order_id)
        return {"id": order.id, "status": order.state, "total": order.total, "address": order.address}

    def order_search(
        self,
        customer: Annotated[str, "The customer's number, like c-2001"],
        state: Annotated[str | None, "Only orders in this state"] = None,
    ) -> Iterator[list[dict[str, Any]]]:
        """Search a customer's orders by state and yield them page by page, newest first."""
        for number, order in enumerate(self._books.orders_of(customer)):
            if order.stuck:
                self._pace.wait(DEADLINE)
                raise TimeoutError(f"the warehouse gave no answer within {DEADLINE} s")
            self._pace.wait(self._books.latency("warehouse", f"{customer}/{number}"))
            if state in (None, order.state):
                yield [{"id": order.id, "status": order.state}]

    def order_cancel(
        self,
        order_id: Annotated[str, "The order's number, like o-10001"],
        reason: Annotated[str, "Why, in the customer's words"],
    ) -> dict[str, Any]:
        """Cancel one order that has not been shipped yet, and release its stock."""
        order = self._books.order(order_id)
        self._pace.wait(self._books.latency("warehouse", order_id))
        if order.state == "shipped":
            return {"status": "refused", "policy": "shipped_orders", "reason": "the parcel is on its way"}
        order.state = "canceled"
        return {"id": order.id, "status": order.state, "because": reason}

    def order_address_change(
        self,
        order_id: Annotated[str, "The order's number, like o-10001"],
        street: Annotated[str, "Street and house number"],
        postcode: Annotated[str, "Five digits"],
        country: Annotated[str, "Two letters, as in DE"] = "DE",
    ) -> dict[str, Any]:
        """Change the delivery address of one order that has not been shipped yet."""
        self._pace.wait(self._books.latency("orders", f"{order_id}/{street}"))
        errors = []
        if not re.fullmatch(r"\d{5}", postcode):
            errors.append({"field": "postcode", "problem": "no such postcode", "expected": "five digits"})
        if not re.fullmatch(r"[A-Z]{2}", country):
            errors.append({"field": "country", "problem": "no such country", "expected": "two capital letters"})
        if errors:
            return {"status": "invalid_arguments", "errors": errors}
        self._books.order(order_id).address = f"{street}, {postcode} {country}"
        return {"id": order_id, "status": "address changed"}

    def order_bulk_tag(
        self,
        order_ids: Annotated[list[str], "Numbers of the orders, like o-10001"],
        tag: Annotated[str, "The tag, one word"],
    ) -> dict[str, Any]:
        """Put one tag on many orders at once; says for each order whether the tag is on it."""
        self._pace.wait(self._books.latency("warehouse", f"{order_ids}/{tag}"))
        results = [{"order_id": id_, "status": self._tag(place, id_, tag)} for place, id_ in enumerate(order_ids)]
        done = all(result["status"] == "ok" for result in results)
        return {"status": "done" if done else "partial", "results": results}

    def _tag(self, place: int, order_id: str, tag: str) -> str:
        order = self._books.order(order_id)
        if place >= TAG_LIMIT:
            return "outstanding"
        if order.state == "canceled":
            return "failed"
        order.tags.add(tag)
        if order.stuck:  # the warehouse did not confirm: taken off again
            order.tags.discard(tag)
            return "compensated"
        return "ok"
