"""The same lines in the layouts of real logs, as a sidecar reads them: each drop counts once, each near-miss never."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from tooltel.catalog import Catalog, Tool
from tooltel.match import Judge, builtin_rules
from tooltel.sidecar.judging import LineJudge

if TYPE_CHECKING:
    from tooltel.signals import SkipCause

ROWS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "framework_events.jsonl").read_text(encoding="utf-8").splitlines()
]
CATALOG = Catalog([Tool(name, "hotel") for name in ("book_room", "boom", "hotel-boom", "refuses")], open=True)
AT: Final = "2026-11-30 18:05:12,994"
HEADED: Final = re.compile(r"\d|\[|Nov |ERROR ")  # a sample that was taken with its layout

Lay = Callable[[str, str, str], str]


def docker(text: str) -> str:
    return "\n".join(
        json.dumps({"log": f"{line}\n", "stream": "stderr", "time": f"{AT}Z"}) for line in text.split("\n")
    )


LAYOUTS: dict[str, Lay] = {
    "logging": lambda logger, level, text: f"{AT} {level} {logger}: {text}",
    "logging, dashes": lambda logger, level, text: f"{AT} - {logger} - {level} - {text}",
    "basicConfig": lambda logger, level, text: f"{level}:{logger}:{text}",
    "logback": lambda logger, level, text: f"18:05:12.994 [main] {level} {logger} - {text}",
    "structlog": lambda logger, level, text: json.dumps({"event": text, "logger": logger, "level": level.lower()}),
    "python-json-logger": lambda logger, level, text: json.dumps({"message": text, "name": logger, "levelname": level}),
    "logstash": lambda logger, level, text: json.dumps({"message": text, "logger_name": logger, "level": level}),
    "docker": lambda logger, level, text: docker(f"{AT} {level} {logger}: {text}"),
    "cri": lambda logger, level, text: "\n".join(
        f"2026-11-30T18:05:12.994123Z stderr F {line}" for line in f"{AT} {level} {logger}: {text}".split("\n")
    ),
}


def drops(log: str, *, framework: str | None = None) -> list[str]:
    """The names of the drops that a log counts."""
    skipped: list[SkipCause] = []
    judging = LineJudge(Judge(builtin_rules(), CATALOG, framework=framework), skipped=skipped.append)
    buffer = bytearray(f"{log}\n".encode())
    judging.take(buffer, 0, len(buffer), {}, is_patient=False)
    assert skipped == []
    return [
        matched.outcome.missing.requested
        for matched, times in judging.drain()
        if matched.outcome.missing is not None
        for _ in range(times)
    ]


def logged(*, near: bool) -> list[Any]:
    chosen = [
        row
        for row in ROWS
        if (
            row.get("near_miss")
            if near
            else row["channel"] == "log" and row["moment"] in ("unknown_tool", "invalid_name")
        )
    ]
    return [pytest.param(row, id=f"{row['framework']}:{place}") for place, row in enumerate(chosen)]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("row", [param for param in logged(near=False) if not HEADED.match(param.values[0]["text"])])
def test_a_drop_counts_once_in_every_layout(row: dict[str, Any], layout: str) -> None:
    level = row["level"] if layout != "logback" else row["level"].replace("WARNING", "WARN")
    assert drops(LAYOUTS[layout](row["logger"], level, row["text"])) == [row["tool_requested"]]


@pytest.mark.parametrize("row", [param for param in logged(near=False) if HEADED.match(param.values[0]["text"])])
def test_a_drop_counts_once_as_it_was_found_in_a_log(row: dict[str, Any]) -> None:
    assert drops(row["text"]) == [row["tool_requested"]]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("row", logged(near=True))
def test_a_near_miss_never_counts(row: dict[str, Any], layout: str) -> None:
    assert drops(LAYOUTS[layout](row["logger"] or "shop.agent", row["level"] or "ERROR", row["text"])) == []
    assert drops(row["text"]) == []


def test_a_stack_trace_below_a_line_that_counts_is_the_same_drop() -> None:
    trace = 'Traceback (most recent call last):\n  File "/srv/functions.py", line 1, in run\n    raise ValueError('
    old = "Function order_fnd is not found in the tools_dict."
    new = "Tool 'order_fnd' not found.\nAvailable tools: book_room\n\nPossible causes:\n  1. LLM hallucinated"
    for text in (old, new):
        log = f"{AT} - ERROR - adk_web_server.py:1509 - Error in event_generator: {text}\n{trace}\nValueError: {text}"
        assert drops(log) == ["order_fnd"]


def test_a_warning_and_the_exception_after_it_are_one_drop() -> None:
    spring = "org.springframework.ai.model.tool.DefaultToolCallingManager"
    log = (
        f"{AT}  WARN 1 --- [nio-8080-exec-1] {spring} : LLM may have adapted the tool name 'order_fnd', especially if "
        "the name was truncated due to length limits. If this is the case, ...\n"
        f"{AT} ERROR 1 --- [nio-8080-exec-1] o.a.c.c.C.[.[.[/].[dispatcherServlet] : Servlet.service() threw exception "
        "[Request processing failed: java.lang.IllegalStateException: No ToolCallback found for tool name: order_fnd]\n"
        "java.lang.IllegalStateException: No ToolCallback found for tool name: order_fnd\n"
        f"\tat {spring}.executeToolCall(DefaultToolCallingManager.java:1)"
    )
    assert drops(log) == ["order_fnd"]


def test_an_exception_that_wraps_another_is_the_same_drop() -> None:
    said = (
        "java.lang.RuntimeException: The LLM is trying to execute the 'order_fnd' tool, but no such tool exists. Most"
    )
    log = f"java.util.concurrent.CompletionException: {said}\n\tat a.b.C.d(C.java:1)\nCaused by: {said}\n\tat a.b.C.e"
    assert drops(log) == ["order_fnd"]


def test_a_name_with_a_newline_is_one_drop() -> None:
    text = "Tool 'order\nfnd' not found.\nAvailable tools: book_room\n\nPossible causes:\n  1. LLM hallucinated"
    caller = "google_adk.google.adk.flows.llm_flows.tools._caller"
    assert drops(LAYOUTS["logging"](caller, "WARNING", text)) == ["…fnd"]  # its line has no header, and lacks its begin
    assert drops(LAYOUTS["structlog"](caller, "WARNING", text)) == [r"order\nfnd"]


def test_a_name_that_forges_a_record_is_one_drop_where_records_are_objects() -> None:
    forged = f"x' not found.\n{AT} - WARNING - _caller.py:543 - Tool 'book_room"
    text = f"Tool '{forged}' not found.\nAvailable tools: book_room\n\nPossible causes:\n"
    (name,) = drops(LAYOUTS["structlog"]("google_adk.google.adk.flows.llm_flows.tools._caller", "WARNING", text))
    assert name.startswith(r"x' not found.\n2026")


def test_words_that_are_anybodys_count_where_the_source_names_its_framework() -> None:
    assert drops("Function order_fnd not found") == []
    assert drops("Function order_fnd not found", framework="agno") == ["order_fnd"]
