"""What a record comes to: the same outcome as a call, by profile, framework, level and logger."""

from __future__ import annotations

import pytest

from tooltel import signals
from tooltel.catalog import Catalog, Profile, Tool
from tooltel.match import FRAMEWORKS, Judge, Match, Needs, Record, builtin_rules, known_writers
from tooltel.match.rules import LITERAL, is_logger
from tooltel.signals import Reason, RejectionKind, RejectionSource, Status

CALLER = "google_adk.google.adk.flows.llm_flows.tools._caller"
FUNCTIONS = "com.google.adk.flows.llmflows.Functions"
CATALOG = Catalog(
    [
        Tool("order_find", "orders", risk="read", profiles=["support"], aliases=["find_order"], retired=["search"]),
        Tool("order_refund", "payments", risk="irreversible", profiles=["sales"]),
    ],
    profiles=[Profile("support", "desk"), Profile("sales", "desk")],
    platform_owner="platform",
    open=True,
)


def dropped(name: str) -> Record:
    return Record(f"Tool '{name}' not found.\nAvailable tools: order_find", CALLER, "WARNING")


def judge(record: Record, *, profile: str | None = None, framework: str | None = None) -> Match | None:
    return Judge(builtin_rules(), CATALOG, profile, framework).judge(record)


@pytest.mark.parametrize(
    ("name", "reason", "owner", "known"),
    [
        ("order_refund", Reason.NOT_IN_PROFILE, "payments", True),
        ("search", Reason.RENAMED, "orders", True),
        ("find_order", Reason.RENAMED, "orders", True),
        ("order_fnd", Reason.UNKNOWN, "desk", False),
        ("order_find ", Reason.UNKNOWN, "desk", False),
        ("", Reason.EMPTY, "desk", False),
        ("  ", Reason.EMPTY, "desk", False),
    ],
)
def test_a_drop_is_explained_as_that_of_a_call_is(name: str, reason: Reason, owner: str, known: bool) -> None:
    match = judge(dropped(name), profile="support")
    assert match is not None
    outcome = match.outcome
    assert outcome.missing == CATALOG.explain(name, "support")
    assert outcome.missing is not None
    assert (outcome.missing.reason, outcome.missing.owner, outcome.missing.known) == (reason, owner, known)
    assert (outcome.status, outcome.tool, outcome.error_type) == (Status.NOT_FOUND, None, signals.ERROR_NOT_FOUND)
    assert outcome.origin.profile == "support"


def test_without_a_profile_it_is_the_label_none_and_the_platforms() -> None:
    match = judge(dropped("order_fnd"))
    assert match is not None
    assert match.outcome.missing is not None
    assert (match.outcome.origin.profile, match.outcome.missing.owner) == ("none", "platform")


def test_a_rejection_is_of_the_catalogs_tool_with_the_arguments_that_the_line_names() -> None:
    match = judge(Record("Tool 'order_find' rejected arguments: ['id', 'kind']", "mcp.server.mcpserver.server", "INFO"))
    assert match is not None
    outcome = match.outcome
    assert (outcome.status, outcome.tool) == (Status.INVALID_ARGUMENTS, CATALOG.tools["order_find"])
    assert outcome.error_type == signals.ERROR_INVALID
    (rejection,) = outcome.rejections
    assert (rejection.kind, rejection.source) == (RejectionKind.STRUCTURAL, RejectionSource.FRAMEWORK)
    assert [fault.field for fault in rejection.faults] == ["id", "kind"]


def test_an_old_name_in_a_line_is_the_tools_alias() -> None:
    match = judge(Record("Tool 'find_order' raised an unexpected exception", "mcp.server.mcpserver.server", "ERROR"))
    assert match is not None
    outcome = match.outcome
    assert (outcome.status, outcome.alias) == (Status.ERROR, "find_order")
    assert outcome.tool is CATALOG.tools["order_find"]


def test_a_tool_that_the_catalog_does_not_hold_is_unowned() -> None:
    match = judge(Record("Error calling tool 'drill'", "fastmcp.server.server", "ERROR"))
    assert match is not None
    assert match.outcome.tool == Tool("drill", signals.UNOWNED, signals.UNKNOWN_RISK, "")


def test_a_tool_that_the_host_did_not_offer_is_a_refusal_by_its_filter() -> None:
    text = "The function `order_find` is not part of the provided functions: Only functions: ['x'] are allowed, ..."
    match = judge(Record(text, "semantic_kernel.kernel", "ERROR"))
    assert match is not None
    assert (match.outcome.status, match.outcome.policy) == (Status.REFUSED, signals.POLICY_FILTER)


def test_an_ambiguous_line_counts_for_a_tool_that_is_another_profiles() -> None:
    record = Record("Tool 'order_refund' not found in tool runner. Available tools: ['order_find']", "py.warnings")
    assert judge(record, profile="sales") is None
    match = judge(record, profile="support")
    assert match is not None
    assert match.outcome.missing is not None
    assert match.outcome.missing.reason is Reason.NOT_IN_PROFILE


@pytest.mark.parametrize(
    ("framework", "text"),
    [
        ("google-adk-java", "java.lang.RuntimeException: Tool not found: drill"),
        ("google-adk-java", "Tool not found: drill"),
        ("agno", "Function drill not found"),
        ("google-adk-go", 'agent run failed: unknown tool: "drill"'),
        ("google-adk-go", "agent run failed: tool 'drill' not found.\nAvailable tools: saw"),
    ],
)
def test_words_that_are_anybodys_count_where_the_framework_is_known(framework: str, text: str) -> None:
    match = judge(Record(text), framework=framework)
    assert match is not None
    assert match.outcome.missing is not None
    assert match.outcome.missing.requested == "drill"
    assert judge(Record(text)) is None
    assert judge(Record(text), framework="mcp") is None


def test_what_only_a_known_framework_decides_is_not_even_looked_for_without() -> None:
    assert b"unknown tool: " not in Judge(builtin_rules(), CATALOG).literals
    assert b"unknown tool: " in Judge(builtin_rules(), CATALOG, framework="google-adk-go").literals


def test_where_the_framework_is_known_no_others_line_counts() -> None:
    assert judge(dropped("drill"), framework="google-adk") is not None
    assert judge(dropped("drill"), framework="agno") is None


@pytest.mark.parametrize(
    ("seen", "is_it"),
    [
        (FUNCTIONS, True),
        ("c.g.adk.flows.llmflows.Functions", True),
        ("c.g.a.f.l.Functions", True),
        ("com.google.a.f.llmflows.Functions", True),
        ("llmflows.Functions", True),
        ("Functions", True),
        ("c.g.adk.agents.llmflows.Functions", False),
        ("c.x.adk.flows.llmflows.Functions", False),
        ("flows.Functions", False),
        ("com.google.adk.flows.llmflows.Functions2", False),
        ("com.google.adk.flows.llmflows.F", False),
        ("c..adk.flows.llmflows.Functions", False),
        ("", False),
    ],
)
def test_a_java_logger_is_known_in_full_and_as_layouts_shorten_it(seen: str, is_it: bool) -> None:
    assert is_logger(seen, FUNCTIONS) is is_it


def test_a_prefix_takes_the_logger_itself_and_what_is_below() -> None:
    assert is_logger("google_adk", "google_adk.*")
    assert is_logger("google_adk.google.adk.anything.new", "google_adk.*")
    assert not is_logger("google_adkx.y", "google_adk.*")


def test_a_python_logger_is_not_shortened() -> None:
    assert not is_logger("kernel", "semantic_kernel.kernel")


def test_every_literal_is_of_characters_that_no_encoder_escapes() -> None:
    for rule in builtin_rules():
        assert LITERAL.fullmatch(rule.literal), rule.id


def test_ids_are_unique_and_begin_with_their_framework() -> None:
    ids = [rule.id for rule in builtin_rules()]
    assert len(set(ids)) == len(ids)
    assert {rule.framework for rule in builtin_rules()} == set(FRAMEWORKS)
    assert all(rule.id.startswith(f"{rule.framework}.") for rule in builtin_rules())


def test_a_rule_decides_by_its_text_alone_only_where_it_says_so() -> None:
    rule = next(rule for rule in builtin_rules() if rule.id == "google-adk-java.not_found")
    assert (rule.decides, rule.needs) == (False, Needs.LOGGER)
    assert judge(Record("Tool not found: drill")) is None


def test_every_known_writer_is_a_logger_of_a_rule_of_its_framework() -> None:
    for writer in known_writers():
        assert any(rule.takes_logger(writer) for rule in builtin_rules() if rule.loggers), writer


def test_made_up_loggers_cost_no_memory_without_end() -> None:
    judging = Judge(builtin_rules(), CATALOG)
    for number in range(5000):
        judging.judge(Record("nothing", f"logger.{number}", "INFO"))
    assert len(judging._known) <= 1024
