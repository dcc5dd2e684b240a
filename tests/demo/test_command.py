from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from typing import TYPE_CHECKING

import pytest

from tests.demo.playing import play
from tooltel import signals
from tooltel.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    from tests.servers import Servers

QUICK = ("--fast", "--no-servers", "--sessions", "40")


def run(*args: str, out: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """The command as a user's shell starts it, piped."""
    env = {**{key: text for key, text in os.environ.items() if key != "COLUMNS"}, **environ}
    command = [sys.executable, "-m", "tooltel", "demo", *args, "--out", str(out)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=90, env=env)


def test_a_demo_ends_well_and_says_nothing_aside_when_piped(tmp_path: Path) -> None:
    done = run(*QUICK, out=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "checked" in done.stdout
    assert "\x1b" not in done.stdout


def test_everything_but_a_path_fits_into_80_columns(tmp_path: Path) -> None:
    lines = run(*QUICK, out=tmp_path).stdout.splitlines()
    assert max(len(line) for line in lines if str(tmp_path) not in line) <= 80


def test_a_path_is_never_cut(tmp_path: Path) -> None:
    deep = tmp_path / ("a-very-long-name-" * 6)
    out = run(*QUICK, out=deep).stdout
    for name in ("spans.jsonl", "logs.jsonl", "metrics.prom"):
        assert str(deep / name) in out
        assert (deep / name).stat().st_size > 0


@pytest.mark.parametrize(("environ", "colored"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colors_are_for_terminals_that_want_them(environ: dict[str, str], colored: bool, tmp_path: Path) -> None:
    out = run(*QUICK, out=tmp_path, FORCE_COLOR="1", TERM="xterm-256color", **environ).stdout
    assert ("\x1b[31m" in out) is colored


def test_the_summary_names_every_tool_each_with_its_calls(tmp_path: Path) -> None:
    out = run(*QUICK, "--seed", "3", out=tmp_path).stdout
    report = play(3, 40)
    for tool in report.catalog.tools.values():
        calls = round(report.scrape.total(signals.TOOL_CALLS, tool=tool.name))
        assert re.search(rf"^{tool.name} +\S+ +{calls} ", out, re.MULTILINE), tool.name
    for owner in report.catalog.owners:
        assert f"\n{owner} ─" in out


def test_the_summary_tells_renamed_misplaced_made_up_and_empty_names_apart(tmp_path: Path) -> None:
    out = run(*QUICK, out=tmp_path).stdout
    for word in ("renamed", "elsewhere", "made up", "empty"):
        assert re.search(rf"^{word} +\d+  ", out, re.MULTILINE), word
    assert "(order_lookup?)" in out


def test_the_summary_says_who_is_paged_and_how_that_is_known(tmp_path: Path) -> None:
    out = " ".join(run(*QUICK, out=tmp_path).stdout.split())
    assert "page TooltelToolErrorBudgetBurn payment_refund:" in out
    assert "judged from the counts above; as asked, no servers ran." in out


def test_without_binaries_one_line_says_how_to_get_them(tmp_path: Path) -> None:
    done = run("--fast", "--sessions", "40", out=tmp_path / "out", TOOLTEL_SERVERS=str(tmp_path))
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if "install Prometheus and Alertmanager" in line]
    assert line.startswith("Pages and tickets are judged from the counts above;")


def test_json_is_one_object_on_the_last_line_with_equal_books(tmp_path: Path) -> None:
    done = run(*QUICK, "--json", "--seed", "5", out=tmp_path)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["equal"] is True
    assert said["expected"] == said["recorded"]
    assert said["differences"] == []
    assert (said["seed"], said["sessions"]) == (5, 40)
    assert said["spans"] == said["calls"] + said["not_found"]
    assert said["folder"] == str(tmp_path)
    labels = 'tool="payment_refund",owner="payments",risk="irreversible",profile="support",outcome="error"'
    assert said["expected"][f"tooltel_tool_calls_total{{{labels}}}"] >= 10


def test_json_says_who_is_to_be_paged_and_that_nobody_really_was(tmp_path: Path) -> None:
    said = json.loads(run(*QUICK, "--json", out=tmp_path).stdout)
    assert said["delivered"] is False
    assert said["misdirected"] == []
    assert {page["owner"] for page in said["pages"]} == {"payments"}
    assert {page["alert"] for page in said["pages"]} == {
        "TooltelToolErrorBudgetBurn",
        "TooltelIrreversibleCallRepeated",
    }


def test_a_reader_that_leaves_early_is_no_difference_in_the_counts(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tooltel", "demo", *QUICK, "--out", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 141  # as of a program that SIGPIPE ended


def test_the_same_seed_gives_the_same_counts(tmp_path: Path) -> None:
    said = [json.loads(run(*QUICK, "--json", out=tmp_path / name).stdout) for name in ("one", "two")]
    assert said[0]["expected"] == said[1]["expected"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--sessions", "39"), "40<=x"),
        (("--sessions", "many"), "not a valid integer"),
        (("--port", "99999"), "0<=x<=65535"),
        (("--seeds", "1"), "no such option"),
    ],
)
def test_wrong_usage_is_told_in_a_sentence(
    args: tuple[str, str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", *args]) == 2
    assert words in capsys.readouterr().err


def test_an_output_folder_that_cannot_be_made_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run(*QUICK, out=tmp_path / "file" / "out")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_serve_keeps_metrics_up_until_interrupted(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tooltel", "demo", *QUICK, "--serve", "--port", "0", "--out", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            url = process.stderr.readline().split()[-1]
            assert "Ctrl-C" in process.stderr.readline()
            with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - loopback
                assert signals.TOOL_CALLS.name in answer.read().decode()
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0
            assert process.stderr.read() == ""
        finally:
            process.kill()


def test_an_interrupt_during_the_shift_ends_it_cleanly_and_says_where_things_are(tmp_path: Path) -> None:
    """The log is a pipe here, so that the test wakes up with the first call."""
    os.mkfifo(tmp_path / "logs.jsonl")
    command = [sys.executable, "-m", "tooltel", "demo", "--no-servers", "--out", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            with (tmp_path / "logs.jsonl").open(encoding="utf-8") as log:
                assert any('"event": "tool_call"' in line for line in log)
                process.send_signal(signal.SIGINT)
                out, err = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 130
    assert "Traceback" not in err
    assert f"Stopped. What was recorded until now is in {tmp_path}" in err
    assert out == ""


@pytest.mark.slow
def test_with_real_servers_the_page_reaches_payments_and_nobody_else(newest_servers: Servers, tmp_path: Path) -> None:
    binaries = str(newest_servers.prometheus.parent)
    done = run("--fast", "--sessions", "40", "--json", out=tmp_path, TOOLTEL_SERVERS=binaries)
    assert done.returncode == 0, done.stdout + done.stderr
    said = json.loads(done.stdout)
    assert said["delivered"] is True
    assert said["misdirected"] == []
    assert {page["receiver"] for page in said["pages"]} == {"payments-page"}
    (burn,) = [page for page in said["pages"] if page["alert"] == "TooltelToolErrorBudgetBurn"]
    assert burn["tool"] == "payment_refund"
    assert 0 < burn["seconds"] < 15
    assert burn["lasted"] > 0
