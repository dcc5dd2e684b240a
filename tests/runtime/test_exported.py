"""Whatever names, ids and exceptions a call meets, its span can be sent and its series can be scraped."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

import tooltel
from tooltel import Catalog, HouseRules, Tooltel
from tooltel.errors import Level
from tooltel.settings import Settings
from tooltel.testing import capture

if TYPE_CHECKING:
    from collections.abc import Callable

TEXTS = [
    "plain",
    "a\nb",
    "\x00",
    "\ud800",
    "\udfff\ud800" * 100,
    "\x1b[2J",
    "\u202e",
    "🛒" * 300,
    'q"u\\o{te}',
    "x" * 5000,
    "",
]
CATALOG = Catalog(house=HouseRules(levels={"description": Level.OFF}), open=True)


def hostile_error(text: str) -> Exception:
    kind = type(text.encode("utf-8", "replace").decode() or "Empty", (Exception,), {})
    error: Exception = kind(text)
    return error


ENDS: dict[str, Callable[[str], Any]] = {
    "ok": lambda text: text,
    "error": lambda text: raising(hostile_error(text)),
    "rejected": lambda text: raising(tooltel.Rejected(text, problem=text, expected=text)),
    "refused": lambda text: raising(tooltel.Refused(text, policy=text)),
    "rejected by result": lambda text: {
        "status": "invalid_arguments",
        "errors": [{"field": text, "problem": text}, text],
    },
    "refused by result": lambda text: {"status": "refused", "policy": text},
    "partial": lambda text: {"status": "partial", "results": [{"status": text}, {"status": "ok"}]},
}


def raising(error: Exception) -> Any:
    raise error


@pytest.mark.parametrize("end", sorted(ENDS))
@pytest.mark.parametrize("record_exceptions", [False, True])
def test_every_text_in_every_place_can_be_sent_scraped_and_read(
    end: str, record_exceptions: bool, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings(record_exceptions=record_exceptions)
    tel = Tooltel(CATALOG, registry=CollectorRegistry(), settings=settings)
    with capture(tel) as seen:
        for text in TEXTS:
            with tel.session(profile=text, agent=text, id=text), tel.call(f"tool_{text}", call_id=text) as call:
                try:
                    call.returned(ENDS[end](text))
                except Exception as error:  # noqa: BLE001 - what the block raises is its own
                    call.settle(error)
    assert len(seen.spans) == len(TEXTS)
    with caplog.at_level(logging.WARNING, logger="opentelemetry"):
        for span in seen.spans:
            assert encode_spans([span]).SerializeToString()
    if not record_exceptions:
        assert caplog.messages == [], "not one attribute was left out"
    for span in seen.spans:
        assert len(span.name) <= len("execute_tool ") + 128
        for value in (span.attributes or {}).values():
            assert isinstance(value, str)
            assert len(value) <= 128
            assert value.isprintable()
    scraped = generate_latest(tel.registry).decode("utf-8")
    assert list(text_string_to_metric_families(scraped))
    assert all(line.isprintable() for line in scraped.split("\n"))
    assert all(value.isprintable() for event in seen.events for value in event.facts.values() if isinstance(value, str))
