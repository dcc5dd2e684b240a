"""A demo that could not fail would prove nothing: each recorder is broken in turn."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import pytest

from tooltel.cli import main
from tooltel.recording import FanOut, Guard
from tooltel.signals import Component

if TYPE_CHECKING:
    from pathlib import Path

    from tooltel.outcome import Outcome, Recorder

Breaking = Callable[["Recorder"], "Recorder"]


def break_recorder(monkeypatch: pytest.MonkeyPatch, component: Component, breaking: Breaking) -> None:
    """Put a broken one in the place of a recorder of the next Tooltel."""

    def built(guard: Guard, recorders: Iterable[tuple[Component, Recorder]] = ()) -> FanOut:
        return FanOut(guard, tuple((c, breaking(r) if c is component else r) for c, r in recorders))

    monkeypatch.setattr("tooltel.runtime.FanOut", built)


def taking_each_tenth(times: int) -> Breaking:
    """Make a recorder take every tenth outcome `times` times."""

    def breaking(honest: Recorder) -> Recorder:
        count = itertools.count(1)

        def broken(outcome: Outcome, /) -> None:
            for _ in range(times if next(count) % 10 == 0 else 1):
                honest(outcome)

        return broken

    return breaking


def failing(_: Recorder) -> Recorder:
    """Make a recorder fail always."""

    def broken(_: Outcome, /) -> None:
        raise RuntimeError("no room left")

    return broken


@pytest.mark.parametrize("book", [Component.METRICS, Component.SPANS, Component.LOGS])
def test_a_recorder_that_loses_calls_makes_the_demo_fail_and_is_named(
    book: Component, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    break_recorder(monkeypatch, book, taking_each_tenth(0))
    assert main(["demo", "--fast", "--no-servers", "--sessions", "40", "--out", str(tmp_path)]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "numbers are not what was done:" in out
    assert f"{book}: " in out


@pytest.mark.parametrize("book", [Component.METRICS, Component.LOGS])
def test_a_recorder_that_counts_twice_makes_the_demo_fail(
    book: Component, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    break_recorder(monkeypatch, book, taking_each_tenth(2))
    args = ["demo", "--fast", "--no-servers", "--json", "--sessions", "40", "--out", str(tmp_path)]
    assert main(args) == 1
    said = json.loads(capsys.readouterr().out)
    assert said["equal"] is False
    assert any(line.startswith(book) for line in said["differences"])


def test_a_recorder_that_fails_is_seen_as_an_internal_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    break_recorder(monkeypatch, Component.LOGS, failing)
    args = ["demo", "--fast", "--no-servers", "--json", "--sessions", "40", "--out", str(tmp_path)]
    assert main(args) == 1
    recorded = json.loads(capsys.readouterr().out)["recorded"]
    assert recorded['tooltel_internal_errors_total{component="logs"}'] > 0
