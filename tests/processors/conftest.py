"""A Tooltel with a catalog, and a framework's logger, for the tests of the log processors."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from prometheus_client import CollectorRegistry

from tests.processors.kit import CALLER, CATALOG
from tooltel import Tooltel
from tooltel.processors.stdlib import LogFilter
from tooltel.testing import FakeClock, capture

if TYPE_CHECKING:
    from tooltel.testing import Captured


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(1000.0)


@pytest.fixture
def tel(clock: FakeClock) -> Tooltel:
    return Tooltel(CATALOG, registry=CollectorRegistry(), clock=clock)


@pytest.fixture
def seen(tel: Tooltel) -> Iterator[Captured]:
    with capture(tel) as captured:
        yield captured


@pytest.fixture
def log() -> Iterator[logging.Logger]:
    """A framework's logger with a handler of its own, off the root."""
    logger = logging.getLogger(CALLER)
    handler = logging.NullHandler()
    logger.addHandler(handler)
    before = (logger.propagate, logger.level)
    logger.propagate = False
    logger.setLevel(logging.DEBUG)
    yield logger
    logger.removeHandler(handler)
    for added in list(logger.filters):
        logger.removeFilter(added)
    logger.propagate, logger.level = before


@pytest.fixture
def watched(tel: Tooltel, log: logging.Logger) -> logging.Logger:
    log.addFilter(LogFilter(tel))
    return log
