"""Log events: their names, levels and keys; where they go; and that no text of a model can forge a line."""

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
from tests.signals.desk import Desk, make_catalog, raising, rejection
from tests.signals.scrape import samples, total
from tooltel.signals import Status
from tooltel.testing import FakeClock, capture

TOOL_KEYS = {
    "gen_ai.tool.name": "kb_search",
    "tool.owner": "kb",
    "tool.version": "3",
    "tool.risk": "read",
    "tool.profile": "support",
    "gen_ai.agent.name": "a-1",
    "gen_ai.conversation.id": "s-1",
    "seconds": 0.0,
}


@pytest.fixture(autouse=True)
def own_structlog() -> Iterator[None]:
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()


@pytest.fixture
def desk() -> Desk:
    return Desk(clock=FakeClock())


def events(desk: Desk, action: Any) -> list[tuple[str, str, dict[str, Any]]]:
    """Level, name and facts of what *action* logs, in a session."""
    with desk.tel.session(profile="support", agent="a-1", id="s-1"), capture(desk.tel) as seen:
        action()
    return [(event.level, event.name, dict(event.facts)) for event in seen.events]


def ids(desk: Desk, seen: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in seen.items() if key not in ("trace_id", "span_id")}


# --- what is said ---


def test_a_good_call_is_one_debug_line_with_the_keys_of_its_span(desk: Desk) -> None:
    ((level, name, facts),) = events(desk, lambda: desk.act("kb_search"))
    assert (level, name) == ("debug", "tool_call")
    assert len(facts.pop("trace_id")) == 32
    assert len(facts.pop("span_id")) == 16
    assert facts == TOOL_KEYS | {"tool.outcome": "ok"}


@pytest.mark.parametrize(
    ("action", "outcome", "error_type"),
    [
        (raising(ValueError("secret")), "error", "ValueError"),
        (raising(TimeoutError()), "timeout", "timeout"),
        (lambda: {"content": [], "isError": True}, "error", "tool_error"),
    ],
)
def test_a_failed_call_is_one_warning_without_the_exceptions_words(
    desk: Desk, action: Any, outcome: str, error_type: str
) -> None:
    ((level, name, facts),) = events(desk, lambda: desk.act("kb_search", action))
    assert (level, name) == ("warning", "tool_call")
    assert ids(desk, facts) == TOOL_KEYS | {"tool.outcome": outcome, "error.type": error_type}


def test_a_rejection_says_kind_source_and_each_fault(desk: Desk) -> None:
    action = raising(tooltel.Rejected("limit", problem="5000 is out of range", expected="1 to 100"))
    (_, name, facts), (level, call, _) = events(desk, lambda: desk.act("kb_search", action))
    assert (name, level, call) == ("tool_rejected", "warning", "tool_call")
    assert facts["faults"] == ["limit: 5000 is out of range"]
    assert (facts["kind"], facts["source"]) == ("domain", "tool")
    assert facts["tool.outcome"] == "invalid_arguments"


def test_a_call_that_went_well_and_was_rejected_by_the_schema_warns_of_that(desk: Desk) -> None:
    found = events(desk, lambda: desk.publish(Status.OK, rejections=(rejection("limit", "query"),)))
    assert [(level, name) for level, name, _ in found] == [("warning", "tool_rejected"), ("debug", "tool_call")]
    assert found[0][2]["faults"] == ["limit: is wrong", "query: is wrong"]
    assert (found[0][2]["kind"], found[0][2]["source"]) == ("structural", "schema")


def test_a_refusal_says_its_policy(desk: Desk) -> None:
    found = events(desk, lambda: desk.act("order_refund", raising(tooltel.Refused("secret", policy="refunds"))))
    assert [(level, name) for level, name, _ in found] == [("warning", "tool_refused"), ("warning", "tool_call")]
    assert found[0][2]["policy"] == "refunds"
    assert "secret" not in str(found)


def test_a_partial_result_says_what_became_of_the_items(desk: Desk) -> None:
    result = {"status": "partial", "results": [{"status": "ok"}, {"status": "failed"}]}
    found = events(desk, lambda: desk.act("order_update", lambda: result))
    assert [(level, name) for level, name, _ in found] == [
        ("warning", "tool_result_partial"),
        ("warning", "tool_call"),
    ]
    assert found[0][2]["items"] == {"ok": 1, "failed": 1}


def test_an_alias_call_is_an_info(desk: Desk) -> None:
    old = desk.tel.alias("change_order", desk.tool("order_update"))
    found = events(desk, lambda: old(lambda: "done"))
    assert [(level, name) for level, name, _ in found] == [("info", "tool_alias_called"), ("debug", "tool_call")]
    assert found[0][2]["tool.alias"] == "change_order"


def test_a_repeated_call_says_when_it_was_first_seen(desk: Desk) -> None:
    def twice() -> None:
        for _ in range(2):
            desk.act("order_update", str)

    found = events(desk, twice)
    assert [(level, name) for level, name, _ in found] == [
        ("debug", "tool_call"),
        ("warning", "tool_call_repeated"),
        ("debug", "tool_call"),
    ]
    assert 0 <= found[1][2]["first_seen"] < 60


@pytest.mark.parametrize(
    ("requested", "reason", "nearest", "owner"),
    [
        ("kb_serch", "unknown", "kb_search", "support-platform"),
        ("refund", "renamed", "order_refund", "payments"),
        ("kb_read_pages", "not_in_profile", None, "kb"),
        ("", "empty", None, "support-platform"),
        ("zzzzzzzzzzz", "unknown", None, "support-platform"),
    ],
)
def test_a_drop_is_one_warning_that_says_why_and_what_was_meant(
    desk: Desk, requested: str, reason: str, nearest: str | None, owner: str
) -> None:
    ((level, name, facts),) = events(desk, lambda: desk.tel.not_found(requested, call_id="c-7"))
    assert (level, name) == ("warning", "tool_not_found")
    expected = {
        "requested": requested,
        "reason": reason,
        "nearest": nearest,
        "tool.profile": "support",
        "tool.owner": owner,
        "gen_ai.agent.name": "a-1",
        "gen_ai.conversation.id": "s-1",
        "gen_ai.tool.call.id": "c-7",
        "tool.outcome": "not_found",
        "error.type": "tool_not_found",
    }
    assert facts == {key: value for key, value in expected.items() if value is not None}


def test_a_drop_inside_the_hosts_span_carries_its_trace(desk: Desk) -> None:
    def drop() -> None:
        with desk.spans.provider.get_tracer("host").start_as_current_span("agent") as span:
            desk.tel.not_found("zork")
            context.append(span.get_span_context())

    context: list[Any] = []
    ((_, _, facts),) = events(desk, drop)
    assert facts["trace_id"] == f"{context[0].trace_id:032x}"
    assert facts["span_id"] == f"{context[0].span_id:016x}"


def test_an_unknown_profile_is_warned_about_once(desk: Desk) -> None:
    with capture(desk.tel) as seen:
        for _ in range(3):
            with desk.tel.session(profile="nobody\n"):
                desk.act("kb_search")
    (facts,) = seen.logged("catalog_problem")
    assert "nobody" in facts["problem"]
    assert {event.name for event in seen.events} == {"catalog_problem", "tool_call"}


def test_reloads_are_logged_with_what_came_of_them(desk: Desk) -> None:
    with capture(desk.tel) as seen:
        desk.tel.reload(make_catalog())
        desk.tel.reload("/nowhere/tools.toml")
    (reloaded, failed) = seen.events
    assert (reloaded.level, reloaded.name) == ("info", "catalog_reloaded")
    assert reloaded.facts == {"sha": desk.tel.catalog.sha, "tools": 5}
    assert (failed.level, failed.name) == ("error", "catalog_reload_failed")
    assert "/nowhere/tools.toml" in failed.facts["problems"][0]


def test_renamed_attributes_rename_the_keys_too() -> None:
    desk = Desk(settings={"attribute_owner": "team", "attribute_profile": "agent.profile"})
    ((_, _, facts),) = events(desk, lambda: desk.act("kb_search"))
    assert (facts["team"], facts["agent.profile"]) == ("kb", "support")
    assert not {"tool.owner", "tool.profile"} & set(facts)


# --- how much is said ---

NOISE = {
    "all": ["tool_call", "tool_call", "tool_not_found", "tool_alias_called", "tool_call"],
    "failures": ["tool_call", "tool_not_found", "tool_alias_called"],
    "off": [],
}


@pytest.mark.parametrize("level", [logging.DEBUG, logging.INFO])
@pytest.mark.parametrize("log_calls", ["all", "failures", "off", "auto"])
@pytest.mark.parametrize("alias_first", [True, False])
def test_log_calls_settles_which_calls_are_written(
    caplog: pytest.LogCaptureFixture, log_calls: str, level: int, alias_first: bool
) -> None:
    """`auto` writes good calls where debug is logged; whether the first call was a plain one makes no difference."""
    caplog.set_level(level, "tooltel")
    desk = Desk(settings={"log_calls": log_calls})
    old = desk.tel.alias("change_order", desk.tool("order_update"))
    if alias_first:
        old(lambda: "done")
    desk.act("kb_search")
    desk.act("kb_search", raising(OSError()))
    desk.tel.not_found("zork")
    if not alias_first:
        old(lambda: "done")
    written = [record.getMessage().split()[0] for record in caplog.records]
    expected = NOISE["all" if (log_calls, level) == ("auto", logging.DEBUG) else log_calls.replace("auto", "failures")]
    if level == logging.INFO and log_calls == "all":
        expected = NOISE["failures"]  # debug lines are asked for, and the logger drops them
    assert sorted(written) == sorted(expected)


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
        logger.level, logger.propagate = before
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
    logger.level, logger.propagate = logging.DEBUG, False
    if handler is not None:
        logger.addHandler(handler)
    try:
        count = say_everything(text)
    finally:
        logger.level, logger.propagate = before
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
