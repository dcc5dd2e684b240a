"""What the hook around a call adds to it."""

from __future__ import annotations

import pytest

from bench.integrations.langchain import measure_call, measure_turn


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_the_hook_adds_little_more_than_a_wrapper_around_the_function_does(asynchronous: bool) -> None:
    """Compared with a wrapper, as a machine that has much else to do slows down both; alone, it is to add 60 us."""
    hook = measure_call(600, asynchronous=asynchronous)
    wrapper = measure_call(600, asynchronous=asynchronous, by_wrapper=True)
    assert hook.adds < 60 + 2 * wrapper.adds


def test_a_turn_is_not_dominated_by_it() -> None:
    added = measure_turn(5)
    assert added.adds < added.without
