"""What watching adds to a call; `bench/integrations/openai_agents.py` measures it, where nothing else runs."""

from __future__ import annotations

import pytest

from bench.integrations.openai_agents import measure


@pytest.mark.slow
def test_watching_adds_little_to_what_a_call_costs_anyway() -> None:
    added = measure(rounds=15)
    assert added.without > 0
    # On a busy machine: a share, and a generous one, of what the SDK itself takes for the call (0.10 takes little).
    assert added.low < added.without / 2
