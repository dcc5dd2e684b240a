from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.demo.playing import play
from tooltel import signals
from tooltel.cli import main
from tooltel.demo.files import read_lines
from tooltel.demo.pace import RealTime, SimulatedTime
from tooltel.demo.shift import UnexpectedEndError
from tooltel.demo.stage import open_stage

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("seed", [1, 2, 99, -5])
@pytest.mark.parametrize("sessions", [40, 120, 300])
def test_what_was_recorded_is_what_was_done(seed: int, sessions: int) -> None:
    report = play(seed, sessions)
    assert report.differences == ()
    assert report.scrape.tally() == report.ledger.tally


def test_the_same_seed_gives_the_same_ledger_and_the_same_metrics(tmp_path: Path) -> None:
    first = play(7, 120)
    with open_stage(7, 120, SimulatedTime(), out=tmp_path) as stage:
        stage.play()
        again = stage.report()
    assert again.ledger.tally == first.ledger.tally
    assert again.ledger.settled == first.ledger.settled
    timestamp = signals.CATALOG_LOADED.name
    same = [
        [line for line in report.folder.metrics.read_text().splitlines() if not line.startswith(timestamp)]
        for report in (first, again)
    ]
    assert same[0] == same[1]


def test_each_call_has_exactly_one_span() -> None:
    report = play(1, 300)
    assert report.spans == report.ledger.calls + report.ledger.drops


def test_a_call_within_a_call_is_the_child_of_its_span() -> None:
    spans = list(read_lines(play(1, 120).folder.spans))
    by_id = {span["context"]["span_id"]: span for span in spans}
    inner = [
        by_id[span["parent_id"]]["attributes"].get(signals.TOOL_NAME)
        for span in spans
        if span["attributes"].get(signals.TOOL_NAME) == "order_lookup"
    ]
    handed_over = sum(span["attributes"].get(signals.TOOL_NAME) == "case_hand_over" for span in spans)
    assert inner.count("case_hand_over") == handed_over > 0


def test_every_other_tool_span_is_the_child_of_its_conversation() -> None:
    spans = list(read_lines(play(1, 120).folder.spans))
    by_id = {span["context"]["span_id"]: span for span in spans}
    parents = {by_id[span["parent_id"]]["name"] for span in spans if span["parent_id"]}
    assert parents == {"conversation", "execute_tool case_hand_over"}


def test_no_call_is_still_running_and_nothing_failed_inside() -> None:
    scrape = play(1, 300).scrape
    for row in (signals.ACTIVE, signals.INTERNAL_ERRORS, signals.LABEL_OVERFLOW):
        assert scrape.total(row) == 0


@pytest.mark.parametrize("row", signals.IN_PROCESS, ids=lambda row: row.name)
def test_every_emitted_row_has_a_sample_after_the_demo(row: signals.Metric) -> None:
    scrape = play(7, 300).scrape
    for series in row.series:
        assert list(scrape.samples(series)), series


def test_sessions_side_by_side_in_real_time_give_the_same_ledger_as_one_by_one(tmp_path: Path) -> None:
    """Threads, tasks and waits that overlap change no number."""
    with open_stage(7, 40, HurriedTime(), out=tmp_path) as stage:
        stage.play()
        report = stage.report()
    assert report.differences == ()
    assert report.ledger.tally == play(7, 40).ledger.tally


class HurriedTime(RealTime):
    """Real waits, a fiftieth as long, of sixteen sessions at once."""

    def wait(self, seconds: float) -> None:
        super().wait(seconds / 50)

    async def pause(self, seconds: float) -> None:
        await super().pause(seconds / 50)

    def workers(self, sessions: int) -> int:
        return min(16, sessions)


def test_a_tool_that_ends_otherwise_than_the_script_says_stops_the_shift(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tooltel.demo.desk.orders.Orders.order_cancel", order_cancel)
    with (
        open_stage(7, 40, SimulatedTime(), out=tmp_path) as stage,
        pytest.raises(UnexpectedEndError, match="order_cancel ended as"),
    ):
        stage.play()


def test_the_command_says_which_call_ended_otherwise_and_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tooltel.demo.desk.orders.Orders.order_cancel", order_cancel)
    assert main(["demo", "--fast", "--no-servers", "--sessions", "40", "--out", str(tmp_path)]) == 1
    assert "order_cancel ended as" in capsys.readouterr().err


def order_cancel(self: object, order_id: str, reason: str) -> dict[str, str]:
    """Cancel one order; the stand-in does what no script says."""
    raise LookupError(order_id)
