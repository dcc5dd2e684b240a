"""Rows say what happened, by tool and by owner, as alerts and dashboards count it."""

from __future__ import annotations

from typing import Any

import pytest

from tooltel.top.gains import Key, Part, What, add_up
from tooltel.top.looks import Firing, Look, Window
from tooltel.top.pages import read_page
from tooltel.top.rows import By, Row, Sort, filter_rows, make_rows, sort_rows

REFUND = Key("refund", "orders")
LOOKUP = Key("lookup", "orders")
SEARCH = Key("kb_search", "kb")


def look(gains: dict[Part, float] | None = None, *keys: Key, **more: Any) -> Look:
    return Look(gains or {}, frozenset(keys), **{"seconds": 10.0, **more})


def settled(key: Key, **outcomes: float) -> dict[Part, float]:
    return {Part(key, What.CALLS, outcome): count for outcome, count in outcomes.items()}


def row_of(given: Look, key: Key, by: By = By.TOOL) -> Row:
    return {row.key: row for row in make_rows(given, by)}[key]


def test_calls_are_per_second_of_the_time_they_took() -> None:
    row = row_of(look(settled(REFUND, ok=30, error=10)), REFUND)
    assert (row.calls, row.per_second) == (40, 4.0)
    assert row_of(look(settled(REFUND, ok=30), seconds=None), REFUND).per_second is None


def test_errors_are_the_share_that_burns_the_budget() -> None:
    """Errors and timeouts, among all but what is nobody's fault."""
    outcomes = {"ok": 5, "partial": 1, "error": 2, "timeout": 2, "invalid_arguments": 90, "refused": 5, "cancelled": 5}
    assert row_of(look(settled(REFUND, **outcomes)), REFUND).error_ratio == 0.4


def test_without_calls_nothing_is_known_of_errors_and_time() -> None:
    row = row_of(look({}, REFUND), REFUND)
    assert (row.calls, row.per_second, row.error_ratio, row.p95) == (0, 0.0, None, None)
    assert row_of(look(settled(REFUND, refused=3)), REFUND).error_ratio is None


def test_a_rejected_call_counts_once_however_many_sources_saw_it() -> None:
    gains = {
        Part(REFUND, What.REJECTED, "structural", "framework"): 3.0,
        Part(REFUND, What.REJECTED, "structural", "schema"): 5.0,
        Part(REFUND, What.REJECTED, "domain", "tool"): 2.0,
        Part(LOOKUP, What.REJECTED, "structural", "framework"): 4.0,
    }
    assert row_of(look(gains), REFUND).rejected == 7.0
    assert row_of(look(gains), Key("", "orders"), By.OWNER).rejected == 11.0


def test_a_call_to_no_tool_has_a_row_only_once_it_happened() -> None:
    none, retired = Part(Key("", "desk"), What.NOT_FOUND), Part(Key("old_refund", "orders"), What.NOT_FOUND)
    assert make_rows(look({none: 0.0, retired: 0.0})) == []
    rows = make_rows(look({none: 2.0, retired: 1.0}))
    assert [(row.tool, row.owner, row.not_found) for row in sort_rows(rows, Sort.NOT_FOUND)] == [
        ("", "desk", 2.0),
        ("old_refund", "orders", 1.0),
    ]


def test_owners_add_their_tools_up() -> None:
    gains = {**settled(REFUND, ok=1), **settled(LOOKUP, ok=2, error=1), Part(Key("", "kb"), What.NOT_FOUND): 1.0}
    rows = {row.owner: row for row in make_rows(look(gains, REFUND, LOOKUP, SEARCH), By.OWNER)}
    assert {owner: (row.tools, row.calls, row.not_found) for owner, row in rows.items()} == {
        "orders": (2, 4, 0),
        "kb": (1, 0, 1),
    }
    assert rows["orders"].error_ratio == 0.25


def test_tools_beyond_the_bound_are_one_row() -> None:
    (row,) = make_rows(look(settled(Key("other", "unowned"), ok=3)))
    assert row.is_overflow
    assert row.calls == 3


# --- alerts ----------------------------------------------------------------------------------------------


def test_an_alert_stands_on_its_tools_row_whoever_gets_its_pages() -> None:
    alert = Firing("ToolErrorBudgetBurn", "page", "platform", "refund")
    found = look(settled(REFUND, ok=1), SEARCH, firing=(alert,))
    assert row_of(found, REFUND).firing == (alert,)
    assert row_of(found, SEARCH).firing == ()
    assert row_of(found, Key("", "platform"), By.OWNER).firing == (alert,)
    assert row_of(found, Key("", "orders"), By.OWNER).firing == ()


def test_an_alert_about_what_has_no_numbers_has_a_row_of_its_own() -> None:
    gone, fleet = Firing("TargetDown", "ticket", "platform", ""), Firing("ToolLatencyHigh", "page", "kb", "lost_tool")
    rows = {row.key: row.firing for row in make_rows(look(firing=(gone, fleet)))}
    assert rows == {Key("", "platform"): (gone,), Key("lost_tool", "kb"): (fleet,)}


# --- order and filter ------------------------------------------------------------------------------------

ROWS = [
    Row("a", "x", calls=1, error_ratio=0.5, p95=None, not_found=3, rejected=0),
    Row("b", "y", calls=9, error_ratio=None, p95=0.2, not_found=0, rejected=2),
    Row(
        "c", "x", calls=9, error_ratio=0.1, p95=1.0, not_found=0, rejected=1, firing=(Firing("Burn", "page", "x", "c"),)
    ),
]


@pytest.mark.parametrize(
    ("sort", "forward", "backward"),
    [
        (Sort.CALLS, "bca", "abc"),
        (Sort.ERRORS, "acb", "cab"),
        (Sort.P95, "cba", "bca"),
        (Sort.NOT_FOUND, "abc", "bca"),
        (Sort.REJECTED, "bca", "acb"),
        (Sort.FIRING, "cab", "abc"),
        (Sort.NAME, "abc", "cba"),
    ],
)
def test_sorting_puts_first_what_wants_attention_and_last_what_is_not_known(
    sort: Sort, forward: str, backward: str
) -> None:
    assert "".join(row.tool for row in sort_rows(reversed(ROWS), sort)) == forward
    assert "".join(row.tool for row in sort_rows(ROWS, sort, reverse=True)) == backward


@pytest.mark.parametrize("reverse", [True, False])
def test_among_equals_what_is_idle_comes_last(reverse: bool) -> None:
    rows = [Row("a", "x"), Row("b", "x", not_found=1), Row("c", "x", rejected=1)]
    assert "".join(row.tool for row in sort_rows(rows, Sort.CALLS, reverse=reverse)) == "bca"


@pytest.mark.parametrize(
    ("text", "left"), [("", "abc"), ("X", "ac"), (" b ", "bc"), ("bur", "c"), ("no such", ""), (".*", "")]
)
def test_a_filter_looks_for_its_text_in_tool_owner_and_alert(text: str, left: str) -> None:
    assert "".join(row.tool for row in filter_rows(ROWS, text)) == left


# --- windows ---------------------------------------------------------------------------------------------


def page(count: float, started: float | None = None, before: Any = None) -> Any:
    start = "" if started is None else f"process_start_time_seconds {started}\n"
    return read_page(f'{start}tooltel_tool_calls_total{{outcome="ok",owner="orders",tool="refund"}} {count}\n', before)


def test_the_first_page_tells_of_the_processs_whole_life() -> None:
    seen = Window(60).add(page(30, started=1000), at=5, now=1060)
    assert (seen.since_start, seen.seconds, row_of(seen, REFUND).per_second) == (True, 60, 0.5)


def test_without_a_start_nobody_knows_how_long_that_was() -> None:
    assert Window(60).add(page(30), at=5, now=1060).seconds is None
    assert Window(60).add(page(30, started=2000), at=5, now=1060).seconds is None  # a clock that disagrees


def test_a_window_forgets_what_is_older() -> None:
    window = Window(10)
    counts = {0: 0, 4: 8, 8: 9, 12: 12, 16: 12}
    seen = [window.add(page(count), at=at, now=0) for at, count in counts.items()]
    assert [(row_of(each, REFUND).calls, each.seconds) for each in seen[1:]] == [(8, 4), (9, 8), (12, 12), (4, 12)]
    assert not any(each.since_start for each in seen[1:])


def test_a_look_that_failed_makes_the_next_one_longer() -> None:
    window = Window(60)
    window.add(page(10), at=0, now=0)
    seen = window.add(page(40), at=30, now=0)
    assert (row_of(seen, REFUND).per_second, seen.seconds) == (1.0, 30)


def test_a_restart_is_no_loss() -> None:
    window = Window(60)
    lives = [(100, 1), (103, 1), (2, 2), (6, 2)]
    seen = [window.add(page(*life, window.page), at=float(at), now=10) for at, life in enumerate(lives)]
    assert row_of(seen[-1], REFUND).calls == 3 + 2 + 4


def test_gains_add_up() -> None:
    one, two = settled(REFUND, ok=1, error=2), settled(REFUND, ok=3)
    assert add_up([one, two]) == settled(REFUND, ok=4, error=2)
