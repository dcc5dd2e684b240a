"""`tooltel top` as a process: live in a terminal, printed in a pipe, JSON for a script, and quick."""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING

import pytest

from tests.cli.processes import PATIENCE, Site, Terminal, processor_time, serving, tooltel
from tests.top.fleets import Agent, make_agent, quiet
from tooltel.cli import CANNOT_RUN, FINE, INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow  # each starts a program

SECOND = 1.0
STARTED = b"process_start_time_seconds 1000\n"
PAGE = b'tooltel_tool_calls_total{outcome="ok",owner="orders",tool="order_refund"} 3\n'
SITE = {"/metrics": (200, "text/plain", PAGE)}


@pytest.fixture(scope="module")
def agent() -> Iterator[tuple[Agent, str]]:
    """An agent that made some calls, with its real /metrics."""
    with quiet():
        made = make_agent({"order_refund": "orders", "kb_search": "kb", "kb_update": "kb"})
        made.call("order_refund", 8, seconds=0.3)
        made.call("order_refund", 2, fail=True)
        made.call("kb_search", 50, seconds=0.03)
        with made.tel.serve(port=0) as served:
            yield made, served.url


def test_it_prints_a_table_and_goes(agent: tuple[Agent, str]) -> None:
    _, url = agent
    done = tooltel("top", url, "--once")
    assert (done.returncode, done.stderr) == (FINE, "")
    headline, *table = done.stdout.splitlines()
    assert headline == f"3 tools · since its start · {url}"
    assert [line.split() for line in table] == [
        ["TOOL", "OWNER", "CALLS", "ERRORS", "P95", "NOT", "FOUND", "REJECTED"],
        ["kb_search", "kb", "50", "0%", "39ms", "0", "0"],
        ["order_refund", "orders", "10", "20.0%", "310ms", "0", "0"],
        ["kb_update", "kb", "0", "-", "-", "0", "0"],
    ]


def test_a_pipe_gets_the_table_without_asking_for_it(agent: tuple[Agent, str]) -> None:
    _, url = agent
    assert tooltel("top", url).stdout == tooltel("top", url, "--once").stdout


def test_rows_are_chosen_and_ordered_on_the_command_line(agent: tuple[Agent, str]) -> None:
    _, url = agent

    def first_words(*arguments: str) -> list[str]:
        return [line.split()[0] for line in tooltel("top", url, *arguments).stdout.splitlines()[2:]]

    assert first_words("--sort", "errors", "--limit", "1") == ["order_refund"]
    assert first_words("--sort", "name", "--reverse") == ["order_refund", "kb_update", "kb_search"]
    assert first_words("--filter", "KB_") == ["kb_search", "kb_update"]
    assert first_words("--by", "owner") == ["kb", "orders"]


def test_json_is_one_object(agent: tuple[Agent, str]) -> None:
    _, url = agent
    for arguments in (("--json",), ("--format", "json", "--once")):
        done = tooltel("top", url, *arguments)
        assert (done.returncode, done.stderr) == (FINE, "")
        found = json.loads(done.stdout)
        assert (found["source"], found["since_start"], found["firing"]) == (url, True, None)
        assert [row["calls"] for row in found["rows"]] == [50, 10, 0]


def test_a_page_that_tells_its_start_gives_calls_per_second() -> None:
    with serving(Site({"/metrics": (200, "text/plain", STARTED + PAGE)})) as site:
        text, found = tooltel("top", site.url).stdout, json.loads(tooltel("top", site.url, "--json").stdout)
    assert "CALLS/S" in text
    assert " ago · " in text
    assert found["rows"][0]["calls_per_second"] == pytest.approx(3 / (time.time() - 1000), rel=0.01)


def test_a_window_waits_for_two_looks() -> None:
    with serving(Site(SITE)) as site:
        found = json.loads(tooltel("top", site.url, "--json", "--window", "1").stdout)
    assert (found["since_start"], found["rows"][0]["calls"]) == (False, 0)
    assert 1 <= found["seconds"] < 30


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--window", "soon"), "'soon' is no length of time such as 30s or 5m"),
        (("--window", "0"), "'0' is no length of time such as 30s or 5m"),
        (("--interval", "-1s"), "'-1s' is no length of time such as 30s or 5m"),
        (("--timeout", "1000y"), "'1000y' is no length of time such as 30s or 5m"),
        (("--limit", "0"), "0 is not in the range x>=1"),
    ],
)
def test_wrong_numbers_are_told(arguments: tuple[str, ...], said: str) -> None:
    done = tooltel("top", *arguments)
    assert (done.returncode, done.stdout) == (CANNOT_RUN, "")
    assert done.stderr == f"tooltel top: invalid value for '{arguments[0]}': {said}; see tooltel top --help\n"


def test_a_password_is_printed_nowhere(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("t0ken-secret\n")
    with serving(Site(SITE)) as site:
        url = site.url.replace("//", "//me:s3cret@")
        for arguments in ((url,), (url, "--json"), (url, "--token-file", str(token))):
            done = tooltel("top", *arguments)
            assert done.returncode == FINE
            assert not {"s3cret", "t0ken-secret"} & set(done.stdout.replace('"', " ").split())
            assert "s3cret" not in done.stdout
        assert site.requests[-1][1]["Authorization"] == "Bearer t0ken-secret"
        site.answers = {}
        done = tooltel("top", url)
    assert (done.returncode, "s3cret" in done.stderr) == (CANNOT_RUN, False)


def test_a_file_that_holds_no_token_is_told(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_bytes(b"\xff\x00\n")
    done = tooltel("top", "--token-file", str(token))
    assert (done.returncode, done.stdout) == (CANNOT_RUN, "")
    assert done.stderr == f"tooltel: {token}: holds no token: it must be one line of letters, digits and signs\n"


# --- in a terminal ---------------------------------------------------------------------------------------


def test_a_terminal_gets_the_live_table_and_q_ends_it(agent: tuple[Agent, str]) -> None:
    _, url = agent
    with Terminal("top", url, env={"TERM": "xterm-256color"}) as shown:
        shown.wait_for("order_refund")
        shown.wait_for("Quit")
        shown.press("q")
        assert shown.wait() == FINE
    assert "\x1b[?1049h" in shown.shown  # a screen of its own,
    assert "\x1b[?1049l" in shown.shown  # and the old one back
    assert "Traceback" not in shown.shown


def test_q_does_not_wait_for_a_server_that_hangs() -> None:
    with (
        serving(Site(SITE)) as site,
        Terminal("top", site.url, "--interval", "1s", "--timeout", "1h", env={"TERM": "xterm-256color"}) as shown,
    ):
        shown.wait_for("Quit")
        site.go = threading.Event()
        site.asked.clear()
        assert site.asked.wait(PATIENCE)
        shown.press("q")
        assert shown.wait() == FINE


def test_ctrl_c_ends_the_live_table_with_130(agent: tuple[Agent, str]) -> None:
    _, url = agent
    with Terminal("top", url, env={"TERM": "xterm-256color"}) as shown:
        shown.wait_for("Quit")
        shown.press("\x03")
        assert shown.wait() == INTERRUPTED
    assert "Traceback" not in shown.shown


def test_the_live_table_has_no_color_where_none_is_wanted(agent: tuple[Agent, str]) -> None:
    _, url = agent
    with Terminal("top", url, env={"TERM": "xterm-256color", "NO_COLOR": "1"}) as shown:
        shown.wait_for("Quit")
        shown.press("q")
        assert shown.wait() == FINE
    colors = {tuple(code[2:].split(";")) for code in _codes(shown.shown) if code[2:].startswith(("38;2;", "48;2;"))}
    assert all(red == green == blue for _, _, red, green, blue, *_ in colors), colors  # shades of gray only


def _codes(shown: str) -> list[str]:
    import re

    return re.findall(r"\x1b\[[\d;]+(?=m)", shown)


def test_a_dumb_terminal_gets_the_printed_table(agent: tuple[Agent, str]) -> None:
    _, url = agent
    with Terminal("top", url, env={"TERM": "dumb"}) as shown:
        assert shown.wait() == FINE
    assert "order_refund" in shown.shown
    assert "\x1b" not in shown.shown


def test_the_live_table_without_textual_says_what_to_install(agent: tuple[Agent, str], tmp_path: Path) -> None:
    (tmp_path / "textual.py").write_text("raise ModuleNotFoundError(\"No module named 'textual'\", name='textual')\n")
    _, url = agent
    with Terminal("top", url, env={"TERM": "xterm", "PYTHONPATH": str(tmp_path)}) as shown:
        assert shown.wait() == CANNOT_RUN
    assert "the live table needs textual: in tooltel's clone, pip install '.[cli]'" in shown.shown


# --- quick -----------------------------------------------------------------------------------------------


def test_a_thousand_tools_of_a_page_are_printed_within_a_second() -> None:
    """Of a processor, start to end; the page is ready, as making it is the agent's time. The best of three."""
    from prometheus_client import generate_latest

    with quiet():
        made = make_agent({f"tool_{number:04}": f"team_{number % 40}" for number in range(1000)})
        for name in made.tools:
            made.call(name, seconds=0.05)
            made.call(name, fail=True)
        page = generate_latest(made.tel.view)
    took = []
    with serving(Site({"/metrics": (200, "text/plain", page)})) as site:
        for _ in range(3):
            start = processor_time()
            done = tooltel("top", f"{site.url}/metrics", "--once", "--timeout", "1m")
            took.append(processor_time() - start)
            assert len(done.stdout.splitlines()) == 1002
    assert min(took) < SECOND
