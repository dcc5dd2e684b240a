"""
What goes wrong in a shift: every kind of trouble that tooltel tells apart, a known number of times each.

The fates are written by hand, from what each tool's code does; nothing here asks tooltel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from tooltel import signals
from tooltel.demo.books import ARTICLES, DOWN, SLOW
from tooltel.demo.desk.knowledge import BAD_SHARD, SLOW_WORD
from tooltel.demo.desk.payments import REFUND_LIMIT
from tooltel.demo.hostile import HOSTILE
from tooltel.demo.plots import BACK_OFFICE, QUESTIONS, REASONS, SUPPORT, Cast, Group, Plot
from tooltel.demo.steps import Fate, Manner, Step, call, drop
from tooltel.signals import ItemStatus, Reason, RejectionKind, RejectionSource, Status

INVENTED: Final = (
    "order_status",
    "refund_payment",
    "search_articles",
    "send_email",
    "customer_lookup",
    "get_weather",
)

DOMAIN: Final = (RejectionKind.DOMAIN, RejectionSource.TOOL)
STRUCTURAL: Final = (RejectionKind.STRUCTURAL, RejectionSource.FRAMEWORK)


def _rejected(verdict: tuple[RejectionKind, RejectionSource], *fields: str) -> Fate:
    return Fate(Status.INVALID_ARGUMENTS, *verdict, fields=fields)


def bank_is_down(cast: Cast) -> Iterator[Group]:
    """A bank answers nobody: the refund fails, and the agent tries once more."""
    order = cast.order(acquirer=DOWN)
    yield call("order_lookup", order_id=order.id)
    for _ in range(2):
        yield call(
            "payment_refund",
            Fate(Status.ERROR),
            order_id=order.id,
            amount=order.total,
            reason=cast.one_of(REASONS),
        )


def old_name(cast: Cast) -> Iterator[Group]:
    """A prompt still teaches a name that is gone; then the model finds the new one."""
    order = cast.order()
    gone = "order_find" if cast.number % 3 else "refund_order"
    yield drop(gone, Reason.RENAMED, gone)
    yield call("order_lookup", order_id=order.id)


def alias(cast: Cast) -> Iterator[Group]:
    """A name that was changed and still works."""
    yield call("get_order", order_id=cast.order().id)


def other_desk(cast: Cast) -> Iterator[Group]:
    """The support agent asks for a tool that only the back office has."""
    yield drop("payout_release", Reason.NOT_IN_PROFILE, "payout_release")
    yield call("payment_lookup", order_id=cast.order().id)


def invention(cast: Cast) -> Iterator[Group]:
    """A tool that the model made up."""
    yield drop(cast.one_of(INVENTED), Reason.UNKNOWN, signals.OTHER)
    yield call("order_lookup", order_id=cast.order().id)


def hostile_names(cast: Cast) -> Iterator[Group]:  # noqa: ARG001 - a plot's signature
    """Every hostile name that is known to have come out of a model."""
    for name, reason in HOSTILE:
        yield drop(name, reason, signals.OTHER)


def misread_schema(cast: Cast) -> Iterator[Group]:
    """The order's number is missing, and an argument is there that the schema lacks; then it is right."""
    order = cast.order()
    yield call("order_lookup", _rejected(STRUCTURAL, "order_id"))
    yield call(
        "payment_refund", _rejected(STRUCTURAL, "amount", signals.OTHER),
        order_id=order.id, amount_cents=order.total, reason="broken",
    )  # fmt: skip
    yield call("order_lookup", order_id=order.id)


def bad_address(cast: Cast) -> Iterator[Group]:
    """An address that is none: the tool says so in its result; then one that is."""
    order = cast.order()
    wrong = _rejected(DOMAIN, "postcode", "country")
    yield call("order_address_change", wrong, order_id=order.id, street="1 Nowhere", postcode="SW1", country="uk")
    yield call("order_address_change", order_id=order.id, street="1 Nowhere", postcode="10115")


def too_much_back(cast: Cast) -> Iterator[Group]:
    """More money back than was paid: the tool raises; then the right amount."""
    order = cast.order()
    amount = order.total + 1
    yield call("payment_refund", _rejected(DOMAIN, "amount"), order_id=order.id, amount=amount, reason="broken")
    yield call("payment_refund", order_id=order.id, amount=order.total, reason="broken")


def big_refund(cast: Cast) -> Iterator[Group]:
    """An amount that needs a human: the policy refuses, the agent hands over."""
    order = cast.order()
    refused = Fate(Status.REFUSED, policy="refund_limit")
    yield call("payment_refund", refused, order_id=order.id, amount=REFUND_LIMIT + 1, reason="broken")
    yield call("case_hand_over", Fate(inner=("order_lookup",)), order_id=order.id, summary="refund over the limit")


def too_late(cast: Cast) -> Iterator[Group]:
    """An order that is on its way: the tool's result says that a policy refuses."""
    order = cast.order(state="shipped")
    refused = Fate(Status.REFUSED, policy="shipped_orders")
    yield call("order_cancel", refused, order_id=order.id, reason="ordered twice")


def slow_warehouse(cast: Cast) -> Iterator[Group]:
    """The warehouse hangs after the first page."""
    cast.order()
    cast.order(stuck=True)
    yield call("order_search", Fate(Status.TIMEOUT), customer=cast.customer)


def slow_search(cast: Cast) -> Iterator[Group]:
    """A question that the search cannot answer in time."""
    yield call("article_search", Fate(Status.TIMEOUT), query=f"{SLOW_WORD} about orders")
    yield call("article_search", query=f"{cast.one_of(QUESTIONS)} {cast.number}")


def broken_index(cast: Cast) -> Iterator[Group]:
    """A part of the index that cannot be read."""
    yield call("article_search", Fate(Status.ERROR), query=f"{BAD_SHARD} {cast.number}")


def refunded_twice(cast: Cast) -> Iterator[Group]:
    """A bank moves the money and answers too late; the agent asks again, and the money moves again."""
    order = cast.order(acquirer=SLOW)
    ask = {"order_id": order.id, "amount": order.total // 2, "reason": "never arrived"}
    yield call("payment_refund", Fate(Status.TIMEOUT), **ask)
    yield call("payment_refund", Fate(repeated=True), **ask)


def replayed_refund(cast: Cast) -> Iterator[Group]:
    """The same with a key: the tool gives back the first refund, and no harm is done."""
    order = cast.order(acquirer=SLOW)
    ask = {"order_id": order.id, "amount": order.total, "reason": "never arrived", "key": f"k-{cast.number}"}
    yield call("payment_refund", Fate(Status.TIMEOUT), **ask)
    yield call("payment_refund", Fate(Status.REPLAYED), **ask)


def paid_out_twice(cast: Cast) -> Iterator[Group]:
    """The same payout, released twice in one session."""
    ask = {"merchant": f"m-{cast.number}", "day": cast.day}
    yield call("payout_release", **ask)
    yield call("payout_release", Fate(repeated=True), **ask)


def half_tagged(cast: Cast) -> Iterator[Group]:
    """A batch of which a part is done, a part undone and a part left over."""
    states: tuple[dict[str, Any], ...] = ({}, {}, {"state": "canceled"}, {"stuck": True}, {}, {})
    orders = [cast.order(**facts) for facts in states]
    items: dict[str, int] = {
        ItemStatus.OK: 2,
        ItemStatus.FAILED: 1,
        ItemStatus.COMPENSATED: 1,
        ItemStatus.OUTSTANDING: 2,
    }
    yield call("order_bulk_tag", Fate(Status.PARTIAL, items=items), order_ids=[o.id for o in orders], tag="recall")


def enough_read(cast: Cast) -> Iterator[Group]:
    """Streams that nobody reads to the end."""
    abandoned = Fate(Status.ABANDONED)
    yield Step("ledger_export", MappingProxyType({"day": cast.day}), abandoned, Manner.ABANDON)


def answer_found(cast: Cast) -> Iterator[Group]:
    """The first section of an article is enough."""
    article = MappingProxyType({"article_id": cast.one_of(tuple(ARTICLES))})
    yield Step("article_read", article, Fate(Status.ABANDONED), Manner.ABANDON)


def hung_up(cast: Cast) -> Iterator[Group]:
    """The customer hangs up while the agent is searching."""
    query = MappingProxyType({"query": f"{cast.one_of(QUESTIONS)} {cast.number}"})
    yield Step("article_search", query, Fate(Status.CANCELLED), Manner.CANCEL)


@dataclass(frozen=True, slots=True)
class Trouble:
    """A plot of the agent of `profile` that happens `per_300` times in 300 sessions, and once at least."""

    profile: str
    plot: Plot
    per_300: int

    def times(self, sessions: int) -> int:
        """How many of *sessions* tell this story."""
        return max(1, round(self.per_300 * sessions / 300))


# Without the bank, which `script` puts into one stretch of the shift.
TROUBLES: Final = (
    Trouble(SUPPORT, old_name, 6), Trouble(SUPPORT, alias, 8), Trouble(SUPPORT, other_desk, 4),
    Trouble(SUPPORT, invention, 5), Trouble(SUPPORT, hostile_names, 1), Trouble(BACK_OFFICE, invention, 2),
    Trouble(SUPPORT, misread_schema, 5), Trouble(SUPPORT, bad_address, 4), Trouble(SUPPORT, too_much_back, 3),
    Trouble(SUPPORT, big_refund, 2), Trouble(SUPPORT, too_late, 2), Trouble(SUPPORT, slow_warehouse, 1),
    Trouble(SUPPORT, slow_search, 1), Trouble(BACK_OFFICE, broken_index, 1), Trouble(SUPPORT, hung_up, 2),
    Trouble(SUPPORT, refunded_twice, 1), Trouble(SUPPORT, replayed_refund, 1),
    Trouble(SUPPORT, answer_found, 3), Trouble(BACK_OFFICE, paid_out_twice, 1),
    Trouble(BACK_OFFICE, half_tagged, 2), Trouble(BACK_OFFICE, enough_read, 3),
)  # fmt: skip
