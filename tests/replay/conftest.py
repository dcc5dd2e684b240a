"""All conversations, played once per kind: the right answers, and what a careless model makes of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry

from examples.replay.conversations import Conversation, MissingDataError, load_conversations, version
from examples.replay.playing import Played, play, play_bare
from examples.replay.slips import careless
from examples.replay.tools import make_catalog
from tests.replay.executions import Executions
from tooltel import Tooltel
from tooltel.settings import Settings

if TYPE_CHECKING:
    from collections import Counter

    from opentelemetry.sdk.trace import ReadableSpan

KINDS = ("right", "careless")


@pytest.fixture(scope="session")
def right_conversations() -> list[Conversation]:
    """The data, or a skip in one line; with NO_SKIP=1 a failure."""
    try:
        version()
        return load_conversations()
    except MissingDataError as error:
        if os.environ.get("NO_SKIP") == "1":
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))


@dataclass(frozen=True, slots=True)
class Recording:
    """
    One replay through the wrappers, and what was seen of it.

    `executions` counts how often each tool's own code was entered from outside its API.
    """

    tel: Tooltel
    played: list[Played]
    spans: tuple[ReadableSpan, ...]
    executions: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Replays:
    """Both ways to play the conversations of one kind."""

    kind: str
    wrapped: Recording
    bare: list[Played]
    bare_executions: Counter[str]


@pytest.fixture(scope="session", params=KINDS)
def replays(request: pytest.FixtureRequest, right_conversations: list[Conversation]) -> Replays:
    """The conversations of one kind, played both ways."""
    given = right_conversations if request.param == "right" else list(careless(right_conversations))
    with Executions() as bare_executions:
        bare = list(play_bare(given))
    return Replays(request.param, _record(right_conversations, given), bare, bare_executions.found)


@pytest.fixture
def recording(replays: Replays) -> Recording:
    """The replay through the wrappers."""
    return replays.wrapped


def _record(known: list[Conversation], given: list[Conversation]) -> Recording:
    exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    settings = Settings(log_calls="off")  # of the log a test of its own takes care, without 200 conversations' lines
    tel = Tooltel(make_catalog(known), registry=CollectorRegistry(), tracer_provider=provider, settings=settings)
    tel.guard.strict = True  # a failing recorder must not pass for a recording one
    with Executions() as executions:
        played = list(play(tel, given, tracer=provider.get_tracer("host")))
    return Recording(tel, played, exporter.get_finished_spans(), executions.found)
