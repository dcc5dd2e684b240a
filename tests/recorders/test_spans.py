"""Spans: the published attributes exactly, with any provider and sampler, and never a reason for a tool to fail."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import textwrap
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import (
    ALWAYS_OFF,
    ALWAYS_ON,
    Decision,
    ParentBased,
    Sampler,
    SamplingResult,
    TraceIdRatioBased,
)
from opentelemetry.trace import NoOpTracerProvider, SpanKind, StatusCode

import tooltel
from tests.signals.desk import Desk, Spans, make_catalog, make_tools, raising, rejection
from tests.signals.scrape import read_openmetrics, samples, total, write_openmetrics
from tooltel.signals import Status
from tooltel.testing import FakeClock

KNOWN_AT_START = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "order_update",
    "gen_ai.tool.type": "function",
    "gen_ai.agent.name": "support_agent",
    "gen_ai.conversation.id": "s-1",
    "tool.owner": "orders",
    "tool.version": "2",
    "tool.risk": "write",
    "tool.profile": "support",
}


class AtStart(SpanProcessor):
    """Remembers the attributes with which spans start."""

    def __init__(self) -> None:
        self.attributes: list[dict[str, Any]] = []

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        self.attributes.append(dict(span.attributes))


@pytest.fixture
def spans() -> Spans:
    return Spans()


@pytest.fixture
def desk(spans: Spans) -> Desk:
    return Desk(tracer_provider=spans.provider)


def test_a_span_starts_with_all_that_is_known_and_ends_with_the_outcome(desk: Desk, spans: Spans) -> None:
    """The outcome is never preset: a span that is exported early, or never ended, must not claim one."""
    start = AtStart()
    spans.provider.add_span_processor(start)
    with desk.tel.session(profile="support", agent="support_agent", id="s-1"):
        desk.act("order_update")
    assert start.attributes == [KNOWN_AT_START]
    span = spans.one()
    assert dict(span.attributes) == KNOWN_AT_START | {"tool.outcome": "ok"}
    assert (span.name, span.kind) == ("execute_tool order_update", SpanKind.INTERNAL)
    assert span.status.status_code is StatusCode.UNSET
    assert span.instrumentation_scope.name == "tooltel"
    assert span.instrumentation_scope.version == tooltel.__version__
    assert span.events == ()


def test_what_is_not_known_is_not_there(desk: Desk, spans: Spans) -> None:
    desk.act("order_update")
    assert dict(spans.one().attributes) == {
        key: value
        for key, value in (KNOWN_AT_START | {"tool.profile": "none", "tool.outcome": "ok"}).items()
        if key not in ("gen_ai.agent.name", "gen_ai.conversation.id")
    }


def test_an_alias_call_says_which_old_name_was_used_under_the_tools_own_name(desk: Desk, spans: Spans) -> None:
    desk.tel.alias("change_order", desk.tool("order_update"))(lambda: "done")
    span = spans.one()
    assert span.name == "execute_tool order_update"
    assert span.attributes["tool.alias"] == "change_order"
    assert span.attributes["gen_ai.tool.name"] == "order_update"
    desk.act("order_update")
    assert "tool.alias" not in spans.ended[1].attributes, "the next call by the new name is no alias call"


def test_a_call_id_is_cleaned_and_cut(desk: Desk, spans: Spans) -> None:
    with desk.tel.call("kb_search", call_id="call-7\n" + "x" * 500) as call:
        call.returned("done")
    call_id = spans.one().attributes["gen_ai.tool.call.id"]
    assert call_id.startswith("call-7\\n")
    assert len(call_id) == 128


def test_a_stream_tells_its_life(spans: Spans) -> None:
    clock = FakeClock()
    desk = Desk(tracer_provider=spans.provider, clock=clock)

    def pages() -> Iterator[int]:
        for page in range(3):
            clock.advance(1.0)
            yield page

    for _ in desk.tool("kb_read_pages")(pages):
        clock.advance(10.0)
    assert spans.one().attributes["tool.stream.life"] == pytest.approx(22.0)


@pytest.mark.parametrize(
    ("action", "outcome", "error_type", "code"),
    [
        (lambda: "done", "ok", None, StatusCode.UNSET),
        (lambda: {"replayed": True}, "replayed", None, StatusCode.UNSET),
        (lambda: {"status": "partial", "results": [{"status": "ok"}]}, "partial", None, StatusCode.UNSET),
        (raising(ValueError("secret")), "error", "ValueError", StatusCode.ERROR),
        (raising(TimeoutError("secret")), "timeout", "timeout", StatusCode.ERROR),
        (raising(tooltel.Rejected("f", problem="secret")), "invalid_arguments", "invalid_arguments", StatusCode.ERROR),
        (raising(tooltel.Refused("secret", policy="p")), "refused", "refused", StatusCode.ERROR),
        (raising(GeneratorExit()), "abandoned", "abandoned", StatusCode.UNSET),
        (lambda: {"status": "refused", "policy": "p"}, "refused", "refused", StatusCode.ERROR),
        (lambda: {"content": ["secret"], "isError": True}, "error", "tool_error", StatusCode.ERROR),
    ],
)
def test_a_failed_call_has_an_error_type_and_a_status_without_words(
    desk: Desk, spans: Spans, action: Callable[[], Any], outcome: str, error_type: str | None, code: StatusCode
) -> None:
    """What an exception says may hold a user's data: it stays out of the span."""
    with suppress(GeneratorExit):
        desk.act("kb_search", action)
    span = spans.one()
    assert span.attributes["tool.outcome"] == outcome
    assert span.attributes.get("error.type") == error_type
    assert (span.status.status_code, span.status.description) == (code, None)
    assert span.events == ()
    assert "secret" not in span.to_json()


def test_exceptions_are_recorded_only_when_asked_for(spans: Spans) -> None:
    desk = Desk(tracer_provider=spans.provider, settings={"record_exceptions": True})
    desk.act("kb_search", raising(ValueError("why")))
    (event,) = spans.one().events
    assert event.name == "exception"
    assert event.attributes["exception.type"] == "ValueError"
    assert "action" in event.attributes["exception.stacktrace"]
    assert spans.one().status.description is None


def test_a_drop_has_a_span_of_a_fixed_name(desk: Desk, spans: Spans) -> None:
    """A model can invent any number of names, and span names must stay few."""
    requested = "made\nup" + "x" * 3000
    with desk.tel.session(profile="support", agent="support_agent", id="s-1"):
        desk.tel.not_found(requested)
    span = spans.one()
    assert span.name == "execute_tool"
    assert dict(span.attributes) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": ("made\\nup" + "x" * 3000)[:127] + "…",
        "gen_ai.tool.type": "function",
        "gen_ai.agent.name": "support_agent",
        "gen_ai.conversation.id": "s-1",
        "tool.owner": "support-platform",
        "tool.profile": "support",
        "tool.outcome": "not_found",
        "error.type": "tool_not_found",
    }
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, None)


def test_a_drops_call_id_is_on_its_span(desk: Desk, spans: Spans) -> None:
    desk.tel.not_found("made_up", call_id="call-7")
    assert spans.one().attributes["gen_ai.tool.call.id"] == "call-7"


def test_the_four_keys_of_a_tool_are_renamed_by_settings(spans: Spans) -> None:
    renamed = {
        "attribute_owner": "team.name",
        "attribute_version": "tool.rev",
        "attribute_risk": "gen_ai.tool.risk.level",
        "attribute_profile": "agent.profile",
    }
    desk = Desk(tracer_provider=spans.provider, settings=renamed)
    with desk.tel.session(profile="support"):
        desk.act("order_update")
        desk.tel.not_found("zork")
    done, dropped = (dict(span.attributes) for span in spans.ended)
    assert [done[key] for key in renamed.values()] == ["orders", "2", "write", "support"]
    assert dropped["team.name"] == "support-platform"
    assert dropped["agent.profile"] == "support"
    assert not {"tool.owner", "tool.version", "tool.risk", "tool.profile"} & (set(done) | set(dropped))


def test_after_a_reload_new_spans_tell_the_new_facts(desk: Desk, spans: Spans) -> None:
    with desk.tel.session(profile="support"):
        desk.act("kb_search")
        desk.tel.reload(make_catalog([replace(tool, version="9") for tool in make_tools()]))
        desk.act("kb_search")
    assert [span.attributes["tool.version"] for span in spans.ended] == ["3", "9"]


# --- parents ---


def test_a_tools_span_is_the_child_of_the_hosts_and_the_parent_of_what_the_tool_does(desk: Desk, spans: Spans) -> None:
    tracer = spans.provider.get_tracer("host")

    def action() -> Any:
        with tracer.start_as_current_span("inside"):
            return desk.act("kb_search")

    with tracer.start_as_current_span("outside"):
        desk.act("order_lookup", action)
        assert trace.get_current_span().get_span_context().is_valid
    found = {span.name: span for span in spans.ended}
    chain = ["outside", "execute_tool order_lookup", "inside", "execute_tool kb_search"]
    for above, below in pairwise(chain):
        assert found[below].parent.span_id == found[above].context.span_id
    assert len({span.context.trace_id for span in spans.ended}) == 1


def test_between_its_items_a_streams_span_is_not_current(desk: Desk, spans: Spans) -> None:
    tracer = spans.provider.get_tracer("host")
    for _ in desk.tool("kb_read_pages")(lambda: [1, 2]):
        with tracer.start_as_current_span("consumer"):
            pass
    consumers = [span for span in spans.ended if span.name == "consumer"]
    assert [span.parent for span in consumers] == [None, None]


# --- samplers, and nobody there at all ---

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


# --- providers that come late, are strange, or fail ---


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
    desk = Desk(tracer_provider=NoOpTracerProvider())

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
