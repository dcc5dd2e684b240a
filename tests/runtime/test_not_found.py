"""A name that is no tool: whatever a model asks for is explained, counted in bounds, and shown without harm."""

from __future__ import annotations

import io
import json
import logging
from typing import TYPE_CHECKING, Any

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from tooltel import Catalog, Owner, Profile, Tool, Tooltel
from tooltel.signals import Reason, Status
from tooltel.testing import capture

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tooltel.testing import Captured

SENTENCE = "Look up one order by its number, with its items and its delivery state."
CATALOG = Catalog(
    tools=[
        Tool("order_lookup", "orders", profiles=("support",), description=SENTENCE, aliases=("get_order",)),
        Tool("order_refund", "payments", profiles=("support",), description=SENTENCE, retired=("refund",)),
    ],
    owners=[Owner("orders"), Owner("payments"), Owner("desk"), Owner("platform")],
    profiles=[Profile("support", "desk"), Profile("sales", "desk")],
    platform_owner="platform",
)


def make() -> Tooltel:
    return Tooltel(CATALOG, registry=CollectorRegistry())


# --- why ---


@pytest.mark.parametrize(
    ("requested", "profile", "reason", "owner", "nearest"),
    [
        ("refund", "support", Reason.RENAMED, "payments", "order_refund"),
        ("get_order", "sales", Reason.RENAMED, "orders", "order_lookup"),
        ("order_refund", "sales", Reason.NOT_IN_PROFILE, "payments", None),
        ("order_lookpu", "support", Reason.UNKNOWN, "desk", "order_lookup"),
        ("functions.order_lookup", "support", Reason.UNKNOWN, "desk", "order_lookup"),
        ("order_lookup<|channel|>json", "support", Reason.UNKNOWN, "desk", "order_lookup"),
        ("ORDER_LOOKUP", "support", Reason.UNKNOWN, "desk", "order_lookup"),
        ("zork", "support", Reason.UNKNOWN, "desk", None),
        ("zork", None, Reason.UNKNOWN, "platform", None),
        ("", "support", Reason.EMPTY, "desk", None),
        (" \t\n", "support", Reason.EMPTY, "desk", None),
        (None, "support", Reason.EMPTY, "desk", None),
    ],
)
def test_the_reason_and_the_tool_that_was_meant_are_told(
    requested: object, profile: str | None, reason: Reason, owner: str, nearest: str | None
) -> None:
    tel = make()
    with capture(tel) as seen, tel.session(profile=profile):
        outcome = tel.not_found(requested)
    assert outcome.missing is not None
    assert (outcome.status, outcome.tool) == (Status.NOT_FOUND, None)
    assert (outcome.missing.reason, outcome.missing.owner, outcome.missing.nearest) == (reason, owner, nearest)
    assert seen.outcomes == [outcome]
    assert seen.increase("tooltel_tool_not_found_total", reason=reason.value, owner=owner) == 1
    assert seen.increase("tooltel_tool_calls_total") == 0
    (line,) = seen.logged("tool_not_found")
    assert (line["reason"], line.get("nearest")) == (reason.value, nearest)


# --- whatever it is ---


class Text(str):
    """A string that fights."""

    __slots__ = ()

    def __hash__(self) -> int:
        raise RuntimeError("hashed")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("compared")

    def strip(self, *args: Any) -> str:
        raise RuntimeError("stripped")

    def __str__(self) -> str:
        raise RuntimeError("shown")


class Hostile:
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(f"asked for {name}")

    def __hash__(self) -> int:
        raise RuntimeError("hashed")

    def __str__(self) -> str:
        raise RuntimeError("shown")

    def __bool__(self) -> bool:
        raise RuntimeError("is it true?")


HOSTILE: list[Any] = [
    "", " ", "\n", "\x00", "x" * 3000, "order_lookup\nERROR forged line", "a\r\nb", "\ud800", "\udfff" * 200,
    "\x1b[2J\x1b[31m", "\x9b31m", "\u202eevil", "\u2066a\u2069", "\u2028", "\ufeff", "\U000e0041",
    '"quoted" \\ {curly} %s %(x)s $x', "a=b c", "functions.zork", "<|channel|>zork", "🛒" * 500, "e" + "\u0301" * 400,
    "zork" * 100_000, Text("order_lookup"), Text("a\nb"), None, 0, True, 1.5, b"\xff\x00", ["a", {}],
    {"name": "order_lookup"}, object(), Hostile(), 10**5000, float("nan"), type, ...,
]  # fmt: skip
NUMBERS = range(len(HOSTILE))


@pytest.mark.parametrize("number", NUMBERS)
def test_no_request_raises_and_each_is_one_bounded_series(number: int) -> None:
    tel = make()
    with capture(tel) as seen, tel.session(profile="support"):
        outcome = tel.not_found(HOSTILE[number], call_id="call\n" * 100)
    assert outcome.missing is not None
    for text in (outcome.missing.requested, outcome.call_id):
        assert text is not None
        assert len(text) <= 128
        assert text.isprintable()
    ((_, labels),) = seen.increases()
    assert dict(labels)["requested"] in ("other", "order_lookup")
    text = generate_latest(tel.registry).decode("utf-8")
    assert list(text_string_to_metric_families(text)), "a scrape can be read"


@pytest.mark.parametrize("number", NUMBERS)
def test_every_request_can_be_exported_as_a_span(number: int) -> None:
    """An attribute that cannot be encoded would lose the whole batch, other people's spans included."""
    tel = make()
    with capture(tel) as seen, tel.session(profile="support", agent="a\ud800\n", id="s\x00"):
        tel.not_found(HOSTILE[number], call_id="call\ud800")
    (span,) = seen.spans
    encoded = encode_spans(seen.spans).SerializeToString()
    assert encoded
    assert span.name == "execute_tool", "names of spans stay few"
    attributes = span.attributes or {}
    name = attributes["gen_ai.tool.name"]
    assert isinstance(name, str)
    assert len(name) <= 128
    assert name.isprintable()
    assert attributes["error.type"] == "tool_not_found"
    assert attributes["tool.outcome"] == "not_found"


@pytest.fixture
def stdlib_lines() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s %(message)s"))
    logger = logging.getLogger("tooltel")
    logger.addHandler(handler)
    yield stream
    logger.removeHandler(handler)


@pytest.mark.parametrize("number", NUMBERS)
def test_every_request_is_one_readable_line_of_the_standard_librarys_log(
    number: int, stdlib_lines: io.StringIO
) -> None:
    make().not_found(HOSTILE[number], call_id="call\nERROR forged")
    (line,) = stdlib_lines.getvalue().splitlines()
    assert line.startswith("WARNING tooltel tool_not_found ")
    assert line.isprintable()
    assert len(line) < 1500
    line.encode("utf-8")


@pytest.fixture
def structlog_lines() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    structlog.configure(
        processors=[structlog.processors.add_log_level, structlog.processors.JSONRenderer()],
        logger_factory=structlog.PrintLoggerFactory(stream),
    )
    yield stream
    structlog.reset_defaults()


@pytest.mark.parametrize("number", NUMBERS)
def test_every_request_is_one_readable_line_of_a_configured_structlog(
    number: int, structlog_lines: io.StringIO
) -> None:
    make().not_found(HOSTILE[number], call_id="call\nERROR forged")
    (line,) = structlog_lines.getvalue().splitlines()
    said = json.loads(line)
    assert (said["event"], said["level"]) == ("tool_not_found", "warning")
    for value in said.values():
        assert value.isprintable()
        assert len(value) <= 128


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_is_explained(text: str) -> None:
    outcome = make().not_found(text)
    assert outcome.missing is not None
    assert outcome.missing.requested.isprintable()


def test_invented_names_without_end_are_one_series(tel: Tooltel, seen: Captured) -> None:
    for number in range(2000):
        tel.not_found(f"invented_{number}")
    assert len(seen.increases()) == 1
    assert seen.increase("tooltel_tool_not_found_total", requested="other") == 2000
