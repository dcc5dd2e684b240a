"""A metric that is emitted under another name empties exactly the panels that show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.artifacts.dashboards.conftest import rendered
from tests.artifacts.dashboards.ladder import synthetic
from tests.artifacts.dashboards.ladder.asking import silences
from tests.artifacts.dashboards.ladder.reading import queries
from tests.artifacts.dashboards.ladder.synthetic import END, Weather, openmetrics
from tooltel import signals
from tooltel.artifacts.options import RenderOptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.backfill import Prometheus
    from tooltel.catalog import Catalog
    from tooltel.signals import Metric

# Foreign series that nobody renames for us, and that a fleet's own matchers do not reach.
UNREACHED = {signals.RULE_FAILURES}


def drifted(metric: Metric) -> str:
    """A fleet of its own, told apart by a label, in which *metric* has another name."""
    renamed = metric.name.removesuffix("_total") + "_renamed" + ("_total" if metric.name.endswith("_total") else "")
    return openmetrics(Weather(rename={metric.name: renamed}, extra={"drift": metric.name}))


def joined(texts: list[str]) -> str:
    """One OpenMetrics text of many: the samples of a family must stand together."""
    families: dict[str, list[str]] = {}
    for text in texts:
        samples: list[str] = []
        for line in text.splitlines():
            if line.startswith("# TYPE "):
                samples = families.setdefault(line, [])
            elif not line.startswith("#"):
                samples.append(line)
    return "\n".join([*(line for family, samples in families.items() for line in (family, *samples)), "# EOF", ""])


@pytest.mark.slow
def test_every_panel_of_a_renamed_metric_is_caught_and_no_other(
    catalog: Catalog, backfill_newest: Callable[[str], Prometheus], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A quarter of the samples is enough to see what is there; all fleets stand in one server.
    monkeypatch.setattr(synthetic, "DENSE", (3600, 60))
    rows = [row for row in (*signals.EMITTED, *signals.EXTERNAL) if row not in UNREACHED]
    prometheus = backfill_newest(joined([drifted(row) for row in rows]))
    for row in rows:
        boards = rendered(catalog, RenderOptions(selector={"drift": row.name}))
        empty = {each.place for board in boards.values() for each in silences(board, prometheus, end=END)}
        reading = {
            asked.place
            for board in boards.values()
            for asked in queries(board)
            if any(f"{name}{{" in asked.expr for name in row.series)
        }
        assert reading, f"{row.name} is on no panel"
        assert empty == reading, row.name
