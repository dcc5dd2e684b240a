"""What the plug-in adds to a call; `bench/integrations/adk.py` measures it, where nothing else runs."""

from __future__ import annotations

import pytest

from bench.integrations.adk import measure, measure_call


@pytest.mark.slow
def test_the_plugin_adds_little_to_what_a_call_costs_anyway() -> None:
    added = measure(rounds=15)
    assert added.without > 0
    # On a busy machine: a share, and a generous one, of what google-adk itself takes for the call.
    assert added.adds < added.without / 5


def test_one_call_costs_little_more_than_recording_it_by_hand() -> None:
    """Compared, as a machine that has much else to do slows down both; alone, it is to add 60 us."""
    assert measure_call(600).adds < 60 + 2 * measure_call(600, hand=True).adds
