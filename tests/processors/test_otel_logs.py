"""OpenTelemetry's log records: enriched inside a call, and counted where only they show a drop."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from prometheus_client import CollectorRegistry

from tooltel import Catalog, HouseRules, Profile, Tool, Tooltel
from tooltel.errors import Level
from tooltel.processors.otel_logs import ToolLogProcessor
from tooltel.processors.stdlib import LogFilter
from tooltel.testing import capture, parse_samples

if TYPE_CHECKING:
    from tooltel.testing import Captured

CALLER = "google_adk.google.adk.flows.llm_flows.tools._caller"
LINE = "Tool 'order_fnd' not found.\nAvailable tools: order_find"
DROPS = "tooltel_tool_not_found_total"
CATALOG = Catalog(
    [Tool("order_find", "orders", version="3", profiles=["support"])],
    profiles=[Profile("support", "desk")],
    house=HouseRules(levels={"description": Level.OFF}),
    open=True,
)


@pytest.fixture
def tel() -> Tooltel:
    return Tooltel(CATALOG, registry=CollectorRegistry())


@pytest.fixture
def seen(tel: Tooltel) -> Iterator[Captured]:
    with capture(tel) as captured:
        yield captured


@pytest.fixture
def exporter() -> InMemoryLogRecordExporter:
    return InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]  # the SDK's own test kit


@pytest.fixture
def provider(tel: Tooltel, exporter: InMemoryLogRecordExporter) -> Iterator[LoggerProvider]:
    made = LoggerProvider()
    made.add_log_record_processor(ToolLogProcessor(tel))
    made.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    yield made
    made.shutdown()


@pytest.fixture
def log(provider: LoggerProvider) -> Iterator[logging.Logger]:
    """A framework's logger that ends in the OpenTelemetry pipeline."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from opentelemetry.sdk._logs import LoggingHandler

        handler = LoggingHandler(logger_provider=provider)
    logger = logging.getLogger(CALLER)
    logger.addHandler(handler)
    logger.propagate = False
    yield logger
    logger.removeHandler(handler)
    logger.propagate = True
    for added in list(logger.filters):
        logger.removeFilter(added)


def attributes(exporter: InMemoryLogRecordExporter) -> list[dict[str, Any]]:
    return [dict(each.log_record.attributes or {}) for each in exporter.get_finished_logs()]


def test_a_drop_in_the_log_pipeline_counts(log: logging.Logger, seen: Captured) -> None:
    log.warning(LINE)
    assert seen.increase(DROPS, reason="unknown") == 1


def test_it_counts_once_where_the_standard_librarys_filter_saw_it_too(
    tel: Tooltel, log: logging.Logger, seen: Captured
) -> None:
    log.addFilter(LogFilter(tel))
    log.warning(LINE)
    log.warning(LINE)
    assert seen.increase(DROPS) == 2


def test_it_counts_once_where_a_hook_saw_it_too(tel: Tooltel, log: logging.Logger, seen: Captured) -> None:
    tel.not_found("order_fnd")
    log.warning(LINE)
    assert seen.increase(DROPS) == 1


def test_a_record_inside_a_call_gets_the_tools_facts_before_it_is_exported(
    tel: Tooltel, log: logging.Logger, exporter: InMemoryLogRecordExporter, seen: Captured
) -> None:
    @tel.tool(name="order_find")
    def order_find() -> None:
        log.warning("looking", extra={"tool.owner": "mine"})

    with tel.session(profile="support", id="s-1"):
        order_find()
    (found,) = attributes(exporter)
    assert found["gen_ai.tool.name"] == "order_find"
    assert found["tool.version"] == "3"
    assert found["tool.profile"] == "support"
    assert found["gen_ai.conversation.id"] == "s-1"
    assert found["tool.owner"] == "mine"


def test_a_record_outside_any_call_is_left_alone(log: logging.Logger, exporter: InMemoryLogRecordExporter) -> None:
    log.warning("starting")
    (found,) = attributes(exporter)
    assert not [key for key in found if key.startswith(("tool.", "gen_ai."))]


def test_no_record_makes_it_raise(tel: Tooltel) -> None:
    ToolLogProcessor(tel).on_emit(object())
    counted = [
        value
        for (name, labels), value in parse_samples(tel.view).items()
        if name == "tooltel_internal_errors_total" and ("component", "logs") in labels
    ]
    assert counted == [1]


def test_it_also_goes_by_the_method_name_of_older_sdks(tel: Tooltel) -> None:
    assert ToolLogProcessor.emit is ToolLogProcessor.on_emit
    assert ToolLogProcessor(tel).force_flush()
