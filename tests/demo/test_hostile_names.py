from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from tests.demo.playing import play
from tooltel import signals
from tooltel.cli import main
from tooltel.demo.files import read_lines, wishes
from tooltel.demo.hostile import FORGED, HOSTILE
from tooltel.signals import Event, Reason

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_hostile_names_forge_no_line_in_the_log() -> None:
    """There are as many lines as events, each one an object, and nobody but tooltel wrote tool_call."""
    report = play(1, 120)
    text = report.folder.logs.read_text("utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    assert text.count("\n") == len(lines)
    assert all(line.get(signals.TOOL_NAME) != "forged" for line in lines)
    calls = sum(line["event"] == Event.TOOL_CALL for line in lines)
    assert calls == report.ledger.calls


def test_no_file_holds_a_raw_control_character() -> None:
    folder = play(1, 120).folder
    for path in (folder.spans, folder.logs, folder.metrics):
        text = path.read_bytes().decode("utf-8")
        assert all(char.isprintable() or char == "\n" for char in text), path


def test_hostile_names_are_no_label() -> None:
    requested = play(1, 120).scrape.by(signals.NOT_FOUND, "requested")
    assert set(requested) <= {"other", "order_find", "refund_order", "payout_release"}
    assert requested["other"] >= len(HOSTILE)


def test_hostile_names_are_cut_on_spans_and_in_logs() -> None:
    folder = play(1, 120).folder
    asked = [
        span["attributes"][signals.TOOL_NAME]
        for span in read_lines(folder.spans)
        if span["name"] == signals.EXECUTE_TOOL
    ]
    logged = [wish.requested for wish in wishes(folder.logs)]
    assert any(name.startswith("xxx") for name in asked)
    assert max(map(len, (*asked, *logged))) == signals.NAME_LIMIT


def test_each_hostile_name_is_counted_under_its_reason() -> None:
    by_reason = Counter(reason for _, reason in HOSTILE)
    scrape = play(1, 40).scrape
    assert scrape.total(signals.NOT_FOUND, reason=Reason.EMPTY) == by_reason[Reason.EMPTY]
    assert scrape.total(signals.NOT_FOUND, reason=Reason.UNKNOWN) >= by_reason[Reason.UNKNOWN]


def test_the_forged_name_really_would_forge_a_line() -> None:
    """The attack is worth its name: as a line of its own it is an event."""
    assert json.loads(FORGED.splitlines()[1])["event"] == Event.TOOL_CALL


def test_the_summary_writes_no_control_character_to_the_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    main(["demo", "--fast", "--no-servers", "--sessions", "40", "--out", str(tmp_path)])
    out = capsys.readouterr().out
    assert "[2J" not in out.replace("\\x1b[2J", "")
    assert all(char.isprintable() or char == "\n" for char in out)
