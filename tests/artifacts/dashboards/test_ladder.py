"""Rungs 1 to 3: the format is Grafana's, nothing trips a user, and every name is in the table of signals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.artifacts.dashboards.conftest import rendered
from tests.artifacts.dashboards.fleets import FLEETS, extra_labels
from tests.artifacts.dashboards.ladder.lint import lint_faults
from tests.artifacts.dashboards.ladder.names import name_faults
from tests.artifacts.dashboards.ladder.schema import schema_faults

if TYPE_CHECKING:
    from tests.artifacts.dashboards.ladder.reading import Json
    from tooltel.catalog import Catalog

pytestmark = pytest.mark.parametrize("fleet", list(FLEETS))


@pytest.fixture
def all_boards(catalog: Catalog, fleet: str) -> list[Json]:
    """Every dashboard of one fleet."""
    return list(rendered(catalog, FLEETS[fleet]).values())


def test_the_format_is_that_of_the_typed_models(all_boards: list[Json]) -> None:
    assert [fault for board in all_boards for fault in schema_faults(board)] == []


def test_nothing_trips_a_user(all_boards: list[Json]) -> None:
    assert [fault for board in all_boards for fault in lint_faults(board)] == []


def test_every_metric_and_label_is_in_the_table(all_boards: list[Json], fleet: str) -> None:
    extra = extra_labels(FLEETS[fleet])
    assert [fault for board in all_boards for fault in name_faults(board, extra=extra)] == []
