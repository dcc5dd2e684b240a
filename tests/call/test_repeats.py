"""The same write, made again in one session with equal arguments: seen, counted and said, in bounded memory."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

import tooltel
from tooltel.repeats import _numbers

if TYPE_CHECKING:
    from tooltel import Tooltel
    from tooltel.testing import Captured

Refund = Callable[..., Any]


@pytest.fixture
def refund(tel: Tooltel) -> Refund:
    """An irreversible tool that does what its `then` says."""

    @tel.tool(owner="payments", risk="irreversible")
    def order_refund(order_id: str, amount: int = 10, *, then: Callable[[], Any] | None = None) -> Any:
        return then() if then else "refunded"

    return order_refund


def repeats(seen: Captured) -> list[bool]:
    return [outcome.repeated is not None for outcome in seen.outcomes]


# --- what is the same call ---


@pytest.mark.parametrize(
    "again",
    [
        lambda refund: refund("o-1"),
        lambda refund: refund(order_id="o-1"),
        lambda refund: refund("o-1", 10),
        lambda refund: refund("o-1", amount=10),
        lambda refund: refund(amount=10, order_id="o-1"),
        lambda refund: refund("o-1", then=None),
    ],
)
def test_equal_arguments_are_equal_however_they_are_given(
    tel: Tooltel, seen: Captured, refund: Refund, again: Callable[[Refund], Any]
) -> None:
    with tel.session(id="s-1"):
        refund("o-1")
        again(refund)
    assert repeats(seen) == [False, True]
    assert seen.increase("tooltel_repeated_calls_total", tool="order_refund", risk="irreversible") == 1
    assert len(seen.logged("tool_call_repeated")) == 1


@pytest.mark.parametrize(
    "other", [("o-2",), ("o-1", 11), ("o-1", 10.5), ("o-1", "10"), ("o-1", True), ("o-1", None), (["o-1"],), (b"o-1",)]
)
def test_other_arguments_are_another_call(tel: Tooltel, seen: Captured, refund: Refund, other: tuple[Any, ...]) -> None:
    with tel.session(id="s-1"):
        refund("o-1")
        refund(*other)
    assert repeats(seen) == [False, False]


class Order:
    """An argument that says no more of itself than where it is; with `slots`, nothing tells when it is gone."""


class SlottedOrder:
    __slots__ = ()


@pytest.mark.parametrize("kind", [Order, SlottedOrder])
def test_an_object_that_takes_the_place_of_another_is_another_argument(
    tel: Tooltel, seen: Captured, refund: Refund, kind: type
) -> None:
    """Python gives a new object the address of one that is gone: no page may come of that."""
    with tel.session(id="s-1"):
        for _ in range(50):
            refund(kind())
    assert not any(repeats(seen))


def test_one_object_is_one_argument_as_long_as_it_lives(tel: Tooltel, seen: Captured, refund: Refund) -> None:
    order, client = Order(), threading.Lock()
    with tel.session(id="s-1"):
        refund(order, client)
        refund([order], client)
        refund(order, client)
        refund(Order(), client)
    assert repeats(seen) == [False, False, True, False]


def test_objects_that_are_gone_leave_nothing_in_memory(tel: Tooltel, refund: Refund) -> None:
    before = len(_numbers._known)
    with tel.session(id="s-1"):
        for _ in range(50):
            refund(Order())
    assert len(_numbers._known) == before


def test_the_instance_of_a_method_is_no_argument(tel: Tooltel, seen: Captured) -> None:
    """A framework may make a new object for each call."""

    class Desk:
        @tel.tool(owner="payments", risk="write")
        def order_cancel(self, order_id: str) -> str:
            return order_id

        @classmethod
        @tel.tool(owner="payments", risk="write")
        def order_close(cls, order_id: str) -> str:
            return order_id

    class Night(Desk):
        pass

    with tel.session(id="s-1"):
        for desk in (Desk(), Desk()):
            desk.order_cancel("o-1")
        Desk.order_close("o-1")
        Night.order_close(order_id="o-1")
    assert repeats(seen) == [False, True, False, True]


def test_an_alias_call_repeats_the_call_under_the_new_name(tel: Tooltel, seen: Captured) -> None:
    @tel.tool(owner="payments", risk="irreversible", aliases=["refund_order"])
    def order_refund(order_id: str) -> str:
        return order_id

    with tel.session(id="s-1"):
        order_refund("o-1")
        tel.alias("refund_order", order_refund)("o-1")
    assert repeats(seen) == [False, True]


@pytest.mark.parametrize("risk", ["read", "write", "irreversible"])
@pytest.mark.parametrize("repeatable", [None, False, True])
def test_only_what_changes_something_and_is_not_repeatable_counts(
    tel: Tooltel, seen: Captured, risk: str, repeatable: bool | None
) -> None:
    declared: Any = {} if repeatable is None else {"repeatable": repeatable}

    def order_touch() -> str:
        return "done"

    tool = tel.tool(order_touch, owner="desk", risk=risk, **declared)
    with tel.session(id="s-1"):
        assert tool() == tool() == "done"
    assert repeats(seen) == [False, risk != "read" and not repeatable]


# --- sessions ---


def test_sessions_are_apart_and_calls_outside_any_are_no_conversation(
    tel: Tooltel, seen: Captured, refund: Refund
) -> None:
    with tel.session(id="s-1"):
        refund("o-1")
    with tel.session(id="s-2"):
        refund("o-1")
    refund("o-1")
    refund("o-1")
    assert repeats(seen) == [False] * 4
    with tel.session(id="s-1"):
        refund("o-1")
    assert repeats(seen)[-1], "the session of that id goes on"


def test_a_session_without_an_id_is_one_conversation_and_no_other(tel: Tooltel, seen: Captured, refund: Refund) -> None:
    for _ in range(2):
        with tel.session():
            refund("o-1")
            refund("o-1")
    assert repeats(seen) == [False, True] * 2
    for _ in range(2):
        with tel.session(id=""):
            refund("o-2")
    assert repeats(seen)[4:] == [False, False], "an empty id is none"


def test_a_session_without_an_id_leaves_nothing_in_memory(tel: Tooltel, refund: Refund) -> None:
    """It cannot come back: to remember it would only fill the memory of those that can."""
    for _ in range(10):
        with tel.session():
            refund("o-1")
    assert not tel.services.repeats._sessions
    with tel.session(id="s-1"):
        refund("o-1")
    assert len(tel.services.repeats._sessions) == 1


def test_long_ids_that_begin_alike_are_different_sessions(tel: Tooltel, seen: Captured, refund: Refund) -> None:
    for end in "ab":
        with tel.session(id="x" * 500 + end):
            refund("o-1")
    assert repeats(seen) == [False, False]


# --- what has taken effect ---


def failing(error: BaseException) -> Callable[[], Any]:
    def fail() -> None:
        raise error

    return fail


@pytest.mark.parametrize(
    ("first", "remembered"),
    [
        (lambda: "refunded", True),
        (lambda: {"status": "partial", "results": [{"status": "ok"}]}, True),
        (failing(TimeoutError()), True),  # it may have gone through
        (failing(ValueError()), False),
        (failing(tooltel.Rejected("amount")), False),
        (failing(tooltel.Refused("no", policy="p")), False),
        (lambda: {"status": "refused", "policy": "p"}, False),
        (lambda: {"replayed": True}, False),
    ],
)
def test_a_call_is_remembered_once_it_may_have_taken_effect(
    tel: Tooltel, seen: Captured, first: Callable[[], Any], remembered: bool
) -> None:
    plan: Iterator[Callable[[], Any]] = iter([first, lambda: "refunded"])

    @tel.tool(owner="payments", risk="irreversible")
    def order_refund(order_id: str) -> Any:
        return next(plan)() if order_id else None

    with tel.session(id="s-1"):
        with contextlib.suppress(ValueError, TimeoutError, PermissionError):
            order_refund("o-1")
        order_refund("o-1")
    assert repeats(seen) == [False, remembered]


def test_an_idempotent_replay_and_a_call_stopped_before_any_effect_are_no_repeats(tel: Tooltel, seen: Captured) -> None:
    plan = iter(["refunded", {"replayed": True}, {"status": "refused", "policy": "p"}, "refunded again"])

    @tel.tool(owner="payments", risk="irreversible")
    def order_refund(order_id: str) -> Any:
        return next(plan) if order_id else None

    with tel.session(id="s-1"):
        for _ in range(4):
            order_refund("o-1")
    assert repeats(seen) == [False, False, False, True]


def test_equal_calls_that_run_at_the_same_time_are_one_and_its_repeats(
    tel: Tooltel, seen: Captured, refund: Refund
) -> None:
    ready = threading.Barrier(4, timeout=30)

    def work() -> None:
        ready.wait()
        with tel.session(id="s-1"):
            refund("o-1", then=None)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(repeats(seen)) == [False, True, True, True]


def test_arguments_are_remembered_as_they_were_given(tel: Tooltel, seen: Captured) -> None:
    """A tool may change them while it runs."""

    @tel.tool(owner="desk", risk="write")
    def order_tag(tags: list[str]) -> None:
        tags.clear()

    with tel.session(id="s-1"):
        order_tag(["red"])
        order_tag(["blue"])
        order_tag(["red"])
    assert repeats(seen) == [False, False, True]
