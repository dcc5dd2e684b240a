"""The table says it short, cuts names before numbers, and lets no name leave its cell."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from rich.cells import cell_len

from tests.top.snapshots import read_snapshot
from tooltel.top import cells
from tooltel.top.board import Order, make_board
from tooltel.top.gains import Key, Part, What
from tooltel.top.looks import Firing, Look
from tooltel.top.rows import By, Row, Sort

HOSTILE = "\x1b[2Jrefund\n\u202etxt\r\x07"
WIDE = "返金ツール" * 6

BURN = Firing("ToolErrorBudgetBurn", "page", "orders", "order_refund")
SLOW = Firing("ToolLatencyHigh", "ticket", "orders", "order_refund")


def gains(tool: str, owner: str, ok: float, bad: float = 0, slow: float = 0.1) -> dict[Part, float]:
    key = Key(tool, owner)
    return {
        Part(key, What.CALLS, "ok"): ok,
        Part(key, What.CALLS, "error"): bad,
        Part(key, What.DURATION, bound=slow): ok + bad,
        Part(key, What.DURATION, bound=float("inf")): ok + bad,
    }


def fleet(**more: Any) -> Look:
    """A small fleet with something of everything."""
    found = {
        **gains("order_refund", "orders", 1200, 84, 2.56),
        **gains("kb_search", "knowledge-base", 36_000, 4),
        **gains("calendar_find_free_slots_for_everybody_in_the_room", "office", 3),
        **gains("idle_tool", "office", 0),
        **gains("other", "unowned", 60),
        Part(Key("order_refund", "orders"), What.REJECTED, "structural", "schema"): 12.0,
        Part(Key("", "support-platform"), What.NOT_FOUND): 7.0,
        Part(Key("refund_order", "orders"), What.NOT_FOUND): 0.4,
    }
    keys = frozenset(part.key for part in found if part.what is not What.NOT_FOUND)
    return Look(found, keys, **{"seconds": 300.0, "firing": (BURN, SLOW), **more})


def shown(look: Look, width: int | None, order: Order | None = None) -> str:
    """The table as text."""
    board = make_board(look, order or Order())
    laid = board.lay_out(width)
    return "\n".join(
        [board.headline("http://p:9090"), board.heading(laid), *(board.line(row, laid) for row in board.rows)]
    )


@pytest.mark.parametrize("width", [None, 80, 120])
def test_the_table_is_the_committed_one(width: int | None) -> None:
    """Names give way to numbers, and below a hundred columns alerts are counted by severity."""
    text = shown(fleet(), width)
    assert text.splitlines() == read_snapshot(f"table-{width or 'wide'}").splitlines()


@pytest.mark.parametrize("width", [10, 20, 30, 40, 60, 80, 99, 100, 120, 200])
@pytest.mark.parametrize("by", By)
@pytest.mark.parametrize("firing", [(BURN, SLOW), None])
def test_no_line_is_wider_than_the_terminal_and_no_number_is_cut(
    width: int, by: By, firing: tuple[Firing, ...] | None
) -> None:
    look = fleet(firing=firing)
    for line in shown(look, width, Order(by=by)).splitlines()[1:]:
        assert cell_len(line) <= width
    board = make_board(look, Order(by=by))
    for each in board.lay_out(width):
        if each.column.right and width >= 20:
            assert not any("…" in each.text(row) for row in board.rows)


@pytest.mark.parametrize("name", [HOSTILE, WIDE, "a" * 3000, "", "\ud800", "[red]x[/red]"])
def test_no_name_leaves_its_cell(name: str) -> None:
    look = Look(gains(name or "x", name or "o", 1), frozenset(), 10.0, firing=(Firing(name, name, name, name),))
    for width in (40, 80, 120):
        for line in shown(look, width).splitlines()[1:]:
            assert cell_len(line) <= width
            assert line.isprintable()
    assert shown(look, None).replace("\n", "").isprintable()


def test_owners_are_shown_with_how_many_tools_they_have() -> None:
    lines = shown(fleet(firing=None), 100, Order(by=By.OWNER, sort=Sort.NAME)).splitlines()
    assert lines[0].startswith("5 owners · last 5 min · http")
    assert [line.split()[:2] for line in lines[1:]] == [
        ["OWNER", "TOOLS"], ["knowledge-base", "1"], ["office", "2"], ["orders", "1"], ["support-platform", "0"],
        ["unowned", "1"],
    ]  # fmt: skip


def test_the_headline_says_how_much_is_left_out() -> None:
    order = Order(wanted="order", limit=1)
    assert shown(fleet(firing=()), None, order).startswith("1 of 5 tools · last 5 min · nothing fires · http")


@pytest.mark.parametrize(
    ("cell", "field", "values"),
    [
        (
            cells.rate,
            "per_second",
            {None: "-", 0.0: "0.00", 0.004: "<0.01", 0.5: "0.50", 12.34: "12.3", 120.0: "120", 12345.6: "12,346"},
        ),
        (
            cells.ratio,
            "error_ratio",
            {None: "-", 0.0: "0%", 0.0004: "<0.1%", 0.034: "3.4%", 0.999: "99.9%", 1.0: "100%"},
        ),
        (
            cells.quantile,
            "p95",
            {None: "-", 0.0021: "2ms", 0.95: "950ms", 0.9999: "1s", 2.432: "2.43s", 41.2: "41.2s", 81.92: ">82s"},
        ),
    ],
)
def test_numbers_are_short(cell: Any, field: str, values: dict[Any, str]) -> None:
    assert {value: cell(replace(Row("t", "o"), **{field: value})) for value in values} == values


def test_a_fraction_of_an_event_is_one() -> None:
    assert [cells.count(value) for value in (0, 0.2, 1.4, 1.6, 12345)] == ["0", "1", "1", "2", "12,345"]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.2, "1 s"), (60, "60 s"), (300, "5 min"), (7200, "2 h"),
        (12_000, "3 h 20 min"), (200_000, "2 d 7 h"), (172_800, "2 d"),
    ],
)  # fmt: skip
def test_a_stretch_of_time_is_said_in_words(seconds: float, said: str) -> None:
    assert cells.seconds(seconds) == said


def test_json_holds_names_as_they_are_and_null_where_nothing_is_known() -> None:
    look = Look(
        gains(HOSTILE, "orders", 3), frozenset({Key(HOSTILE, "orders"), Key("idle_tool", "kb")}), None, since_start=True
    )
    found = json.loads(json.dumps(make_board(look, Order()).as_json("u", at=0), allow_nan=False))
    assert found["at"] == "1970-01-01T00:00:00+00:00"
    assert (found["seconds"], found["since_start"], found["firing"], found["total"]) == (None, True, None, 2)
    assert found["rows"][0] == {
        "tool": HOSTILE, "owner": "orders", "tools": 1, "calls": 3.0, "calls_per_second": None,
        "outcomes": {"ok": 3.0, "error": 0}, "error_ratio": 0.0, "p95_seconds": pytest.approx(0.095),
        "not_found": 0.0, "rejected": 0, "firing": None,
    }  # fmt: skip
    assert (found["rows"][1]["error_ratio"], found["rows"][1]["p95_seconds"]) == (None, None)


def test_json_by_owner_and_of_no_tool() -> None:
    found = make_board(fleet(), Order(by=By.OWNER, sort=Sort.FIRING)).as_json("u", at=0)
    assert "tool" not in found["rows"][0]
    assert found["rows"][0]["firing"][0] == {
        "alert": "ToolErrorBudgetBurn", "severity": "page", "owner": "orders", "tool": "order_refund",
    }  # fmt: skip
    rows = make_board(fleet(), Order()).as_json("u", at=0)["rows"]
    assert [row["tool"] for row in rows if row["owner"] == "support-platform"] == [None]
