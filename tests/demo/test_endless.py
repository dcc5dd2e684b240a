"""A desk that never closes plays shift after shift, serves what it records, and ends when it is asked to."""

from __future__ import annotations

import asyncio
import gc
import signal
import subprocess
import sys
import urllib.request
import weakref
from typing import TYPE_CHECKING

import pytest

from tests.demo.collecting import collecting
from tooltel import signals
from tooltel.cli import main
from tooltel.demo import endless
from tooltel.demo.endless import open_endless_desk
from tooltel.demo.pace import SimulatedTime, Unhurried
from tooltel.demo.readback import Scrape
from tooltel.demo.script import Script, write_script
from tooltel.demo.shift import CONVERSATION

if TYPE_CHECKING:
    from tests.demo.collecting import Collector


class Enough(Exception):
    """Ends a desk that never closes."""


def play(shifts: int) -> tuple[str, list[int]]:
    calls: list[int] = []

    def done(number: int, counted: int) -> None:
        calls.append(counted)
        assert number == len(calls)
        if number == shifts:
            raise Enough

    with open_endless_desk(SimulatedTime(), sessions=40, host="127.0.0.1", port=0, environ={}) as desk:
        with pytest.raises(Enough):
            desk.play(7, done)
        with urllib.request.urlopen(desk.url, timeout=10) as answer:  # noqa: S310 - loopback
            return answer.read().decode(), calls


def test_the_counts_of_all_shifts_add_up_on_one_metrics_page() -> None:
    text, calls = play(3)
    scrape = Scrape(text)
    assert scrape.total(signals.TOOL_CALLS) == sum(calls)
    assert min(calls) > 40


def test_no_session_of_a_later_shift_is_taken_for_a_repetition_of_an_earlier_one() -> None:
    def repeated(shifts: int) -> float:
        return Scrape(play(shifts)[0]).total(signals.REPEATED_CALLS)

    assert repeated(3) == 3 * repeated(1) > 0


def test_shifts_that_follow_each_other_share_no_session() -> None:
    numbers = [{visit.id for visit in write_script(7, 40, first=first).visits} for first in (0, 40)]
    assert not numbers[0] & numbers[1]


def test_what_a_shift_has_read_and_written_is_forgotten_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[weakref.ref[object]] = []

    def written(seed: int, sessions: int, *, first: int) -> Script:
        script = write_script(seed, sessions, first=first)
        kept.append(weakref.ref(script.books))
        return script

    monkeypatch.setattr(endless, "write_script", written)
    play(4)
    gc.collect()
    assert len(kept) == 4
    assert [each() for each in kept[:-1]] == [None, None, None]


def test_an_unhurried_desk_begins_a_session_each_so_many_seconds_however_long_one_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Time is the test's: a worker that sleeps sees it pass."""
    now, slept = [100.0], []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    pace = Unhurried(0.5)
    monkeypatch.setattr(pace, "clock", lambda: now[0])
    monkeypatch.setattr("tooltel.demo.pace.asyncio.sleep", sleep)

    async def four_workers_then_one_late() -> None:
        for _ in range(4):
            await pace.rest()
        now[0] = 110.0
        await pace.rest()

    asyncio.run(four_workers_then_one_late())
    assert slept == [0.0, 0.5, 1.0, 1.5, 0.0]
    assert pace.workers(10_000) == 4


def has_finished_session(collector: Collector) -> bool:
    """Whether a conversation is over in which a tool was called, so that the call is counted by now."""
    over = {span.span_id for span in collector.spans if span.name == CONVERSATION}
    return any(span.name.startswith("execute_tool ") and span.parent_span_id in over for span in collector.spans)


def test_the_command_serves_pushes_and_ends_at_a_supervisors_wish() -> None:
    with collecting() as collector:
        command = [sys.executable, "-m", "tooltel", "demo", "--forever", "--sessions", "40", "--port", "0"]
        environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_BSP_SCHEDULE_DELAY": "50", "PATH": ""}
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ
        ) as process:
            try:
                assert process.stderr is not None
                url = process.stderr.readline().split()[-1]
                assert url.startswith("http://127.0.0.1:")
                with collector.arrived:
                    assert collector.arrived.wait_for(lambda: has_finished_session(collector), timeout=60)
                with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - loopback
                    assert Scrape(answer.read().decode()).total(signals.TOOL_CALLS) > 0
                process.send_signal(signal.SIGTERM)
                out, err = process.communicate(timeout=30)
            finally:
                process.kill()
    assert (process.returncode, out) == (0, "")
    assert "Traceback" not in err
    assert collector.logs


@pytest.mark.parametrize("other", ["--json", "--fast", "--out=x"])
def test_there_is_no_report_of_a_desk_that_never_closes(other: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--forever", other]) == 2
    assert "do not go together" in capsys.readouterr().err


def test_a_single_shift_serves_on_loopback_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--host", "0.0.0.0"]) == 2  # noqa: S104 - it is refused
    assert "--host is for --forever" in capsys.readouterr().err
