"""Verbatim lines of real frameworks: each drop that a log shows counts once, with its name; near-misses do not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tooltel.catalog import Catalog, Tool
from tooltel.match import Judge, Record, builtin_rules
from tooltel.signals import Reason, Status

ROWS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "framework_events.jsonl").read_text(encoding="utf-8").splitlines()
]
# The tools of the agents that were run.
KNOWN = ("book_room", "boom", "refuses", "hotel-book_room", "hotel-boom", "ok")
CATALOG = Catalog([Tool(name, "hotel") for name in KNOWN], open=True)
JUDGE = Judge(builtin_rules(), CATALOG)

# Stack traces, which a host may log: those that no line of the framework's own comes before.
TOLD_BY_TRACE = {
    "autogen-agentchat", "fastmcp", "google-adk-java", "google-adk-js", "haystack-ai", "langchain4j", "openai-agents",
    "vercel-ai",
}  # fmt: skip


def logs(*moments: str) -> list[Any]:
    chosen = [row for row in ROWS if row["channel"] == "log" and row["moment"].startswith(moments)]
    return [pytest.param(row, id=f"{row['framework']}:{place}") for place, row in enumerate(chosen)]


def judge(row: dict[str, Any]) -> Any:
    level = {"WARN": "WARNING"}.get(row["level"], row["level"])
    return JUDGE.judge(Record(row["text"], row["logger"], level))


@pytest.mark.parametrize("row", logs("unknown_tool", "invalid_name"))
def test_a_logged_drop_counts_with_the_right_name_and_reason(row: dict[str, Any]) -> None:
    match = judge(row)
    assert match is not None
    assert match.outcome.status is Status.NOT_FOUND
    assert match.outcome.missing.requested == row["tool_requested"]
    assert match.outcome.missing.reason is (Reason.UNKNOWN if row["tool_requested"].strip() else Reason.EMPTY)


def test_there_are_logged_drops_of_nine_frameworks() -> None:
    assert len({param.values[0]["framework"] for param in logs("unknown_tool")}) == 9


@pytest.mark.parametrize("row", [row for row in ROWS if row.get("near_miss")], ids=lambda row: row["framework"])
def test_a_near_miss_counts_zero_with_its_logger_and_without(row: dict[str, Any]) -> None:
    assert judge(row) is None
    assert judge({**row, "logger": None, "level": None}) is None


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row["moment"] not in ("unknown_tool", "invalid_name", "near_miss")]
)
def test_no_other_moment_counts_as_a_drop(row: dict[str, Any]) -> None:
    match = judge(row)
    is_drop = match is not None and match.outcome.status is Status.NOT_FOUND
    assert not is_drop or row["moment"].startswith("unknown_tool(")


@pytest.mark.parametrize("row", logs("args:"))
def test_a_logged_rejection_counts_as_one_or_not_at_all(row: dict[str, Any]) -> None:
    match = judge(row)
    if match is not None:
        assert match.outcome.status is Status.INVALID_ARGUMENTS
        assert match.outcome.tool.name == row["tool_requested"]
        assert match.outcome.tool.owner == "hotel"


@pytest.mark.parametrize("row", [row for row in ROWS if row["channel"] == "tool_message"])
def test_what_the_model_was_told_counts_zero_wherever_it_is_logged(row: dict[str, Any]) -> None:
    for logger, level in (("shop.chat", "INFO"), (None, "INFO"), (None, None), ("google_adk.x", "DEBUG")):
        match = judge({**row, "logger": logger, "level": level})
        assert match is None or match.rule.framework == "vercel-ai", (logger, level)


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row["channel"] == "exception" and row["moment"].startswith("unknown_tool")]
)
def test_a_stack_trace_counts_where_no_line_of_the_framework_came_before(row: dict[str, Any]) -> None:
    match = judge(row)
    by_anybody = row["text"].startswith("java.lang.RuntimeException: Tool not found")
    assert (match is not None) is (row["framework"] in TOLD_BY_TRACE and not by_anybody)
