"""Sampling decides what is traced and never what is counted; an exemplar links the two."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import (
    ALWAYS_OFF,
    ALWAYS_ON,
    ParentBased,
    Sampler,
    TraceIdRatioBased,
)
from opentelemetry.trace import NoOpTracerProvider

import tooltel
from tests.signals.desk import Desk, Spans, raising, rejection
from tests.signals.scrape import read_openmetrics, samples, total, write_openmetrics
from tooltel.signals import Status
from tooltel.testing import FakeClock


@pytest.fixture
def spans() -> Spans:
    return Spans()


@pytest.fixture
def desk(spans: Spans) -> Desk:
    return Desk(tracer_provider=spans.provider)


SAMPLERS: dict[str, Sampler] = {
    "always on": ALWAYS_ON,
    "always off": ALWAYS_OFF,
    "ratio": TraceIdRatioBased(0.5),
    "parent-based": ParentBased(ALWAYS_OFF),
}


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_sampler_decides_whether_a_call_has_a_span(sampler: str) -> None:
    spans = Spans(sampler=SAMPLERS[sampler])
    desk = Desk(tracer_provider=spans.provider)
    for _ in range(200):
        desk.act("kb_search")
    count = len(spans.ended)
    expected = {"always on": range(200, 201), "ratio": range(40, 160)}
    assert count in expected.get(sampler, range(1))
    assert total(samples(desk.tel), "tooltel_tool_calls_total", outcome="ok") == 200


@pytest.mark.parametrize("sampled", [True, False])
def test_a_call_follows_its_parents_decision(sampled: bool) -> None:
    spans = Spans(sampler=ParentBased(ALWAYS_ON if sampled else ALWAYS_OFF))
    desk = Desk(tracer_provider=spans.provider)
    seen: list[Any] = []
    with spans.provider.get_tracer("host").start_as_current_span("outside") as outside:
        desk.act("kb_search", lambda: seen.append(trace.get_current_span().get_span_context()))
    assert seen[0].trace_id == outside.get_span_context().trace_id
    assert seen[0].trace_flags.sampled == sampled
    assert len(spans.ended) == (2 if sampled else 0)


def half_done() -> Any:
    return {"status": "partial", "results": [{"status": "failed"}]}


def live(desk: Desk) -> None:
    """The same mixed day, whatever the sampler."""
    for turn in range(40):
        with desk.tel.session(profile=("support", "sales", "nobody", None)[turn % 4], id=f"s-{turn % 5}"):
            desk.act("kb_search")
            desk.act("kb_search", raising((ValueError, TimeoutError, KeyError)[turn % 3]()))
            desk.act("order_lookup", raising(tooltel.Rejected("limit")))
            desk.act("order_refund", raising(tooltel.Refused("no", policy="refunds")))
            desk.act("order_update", half_done)
            desk.act("order_update", half_done)
            desk.act("order_lookup", lambda: desk.act("kb_search"))
            list(desk.act("kb_read_pages", lambda: [1, 2]))
            desk.tel.not_found("refund")
            desk.tel.not_found("made_up")
            desk.publish(Status.OK, rejections=(rejection("limit"),))
            with desk.tel.call("stranger") as call:
                call.returned("done")


def test_sampling_does_not_change_the_metrics() -> None:
    """Same calls, same series and values: under every sampler, with the no-op provider, and with no SDK at all."""
    providers: dict[str, Any] = {name: Spans(sampler=sampler).provider for name, sampler in SAMPLERS.items()}
    providers |= {"no-op": NoOpTracerProvider(), "no SDK": trace.ProxyTracerProvider()}
    found = {}
    for name, provider in providers.items():
        desk = Desk(tracer_provider=provider, clock=FakeClock(), settings={"exemplars": name != "no-op"})
        live(desk)
        found[name] = {
            key: value
            for key, value in samples(desk.tel).items()
            if key[0] != "tooltel_catalog_loaded_timestamp_seconds"
        }
    reference = found.pop("always on")
    assert total(reference, "tooltel_tool_calls_total") == 40 * 11
    for name, other in found.items():
        assert other == reference, name


# --- exemplars ---


def exemplars(desk: Desk) -> list[dict[str, str]]:
    return [
        dict(sample.exemplar.labels)
        for family in read_openmetrics(write_openmetrics(desk.tel.view))
        for sample in family.samples
        if sample.exemplar
    ]


def test_exemplars_are_off_by_default(desk: Desk) -> None:
    desk.act("kb_search")
    assert exemplars(desk) == []


def test_an_exemplar_links_a_bucket_to_the_calls_span(spans: Spans) -> None:
    desk = Desk(tracer_provider=spans.provider, settings={"exemplars": True})
    desk.act("kb_search")
    context = spans.one().context
    assert exemplars(desk) == [{"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}]


@pytest.mark.parametrize("provider", [Spans(sampler=ALWAYS_OFF).provider, NoOpTracerProvider(), None])
def test_a_call_that_is_not_sampled_has_no_exemplar(provider: Any) -> None:
    desk = Desk(tracer_provider=provider or trace.ProxyTracerProvider(), settings={"exemplars": True})
    desk.act("kb_search")
    desk.act("kb_search", raising(ValueError()))
    assert exemplars(desk) == []
    assert total(samples(desk.tel), "tooltel_tool_calls_total") == 2


def test_failures_and_streams_have_exemplars_too(spans: Spans) -> None:
    desk = Desk(tracer_provider=spans.provider, settings={"exemplars": True})
    desk.act("kb_search", raising(ValueError()))
    list(desk.act("kb_read_pages", lambda: [1]))
    assert {found["span_id"] for found in exemplars(desk)} == {f"{span.context.span_id:016x}" for span in spans.ended}


def test_the_provider_is_the_hosts_and_gets_no_processor_of_ours() -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    before = provider._active_span_processor._span_processors
    Desk(tracer_provider=provider).act("kb_search")
    assert provider._active_span_processor._span_processors == before
    assert len(exporter.get_finished_spans()) == 1
