"""What a large catalog costs: series per process, the first call in a forked worker, and wrapping itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.multiprocess.running import run

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(("tools", "wrapped", "called"), [(50, 700, 1_600), (1_000, 13_000, 31_000)])
def test_the_number_of_series_per_process_is_bounded(
    tmp_path: Path, shared: bool, tools: int, wrapped: int, called: int
) -> None:
    """
    Thirteen a tool with one profile when it is wrapped, thirty when it was called; a stranger's catalog is no surprise.

    Of those thirty, seventeen are the histogram of its good calls.
    """
    found = run(tmp_path if shared else None, "series_per_process", tools, module="large")
    print(f"{tools} tools, values {'shared' if shared else 'in memory'}: {found}")  # noqa: T201 - the figure is of interest when it moves
    assert 12 * tools < found["wrapped"] <= wrapped
    assert 28 * tools < found["called"] <= called
    assert found["bytes"] < 130 * found["called"]


def test_the_first_call_in_a_forked_worker_does_not_stall(tmp_path: Path) -> None:
    """With 1,000 tools wrapped: under 20 ms, and a small part of what children made before the fork would cost."""
    lazy = run(tmp_path, "stall", 1_000, "lazy", module="large")
    (tmp_path / "eager").mkdir()
    eager = run(tmp_path / "eager", "stall", 1_000, "eager", module="large")
    print(f"milliseconds of the first calls in a worker: lazy {lazy}, eager {eager}")  # noqa: T201 - the figure is of interest when it moves
    assert lazy["first"] < 20
    assert lazy["first"] < eager["first"] / 5
    assert lazy["another tool"] < 5


def test_wrapping_a_thousand_tools_is_quick_and_small() -> None:
    found = run(None, "cost_of_wrapping", 1_000, module="large")
    print(f"wrapping: {found}")  # noqa: T201 - the figure is of interest when it moves
    assert found["tools"] == 1_000
    assert found["microseconds"] < 2_000  # half of that on an idle machine
    assert found["bytes"] < 20_000
