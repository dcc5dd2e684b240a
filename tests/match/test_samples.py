"""Every framework's lines, as data files beside its rules: each that tells of a call counts, and no near-miss does."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

import pytest

from tooltel.catalog import Catalog, Tool
from tooltel.match import FRAMEWORKS, Judge, Needs, Record, builtin_rules
from tooltel.text import clean

FOLDER = resources.files("tooltel.match") / "frameworks"
CATALOG = Catalog([Tool("order_find", "orders", profiles=["support"])], open=True)
JUDGE = Judge(builtin_rules(), CATALOG)
RULES = {rule.id: rule for rule in builtin_rules()}


def rows(*, matching: bool) -> list[Any]:
    found = []
    for framework in FRAMEWORKS:
        text = (FOLDER / f"{framework}.jsonl").read_text(encoding="utf-8")
        for place, line in enumerate(text.splitlines(), start=1):
            row = json.loads(line)
            if (row["rule"] is not None) is matching:
                found.append(pytest.param(row, id=f"{framework}:{place}"))
    return found


def record_of(row: dict[str, Any]) -> Record:
    return Record(row["message"], row["logger"], row["level"])


@pytest.mark.parametrize("row", rows(matching=True))
def test_a_line_that_tells_of_a_call_is_known_by_its_rule_with_its_name(row: dict[str, Any]) -> None:
    match = JUDGE.judge(record_of(row))
    assert match is not None
    assert match.rule.id == row["rule"]
    missing, tool = match.outcome.missing, match.outcome.tool
    name = missing.requested if missing is not None else tool.name if tool is not None else None
    assert name == clean(row["name"] or "")


@pytest.mark.parametrize("row", rows(matching=True))
def test_a_line_split_into_first_and_following_lines_means_the_same(row: dict[str, Any]) -> None:
    first, *rest = row["message"].split("\n")
    record = Record(first, row["logger"], row["level"], tuple(rest))
    assert JUDGE.judge(record) == JUDGE.judge(record_of(row))


@pytest.mark.parametrize("row", rows(matching=False))
def test_a_near_miss_counts_for_nothing(row: dict[str, Any]) -> None:
    assert JUDGE.judge(record_of(row)) is None


@pytest.mark.parametrize("row", rows(matching=True))
def test_a_line_of_a_framework_says_nothing_as_another_loggers(row: dict[str, Any]) -> None:
    rule = RULES[row["rule"]]
    if rule.loggers:
        assert JUDGE.judge(Record(row["message"], "shop.chat", row["level"])) is None


@pytest.mark.parametrize(
    "row", [row for row in rows(matching=True) if RULES[row.values[0]["rule"]].needs is Needs.BARE]
)
def test_a_line_of_a_stack_trace_says_nothing_as_a_records_message(row: dict[str, Any]) -> None:
    """Who logs an exception's text often logs its stack trace, too."""
    assert JUDGE.judge(Record(row["message"], "shop.agent", "ERROR")) is None
    assert JUDGE.judge(Record(row["message"], None, "ERROR")) is None


@pytest.mark.parametrize("row", rows(matching=True))
def test_a_line_that_quotes_one_says_nothing(row: dict[str, Any]) -> None:
    if RULES[row["rule"]].is_partial or row["rule"].endswith(".shown"):
        return  # it begins in the middle of a name, or with words of the host, which may be anything; more must follow
    for quoted in (f"user said: {row['message']}", f'tool result "{row["message"]}"', f"> {row['message']}"):
        assert JUDGE.judge(Record(quoted, "shop.chat", "INFO")) is None
        assert JUDGE.judge(Record(quoted)) is None


@pytest.mark.parametrize("row", rows(matching=True))
def test_a_line_that_counts_holds_its_rules_literal_on_its_first_or_only_line(row: dict[str, Any]) -> None:
    """The sidecar judges no line without one."""
    match = JUDGE.judge(record_of(row))
    assert match is not None
    assert any(match.rule.literal.decode() in line for line in (row["logger"] or "", *row["message"].split("\n")))
    assert match.rule.literal in JUDGE.literals


@pytest.mark.parametrize("rule", builtin_rules(), ids=lambda rule: rule.id)
def test_every_rule_has_a_sample(rule: Any) -> None:
    tried = {row.values[0]["rule"] for row in rows(matching=True)}
    # What needs to be told the framework is tried in test_judge.
    assert rule.id in tried or rule.needs is Needs.FRAMEWORK


def test_every_framework_has_near_misses() -> None:
    text = {framework: (FOLDER / f"{framework}.jsonl").read_text(encoding="utf-8") for framework in FRAMEWORKS}
    assert [framework for framework, lines in text.items() if '"rule": null' not in lines] == []
