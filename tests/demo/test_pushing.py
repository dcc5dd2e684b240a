"""Where the environment names a collector, the demo's spans and log lines reach it, each line in its trace."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import pytest

from tests.demo.collecting import attributes, collecting
from tooltel import signals
from tooltel.demo.hostile import FORGED
from tooltel.demo.pace import SimulatedTime
from tooltel.demo.pushing import ENDPOINT, PROTOCOL, open_push
from tooltel.demo.stage import open_stage
from tooltel.demo.telemetry import watched
from tooltel.errors import SettingError

if TYPE_CHECKING:
    from pathlib import Path


def test_nothing_is_pushed_where_no_collector_is_named() -> None:
    from opentelemetry.sdk.resources import Resource

    assert open_push(Resource({}), {}) is None
    assert open_push(Resource({}), {ENDPOINT: ""}) is None


def test_a_protocol_that_nobody_speaks_is_told_in_a_sentence() -> None:
    from opentelemetry.sdk.resources import Resource

    with pytest.raises(SettingError, match=r"OTEL_EXPORTER_OTLP_PROTOCOL: http/json is neither http/protobuf nor grpc"):
        open_push(Resource({}), {ENDPOINT: "http://127.0.0.1:9", PROTOCOL: "http/json"})


def test_every_span_and_every_line_of_a_shift_is_pushed_and_a_line_lies_in_its_calls_span(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with collecting() as collector:
        environ = {ENDPOINT: collector.url}
        monkeypatch.setenv(ENDPOINT, collector.url)  # the exporters read it themselves
        with open_stage(7, 40, SimulatedTime(), out=tmp_path, environ=environ) as stage:
            stage.play()
        assert collector.services == {"support-desk"}
        written = [json.loads(line) for line in stage.folder.spans.read_text().splitlines()]
        assert len(collector.spans) == len(written) > 40
        lines = [json.loads(line) for line in stage.folder.logs.read_text().splitlines()]
        assert len(collector.logs) == len(lines) > 100
        calls = {span.span_id: attributes(span) for span in collector.spans if span.name.startswith("execute_tool ")}
        settled = [record for record in collector.logs if record.body.string_value.startswith("tool_call ")]
        assert settled
        for record in settled:
            said = attributes(record)
            span = calls[record.span_id]
            assert said[signals.TOOL_NAME] == span[signals.TOOL_NAME]
            assert said[signals.OUTCOME] == span[signals.OUTCOME]
            assert said[signals.OWNER] == span[signals.OWNER]


def test_a_name_that_forges_lines_stays_on_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with collecting() as collector:
        monkeypatch.setenv(ENDPOINT, collector.url)
        with (
            watched(SimulatedTime(), spans=None, logs=None, environ={ENDPOINT: collector.url}) as telemetry,
            telemetry.tel.session(profile="support"),
        ):
            telemetry.tel.not_found(FORGED)
    (record,) = collector.logs
    assert "\n" not in record.body.string_value
    assert all("\n" not in text for text in attributes(record).values())


def test_durations_lead_to_traces_only_where_traces_go_somewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    from prometheus_client.openmetrics.exposition import generate_latest

    def expose(environ: dict[str, str]) -> str:
        with watched(SimulatedTime(), spans=io.StringIO(), logs=None, environ=environ) as telemetry:
            telemetry.tel.tool(lambda: None, name="order_lookup")()
            return str(generate_latest(telemetry.tel.view).decode())  # type: ignore[no-untyped-call]

    with collecting() as collector:
        monkeypatch.setenv(ENDPOINT, collector.url)
        exposed = expose({ENDPOINT: collector.url})
    (span,) = collector.spans
    assert f'{signals.KEY_TRACE_ID}="{span.trace_id.hex()}"' in exposed
    assert signals.KEY_TRACE_ID not in expose({})


def test_a_collector_that_is_away_holds_nobody_up(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    away = {ENDPOINT: "http://127.0.0.1:9"}  # the discard port: nobody listens there
    monkeypatch.setenv(ENDPOINT, away[ENDPOINT])
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    with watched(SimulatedTime(), spans=None, logs=None, environ=away) as telemetry:
        assert telemetry.tel.tool(lambda: 3, name="order_lookup")() == 3
