"""
The stories that sessions tell: what an agent does for whom.

A plot is a function of a Cast, that gives it fresh orders and words. `GOOD_PLOTS` fill the shift by weight; what
goes wrong stands in `troubles`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from tooltel.demo.books import ARTICLES, HEALTHY, Books, Order
from tooltel.demo.steps import Fate, Step, call

if TYPE_CHECKING:
    import random

SUPPORT: Final = "support"
BACK_OFFICE: Final = "back_office"

QUESTIONS: Final = (
    "where is my parcel",
    "how do refunds work",
    "change my address",
    "cancel an order",
    "invoice copy",
)
REASONS: Final = ("arrived broken", "never arrived", "ordered twice", "does not fit")
STREETS: Final = ("3 Mill Lane", "77 Station Road", "9 Bishop's Walk")


class Cast:
    """Fresh people, orders and words for one session; the same for the same seed and number."""

    def __init__(self, books: Books, chance: random.Random, number: int) -> None:
        self.chance = chance
        self.customer = f"c-{number:05d}"
        self.number = number
        self._books = books
        self._orders = 0

    def order(self, **facts: Any) -> Order:
        """A new order of the session's customer."""
        self._orders += 1
        facts.setdefault("acquirer", self.chance.choice(HEALTHY))
        order = Order(
            id=f"o-{self.number:05d}{self._orders}",
            customer=self.customer,
            total=self.chance.randrange(900, 40_000),
            **facts,
        )
        return self._books.open(order)

    def one_of(self, words: tuple[str, ...]) -> str:
        """One of *words*."""
        return self.chance.choice(words)

    @property
    def day(self) -> str:
        """A day of the books."""
        return f"2030-01-{1 + self.number % 28:02d}"


Group = Step | tuple[Step, ...]  # a tuple runs side by side
Plot = Callable[[Cast], Iterator[Group]]

# --- good sessions of the support agent ----------------------------------------------------------------


def where_is_it(cast: Cast) -> Iterator[Group]:
    """A customer waits for a parcel."""
    order = cast.order(state="shipped")
    yield call("order_lookup", order_id=order.id)
    yield call("article_search", query=f"{cast.one_of(QUESTIONS)} {cast.number}")
    if cast.chance.random() < 0.6:
        yield call("article_read", article_id=cast.one_of(tuple(ARTICLES)))


def money_back(cast: Cast) -> Iterator[Group]:
    """A customer gets money back, as it should be."""
    order = cast.order()
    yield (call("order_lookup", order_id=order.id), call("payment_lookup", order_id=order.id))
    amount = order.total if cast.chance.random() < 0.5 else order.total // 2
    yield call("payment_refund", order_id=order.id, amount=amount, reason=cast.one_of(REASONS))


def changed_mind(cast: Cast) -> Iterator[Group]:
    """A customer cancels an order that has not been shipped."""
    order = cast.order()
    yield call("order_search", customer=cast.customer)
    yield call("order_cancel", order_id=order.id, reason=cast.one_of(REASONS))


def moved_house(cast: Cast) -> Iterator[Group]:
    """A customer has moved."""
    order = cast.order()
    yield call("order_lookup", order_id=order.id)
    yield call("order_address_change", order_id=order.id, street=cast.one_of(STREETS), postcode="10245")
    yield call("article_search", query=f"change my address {cast.number}")


def ask_a_human(cast: Cast) -> Iterator[Group]:
    """A case that the agent gives to a colleague; the tool looks up the order itself."""
    order = cast.order()
    yield call("payment_lookup", order_id=order.id)
    yield call("case_hand_over", Fate(inner=("order_lookup",)), order_id=order.id, summary="wants an exception")


# --- good sessions of the back office --------------------------------------------------------------------


def reconcile(cast: Cast) -> Iterator[Group]:
    """The back office reconciles a day and releases a payout."""
    order = cast.order()
    yield call("ledger_export", day=cast.day)
    yield call("payment_lookup", order_id=order.id)
    yield call("payout_release", merchant=f"m-{cast.number}", day=cast.day)


def tag_orders(cast: Cast) -> Iterator[Group]:
    """The back office tags orders for a campaign."""
    orders = [cast.order() for _ in range(3)]
    yield call("order_search", customer=cast.customer, state="paid")
    yield call("order_bulk_tag", order_ids=[order.id for order in orders], tag="campaign")


def correct_article(cast: Cast) -> Iterator[Group]:
    """The back office corrects an article."""
    article = cast.one_of(tuple(ARTICLES))
    yield call("article_search", query=f"{ARTICLES[article][0]} {cast.number}")
    yield call("article_suggest_edit", article_id=article, section=ARTICLES[article][1][0], text="Better said.")


GOOD_PLOTS: Final[Mapping[str, Mapping[Plot, int]]] = MappingProxyType(
    {
        SUPPORT: MappingProxyType({where_is_it: 5, money_back: 4, changed_mind: 2, moved_house: 2, ask_a_human: 1}),
        BACK_OFFICE: MappingProxyType({reconcile: 3, tag_orders: 3, correct_article: 2}),
    }
)


CALM: Final = frozenset(plot.__name__ for plots in GOOD_PLOTS.values() for plot in plots)
