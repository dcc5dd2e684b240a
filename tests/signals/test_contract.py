"""The table of signals is the published contract, and a real scrape shows exactly its emitted rows."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

import tooltel
from tests.signals.desk import Desk, raising, rejection
from tests.signals.scrape import OPENMETRICS, families, fetch
from tooltel import signals
from tooltel.signals import Kind, State, Status

if TYPE_CHECKING:
    from tests.servers import Servers

# Written by hand from the design, so that a slip in tooltel.signals is a difference and not a new truth.
EMITTED = """
tooltel_tool_calls_total                   counter    tool owner version risk profile outcome
gen_ai_execute_tool_duration_seconds       histogram  gen_ai_tool_name error_type owner risk
tooltel_stream_first_item_seconds          histogram  tool owner
tooltel_tool_calls_active                  gauge      tool owner
tooltel_tool_not_found_total               counter    profile owner reason requested
tooltel_alias_calls_total                  counter    alias tool owner
tooltel_rejections_total                   counter    tool owner kind source
tooltel_rejected_fields_total              counter    tool owner kind field
tooltel_policy_refusals_total              counter    tool owner risk policy
tooltel_repeated_calls_total               counter    tool owner risk
tooltel_batch_items_total                  counter    tool owner status
tooltel_declaration_chars                  gauge      profile owner
tooltel_declaration_tokens                 gauge      profile owner
tooltel_declaration_budget_chars           gauge      profile owner
tooltel_profile_tools                      gauge      profile owner
tooltel_tool_declaration_chars             gauge      tool owner
tooltel_tool_info                          info       tool owner version risk
tooltel_tool_declaration_info              info       tool owner version sha
tooltel_tool_objective_ratio               gauge      tool owner
tooltel_catalog_info                       info       sha
tooltel_build_info                         info       version
tooltel_catalog_loaded_timestamp_seconds   gauge
tooltel_catalog_reload_failures_total      counter
tooltel_internal_errors_total              counter    component
tooltel_label_overflow_total               counter    metric
tooltel_sidecar_lines_total                counter    source
tooltel_sidecar_bytes_total                counter    source
tooltel_sidecar_matches_total              counter    source signature
tooltel_sidecar_skipped_lines_total        counter    source cause
tooltel_sidecar_skipped_bytes_total        counter    source
tooltel_sidecar_truncations_total          counter    source
tooltel_sidecar_rotations_total            counter    source
tooltel_sidecar_checkpoint_failures_total  counter    source
tooltel_sidecar_lag_bytes                  gauge      source
tooltel_sidecar_open_files                 gauge      source
tooltel_sidecar_last_read_timestamp_seconds gauge     source
"""
WAITING = """
tooltel_corrections_total                  counter    tool owner corrected
tooltel_mcp_server_info                    info       server server_version owner
tooltel_mcp_server_pinned_info             info       server server_version owner
tooltel_mcp_unlisted_tools                 gauge      server owner
tooltel_mcp_changed_tools                  gauge      server owner
"""
EVENTS = {
    "tool_call", "tool_not_found", "tool_alias_called", "tool_rejected", "tool_refused", "tool_call_repeated",
    "tool_result_partial", "tools_offered", "catalog_reloaded", "catalog_reload_failed", "declaration_changed",
    "mcp_drift", "telemetry_error",
}  # fmt: skip
EXTRA_EVENTS = {"catalog_problem"}  # warnings of a catalog at start-up

Row = tuple[str, str, tuple[str, ...]]


def rows(text: str) -> set[Row]:
    split = [line.split() for line in text.strip().splitlines()]
    return {(words[0], words[1], tuple(words[2:])) for words in split}


def as_rows(state: State) -> set[Row]:
    return {(row.name, row.kind.value, row.labels) for row in signals.METRICS if row.state is state}


@pytest.mark.parametrize(("state", "text"), [(State.EMITTED, EMITTED), (State.WAITING, WAITING)])
def test_rows_have_the_published_names_kinds_and_labels_in_order(state: State, text: str) -> None:
    assert as_rows(state) == rows(text)


def test_names_are_unique_and_well_formed_by_kind() -> None:
    names = [row.name for row in signals.METRICS]
    assert len(names) == len(set(names))
    for row in signals.METRICS:
        assert row.name.endswith("_total") == (row.kind is Kind.COUNTER)
        assert row.name.endswith("_info") == (row.kind is Kind.INFO)
        assert row.help.endswith(".")
        assert len(set(row.labels)) == len(row.labels)


def test_log_events_have_the_published_names() -> None:
    assert {event.value for event in signals.Event} == EVENTS | EXTRA_EVENTS


def test_buckets_are_the_published_ones_and_none_is_a_whole_number() -> None:
    published = "0.01 0.02 0.04 0.08 0.16 0.32 0.64 1.28 2.56 5.12 10.24 20.48 40.96 81.92"
    assert tuple(map(float, published.split())) == signals.BUCKETS
    assert not any(bound.is_integer() for bound in signals.BUCKETS)


# --- a real scrape, after one of everything happened ------------------------------------------------


@pytest.fixture
def lived() -> Iterator[tuple[Desk, str]]:
    """A desk at which one of everything happened, and where to scrape it."""
    desk = Desk(count_tokens=len)
    live_through(desk)
    with desk.tel.serve(port=0) as exposition:
        yield desk, exposition.url


def live_through(desk: Desk) -> None:
    """Let one of everything happen."""
    declaration = {"name": "order_lookup", "description": "x", "parameters": {"properties": {"limit": {}}}}
    with desk.tel.session(profile="support", id="s-1"):
        desk.tel.declared("support", [declaration])
        desk.act("kb_search")
        desk.act("order_lookup", raising(ValueError("bad")))
        desk.act("order_lookup", raising(tooltel.Rejected("limit", problem="too much")))
        desk.act("order_refund", raising(tooltel.Refused("no", policy="refunds")))
        desk.act("order_update", lambda: {"status": "partial", "results": [{"status": "ok"}, {"status": "failed"}]})
        desk.tel.alias("change_order", desk.tool("order_update"))(lambda: "done")
        desk.act("order_update")  # again
        desk.tel.not_found("made_up")
    with desk.tel.session(profile="sales"):
        assert list(desk.act("kb_read_pages", lambda: ["page"])) == ["page"]
    desk.publish(Status.OK, rejections=(rejection("limit"),))


def test_a_scrape_in_text_format_shows_exactly_the_rows_of_a_process(lived: tuple[Desk, str]) -> None:
    """The old text format knows no info type: there an info is a gauge whose name ends in _info."""
    found = families(lived[1])
    expected = {
        row.name if row.kind is Kind.INFO else row.family: ("gauge" if row.kind is Kind.INFO else row.kind.value)
        for row in signals.IN_PROCESS
    }
    assert {name: family.type for name, family in found.items()} == expected


def test_a_scrape_in_openmetrics_shows_exactly_the_rows_of_a_process(lived: tuple[Desk, str]) -> None:
    found = families(lived[1], OPENMETRICS)
    assert {name: family.type for name, family in found.items()} == {
        row.family: row.kind.value for row in signals.IN_PROCESS
    }
    assert {name: family.documentation for name, family in found.items()} == {
        row.family: row.help for row in signals.IN_PROCESS
    }


@pytest.mark.parametrize("accept", ["text/plain", OPENMETRICS])
def test_every_series_has_the_labels_of_its_row_and_nothing_else(lived: tuple[Desk, str], accept: str) -> None:
    by_series = {name: row for row in signals.IN_PROCESS for name in row.series}
    seen = set()
    for family in families(lived[1], accept).values():
        assert family.samples, family.name
        for sample in family.samples:
            row = by_series[sample.name]
            seen.add(sample.name)
            assert set(sample.labels) - {"le"} == set(row.labels), sample.name
            assert ("le" in sample.labels) == sample.name.endswith("_bucket")
    assert seen == set(by_series)


def test_label_values_stand_in_the_order_of_the_row(lived: tuple[Desk, str]) -> None:
    """A call's values are all different here, so that two swapped ones could not hide."""
    text = fetch(lived[1])[0].decode()
    line = (
        'tooltel_tool_calls_total{outcome="ok",owner="kb",profile="support",risk="read",tool="kb_search",version="3"}'
    )
    assert f"{line} 1.0" in text.splitlines()


def test_promtool_finds_nothing_to_complain_about(lived: tuple[Desk, str], servers: Servers) -> None:
    said = subprocess.run(
        [servers.promtool, "check", "metrics"], input=fetch(lived[1])[0], capture_output=True, check=False
    )
    assert (said.returncode, said.stdout.decode(), said.stderr.decode()) == (0, "", "")
