"""Tracer providers that come late, are strange or fail: never a reason for a tool to fail, or for memory to grow."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import textwrap
import threading
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import (
    Decision,
    Sampler,
    SamplingResult,
)
from opentelemetry.trace import NoOpTracerProvider

from tests.signals.desk import Desk, Spans, raising
from tests.signals.scrape import samples, total


@pytest.fixture
def spans() -> Spans:
    return Spans()


@pytest.fixture
def desk(spans: Spans) -> Desk:
    return Desk(tracer_provider=spans.provider)


def run(program: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_provider_that_is_set_after_configuring_gets_the_spans() -> None:
    """A host configures its SDK where it likes: often after the modules with tools were imported."""
    said = run(
        """
        import json
        import tooltel
        tel = tooltel.configure()

        @tel.tool(owner="kb", description="x" * 50)
        def kb_search() -> str:
            return "done"

        kb_search()
        tel.not_found("zork")
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
        exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        trace.set_tracer_provider(provider)
        kb_search()
        tel.not_found("zork")
        print(json.dumps([span.name for span in exporter.get_finished_spans()]))
        """
    )
    assert said == ["execute_tool kb_search", "execute_tool"]


class Raising(SpanProcessor, Sampler):
    """A processor, or a sampler, that raises where it is told to."""

    def __init__(self, moment: str) -> None:
        self.moment = moment

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        if self.moment == "on_start":
            raise RuntimeError("on_start is broken")

    def on_end(self, span: Any) -> None:
        if self.moment == "on_end":
            raise RuntimeError("on_end is broken")

    def should_sample(self, *args: Any, **kwargs: Any) -> SamplingResult:
        if self.moment == "should_sample":
            raise RuntimeError("should_sample is broken")
        return SamplingResult(Decision.RECORD_AND_SAMPLE)

    def get_description(self) -> str:
        return "broken"


@pytest.mark.parametrize("moment", ["on_start", "on_end", "should_sample"])
@pytest.mark.parametrize("action", [lambda: "done", raising(ValueError("mine"))])
def test_a_provider_that_raises_changes_neither_result_nor_metrics(moment: str, action: Callable[[], Any]) -> None:
    provider = TracerProvider(sampler=Raising(moment))
    provider.add_span_processor(Raising(moment))
    desk = Desk(tracer_provider=provider)
    result = desk.act("kb_search", action)
    assert result == "done" or (type(result), str(result)) == (ValueError, "mine")
    assert list(desk.act("kb_read_pages", lambda: [1, 2])) == [1, 2]
    assert desk.tel.not_found("zork").missing is not None
    found = samples(desk.tel)
    assert total(found, "tooltel_tool_calls_total") == 2
    assert total(found, "tooltel_tool_not_found_total") == 1
    assert total(found, "tooltel_tool_calls_active") == 0
    assert total(found, "tooltel_internal_errors_total", component="spans") == 3
    assert not trace.get_current_span().get_span_context().is_valid


class OddSpan(trace.NonRecordingSpan):
    """A span of somebody's own making whose every setter raises."""

    def __init__(self) -> None:
        super().__init__(trace.SpanContext(7, 9, is_remote=False))
        self.ended = 0

    def is_recording(self) -> bool:
        return True

    def set_attribute(self, key: str, value: Any) -> None:
        raise RuntimeError("set_attribute is broken")

    def end(self, end_time: int | None = None) -> None:
        self.ended += 1


class OddProvider(trace.TracerProvider, trace.Tracer):
    """A provider that is no SDK's: it knows `start_span` only."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make
        self.made: list[Any] = []

    def get_tracer(self, *args: Any, **kwargs: Any) -> trace.Tracer:
        return self

    def start_span(self, *args: Any, **kwargs: Any) -> Any:
        self.made.append(self.make())
        return self.made[-1]

    def start_as_current_span(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


def test_a_span_that_refuses_attributes_is_ended_all_the_same() -> None:
    provider = OddProvider(OddSpan)
    desk = Desk(tracer_provider=provider)
    assert desk.act("kb_search") == "done"
    assert [span.ended for span in provider.made] == [1]
    assert total(samples(desk.tel), "tooltel_internal_errors_total", component="spans") == 1


@pytest.mark.parametrize("nothing", [None, 7, object()])
def test_a_provider_that_gives_nonsense_is_survived(nothing: Any) -> None:
    desk = Desk(tracer_provider=OddProvider(lambda: nothing))
    assert desk.act("kb_search") == "done"
    assert isinstance(desk.act("kb_search", raising(ValueError())), ValueError)
    desk.tel.not_found("zork")
    found = samples(desk.tel)
    assert total(found, "tooltel_tool_calls_total") == 2
    assert total(found, "tooltel_tool_not_found_total") == 1


class Marking(Sampler):
    """A sampler that writes into what it was given, which the API does not forbid."""

    def __init__(self) -> None:
        self.seen: list[set[str]] = []

    def should_sample(self, *args: Any, **kwargs: Any) -> SamplingResult:
        attributes = args[4]
        self.seen.append(set(attributes))
        with suppress(TypeError):
            attributes[f"mark{len(self.seen)}"] = "x"
        return SamplingResult(Decision.RECORD_AND_SAMPLE, attributes)

    def get_description(self) -> str:
        return "marking"


def test_a_sampler_that_writes_into_the_attributes_does_not_mark_the_next_call() -> None:
    sampler = Marking()
    spans = Spans(sampler=sampler)
    desk = Desk(tracer_provider=spans.provider)
    for _ in range(3):
        assert desk.act("kb_search") == "done"
    assert sampler.seen[0] == sampler.seen[1] == sampler.seen[2]
    assert len(spans.ended) == 3


def test_a_span_that_the_tool_ends_itself_is_no_error(
    desk: Desk, spans: Spans, caplog: pytest.LogCaptureFixture
) -> None:
    desk.act("kb_search", lambda: trace.get_current_span().end())
    assert len(spans.ended) == 1
    assert total(samples(desk.tel), "tooltel_internal_errors_total") == 0
    assert "ended span" not in caplog.text


def test_every_thread_has_its_own_current_span(desk: Desk, spans: Spans) -> None:
    barrier = threading.Barrier(6)

    def action() -> Any:
        barrier.wait()
        return trace.get_current_span().get_span_context().span_id

    results: list[int] = []
    threads = [threading.Thread(target=lambda: results.append(desk.act("kb_search", action))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == sorted(span.context.span_id for span in spans.ended)


@pytest.mark.slow
def test_strange_tool_names_do_not_pile_up_in_memory() -> None:
    """A framework may run tools under names made for one call; nothing may be kept for each of them."""
    desk = Desk(tracer_provider=NoOpTracerProvider(), settings={"log_calls": "off"})

    def call(start: int, stop: int) -> None:
        for number in range(start, stop):
            with desk.tel.call(f"stranger_{number}_" + "x" * 100) as call:
                call.returned("done")

    call(0, 1000)
    tracemalloc.start()
    try:
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        call(1000, 6000)
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 100_000, f"{grown} bytes for 5,000 names"
