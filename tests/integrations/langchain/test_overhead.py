"""What the hook around a call adds to it."""

from __future__ import annotations

import inspect

import pytest

from bench.integrations.langchain import measure_call, measure_turn
from tests.integrations.langchain.kit import telemetry
from tooltel.integrations.langchain import TooltelMiddleware


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_the_hook_adds_little_more_than_a_wrapper_around_the_function_does(asynchronous: bool) -> None:
    """Compared with a wrapper, as a machine that has much else to do slows down both; alone, it is to add 60 us."""
    hook = measure_call(600, asynchronous=asynchronous)
    wrapper = measure_call(600, asynchronous=asynchronous, by="a wrapper around the function")
    assert hook.adds < 60 + 2 * wrapper.adds


def test_a_turn_is_not_dominated_by_it() -> None:
    added = measure_turn(5)
    assert added.adds < added.without


@pytest.mark.parametrize("hook", ["wrap_tool_call", "awrap_tool_call", "wrap_model_call", "awrap_model_call"])
def test_what_a_hook_takes_is_found_out_once_as_langchains_tracing_asks_for_it_at_every_call(hook: str) -> None:
    with telemetry() as tel:
        asked = getattr(TooltelMiddleware(tel), hook)
    assert inspect.signature(asked) is inspect.signature(asked)
    assert list(inspect.signature(asked).parameters) == ["request", "handler"]
