"""Expressions are text that parses, and refuse names that nothing emits."""

from __future__ import annotations

import promql_parser
import pytest

from tooltel import promql, signals
from tooltel.errors import SignalError
from tooltel.promql import Recorded, Scope

PLAIN = Scope()
FLEET = Scope(selector={"namespace": "agents"}, keep=("cluster",))
CALLS = signals.TOOL_CALLS


def test_a_selector_holds_static_matchers_first() -> None:
    assert FLEET.series(CALLS, outcome="ok").text == ('tooltel_tool_calls_total{namespace="agents", outcome="ok"}')


def test_a_matcher_given_by_hand_wins_over_the_static_one() -> None:
    assert FLEET.series(CALLS, namespace=promql.differs("test")).text == ('tooltel_tool_calls_total{namespace!="test"}')


def test_a_label_that_the_row_lacks_is_refused() -> None:
    with pytest.raises(SignalError, match="no label requested"):
        PLAIN.series(CALLS, requested="x")


def test_a_suffix_that_does_not_fit_the_kind_is_refused() -> None:
    with pytest.raises(SignalError, match="has no series"):
        PLAIN.series(CALLS, "_bucket")
    with pytest.raises(SignalError, match="has no series"):
        PLAIN.series(signals.DURATION)


def test_le_belongs_to_buckets_only() -> None:
    assert 'le="2.56"' in PLAIN.rate(signals.DURATION, "5m", "_bucket", le="2.56").text
    with pytest.raises(SignalError, match="no label le"):
        PLAIN.rate(signals.DURATION, "5m", "_count", le="2.56")


def test_every_aggregation_keeps_the_cluster() -> None:
    assert FLEET.total(FLEET.rate(CALLS, "5m"), "owner").text == (
        'sum by (cluster, owner) (rate(tooltel_tool_calls_total{namespace="agents"}[5m]))'
    )
    assert PLAIN.total(PLAIN.series(CALLS), function="count").text == "count(tooltel_tool_calls_total)"


def test_every_join_keeps_the_cluster() -> None:
    total = FLEET.total(FLEET.rate(CALLS, "5m"), "owner", "tool")
    assert "and on (cluster, owner, tool)" in FLEET.join(total, "and", total, "owner", "tool").text


def test_an_aggregation_by_a_label_that_is_gone_is_refused() -> None:
    total = PLAIN.total(PLAIN.rate(CALLS, "5m"), "owner")
    with pytest.raises(SignalError, match="no label tool"):
        PLAIN.total(total, "tool")


def test_a_join_on_a_label_that_one_side_lacks_is_refused() -> None:
    left = PLAIN.total(PLAIN.rate(CALLS, "5m"), "owner", "tool")
    right = PLAIN.total(PLAIN.series(signals.DECLARATION_CHARS), "owner", "profile", function="max")
    with pytest.raises(SignalError, match="no label tool"):
        PLAIN.join(left, "and", right, "owner", "tool")


def test_a_join_may_bring_labels_of_the_one_side() -> None:
    calls = PLAIN.total(PLAIN.rate(CALLS, "5m"), "tool", "outcome")
    joined = PLAIN.join(calls, "*", PLAIN.series(signals.TOOL_INFO), "tool", bring=("owner",))
    assert "* on (tool) group_left (owner)" in joined.text
    assert joined.labels == {"tool", "outcome", "owner"}


def test_a_comparison_on_labels_keeps_only_those() -> None:
    total = PLAIN.total(PLAIN.series(CALLS), "owner", "tool", "outcome")
    other = PLAIN.total(PLAIN.series(CALLS), "owner", "tool")
    assert PLAIN.join(total, ">", other, "owner", "tool").labels == {"owner", "tool"}
    assert PLAIN.join(total, "and", other, "owner", "tool").labels == {"owner", "tool", "outcome"}


def test_a_renamed_label_can_be_used_and_an_unknown_one_not() -> None:
    latency = PLAIN.rate(signals.DURATION, "5m", "_count")
    assert "tool" in promql.renamed(latency, "gen_ai_tool_name", "tool").labels
    with pytest.raises(SignalError, match="no label profile"):
        promql.renamed(latency, "profile", "tool")


def test_operands_keep_their_meaning() -> None:
    either = promql.either(promql.scalar(1), promql.scalar(2))
    assert promql.compare(either, ">", 3).text == "(\n  1\n  or\n  2\n) > 3"


def test_a_first_event_is_seen_and_a_gap_of_scraping_is_not() -> None:
    assert PLAIN.first_seen_or_increase(signals.POLICY_REFUSALS, "15m", risk="write").text == (
        '(\n  tooltel_policy_refusals_total{risk="write"}\n  unless\n'
        '  present_over_time(tooltel_policy_refusals_total{risk="write"}[1d] offset 15m)\n)\n'
        'or\nincrease(tooltel_policy_refusals_total{risk="write"}[15m])'
    )


def test_only_a_counter_can_be_first_seen() -> None:
    with pytest.raises(SignalError, match="not a counter"):
        PLAIN.first_seen_or_increase(signals.ACTIVE, "15m")


def test_an_expression_knows_the_rows_that_it_reads_also_through_recorded_series() -> None:
    errors = FLEET.total(FLEET.rate(CALLS, "5m"), "owner", "tool")
    recorded = Recorded("owner_tool:tooltel_tool_calls:rate5m", errors)
    live = FLEET.join(FLEET.recorded(recorded), "and", FLEET.series(signals.TOOL_INFO), "owner", "tool")
    assert promql.call("topk", 3, live).reads == {CALLS, signals.TOOL_INFO}


def test_a_recorded_series_has_the_labels_of_its_rule_and_the_static_matchers() -> None:
    recorded = Recorded("owner_tool:x:rate5m", FLEET.total(FLEET.rate(CALLS, "5m"), "owner", "tool"))
    assert FLEET.recorded(recorded, tool="a").text == 'owner_tool:x:rate5m{namespace="agents", tool="a"}'
    with pytest.raises(SignalError, match="no label outcome"):
        FLEET.recorded(recorded, outcome="ok")


@pytest.mark.parametrize("scope", [PLAIN, FLEET], ids=["plain", "fleet"])
def test_what_is_built_parses(scope: Scope) -> None:
    bad = scope.total(scope.rate(CALLS, "5m", outcome=promql.one_of("error", "timeout")), "owner", "tool")
    every = scope.total(scope.rate(CALLS, "5m"), "owner", "tool")
    ratio = scope.join(bad, "/", every, "owner", "tool")
    high = promql.either(promql.compare(ratio, ">", 0.05), promql.compare(ratio, "==", 1))
    live = scope.join(high, "and", scope.series(signals.TOOL_INFO), "owner", "tool")
    promql_parser.parse(promql.call("topk", 3, live).text)
    promql_parser.parse(scope.total(scope.first_seen_or_increase(signals.NOT_FOUND, "15m"), "owner").text)
