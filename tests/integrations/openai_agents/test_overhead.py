"""What watching adds to a call; `bench/integrations/openai_agents.py` measures it, where nothing else runs."""

from __future__ import annotations

import inspect
from typing import get_type_hints

import pytest
from agents import Agent, FunctionTool
from agents.tool_context import ToolContext

from bench.integrations.desk import telemetry
from bench.integrations.openai_agents import measure, measure_call, tools
from tooltel.integrations.openai_agents import TooltelAgents


@pytest.mark.slow
def test_watching_adds_little_to_what_a_call_costs_anyway() -> None:
    added = measure(rounds=15)
    assert added.without > 0
    # On a busy machine: a share, and a generous one, of what the SDK itself takes for the call (0.10 takes little).
    assert added.low < added.without / 2


def test_what_a_watched_tool_takes_is_told_at_once_as_the_sdk_asks_for_it_at_every_call() -> None:
    with telemetry() as tel:
        (tool, *_) = TooltelAgents(tel).watch(Agent(name="desk", tools=tools())).tools
    assert isinstance(tool, FunctionTool)
    asked = inspect.signature(tool.on_invoke_tool)
    assert asked is inspect.signature(tool.on_invoke_tool)
    assert [each.annotation for each in asked.parameters.values()] == [ToolContext, inspect.Parameter.empty]
    assert get_type_hints(tool.on_invoke_tool, include_extras=True) == {}


def test_one_call_costs_little_more_than_recording_it_by_hand() -> None:
    """Compared, as a machine that has much else to do slows down both; alone, it is to add 60 us."""
    assert measure_call(600).adds < 60 + 2 * measure_call(600, hand=True).adds
