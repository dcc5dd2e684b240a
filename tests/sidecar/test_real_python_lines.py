"""Every sample of a Python framework, as real formatters write it: each counts once by its name, near-misses never."""

from __future__ import annotations

import io
import json
import logging
import re
import time
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import pytest
import structlog
from pythonjsonlogger.json import JsonFormatter
from rich.console import Console
from rich.logging import RichHandler

from tooltel.catalog import Catalog, Tool
from tooltel.match import Judge, Match, Record, builtin_rules
from tooltel.sidecar import formats
from tooltel.sidecar.headers import readings
from tooltel.sidecar.judging import LineJudge

Write: TypeAlias = Callable[[logging.LogRecord], str]

FRAMEWORKS: Final = (
    "google-adk", "agno", "anthropic", "autogen", "fastmcp", "haystack-ai", "mcp", "openai-agents", "semantic-kernel",
    "strands-agents",
)  # fmt: skip
NO_SUCH_TOOL: Final = "AI_NoSuchToolError: Model tried to call unavailable tool 'orderFnd'. Available tools: orderFind."
JUDGE: Final = Judge(builtin_rules(), Catalog([Tool("order_find", "orders", profiles=["support"])], open=True))


EVENTS: Final = Path(__file__).parents[1] / "match" / "data" / "framework_events.jsonl"
HEADED: Final = re.compile(
    r"\d|\[|Nov |ERROR |[^\n]*\n\d{4}-"
)  # a sample that was taken with its layout, or forges one


class Sample(NamedTuple):
    place: str
    record: logging.LogRecord

    @property
    def message(self) -> str:
        return self.record.getMessage()


def samples() -> list[Sample]:
    """The lines beside the rules, and those of real runs, as the records that a logger makes."""
    found = []
    beside = resources.files("tooltel.match") / "frameworks"
    texts = {framework: (beside / f"{framework}.jsonl").read_text(encoding="utf-8") for framework in FRAMEWORKS}
    texts["events"] = EVENTS.read_text(encoding="utf-8")
    for framework, text in texts.items():
        for place, line in enumerate(text.splitlines(), start=1):
            row = json.loads(line)
            row.setdefault("message", row.get("text"))
            if HEADED.match(row["message"]) or row.get("channel", "log") != "log":
                continue
            name, level = row["logger"] or "root", logging.getLevelNamesMapping()[row["level"] or "ERROR"]
            file = name if name.endswith(".py") else f"{name.rpartition('.')[2]}.py"
            record = logging.LogRecord(name, level, f"/srv/app/{file}", 543, row["message"], None, None, "run_step")
            found.append(Sample(f"{framework}:{place}", record))
    return found


SAMPLES: Final = samples()

# What OpenTelemetry's LoggingInstrumentor sets, with its fields filled in.
OPENTELEMETRY: Final = (
    "%(asctime)s %(levelname)s [%(name)s] [%(filename)s:%(lineno)d] "
    "[trace_id=0 span_id=0 resource.service.name=desk trace_sampled=False] - %(message)s"
)
# Formats with the logger's name.
NAMED: Final = (
    logging.BASIC_FORMAT,
    "%(asctime)s - %(name)s - %(levelname)s - %(message)s",
    "%(asctime)s - %(levelname)s - %(name)s - %(message)s",
    "%(asctime)s %(levelname)s %(name)s %(message)s",
    "%(asctime)s %(levelname)-8s %(name)-20s %(message)s",
    "%(asctime)s %(name)s %(levelname)s %(message)s",
    "%(asctime)s %(name)s %(levelname)s: %(message)s",
    "%(asctime)s %(levelname)s %(name)s: %(message)s",
    "%(asctime)s %(levelname)s %(name)s:%(lineno)d: %(message)s",
    "%(asctime)s %(levelname)s %(name)s:%(lineno)d %(message)s",
    "%(asctime)s %(levelname)s [%(name)s] %(message)s",
    "%(asctime)s %(levelname)s [%(name)s:%(lineno)d] %(message)s",
    "%(asctime)s [%(levelname)s] %(name)s: %(message)s",
    "%(asctime)s [%(levelname)s] %(name)s - %(message)s",
    "%(asctime)s [%(levelname)s] [%(name)s] %(message)s",
    "[%(asctime)s] [%(name)s] [%(levelname)s] %(message)s",
    "[%(asctime)s][%(levelname)s][%(name)s] %(message)s",
    "%(asctime)s | %(levelname)s | %(name)s | %(message)s",
    "%(asctime)s | %(levelname)-8s | %(name)s:%(lineno)d | %(message)s",
    "%(asctime)s | %(name)s | %(levelname)s | %(message)s",
    "%(asctime)s | %(levelname)-8s | %(name)s:%(funcName)s:%(lineno)d - %(message)s",  # as loguru does
    "%(asctime)s [%(threadName)s] %(levelname)s %(name)s - %(message)s",
    "%(asctime)s %(threadName)s %(levelname)s %(name)s: %(message)s",
    "%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s",
    OPENTELEMETRY,
)
# Formats without it: the text decides, where it can.
NAMELESS: Final = (
    "%(asctime)s %(levelname)s %(message)s",
    "%(asctime)s %(levelname)s: %(message)s",
    "%(asctime)s - %(levelname)s - %(message)s",
    "%(asctime)s [%(levelname)s] %(message)s",
    "%(levelname)s:     %(message)s",  # uvicorn
    "[%(asctime)s] [%(process)d] [%(levelname)s] %(message)s",  # gunicorn
    "[%(asctime)s] %(levelname)s in %(module)s: %(message)s",  # Flask
    "%(levelname)s %(asctime)s %(module)s %(process)d %(thread)d %(message)s",  # Django
    "[%(asctime)s: %(levelname)s/%(processName)s] %(message)s",  # celery
    "[%(levelname)s]\t%(asctime)s.%(msecs)dZ\t8f507cfc-0b3f-4a2a-9d55-0a1b2c3d4e5f\t%(message)s",  # AWS Lambda
)
# Formats with the file: where a rule knows its framework's files, they are its logger; else the text decides.
FILED: Final = (
    "%(asctime)s - %(levelname)s - %(filename)s:%(lineno)d - %(message)s",  # `adk web`
    "[%(asctime)s] {%(filename)s:%(lineno)d} %(levelname)s - %(message)s",  # airflow
)


def structlog_of(*renderers: Any) -> Write:
    """A host's loggers, formatted by structlog."""
    chain = (
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso"),
        lambda _logger, _method, event: {**event, "session": "s-42"},
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=chain, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderers]
    )
    return formatter.format


ORDER: Final = ["timestamp", "level", "logger", "event"]
STRUCTURED: Final[dict[str, Write]] = {
    "python-json-logger": JsonFormatter("%(asctime)s %(levelname)s %(name)s %(message)s").format,
    "python-json-logger, renamed": JsonFormatter(
        "%(asctime)s %(levelname)s %(name)s %(message)s", rename_fields={"levelname": "severity", "name": "logger"}
    ).format,
    "structlog, JSON": structlog_of(structlog.processors.format_exc_info, structlog.processors.JSONRenderer()),
    "structlog, logfmt": structlog_of(structlog.processors.LogfmtRenderer(key_order=ORDER)),
    "structlog, key=value": structlog_of(structlog.processors.KeyValueRenderer(key_order=ORDER)),
}


SKIPPED: Final[list[object]] = []
READER: Final = LineJudge(JUDGE, skipped=SKIPPED.append)  # one for all: making its search takes longest


def judged(log: str) -> list[tuple[str, str | None]]:
    """Status and name of everything that a log counts; nothing of it may be skipped."""
    raw = bytearray(f"{log}\n".encode("utf-8", "surrogatepass"))
    READER.take(raw, 0, len(raw), {}, is_patient=False)
    assert SKIPPED == []
    return [said for matched, times in READER.drain() for said in meaning(matched) * times]


def meaning(match: Any) -> list[tuple[str, str | None]]:
    if not isinstance(match, Match):
        return []
    missing, tool = match.outcome.missing, match.outcome.tool
    return [(match.outcome.status.value, missing.requested if missing else tool.name if tool else None)]


def differences(write: Write, logger_of: Callable[[logging.LogRecord], str | None]) -> list[str]:
    """Samples that count otherwise than a record does that says what the format does."""
    found = []
    for sample in SAMPLES:
        logger = logger_of(sample.record)
        wanted = meaning(JUDGE.judge(Record(sample.message, logger, sample.record.levelname)))
        if (got := judged(write(sample.record))) != wanted:
            found.append(f"{sample.place}: {got} instead of {wanted}")
    return found


def test_there_are_drops_rejections_errors_and_near_misses_among_the_samples() -> None:
    records = [Record(sample.message, sample.record.name, sample.record.levelname) for sample in SAMPLES]
    said = [meaning(JUDGE.judge(record)) for record in records]
    statuses = {each[0][0] for each in said if each}
    assert statuses == {"not_found", "invalid_arguments", "refused", "error"}
    assert sum(map(bool, said)) > 40
    assert said.count([]) > 30


@pytest.mark.parametrize("layout", NAMED)
def test_logging_with_the_loggers_name_tells_all(layout: str) -> None:
    assert differences(logging.Formatter(layout).format, lambda record: record.name) == []


@pytest.mark.parametrize("layout", NAMELESS)
def test_logging_without_the_loggers_name_tells_what_its_text_does(layout: str) -> None:
    assert differences(logging.Formatter(layout).format, lambda _record: None) == []


@pytest.mark.parametrize("layout", FILED)
def test_logging_with_the_file_tells_whose_text_it_is(layout: str) -> None:
    assert differences(logging.Formatter(layout).format, lambda record: record.filename) == []


@pytest.mark.parametrize("package", STRUCTURED)
def test_a_structured_logger_tells_all(package: str) -> None:
    assert differences(STRUCTURED[package], lambda record: record.name) == []


@pytest.mark.parametrize("colors", [True, False], ids=["colored", "plain"])
def test_structlogs_console_tells_all_of_a_record_that_is_one_line(colors: bool) -> None:
    """Its logger stands at the end of the last line, where the reader of several lines does not look."""
    write = structlog_of(structlog.dev.ConsoleRenderer(colors=colors))
    one_line = [found for found in SAMPLES if "\n" not in found.message]
    assert len(one_line) > 50
    assert [each for each in differences(write, lambda record: record.name) if _named(each) in one_line] == []


# What wrapping hides: two spaces in a row, what stands before a text of its own, and texts of which no searched string
# stays whole in so narrow a column.
LOST_IN_COLUMNS: Final = ("google-adk:9", "google-adk:13", "anthropic:2")
LOST_BEGINNING: Final = "The function `"  # semantic-kernel's


def rich_of(width: int, **columns: bool) -> Write:
    """Rich's handler, where no terminal is: it wraps the message into a column."""

    def write(record: logging.LogRecord) -> str:
        output = io.StringIO()
        handler = RichHandler(console=Console(file=output, width=width), **columns)  # type: ignore[arg-type]
        handler.setFormatter(logging.Formatter("%(message)s"))
        handler.handle(record)
        return output.getvalue().removesuffix("\n")

    return write


@pytest.mark.parametrize("time", [True, False], ids=["time", "no time"])
@pytest.mark.parametrize("path", [True, False], ids=["place", "no place"])
@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_what_rich_wrapped_into_a_column_is_one_record(width: int, path: bool, time: bool) -> None:
    write = rich_of(width, show_time=time, show_path=path)
    found = differences(write, lambda record: record.filename if path else None)
    assert [each for each in found if not _is_lost(_named(each))] == []


def _is_lost(sample: Sample) -> bool:
    has_long_name = len(sample.message) > 1000 and len(max(sample.message.split(), key=len)) > 500
    return sample.place in LOST_IN_COLUMNS or sample.message.startswith(LOST_BEGINNING) or has_long_name


def test_wrapped_records_are_told_apart() -> None:
    output = io.StringIO()
    handler = RichHandler(console=Console(file=output, width=80))
    for number in range(3):
        for text in ("not listed, no validation will be performed", "is slow, but listed, and validation performed"):
            said = f"Tool 'order_fnd_{number}' {text}"
            record = logging.LogRecord("mcp.server", logging.WARNING, "/srv/server.py", 504, said, None, None)
            record.created = 1.0
            handler.handle(record)
    log = output.getvalue().removesuffix("\n")
    assert [line[:1] for line in log.splitlines()] == ["[", *[" "] * 11], "each is two lines, and the first has a time"
    assert judged(log) == [("not_found", f"order_fnd_{number}") for number in range(3)]


def test_a_wrapped_record_is_waited_for_and_no_longer() -> None:
    head, rest = (
        "[11/30/26 17:49:25] WARNING  Tool 'x' not listed, no       server.py:504\n",
        f"{' ' * 29}validation will ",
    )
    log = bytearray(f"{head}{rest}be performed\n".encode())
    assert READER.take(log, 0, len(head), {}, is_patient=True) == 0
    assert READER.take(log, 0, len(head), {}, is_patient=False) == len(head)
    assert list(READER.drain()) == []
    assert READER.take(log, 0, len(log), {}, is_patient=True) == 0, "more lines may come"
    assert READER.take(log, 0, len(log), {}, is_patient=False) == len(log)
    assert [times for _, times in READER.drain()] == [1]


def _named(difference: str) -> Sample:
    place = ":".join(difference.split(":")[:2])
    return next(sample for sample in SAMPLES if sample.place == place)


@pytest.mark.parametrize("package", ["python-json-logger", "structlog, JSON"])
def test_an_exception_that_a_structured_record_carries_counts_as_in_a_text_log(package: str) -> None:
    class ModelBehaviorError(Exception):
        __module__ = "agents.exceptions"

    ModelBehaviorError.__qualname__ = "ModelBehaviorError"
    record = logging.LogRecord("desk.chat", logging.ERROR, "/srv/app/chat.py", 12, "run failed", None, None)
    try:
        try:
            raise ModelBehaviorError("Tool order_fnd not found in agent Hotel")
        except ModelBehaviorError as error:
            raise RuntimeError("the turn is over: Tool order_fnd not found in agent Hotel") from error
    except RuntimeError as error:
        record.exc_info = (type(error), error, error.__traceback__)
    assert judged(logging.Formatter(logging.BASIC_FORMAT).format(record)) == [("not_found", "order_fnd")]
    assert judged(STRUCTURED[package](record)) == [("not_found", "order_fnd")]


def test_logurus_objects_and_pinos_errors_tell_all() -> None:
    """Neither is installed here: the lines are as their documents have them."""
    text = "Tool 'order_fnd' not found.\nAvailable tools: order_find"
    said = {"message": text, "name": "google_adk.google.adk.flows.llm_flows.tools._caller"}
    loguru = {"text": f"... | {text}\n", "record": {**said, "level": {"icon": "!", "name": "WARNING", "no": 30}}}
    assert judged(json.dumps(loguru)) == [("not_found", "order_fnd")]
    stack = f"{NO_SUCH_TOOL}\n    at run (agent.js:1:2)"
    pino = {"level": 50, "time": 1, "pid": 1, "err": {"type": "NoSuchToolError", "stack": stack}, "msg": "chat failed"}
    assert judged(json.dumps(pino)) == [("not_found", "orderFnd")]
    winston = {"level": "error", "message": "chat failed", "stack": stack}
    assert judged(json.dumps(winston)) == [("not_found", "orderFnd")]


@pytest.mark.parametrize(
    "line",
    [
        "2026-11-30 12:00:00,000 WARNING shop.chat the user wrote Tool 'x' not found.\nAvailable tools: y",
        "2026-11-30 12:00:00,000 WARNING shop.chat: google_adk.x: Tool 'x' not found.\nAvailable tools: y",
        "2026-11-30 12:00:00,000 shop.chat WARNING google_adk.x: Tool 'x' not found.\nAvailable tools: y",
        "2026-11-30 12:00:00,000 INFO [shop.chat] [google_adk.x] Tool 'x' not found.\nAvailable tools: y",
        "2026-11-30 12:00:00,000 INFO a b Tool 'x' not found.\nAvailable tools: y",
        "2026-11-30 12:00:00,000 ERROR haystack.core.ToolNotFoundException: Tool 'x' not found. Available tools: y",
        "WARNING in the log: Tool 'x' not found.\nAvailable tools: y",
        'the user wrote event="Tool not found: x" logger=com.google.adk.flows.llmflows.Functions level=warning',
        json.dumps({"message": "failed", "exception": f"user wrote: {NO_SUCH_TOOL}"}),
        json.dumps({"message": "failed", "stack": [NO_SUCH_TOOL]}),
        json.dumps({"message": "failed", "tool_result": NO_SUCH_TOOL}),
    ],
)
def test_text_behind_another_loggers_header_is_its_own(line: str) -> None:
    assert judged(line) == []


@pytest.mark.parametrize(
    "fill", [" ", "\t", "a ", "[a] ", "a=b ", "1", "a.", '"', "[", "aError.", "Caused by: ", "a='"]
)
@pytest.mark.parametrize("head", ["", "[info] ", "WARN ", "INFO a.b ", "event=", "[a] WARN "])
def test_no_line_takes_longer_than_its_length(head: str, fill: str) -> None:
    text = f"{head}Tool not found: {fill * (60_000 // len(fill))}"
    began = time.process_time()
    for stamped in (True, False):
        formats.record_of_text(text, stamped=stamped)
    list(readings(text))
    formats.begins_record(text)
    formats.with_line_before(Record(""), fill * (60_000 // len(fill)))
    list(formats.exceptions_of_json({"exception": text}))
    assert time.process_time() - began < 1.0


def test_a_second_line_is_waited_for_while_another_stream_has_an_unfinished_piece() -> None:
    stamp = "2026-11-30T17:49:25.123456789Z"
    said = [f"{stamp} stdout P begun", f"{stamp} stderr F Tool 'x' not found.", f"{stamp} stderr F Available tools: y"]
    log = "".join(f"{line}\n" for line in said).encode()
    second = log.index(b"Tool")
    pieces: dict[str, bytes] = {}
    first = log.rindex(b"\n", 0, second) + 1
    half = log.index(b"\n", second) + 1
    assert READER.take(bytearray(log[:half]), 0, half, pieces, is_patient=True) == first
    assert READER.take(bytearray(log), first, len(log), pieces, is_patient=True) == len(log)
    assert [times for _, times in READER.drain()] == [1]
    assert list(pieces) == ["stdout"]
