"""`tooltel sidecar` as it is started: its sources, its output, its exit codes, and a child whose words pass through."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any, Self

import pytest

from tests.signals.scrape import parse, total
from tooltel import signals

PROGRAMS = str(Path(__file__).parent.parent / "sidecar" / "programs.py")
CATALOG = """
[catalog]
platform_owner = "platform"
[owners.platform]
[owners.orders]
[profiles.support]
owner = "platform"
[tools.order_lookup]
owner = "orders"
risk = "read"
profiles = ["support"]
description = "Look an order up by its number, with its lines and their states."
retired = ["old_1", "old_2", "old_3"]
[[signatures]]
moment = "not_found"
pattern = 'Tool not found: (?P<name>\\S+)'
"""
DROP = "12:00:00 WARN a.B - Tool not found: old_1\n"

Found = dict[tuple[str, frozenset[tuple[str, str]]], float]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tools.toml").write_text(CATALOG)
    return tmp_path


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "tooltel", "sidecar", *arguments]


def run(folder: Path, *arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command(*arguments), cwd=folder, input=given, capture_output=True, timeout=60, check=False)


def counts(said: subprocess.CompletedProcess[bytes]) -> Found:
    return parse(said.stdout.decode())


def dropped(found: Found, **labels: str) -> float:
    return total(found, signals.NOT_FOUND.name, **labels)


# --- sources ---------------------------------------------------------------------------------------------------


def test_once_reads_to_the_end_prints_the_counts_and_ends(folder: Path) -> None:
    (folder / "a.log").write_text(DROP * 3 + DROP.rstrip())
    said = run(folder, "--file", "a.log", "--once", "--profile", "support")
    assert said.returncode == 0
    found = counts(said)
    assert dropped(found, requested="old_1", owner="orders", profile="support", reason="renamed") == 4
    assert total(found, signals.SIDECAR_LINES.name, source="file1") == 4
    assert total(found, signals.TOOL_INFO.name) == 1


def test_a_source_without_a_name_is_called_by_its_place_never_by_its_path(folder: Path) -> None:
    (folder / "secret-project.log").write_text(DROP)
    (folder / "b=c.log").write_text(DROP)
    said = run(folder, "--file", "agent=*project.log", "--file", "./b=c.log", "--file", "agent=*.none", "--once")
    found = counts(said)
    assert {dict(labels)["source"] for name, labels in found if name == signals.SIDECAR_LINES.name} == {
        "agent",
        "file2",
    }
    assert dropped(found) == 2
    assert b"secret-project" not in said.stdout


def test_the_catalogs_sources_give_the_same(folder: Path) -> None:
    (folder / "a.log").write_text(DROP)
    (folder / "tools.toml").write_text(
        CATALOG + f'[sidecar.sources.agent]\nfiles = ["{folder}/*.log"]\nprofile = "support"\n'
    )
    said = run(folder, "--once")
    assert dropped(counts(said), profile="support", requested="old_1") == 1
    assert total(counts(said), signals.SIDECAR_LINES.name, source="agent") == 1


def test_a_source_that_says_plugin_leaves_its_frameworks_signatures_uncounted(folder: Path) -> None:
    adk = "12:00:00 WARN com.google.adk.flows.llmflows.Functions - Tool not found: old_1\n"
    own = "12:00:00 WARN com.acme.Agent - no such function old_2\n"
    (folder / "a.log").write_text(adk + own)
    catalog = CATALOG.replace("Tool not found: ", "no such function ") + (
        f'[sidecar.sources.agent]\nfiles = ["{folder}/*.log"]\nframework = "google-adk-java"\nplugin = %s\n'
    )
    for plugin, names in (("false", {"old_1": 1, "old_2": 1}), ("true", {"old_1": 0, "old_2": 1})):
        (folder / "tools.toml").write_text(catalog % plugin)
        found = counts(run(folder, "--once"))
        assert {name: dropped(found, requested=name, profile="none") for name in names} == names


def test_standard_input_is_read_to_its_end(folder: Path) -> None:
    said = run(folder, "--stdin", "--once", "--profile", "support", given=DROP.encode() * 2 + DROP.rstrip().encode())
    assert said.returncode == 0
    assert dropped(counts(said), requested="old_1") == 3
    assert total(counts(said), signals.SIDECAR_LINES.name, source="stdin") == 3


def test_a_state_goes_on_from_one_run_to_the_next(folder: Path) -> None:
    (folder / "a.log").write_text(DROP)
    options = ("--file", "agent=a.log", "--once", "--state", "state")
    assert dropped(counts(run(folder, *options))) == 1
    assert dropped(counts(run(folder, *options))) == 1
    with (folder / "a.log").open("a") as log:
        log.write(DROP)
    assert dropped(counts(run(folder, *options))) == 2


# --- wrong usage -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "nothing to read"),
        (("--file", "a.log", "--stdin"), "each is a sidecar of its own"),
        (("--file", "a.log", "--listen", "nowhere"), "write HOST:PORT, as in 127.0.0.1:9464"),
        (("--file", "a.log", "--profile", "suport"), "--profile: no profile 'suport'; did you mean 'support'? see"),
        (("--file", "a.log", "--framework", "google-adk-jav"), "'google-adk-jav'; did you mean 'google-adk-java'?"),
        (("--file", "a.log", "--framework", "zz"), "no framework 'zz'; write one of 'google-adk', "),
        (("--file", "a.log", "--framework", "zz"), "'fastmcp', ...; see"),
        (("--file", "name=",), "names no file"),
        (("--file", "a.log", "--format", "xml"), "'xml' is not one of"),
    ],
)  # fmt: skip
def test_wrong_usage_is_told_in_a_sentence(folder: Path, arguments: tuple[str, ...], said: str) -> None:
    ended = run(folder, *arguments)
    assert ended.returncode == 2
    assert said in ended.stderr.decode()
    assert "Traceback" not in ended.stderr.decode()


def test_once_without_any_file_is_a_problem(folder: Path) -> None:
    said = run(folder, "--file", "none.log", "--once")
    assert said.returncode == 1
    assert "none.log: no such file" in said.stderr.decode()


def test_a_state_in_use_is_refused_naming_the_process(folder: Path) -> None:
    with running(folder, "--file", "a.log", "--state", "state") as sidecar:
        said = run(folder, "--file", "a.log", "--state", "state", "--once")
        assert said.returncode == 2
        assert f"in use by process {sidecar.process.pid}" in said.stderr.decode()


def test_a_command_that_is_not_there_is_told(folder: Path) -> None:
    said = run(folder, "--listen", "127.0.0.1:0", "--", "no-such-program-anywhere")
    assert said.returncode == 2
    assert "no-such-program-anywhere" in said.stderr.decode()


# --- running ---------------------------------------------------------------------------------------------------


class running:  # noqa: N801 - reads as a sentence
    """A sidecar that runs until the end of the block; `url` is where it listens."""

    def __init__(self, folder: Path, *arguments: str, **options: Any) -> None:
        self.process = subprocess.Popen(
            command("--listen", "127.0.0.1:0", *arguments), cwd=folder, stderr=subprocess.PIPE, **options
        )
        self.said = b""
        self.url = self.wait_for(rb"listening on (\S+)\n").decode()

    def wait_for(self, pattern: bytes) -> bytes:
        """Read standard error until it says so."""
        assert self.process.stderr is not None
        while not (found := re.search(pattern, self.said)):
            assert select.select([self.process.stderr], [], [], 30)[0], self.said
            more = os.read(self.process.stderr.fileno(), 4096)
            assert more, self.said
            self.said += more
        return found[1] if found.groups() else found[0]

    def get(self, path: str) -> bytes:
        with urllib.request.urlopen(self.url + path, timeout=30) as answer:  # noqa: S310 - our own server
            body: bytes = answer.read()
            return body

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()


def test_it_follows_serves_and_stops_when_told(folder: Path) -> None:
    with running(folder, "--file", "agent=a.log", "--state", "state") as sidecar:
        while json.loads(sidecar.get("/readyz"))["waiting_for"] != [str(folder / "a.log")]:
            pass  # the first look may still be going on
        assert sidecar.get("/healthz") == b"ok\n"
        (folder / "a.log").write_text(DROP)
        while not dropped(parse(sidecar.get("/metrics").decode())):
            pass  # at most two seconds; each answer is a look
        sidecar.process.send_signal(signal.SIGTERM)
        assert sidecar.process.wait(30) == 0


def test_a_childs_words_pass_through_untouched_and_its_status_is_ours(folder: Path) -> None:
    state = ("--state", "state", "--listen", "127.0.0.1:0")
    said = run(folder, *state, "--", sys.executable, PROGRAMS, "talk")
    assert said.returncode == 7
    assert said.stdout == b"12:00:00 WARN a.B - Tool not found: old_1\n\xff\xfe no text\nunended"
    assert said.stderr.endswith(b"12:00:00 WARN a.B - Tool not found: old_2\r\n")
    (folder / "empty.log").touch()
    found = counts(run(folder, "--state", "state", "--file", "empty.log", "--once"))
    assert dropped(found, requested="old_1") == dropped(found, requested="old_2") == 1
    assert total(found, signals.SIDECAR_LINES.name, source="stdout") == 3
    assert total(found, signals.SIDECAR_LINES.name, source="stderr") == 1


def test_signals_reach_the_child_which_decides_when_to_end(folder: Path) -> None:
    child = ("--", sys.executable, PROGRAMS, "wait_for_signals")
    with running(folder, *child, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as sidecar:
        assert sidecar.process.stdout is not None
        answers = iter(sidecar.process.stdout.readline, b"")
        assert next(answers) == b"ready\n"
        for name in ("SIGUSR1", "SIGHUP", "SIGTERM"):
            sidecar.process.send_signal(getattr(signal, name))
            assert next(answers) == f"got {name}\n".encode()
        assert sidecar.process.wait(30) == 3


def test_a_child_that_a_signal_ended_gives_the_status_of_a_shell(folder: Path) -> None:
    said = run(folder, "--listen", "127.0.0.1:0", "--", sys.executable, "-c", "import os; os.kill(os.getpid(), 9)")
    assert said.returncode == 128 + 9


def test_a_reader_that_went_away_breaks_the_childs_pipe_as_it_would_without_us(folder: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    chatty = "import sys\nwhile True: print('x' * 1000)"
    said = subprocess.run(
        command("--listen", "127.0.0.1:0", "--", sys.executable, "-c", chatty),
        cwd=folder, stdout=writing, stderr=subprocess.PIPE, timeout=60, check=False,
    )  # fmt: skip
    os.close(writing)
    assert said.returncode == 1
    assert b"BrokenPipeError" in said.stderr
