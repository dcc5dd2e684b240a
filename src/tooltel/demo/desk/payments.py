"""The payments team's tools: money moves here, and some of it cannot be called back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import structlog

from tooltel.demo.books import DEADLINE, DOWN, AcquirerUnavailableError, Books
from tooltel.errors import Refused, Rejected

if TYPE_CHECKING:
    from tooltel.demo.pace import Pace

_log = structlog.get_logger()

REFUND_LIMIT = 50_000  # cents that a refund may be without a human's approval
LEDGER_ROWS = 12


class Payments:
    """Payments: looked up, refunded, paid out, exported."""

    def __init__(self, books: Books, pace: Pace) -> None:
        self._books = books
        self._pace = pace

    async def payment_lookup(self, order_id: Annotated[str, "The order's number, like o-10001"]) -> dict[str, Any]:
        """Look up the payments of one order: method, amount, state and earlier refunds."""
        await self._pace.pause(self._books.latency("payments", order_id))
        order = self._books.order(order_id)
        return {
            "order": order.id,
            "acquirer": order.acquirer,
            "paid": order.total,
            "refunded": order.refunded,
        }

    async def payment_refund(
        self,
        order_id: Annotated[str, "The order's number, like o-10001"],
        amount: Annotated[int, "Cents to give back, at most what was paid"],
        reason: Annotated[str, "Why, in the customer's words"],
        key: Annotated[str | None, "The same for every attempt at the same refund"] = None,
    ) -> dict[str, Any]:
        """Refund an amount of one order to the customer's card; money that left cannot be called back."""
        order = self._books.order(order_id)
        if amount > REFUND_LIMIT:
            raise Refused("refunds over 500.00 need a human approver", policy="refund_limit")
        if not 0 < amount <= order.total:
            raise Rejected("amount", problem=f"{amount} is not a part of what was paid", expected=f"1 to {order.total}")
        if key is not None and key in order.keys:
            return {"order": order_id, "refunded": order.refunded, "replayed": True}
        if order.acquirer == DOWN:
            await self._pace.pause(self._books.latency("acquirer", order_id) / 4)
            _log.warning("acquirer_failed", acquirer=order.acquirer, order=order_id)  # the team's own line
            raise AcquirerUnavailableError(f"{order.acquirer} answered 503")
        order.refunded += amount
        if key is not None:
            order.keys.add(key)
        if self._books.answers_late(order):
            await self._pace.pause(DEADLINE)
            raise TimeoutError(f"{order.acquirer} gave no answer within {DEADLINE} s")
        await self._pace.pause(self._books.latency("acquirer", order_id))
        return {"order": order_id, "refunded": amount, "because": reason}

    async def payout_release(
        self,
        merchant: Annotated[str, "The merchant's number, like m-7"],
        day: Annotated[str, "The reconciled day, as in 2030-01-31"],
    ) -> dict[str, Any]:
        """Release one merchant's payout for a day that has been reconciled; it cannot be undone."""
        await self._pace.pause(self._books.latency("acquirer", f"{merchant}/{day}"))
        return {"merchant": merchant, "day": day, "released": True}

    def ledger_export(self, day: Annotated[str, "The day, as in 2030-01-31"]) -> Iterator[dict[str, Any]]:
        """Export the ledger of one day row by row, for a reconciliation by the back office."""
        for row in range(LEDGER_ROWS):
            self._pace.wait(self._books.latency("ledger", f"{day}/{row}"))
            yield {"day": day, "row": row, "amount": 100 * (row + 1)}
