"""The README is true: every snippet and command in it is run, in its order, in an empty folder."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from tests.docs.pages import README, ROOT, named_files, prepared, read_blocks, read_links, run
from tests.servers import generations
from tooltel import signals
from tooltel.artifacts import KINDS

if TYPE_CHECKING:
    from tests.servers import Servers

# Run by other means: the installation is what runs this test, the demo has tests of its own, and `make test` is this.
ELSEWHERE = ("python3 -m venv ", ". ", "pip install ", "export PATH=", "cd ", "make test", "make demo")
SERVER_TOOLS = ("promtool", "amtool")
BACKGROUND = " &"
PORTS = ("9464", "9090", "9093", "9099")  # of /metrics, Prometheus, Alertmanager, the pager
PATIENCE = 100.0  # seconds; the README says a minute and a half


def commands() -> list[str]:
    """Every shell command of the README, in order."""
    return [command for block in read_blocks(README) for command in block.commands]


@pytest.fixture
def ports() -> dict[str, str]:
    """A free port in place of each that the README names."""
    with ExitStack() as opened:
        sockets = [opened.enter_context(socket.socket()) for _ in PORTS]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return {port: str(each.getsockname()[1]) for port, each in zip(PORTS, sockets, strict=True)}


@pytest.fixture
def folder(tmp_path: Path, ports: Mapping[str, str]) -> Path:
    """A folder with every file that the README names, free ports in place of its own."""
    for name, text in named_files(README).items():
        (tmp_path / name).write_text(moved(text, ports), "utf-8")
    return tmp_path


def moved(text: str, ports: Mapping[str, str]) -> str:
    """*text* with free ports; the default ports of our own commands are said aloud."""
    text = text.replace("tooltel pager", "tooltel pager --port 9099")
    return re.sub(rf"\b({'|'.join(ports)})\b", lambda port: ports[port[1]], text)


@contextmanager
def started(command: str, folder: Path, *more_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Run *command* until the block ends, which ends it as well."""
    program, arguments, environment = prepared(command.removesuffix(BACKGROUND), *more_path)
    with subprocess.Popen(
        [program, *arguments], cwd=folder, env={**environment, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def wait_for(what: Callable[[], str | None], process: subprocess.Popen[str], *, within: float) -> str:
    """What *what* gives at last; it is asked whenever a tenth of a second has passed."""
    until = monotonic() + within
    while monotonic() < until:
        if found := what():
            return found
        assert process.poll() is None, "it ended"
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.1)
    pytest.fail(f"nothing within {within:g} s")


def page_at(url: str) -> str | None:
    """What is at *url*, once something answers."""
    try:
        with urlopen(url, timeout=5) as answer:  # noqa: S310 - a port of our own
            return str(answer.read().decode())
    except URLError:
        return None


# --- its parts ---------------------------------------------------------------------------------------


def test_every_kind_of_block_is_known() -> None:
    assert {block.language for block in read_blocks(README)} == {"sh", "toml", "python", "yaml", "text"}
    assert set(named_files(README)) == {"tools.toml", "agent.py", "prometheus.yml"}


def test_every_command_is_run_by_some_test() -> None:
    known = ("tooltel ", *SERVER_TOOLS, *ELSEWHERE)
    assert [each for each in commands() if not each.startswith(known) and not each.endswith(BACKGROUND)] == []


def test_the_first_screen_says_what_it_is_for_whom_and_shows_one_picture() -> None:
    screen = README.read_text("utf-8").partition("## Two commands")[0]
    assert screen.count("\n") <= 25
    assert re.findall(r"!\[[^]]+\]\(([^)]+)\)", screen) == ["docs/images/fleet.png"]
    assert all(f"**{who}**" in screen for who in ("Agent developers", "Tool owners", "Platform teams"))


def test_the_two_commands_are_two() -> None:
    section = README.read_text("utf-8").partition("## Two commands")[2].partition("\n## ")[0]
    assert re.findall(r"```sh\n(.*?)```", section, re.DOTALL) == ["make demo\nmake test\n"]


def test_the_commands_do_what_they_say(folder: Path) -> None:
    for command in commands():
        if command.startswith("tooltel ") and not command.endswith(BACKGROUND):
            done = run(command, folder)
            assert done.returncode == 0, (command, done.stdout, done.stderr)
    written = {str(path.relative_to(folder)) for path in (folder / "ops").rglob("*") if path.is_file()}
    assert "ops/alerts/alertmanager.yml" in written
    assert any(name.startswith("ops/alerts/rules/") for name in written)
    assert any(name.startswith("ops/dashboards/") for name in written)
    assert "dashboards" in KINDS


def test_the_agent_says_what_it_meets_and_serves_it(folder: Path, ports: Mapping[str, str]) -> None:
    url = f"http://127.0.0.1:{ports['9464']}/metrics"
    with started("python agent.py", folder) as agent:
        assert agent.stdout is not None
        assert agent.stdout.readline() == "unknown: did the model mean order_refund?\n"
        text = wait_for(lambda: page_at(url), agent, within=20)
    assert re.search(r'^tooltel_repeated_calls_total{.*tool="order_refund".*} 1.0$', text, re.MULTILINE)


def test_what_is_rendered_and_the_prometheus_file_are_accepted(folder: Path, servers: Servers) -> None:
    assert run("tooltel render --out ops", folder).returncode == 0
    for command in commands():
        if command.startswith(SERVER_TOOLS):
            done = run(command, folder, servers.promtool.parent)
            assert done.returncode == 0, (command, done.stdout, done.stderr)


def test_the_series_it_names_are_emitted() -> None:
    named = set(re.findall(r"`((?:tooltel|gen_ai)_\w+)`", README.read_text("utf-8")))
    assert named
    assert named <= {row.name for row in signals.EMITTED}


def test_its_map_names_every_page_of_the_documentation() -> None:
    linked = {(ROOT / link.partition("#")[0]).resolve() for link in read_links(README) if "://" not in link}
    pages = {path for path in (ROOT / "docs").rglob("*.md") if path.name != "README.md"}
    assert pages <= linked


# --- as a whole --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_who_follows_it_sees_the_page_reach_its_team_in_the_time_it_says(
    folder: Path, ports: Mapping[str, str], newest_servers: Servers
) -> None:
    """Real Prometheus, real Alertmanager, the README's own files and commands; only the ports are others."""
    assert run("tooltel render --out ops", folder).returncode == 0
    programs = servers_on_path(newest_servers).prometheus.parent
    (promised,) = re.findall(r"^```text\n(.+)\n```$", README.read_text("utf-8"), re.MULTILINE)
    pages = f"http://127.0.0.1:{ports['9099']}/"
    with ExitStack() as running:
        processes = [
            running.enter_context(started(moved(command, ports), folder, programs))
            for command in commands()
            if command.endswith(BACKGROUND)
        ]
        assert len(processes) == 4
        shown = wait_for(
            lambda: text if promised in (text := page_at(pages) or "") else None, processes[0], within=PATIENCE
        )
        told = _receivers(ports["9093"])
    assert re.findall(rf"{promised}.*?\bto\s+(\w+)", re.sub(r"<[^>]+>", " ", shown), re.DOTALL) == ["payments"]
    assert told == {"payments-page"}


def servers_on_path(otherwise: Servers) -> Servers:
    """The generation that the README puts on the path, which is the one that `make demo` fetches."""
    (name,) = re.findall(r"export PATH=.*/\.servers/(\w+):", README.read_text("utf-8"))
    return next((each for each in generations() if each.name == name), otherwise)


def _receivers(port: str) -> set[str]:
    """The receivers of every alert about the tool that Alertmanager has."""
    text = page_at(f"http://127.0.0.1:{port}/api/v2/alerts")
    assert text is not None
    alerts = [alert for alert in json.loads(text) if alert["labels"].get("tool") == "order_refund"]
    return {receiver["name"] for alert in alerts for receiver in alert["receivers"]}


def test_this_python_is_the_one_that_commands_find(tmp_path: Path) -> None:
    done = run("python -c 'import sys; print(sys.prefix)'", tmp_path)
    assert done.stdout.strip() == sys.prefix
