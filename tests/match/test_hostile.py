"""Whatever a line holds, judging it ends soon and never raises."""

from __future__ import annotations

import json
import time
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltel.catalog import Catalog, Signature, Tool
from tooltel.match import FRAMEWORKS, Judge, Record, Rule, builtin_rules, rules_of_catalog
from tooltel.signals import NAME_LIMIT, Status

CATALOG = Catalog([Tool("order_find", "orders")], open=True)
JUDGE = Judge(builtin_rules(), CATALOG)
BOUND = 0.5  # seconds of this thread's CPU for one line, on a slow machine; the usual is far below a millisecond
SAMPLES = [
    row
    for framework in FRAMEWORKS
    for line in (resources.files("tooltel.match") / "frameworks" / f"{framework}.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
    if (row := json.loads(line))["rule"]
]
LOGGERS = sorted({rule.loggers[0].replace(".*", ".x") for rule in builtin_rules() if rule.loggers})


def seconds_to_judge(judge: Judge, record: Record) -> float:
    begin = time.thread_time()
    judge.judge(record)
    return time.thread_time() - begin


@pytest.mark.parametrize("rule", builtin_rules(), ids=lambda rule: rule.id)
def test_a_megabyte_made_of_a_rules_own_pieces_is_judged_in_time(rule: Rule) -> None:
    logger = rule.loggers[0].replace(".*", ".x") if rule.loggers else None
    level = rule.levels[0] if rule.levels else None
    judge = Judge([rule], CATALOG, framework=rule.framework)
    for row in (row for row in SAMPLES if row["rule"] == rule.id):
        text = row["message"]
        cuts = [text[:cut] for cut in range(1, min(len(text), 200), 7)]
        for piece in (text, *cuts, *(text[cut:] for cut in range(1, min(len(text), 200), 7))):
            hostile = (text[: len(text) // 2] + piece * (2**20 // len(piece)))[: 2**20] + rule.literal.decode()
            assert seconds_to_judge(judge, Record(hostile, logger, level)) < BOUND, piece


@pytest.mark.parametrize(
    "filler", ["'", "a", " ", "\n", "Tool '", "' not found.", "<", ">", "(", "): ", "ERROR ", "- "]
)
@pytest.mark.parametrize("logger", [None, *LOGGERS])
def test_a_long_line_of_one_character_or_word_is_judged_in_time(logger: str | None, filler: str) -> None:
    literals = b" ".join(JUDGE.literals).decode()
    text = literals + filler * (2**20 // len(filler)) + literals
    assert seconds_to_judge(JUDGE, Record(text, logger, "ERROR")) < BOUND


@pytest.mark.parametrize(
    "pattern",
    [
        r"no such tool .*x.*y",
        r"no such tool (?P<name>\w*)\s*end",
        r"no such tool [^x]*?a[^y]*?b",
        r"no such tool\s+\s+z",
        r"no such tool (?:a|b)?(?:c|a)?\w*\s*!",
    ],
)
def test_a_signature_that_was_not_refused_is_judged_in_time(pattern: str) -> None:
    made = Catalog(signatures=[Signature("not_found", pattern)], open=True)
    judge = Judge(rules_of_catalog(made), made)
    for filler in ("x", "a", " ", "xy", "ab", "\t", "x a", "aaaab"):
        text = "no such tool " + filler * (2**20 // len(filler))
        assert seconds_to_judge(judge, Record(text)) < BOUND, filler


@given(
    st.text(),
    st.none() | st.sampled_from(LOGGERS) | st.text(max_size=20),
    st.none() | st.sampled_from(["INFO", "WARNING", "ERROR"]) | st.text(max_size=5),
    st.lists(st.text(), max_size=4),
)
def test_no_record_makes_it_raise(message: str, logger: str | None, level: str | None, following: list[str]) -> None:
    JUDGE.judge(Record(message, logger, level, tuple(following)))


@given(st.sampled_from(SAMPLES), st.integers(0, 400), st.integers(0, 400), st.text(max_size=30))
def test_no_damage_to_a_line_makes_it_raise_or_count_without_its_literal(
    row: dict[str, str], begin: int, length: int, put: str
) -> None:
    text = row["message"][:begin] + put + row["message"][begin + length :]
    match = JUDGE.judge(Record(text, row["logger"], row["level"]))
    assert match is None or match.rule.literal.decode() in (row["logger"] or "") + text


@given(st.text(max_size=300))
def test_any_name_that_google_adk_prints_is_one_drop_with_that_name(name: str) -> None:
    text = f"Tool '{name}' not found.\nAvailable tools: order_find, ok\n\nPossible causes:\n  1. LLM hallucinated"
    match = JUDGE.judge(Record(text, "google_adk.google.adk.flows.llm_flows.tools._caller", "WARNING"))
    assert match is not None
    assert match.outcome.missing == CATALOG.explain(name, None)


@given(st.text(max_size=300))
def test_any_name_that_google_adk_for_java_prints_is_one_drop_with_that_name(name: str) -> None:
    match = JUDGE.judge(Record(f"Tool not found: {name}", "com.google.adk.flows.llmflows.Functions", "WARNING"))
    assert match is not None
    assert match.outcome.missing == CATALOG.explain(name, None)


@given(st.text(max_size=300))
def test_any_name_that_mcp_prints_is_one_drop(name: str) -> None:
    text = f"Tool {name!r} failed: {f'Unknown tool: {name}'!r}"
    match = JUDGE.judge(Record(text, "mcp.server.mcpserver.server", "INFO"))
    assert match is not None
    assert match.outcome.status is Status.NOT_FOUND


def test_a_name_of_a_megabyte_is_one_drop_with_a_bounded_name() -> None:
    text = f"Tool '{'n' * 2**20}' not found.\nAvailable tools: order_find\n\nPossible causes:\n"
    match = JUDGE.judge(Record(text, "google_adk.google.adk.flows.llm_flows.tools._caller", "WARNING"))
    assert match is not None
    assert match.outcome.missing is not None
    assert len(match.outcome.missing.requested) == NAME_LIMIT
