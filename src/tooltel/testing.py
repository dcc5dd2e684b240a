"""
The test kit: see in a test what tooltel recorded, with a clock you move by hand.

    from tooltel.testing import capture

    with capture(tel) as seen:
        order_lookup("o-1")
    assert seen.outcomes[0].status == "ok"
    assert seen.increase("tooltel_tool_calls_total", tool="order_lookup") == 1

Inside the block a failing recorder raises, so that a test cannot pass over it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tooltel.late import catch_up
from tooltel.loading import assert_catalog
from tooltel.runtime import Tooltel, default
from tooltel.signals import SCOPE, Component

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from tooltel.exposition import View
    from tooltel.outcome import Outcome

__all__ = ["Captured", "FakeClock", "LoggedEvent", "assert_catalog", "capture", "parse_samples"]

Sample = tuple[str, frozenset[tuple[str, str]]]


class FakeClock:
    """A clock for `Tooltel(clock=...)`: it stands still until it is advanced."""

    def __init__(self, start: float = 0.0) -> None:
        self.now = start

    def __call__(self) -> float:
        """The time now, in seconds."""
        return self.now

    def advance(self, seconds: float) -> None:
        """Move the clock forward."""
        self.now += seconds


class LoggedEvent(NamedTuple):
    """One log event: its level, its name and its facts."""

    level: str
    name: str
    facts: Mapping[str, Any]


class Captured:
    """What was recorded since the block began: `outcomes`, `spans` (ended ones), `events`, and metric increases."""

    def __init__(self, view: View, exporter: InMemorySpanExporter) -> None:
        self._outcomes: list[Outcome] = []
        self._events: list[LoggedEvent] = []
        self._exporter = exporter
        self._view = view
        self._before = parse_samples(view)

    @property
    def outcomes(self) -> list[Outcome]:
        """The outcomes that settled in the block, in that order."""
        catch_up()  # with what a garbage collection ended
        return self._outcomes

    @property
    def events(self) -> list[LoggedEvent]:
        """The log events of the block."""
        catch_up()
        return self._events

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        """The spans that ended in the block, in that order."""
        catch_up()
        return self._exporter.get_finished_spans()

    def increases(self) -> dict[Sample, float]:
        """Every series whose value changed since the block began, with by how much."""
        now = parse_samples(self._view)
        changed = {key: value - self._before.get(key, 0.0) for key, value in now.items()}
        return {key: delta for key, delta in changed.items() if delta}

    def increase(self, metric: str, /, **labels: str) -> float:
        """By how much the series of *metric* that carry *labels* changed, summed."""
        wanted = set(labels.items())
        return sum(delta for (name, has), delta in self.increases().items() if name == metric and wanted <= has)

    def logged(self, name: str) -> list[Mapping[str, Any]]:
        """The facts of every event called *name*."""
        return [event.facts for event in self.events if event.name == name]


def parse_samples(view: View) -> dict[Sample, float]:
    """Every sample that a scrape of *view* would show now."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in view.collect()
        for sample in family.samples
    }


class _Watch:
    """What is changed of an instance as long as any block captures it: blocks may nest, or overlap in threads."""

    def __init__(self, tel: Tooltel) -> None:
        from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

        class Ended(SpanProcessor):
            """Hands each span to every block."""

            def on_end(_, span: ReadableSpan) -> None:  # noqa: N805 - `self` is the watch
                for block in self.blocks:
                    block._exporter.export((span,))  # noqa: SLF001 - a friend of the class

        self.blocks: tuple[Captured, ...] = ()
        self._tel = tel
        fan_out = tel.services.fan_out
        self._told = (fan_out.recorders, fan_out.plain)
        self._before = (tel.guard.strict, tel.events.sink, tel.logs.good_calls, tel.spans.tracer)
        self._provider = TracerProvider()
        self._provider.add_span_processor(Ended())
        watched = ((Component.RECORDER, self._settled), *fan_out.recorders)
        fan_out.tell(watched, watched)
        tel.guard.strict = tel.logs.good_calls = True
        tel.events.sink = self._write
        tel.spans.tracer = self._provider.get_tracer(SCOPE)

    def end(self) -> None:
        """Put everything back as it was."""
        tel = self._tel
        tel.services.fan_out.tell(*self._told)
        tel.guard.strict, tel.events.sink, tel.logs.good_calls, tel.spans.tracer = self._before
        self._provider.shutdown()

    def _settled(self, outcome: Outcome) -> None:
        for block in self.blocks:
            block._outcomes.append(outcome)  # noqa: SLF001

    def _write(self, level: str, name: str, facts: Mapping[str, Any]) -> None:
        for block in self.blocks:
            block._events.append(LoggedEvent(level, name, facts))  # noqa: SLF001


_watches: Final[dict[Tooltel, _Watch]] = {}
_lock: Final = threading.RLock()  # reentrant, as a finalizer may run inside


@contextmanager
def capture(tel: Tooltel | None = None) -> Iterator[Captured]:
    """
    Capture what *tel* (the default instance when left out) records in the block.

    Spans go to a memory exporter of the block's own instead of the host's provider; events are kept instead of
    written; metrics count as always. Blocks may nest, or overlap in threads: each sees all that is recorded meanwhile.
    """
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    tel = default() if tel is None else tel
    seen = Captured(tel.view, InMemorySpanExporter())
    with _lock:
        watch = _watches[tel] = _watches.get(tel) or _Watch(tel)
        watch.blocks += (seen,)
    try:
        yield seen
        catch_up()
    finally:
        with _lock:
            watch.blocks = tuple(block for block in watch.blocks if block is not seen)
            if not watch.blocks:
                del _watches[tel]
                watch.end()
