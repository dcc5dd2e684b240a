"""The search that leaves out most lines: it never leaves out one that holds a literal, whichever matcher is there."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.sidecar.kit import CATALOG, Judge
from tooltel import match as real
from tooltel.match import builtin_rules
from tooltel.sidecar.anchors import LIMIT, START, choose_anchors
from tooltel.sidecar.columns import BEGINNINGS
from tooltel.sidecar.judging import LineJudge
from tooltel.sidecar.prefilter import ESCAPES, Prefilter, is_fast, make_counter

LITERALS = tuple(sorted({rule.literal for rule in builtin_rules()}))

# Of few letters, so that strings run into one another.
literals = st.lists(st.text("ab ", min_size=4, max_size=12).map(str.encode), min_size=1, max_size=40)
logs = st.lists(st.text("ab \n", max_size=80).map(str.encode), max_size=12).map(b"\n".join)


@given(literals)
@settings(deadline=None)
def test_every_literal_holds_one_of_the_strings_that_are_searched(wanted: list[bytes]) -> None:
    anchors = choose_anchors(wanted)
    assert all(any(anchor in literal for anchor in anchors) for literal in wanted)


def test_strings_that_have_to_be_whole_are_left_whole() -> None:
    assert set(ESCAPES) <= set(choose_anchors(LITERALS, also=ESCAPES))


def test_the_signatures_are_searched_in_the_fast_form_which_has_a_limit() -> None:
    anchors = choose_anchors(LITERALS, also=(*ESCAPES, *BEGINNINGS, b" stdout P", b" stderr P"))
    assert len(anchors) <= LIMIT
    assert min(map(len, anchors)) >= START


def test_no_literals_are_nothing_to_search() -> None:
    assert Prefilter(()).search(memoryview(b"Tool not found: old_7\n")) == []


def confirmed_lines(prefilter: Prefilter, log: bytes) -> set[int]:
    """Where the lines begin that are looked at."""
    lines = set()
    for hit in prefilter.search(memoryview(log)):
        first = log.rfind(b"\n", 0, hit[1]) + 1
        last = log.find(b"\n", hit[1])
        if prefilter.confirms(hit, log, hit[1], (first, last if last >= 0 else len(log))):
            lines.add(first)
    return lines


@pytest.mark.parametrize("fast", [True, False])
@given(literals, logs)
@example([b"aa aa", b" ab "], b"aa ab \n")
@settings(deadline=None)
def test_exactly_the_lines_that_hold_a_literal_are_looked_at(fast: bool, wanted: list[bytes], log: bytes) -> None:
    starts = [0, *(at + 1 for at, byte in enumerate(log) if byte == ord("\n"))]
    holding = {at for at in starts if any(literal in log[at:].partition(b"\n")[0] for literal in wanted)}
    assert confirmed_lines(Prefilter(wanted, fast=fast), log) == holding


def test_the_fast_matcher_is_tested_here() -> None:
    """It comes with the development tools; without it, half of this file would test the same thing twice."""
    assert is_fast()


@given(st.lists(st.sampled_from([b"\n", b"\r\n", b"\n\n", b"\0", b"\xff", b"a" * 5000, b"\n" * 3000])).map(b"".join))
@settings(deadline=None)
def test_newlines_are_counted_whatever_else_there_is(data: bytes) -> None:
    buffer = bytearray(data)
    with memoryview(buffer) as view:
        assert make_counter()(view) == data.count(b"\n")


stamps = st.sampled_from([
    "12:00:00 ", "12:00:00.1 ", "12:00:00.12 ", "12:00:00,123 ", "2026-11-30 12:00:00,123 ", "2026-11-30 12:00:00 ",
    "[12:00:00] ", "[2026-11-30T12:00:00Z] ", "2026-11-30T12:00:00+01:00 ", "2026-11-30T12:00:00 +0100 ", "12:00:00+",
    "2026-11-30T12:00:00 -", "12:00:00", "12:00", "30/11/26 12:00:00 ", "", " ",
])  # fmt: skip
tails = st.sampled_from(
    ["Tool not found: old_7", "WARN a.B - Tool not found: old_8", "Z Tool not found: old_9", "", "1"]
)


@given(st.lists(st.tuples(stamps, tails).map("".join), max_size=12))
@settings(deadline=None)
def test_the_time_of_the_line_before_changes_nothing(lines: list[str]) -> None:
    alone = [count for line in lines for count in counted([line])]
    assert sorted(counted(lines)) == sorted(alone)


def counted(lines: list[str]) -> list[str]:
    """The names that a judge counts that has seen nothing before."""
    judging = LineJudge(Judge(CATALOG), skipped=lambda _cause: None)
    log = "".join(f"{line}\n" for line in lines).encode()
    judging.take(log, 0, len(log), {}, is_patient=False)
    return [
        matched.outcome.missing.requested
        for matched, times in judging.drain()
        if matched.outcome.missing is not None
        for _ in range(times)
    ]


def test_a_line_of_many_false_hits_takes_no_longer_than_its_length() -> None:
    """A search by parts of literals stops a hundred thousand times in it; its begin and end are looked for once."""
    part = next(each for each in choose_anchors(LITERALS) if not any(literal in b"." + each for literal in LITERALS))
    log = b"12:00:00 " + (b"." + part) * 100_000 + b"\n" + b"12:00:00 " + part + b"\n"
    looked: list[int] = []

    class Counting(bytes):
        def rfind(self, *arguments: object) -> int:
            looked.append(1)
            return super().rfind(*arguments)  # type: ignore[arg-type]

    judging = LineJudge(real.Judge(builtin_rules(), CATALOG), form="text", skipped=lambda _cause: None)
    assert judging.take(Counting(log), 0, len(log), {}, is_patient=False) == len(log)
    assert len(looked) == 2
