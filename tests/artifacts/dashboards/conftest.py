"""The dashboards of the example catalog, and real Prometheus servers that hold a past."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.backfill import backfilled
from tooltel.artifacts.dashboards import render_dashboards
from tooltel.artifacts.options import RenderOptions
from tooltel.loading import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.artifacts.dashboards.ladder.reading import Json
    from tests.backfill import Prometheus
    from tests.servers import Servers
    from tooltel.catalog import Catalog

REPOSITORY = Path(__file__).resolve().parents[3]
EXAMPLE = REPOSITORY / "src/tooltel/demo/tools.toml"


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    """The example catalog."""
    return load(EXAMPLE)


@pytest.fixture(scope="session")
def boards(catalog: Catalog) -> dict[str, Json]:
    """The dashboards of the example catalog by uid; tests change only copies."""
    return rendered(catalog, RenderOptions.from_catalog(catalog))


def rendered(catalog: Catalog, options: RenderOptions) -> dict[str, Json]:
    """Dashboards as Grafana would load them, by uid."""
    files = render_dashboards(catalog, options)
    return {Path(path).stem: json.loads(text) for path, text in files.items()}


@pytest.fixture
def backfill(servers: Servers) -> Iterator[Callable[[str], Prometheus]]:
    """Start a real Prometheus over OpenMetrics text; once per generation of servers."""
    with ExitStack() as running:
        yield lambda text: running.enter_context(backfilled(servers, text))


@pytest.fixture
def backfill_newest(newest_servers: Servers) -> Iterator[Callable[[str], Prometheus]]:
    """Start a real Prometheus of the newest generation over OpenMetrics text."""
    with ExitStack() as running:
        yield lambda text: running.enter_context(backfilled(newest_servers, text))
