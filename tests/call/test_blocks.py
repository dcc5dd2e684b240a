"""`with tel.call(name)`: a call that no decorator wraps."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import pytest

from tooltel.call import current_call
from tooltel.signals import Status

if TYPE_CHECKING:
    from tooltel import Tooltel
    from tooltel.testing import Captured, FakeClock


@pytest.fixture(autouse=True)
def refund_tool(tel: Tooltel) -> None:
    @tel.tool(owner="payments", risk="irreversible", aliases=["refund_order"])
    def order_refund(order_id: str) -> str:
        return order_id


def test_a_block_is_a_call_of_the_catalogs_tool(tel: Tooltel, seen: Captured, clock: FakeClock) -> None:
    with tel.session(profile="support", id="s-1"), tel.call("order_refund", call_id="call-7") as call:
        assert current_call() is call
        clock.advance(2.0)
        result = {"status": "refused", "policy": "refunds"}
        assert call.returned(result) is result
    (outcome,) = seen.outcomes
    assert outcome.tool is not None
    assert (outcome.tool.owner, outcome.status, outcome.policy, outcome.seconds, outcome.call_id) == (
        "payments",
        Status.REFUSED,
        "refunds",
        2.0,
        "call-7",
    )
    assert (seen.spans[0].attributes or {})["gen_ai.tool.call.id"] == "call-7"


def test_what_is_raised_inside_settles_it_and_passes(tel: Tooltel, seen: Captured) -> None:
    error = TimeoutError()
    with pytest.raises(TimeoutError) as raised, tel.call("order_refund"):
        raise error
    assert raised.value is error
    assert seen.outcomes[0].status is Status.TIMEOUT


def test_a_type_error_inside_is_the_blocks_own(tel: Tooltel, seen: Captured) -> None:
    with pytest.raises(TypeError), tel.call("order_refund", {"order_id": "o-1"}):
        len(7)  # type: ignore[arg-type]  # the point
    assert seen.outcomes[0].status is Status.ERROR


def test_an_old_name_is_an_alias_call(tel: Tooltel, seen: Captured) -> None:
    with tel.call("refund_order"):
        pass
    (outcome,) = seen.outcomes
    assert outcome.tool is not None
    assert (outcome.tool.name, outcome.alias) == ("order_refund", "refund_order")
    assert seen.increase("tooltel_alias_calls_total", alias="refund_order") == 1


def test_equal_arguments_in_one_session_are_a_repeat(tel: Tooltel, seen: Captured) -> None:
    with tel.session(id="s-1"):
        for arguments in ({"order_id": "o-1"}, {"order_id": "o-1"}, {"order_id": "o-2"}):
            with tel.call("order_refund", arguments):
                pass
    assert [outcome.repeated is not None for outcome in seen.outcomes] == [False, True, False]


@pytest.mark.parametrize("name", ["made_up", "a\nb", "", "x" * 3000, "\ud800", "\x1b[2J"])
def test_a_name_that_the_catalog_does_not_hold_is_a_tool_that_nobody_owns(
    tel: Tooltel, seen: Captured, name: str
) -> None:
    with tel.call(name):
        pass
    (outcome,) = seen.outcomes
    assert outcome.tool is not None
    assert (outcome.tool.owner, outcome.tool.risk) == ("unowned", "unknown")
    assert outcome.tool.name.isprintable()
    assert len(outcome.tool.name) <= 128
    assert seen.increase("tooltel_tool_calls_total", owner="unowned", outcome="ok") == 1


def test_a_block_that_is_never_entered_is_no_call(tel: Tooltel, seen: Captured) -> None:
    tel.call("order_refund")
    gc.collect()
    assert (seen.outcomes, seen.increases()) == ([], {})


def test_a_block_is_one_call_and_says_so_when_it_is_entered_again(tel: Tooltel, seen: Captured) -> None:
    block = tel.call("order_refund")
    with block:
        pass
    with pytest.raises(RuntimeError, match=r"'order_refund' happens once: make another with tel\.call\(\)"), block:
        pass
    assert len(seen.outcomes) == 1


def test_blocks_nest_as_calls_do(tel: Tooltel, seen: Captured) -> None:
    with tel.call("order_refund"), tel.call("order_lookup"):
        pass
    assert [(o.tool.name, o.parent) for o in seen.outcomes if o.tool] == [
        ("order_lookup", "order_refund"),
        ("order_refund", None),
    ]
    inner, outer = seen.spans
    assert inner.parent == outer.context


def test_names_without_end_take_no_memory_without_end(tel: Tooltel) -> None:
    """A model invents names; a framework may hand every one of them on."""
    for number in range(3000):
        with tel.call(f"made_up_{number}"):
            pass
    held: Any = tel.services.session.spans
    assert len(held) < 1500
