"""Several processes, one set of counts: forked, spawned, killed and replaced workers add up exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.multiprocess.running import run
from tests.signals.desk import Desk, make_tools
from tests.signals.scrape import samples
from tooltel import signals
from tooltel.signals import Kind

pytestmark = pytest.mark.slow

OF_THE_MOMENT = "tooltel_catalog_loaded_timestamp_seconds"


def expected(turns: int) -> dict[str, int]:
    """What a number of turns of the shift in tests.multiprocess.programs adds up to."""
    once = (
        "ok", "streams", "error", "timeout", "first items", "unknown", "renamed", "refused", "rejected", "fields",
    )  # fmt: skip
    return dict.fromkeys(once, turns) | {"calls": 6 * turns, "durations": 6 * turns, "active": 0, "internal errors": 0}


@pytest.mark.parametrize("program", ["prefork", "spawn"])
def test_the_counts_of_several_workers_add_up_exactly(tmp_path: Path, program: str) -> None:
    found = run(tmp_path, program, 3, 40)
    assert found.pop("codes") == [0, 0, 0]
    assert found == expected(120)


def test_what_no_worker_has_touched_is_shown_at_0_as_in_a_single_process(tmp_path: Path) -> None:
    desk = Desk()
    for tool in make_tools():
        desk.tool(tool.name)
    alone = {(name, has): value for (name, has), value in samples(desk.tel).items() if name != OF_THE_MOMENT}
    shared = {
        (name, frozenset(map(tuple, has))): value
        for name, has, value in run(tmp_path, "untouched")
        if name != OF_THE_MOMENT
    }
    assert shared == alone


def test_a_first_call_changes_its_series_and_bears_nothing_but_its_duration(tmp_path: Path) -> None:
    """A series that appeared with its first count would be missed by increase()."""
    duration = "gen_ai_execute_tool_duration_seconds"
    assert run(tmp_path, "first_call") == {
        "new": [f"{duration}_bucket", f"{duration}_count", f"{duration}_sum"],
        "changed": ["tooltel_tool_calls_total"],
        "gone": [],
    }


@pytest.mark.parametrize("reaped", ["reaped", "not reaped"])
def test_a_worker_that_is_killed_in_a_call_is_no_longer_active(tmp_path: Path, reaped: str) -> None:
    found = run(tmp_path, "killed", reaped)
    assert found["active"] == [2, 1, 0]
    assert found["shown"] == 5, "the series stays, at 0"
    assert found["calls"] == 0


def test_counters_never_go_back_when_workers_are_replaced(tmp_path: Path) -> None:
    seen = run(tmp_path, "recycled", 4)
    assert [each["tooltel_tool_calls_total"] for each in seen] == [30, 60, 90, 120]
    assert [each["gen_ai_execute_tool_duration_seconds_count"] for each in seen] == [30, 60, 90, 120]


@pytest.mark.slow
def test_scrapes_while_workers_start_and_die_neither_fail_nor_go_back(tmp_path: Path) -> None:
    assert run(tmp_path, "scraped_meanwhile") == {"monotonic": True, "seen": True, "active": 0}


@pytest.mark.parametrize("shared", [True, False])
def test_threads_that_record_while_the_process_forks_leave_no_child_waiting(tmp_path: Path, shared: bool) -> None:
    found = run(tmp_path if shared else None, "threads_and_forks", 40)
    assert found == {"failed": 0, "internal errors": 0}


@pytest.mark.parametrize("shared", [True, False])
def test_a_garbage_collection_inside_a_recording_does_not_wait_for_itself(tmp_path: Path, shared: bool) -> None:
    found = run(tmp_path if shared else None, "collected", 120)
    assert found == {"abandoned": 120, "errors": 120, "active": 0}


def test_a_file_that_a_killed_worker_left_half_made_fails_no_scrape(tmp_path: Path) -> None:
    """What cannot be read is left out and counted; an empty file is any worker's first moment, and no failure."""
    assert run(tmp_path, "broken_files") == [6, 0, 6, 3]


def test_a_missing_directory_is_an_error_at_the_start_that_says_what_to_do(tmp_path: Path) -> None:
    said = run(tmp_path, "no_directory", "start")
    assert "PROMETHEUS_MULTIPROC_DIR" in said
    assert str(tmp_path) in said
    assert "make the directory" in said


def test_a_directory_that_is_gone_later_changes_no_result_and_fails_scrapes(tmp_path: Path) -> None:
    """Zeros for ever would look like a fleet at rest; a failed scrape is an alert."""
    *results, said = run(tmp_path, "no_directory", "later")
    assert results == ["done", "mine", "done", 2]
    assert str(tmp_path) in said


# --- what is declared, and what the catalog says ---


def test_what_one_worker_declared_is_seen_by_all_and_the_last_one_counts(tmp_path: Path) -> None:
    first, second, third = run(tmp_path, "declare")
    size = len('{"name":"kb_search","description":""}')
    assert first["chars"] == {"support": size + len("Search.")}
    assert second["chars"] == {"support": size + len("Search."), "sales": size + len("Search better.")}
    assert third["chars"] == {"support": size + len("Find."), "sales": size + len("Search better.")}
    assert third["tools"] == {"support": 1, "sales": 1}
    assert (third["tokens"], third["budget"]) == (2, 4000)


def test_a_fingerprint_is_in_use_as_long_as_a_worker_that_sent_it_lives(tmp_path: Path) -> None:
    found = run(tmp_path, "declare")
    assert [each["infos"] for each in found] == [0, 0, 0], "each worker ended before the scrape"
    assert run(tmp_path, "redeclare") == {"in the worker": [1, 1, 1], "in the parent": 0}


def test_what_the_catalog_says_is_there_once_however_many_workers_there_are(tmp_path: Path) -> None:
    found = run(tmp_path, "infos")
    once = {"tooltel_catalog_info": 1, "tooltel_build_info": 1, "tooltel_tool_info": 5}
    assert found["before"] == once | {"tooltel_tool_objective_ratio": 1}
    assert found["after"] == once | {"tooltel_tool_objective_ratio": 0}, "and follows a reload"
    assert found["calls"]


def test_a_real_scrape_of_several_processes_has_the_published_kinds(tmp_path: Path) -> None:
    found: dict[str, Any] = run(tmp_path, "served")
    assert found["restricted"] == ["tooltel_tool_calls_total"]
    assert found["same"]
    published = {row.family: row.kind.value for row in signals.IN_PROCESS}
    assert found["openmetrics"].items() <= published.items()
    # A real worker has to have done what these tell of.
    missing = {"tooltel_declaration_tokens", "tooltel_tool_declaration"}
    assert set(published) - set(found["openmetrics"]) == missing
    assert found["text"] == {
        (row.name if row.kind is Kind.INFO else row.family): "gauge" if row.kind is Kind.INFO else row.kind.value
        for row in signals.IN_PROCESS
        if row.family not in missing
    }


def test_exemplars_do_not_exist_where_values_are_shared(tmp_path: Path) -> None:
    assert run(tmp_path, "exemplars") == {"exemplars": 0, "calls": 2, "spans": 1, "internal errors": 0}


def test_a_host_that_exposes_the_files_itself_sees_the_same_counts(tmp_path: Path) -> None:
    assert run(tmp_path, "host_registry") == {"calls": 18, "tools": 5, "created": False}


# --- without the variable, or too late ---


def test_a_fork_without_shared_values_is_warned_about_once_where_a_call_is_recorded() -> None:
    """Many processes fork and never call a tool there: those need no warning."""
    found = run(None, "forked_without")
    (warning,) = found.pop("child that calls")
    assert "PROMETHEUS_MULTIPROC_DIR" in warning
    assert found == {"child that does not": [], "parent": []}


def test_a_host_that_makes_errors_of_warnings_keeps_its_results() -> None:
    assert run(None, "warned_as_an_error") == {"results": ["done"] * 3, "active": 0, "calls": 3}


def test_forks_with_shared_values_need_no_warning(tmp_path: Path) -> None:
    assert run(tmp_path, "forked_without") == {"child that calls": [], "child that does not": [], "parent": []}


def test_a_variable_that_is_set_too_late_leaves_a_single_process_that_shows_its_counts(tmp_path: Path) -> None:
    """prometheus_client decided at its import; to read the empty directory would show zeros for ever."""
    assert run(None, "variable_too_late", tmp_path) == {"calls": 1, "infos": 5, "files": []}
