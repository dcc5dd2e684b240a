"""Where log events go, and that one event is one line whatever a model wrote into it."""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tooltel
from tests.signals.desk import Desk, raising
from tests.signals.scrape import samples, total


@pytest.fixture(autouse=True)
def own_structlog() -> Iterator[None]:
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()


# --- where it goes ---


def lines(stream: io.StringIO) -> list[str]:
    return stream.getvalue().splitlines()


def test_without_structlog_events_go_to_the_logger_tooltel_and_never_to_stdout(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Standard output is the wire of many an MCP server: one stray line there ends the connection."""
    caplog.set_level(logging.DEBUG, "tooltel")
    desk = Desk()
    with desk.tel.session(profile="support"):
        desk.act("kb_search")
        desk.act("kb_search", raising(OSError()))
    assert capfd.readouterr().out == ""
    assert [(record.name, record.levelname) for record in caplog.records] == [
        ("tooltel", "DEBUG"),
        ("tooltel", "WARNING"),
    ]
    assert (
        caplog.records[1]
        .getMessage()
        .startswith(
            "tool_call gen_ai.tool.name=kb_search tool.owner=kb tool.version=3 tool.risk=read tool.profile=support "
            "tool.outcome=error error.type=OSError seconds="
        )
    )


def test_a_process_that_configures_no_logging_at_all_prints_warnings_to_stderr_only() -> None:
    done = run(
        """
        import tooltel
        tel = tooltel.configure()
        tool = tel.tool(lambda: "done", name="kb_search", owner="kb", description="x" * 50)
        broken = tel.tool(lambda: 1 / 0, name="kb_broken", owner="kb", description="x" * 50)
        tool()
        try:
            broken()
        except ZeroDivisionError:
            pass
        tel.not_found("zork\\nforged")
        """
    )
    assert done.stdout == ""
    first, second = done.stderr.splitlines()
    assert first.startswith("tool_call gen_ai.tool.name=kb_broken")
    assert second.startswith("tool_not_found ")
    assert 'requested="zork\\\\nforged"' in second


@pytest.mark.parametrize(("level", "good"), [(logging.DEBUG, 1), (logging.INFO, 0)])
def test_a_structlog_of_its_own_gets_the_events(level: int, good: int, capfd: pytest.CaptureFixture[str]) -> None:
    stream = io.StringIO()
    structlog.configure(
        processors=[structlog.processors.add_log_level, structlog.processors.JSONRenderer()],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(stream),
    )
    desk = Desk()
    desk.act("kb_search")
    desk.act("kb_search", raising(OSError()))
    found = [json.loads(line) for line in lines(stream)]
    assert [(each["event"], each["level"], each["tool.outcome"]) for each in found] == [
        ("tool_call", "debug", "ok"),
        ("tool_call", "warning", "error"),
    ][1 - good :]
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize(("level", "good"), [(logging.DEBUG, 1), (logging.INFO, 0)])
def test_a_structlog_on_the_standard_library_gets_the_events(level: int, good: int) -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                                                        structlog.processors.JSONRenderer()])
    )  # fmt: skip
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.stdlib.add_logger_name,
            structlog.stdlib.add_log_level,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
    )
    logger = logging.getLogger("tooltel")
    before = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(level)
    logger.propagate = False
    try:
        desk = Desk()
        desk.act("kb_search")
        desk.act("kb_search", raising(OSError()))
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before[0])  # clears what the logger remembers of enabled levels, too
        logger.propagate = before[1]
    found = [json.loads(line) for line in lines(stream)]
    assert [(each["event"], each["level"], each["logger"]) for each in found] == [
        ("tool_call", "debug", "tooltel"),
        ("tool_call", "warning", "tooltel"),
    ][1 - good :]


def test_a_structlog_with_asynchronous_methods_loses_nothing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "tooltel")
    structlog.configure(
        processors=[structlog.stdlib.render_to_log_kwargs],
        wrapper_class=structlog.stdlib.AsyncBoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
    )
    desk = Desk()
    desk.act("kb_search", raising(OSError()))
    assert [record.message for record in caplog.records] == ["tool_call"]


def test_a_host_that_configures_structlog_later_gets_the_events_from_then_on() -> None:
    desk = Desk(settings={"log_calls": "all"})
    desk.act("kb_search")
    stream = io.StringIO()
    structlog.configure(
        processors=[structlog.processors.JSONRenderer()], logger_factory=structlog.PrintLoggerFactory(stream)
    )
    desk.act("kb_search")
    assert [json.loads(line)["event"] for line in lines(stream)] == ["tool_call"]


# --- one event is one line ---

HOSTILE = st.one_of(
    st.text(st.characters(), max_size=60),
    st.lists(
        st.sampled_from(
            ["\n", "\r\n", "\x85", "\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\x1b[31m", "\x1b]0;t\x07", "\x00",
             "\ud800",
             "\u202e", "\x7f", "\x9b", '"', "\\", "%s", "{", "tool_call tool.owner=kb", "WARNING:tooltel:tool_call ",
             "=", "a" * 600]
        ),
        max_size=12,
    ).map("".join),
)  # fmt: skip


def as_the_host_would(name: str, stream: io.StringIO) -> logging.Handler | None:
    """Three hosts: none of structlog, a careless renderer of its own, and structlog's for terminals."""
    if name == "standard library":
        handler = logging.StreamHandler(stream)
        handler.setFormatter(logging.Formatter("%(levelname)s:%(name)s:%(message)s"))
        return handler
    careless = [lambda _logger, _method, event: " ".join(f"{key}={value}" for key, value in event.items())]
    console = [structlog.dev.ConsoleRenderer(colors=False)]
    structlog.configure(
        processors=careless if name == "careless" else console,
        wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG),
        logger_factory=structlog.PrintLoggerFactory(stream),
    )
    return None


@pytest.mark.parametrize("host", ["standard library", "careless", "console"])
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(text=HOSTILE)
def test_no_text_of_a_model_forges_or_breaks_a_line(host: str, text: str) -> None:
    stream = io.StringIO()
    handler = as_the_host_would(host, stream)
    logger = logging.getLogger("tooltel")
    before = logger.level, logger.propagate
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    if handler is not None:
        logger.addHandler(handler)
    try:
        count = say_everything(text)
    finally:
        logger.setLevel(before[0])  # clears what the logger remembers of enabled levels, too
        logger.propagate = before[1]
        if handler is not None:
            logger.removeHandler(handler)
        structlog.reset_defaults()
    written = stream.getvalue()
    printed = written.split("\n")
    assert printed.pop() == ""
    assert len(printed) == len(written.splitlines()) == count
    assert all(line.isprintable() for line in printed)
    assert all(len(line) < 8000 for line in printed)
    written.encode()  # no lone surrogate is left to break the handler's file


def say_everything(text: str) -> int:
    """Let *text* into every event that a model, a tool or a server can reach; give the number of events."""
    counted: list[str] = []
    desk = Desk(settings={"log_calls": "all"})
    sink = desk.tel.events.sink

    def counting(level: str, event: str, facts: dict[str, Any]) -> None:
        counted.append(event)
        sink(level, event, facts)

    desk.tel.events.sink = counting
    with desk.tel.session(profile=text, agent=text, id=text):
        desk.tel.not_found(text, call_id=text)
        with desk.tel.call(text, call_id=text) as call:
            call.returned({"status": "refused", "policy": text})
        desk.act("kb_search", raising(tooltel.Rejected(text, problem=text, expected=text)))
        desk.act("kb_search", raising(tooltel.Refused(text, policy=text)))
        desk.act(
            "kb_search", lambda: {"status": "invalid_arguments", "errors": [text, {"field": text, "problem": text}]}
        )
        desk.act(
            "kb_search", raising(type(text.replace("\0", "").encode(errors="replace").decode(), (Exception,), {})())
        )
        desk.act("kb_search", raising(ValueError(text)))
        declaration = {"name": text, "description": text, "parameters": {"properties": {text: {}}}}
        desk.tel.declared(text, [declaration, {"name": "kb_search", "description": text}])
        desk.tel.declared("support", [{"name": "kb_search", "description": text + "!"}])
        desk.tel.reload(text)
    return len(counted)


# --- what goes wrong inside ---


def test_an_internal_failure_is_said_once_a_minute_with_how_many_were_kept_silent(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = [1000.0]
    monkeypatch.setattr("tooltel.recording.time.monotonic", lambda: now[0])

    def broken(_outcome: Any) -> None:
        raise RuntimeError("sink is broken\nforged")

    desk = Desk(recorders=[broken])
    for _ in range(50):
        assert desk.act("kb_search") == "done"
    now[0] += 59
    desk.act("kb_search")
    now[0] += 2
    desk.act("kb_search")
    said = [record for record in caplog.records if "telemetry_error" in record.getMessage()]
    assert [record.levelname for record in said] == ["ERROR", "ERROR"]
    first, second = (record.getMessage() for record in said)
    assert first == 'telemetry_error component=recorder problem="RuntimeError: sink is broken\\\\nforged"'
    assert second.endswith(" suppressed=50")


def test_a_logger_that_raises_is_counted_and_breaks_nothing() -> None:
    def broken(_logger: Any, _method: str, _event: Any) -> Any:
        raise RuntimeError("processor is broken")

    structlog.configure(processors=[broken])
    desk = Desk()
    assert isinstance(desk.act("kb_search", raising(OSError())), OSError)
    desk.tel.not_found("zork")
    found = samples(desk.tel)
    assert total(found, "tooltel_internal_errors_total", component="logs") == 2
    assert total(found, "tooltel_tool_calls_total", outcome="error") == 1
    assert len(desk.spans.ended) == 2


def run(program: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done
