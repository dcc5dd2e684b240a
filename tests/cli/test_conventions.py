"""What people expect of a command line: told in one sentence, quiet in a pipe, plain where colors are unwanted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.cli.processes import PATIENCE, PROGRAM, Site, Terminal, environment, serving, taken_port, tooltel
from tooltel.cli import CANNOT_RUN, FINE, HUNG_UP, INTERRUPTED, PROBLEMS, terminal

BROKEN = '[catalog]\nplatform_owner = "nobody"\n'
EMPTY_FLEET = b'tooltel_build_info{version="0"} 1.0\n'


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A folder with a catalog that has a problem."""
    (tmp_path / "tools.toml").write_text(BROKEN)
    return tmp_path


pytestmark = pytest.mark.slow  # each starts a program

EXAMPLE = Path(__file__).resolve().parents[2] / "src/tooltel/demo/tools.toml"

# What a user may get wrong, by what it is. PORT is taken, and `file` is one.
MISTAKES = {
    "no such file": "check nowhere.toml",
    "a folder for a file": "check .",
    "no such module": "check --catalog nowhere.tools:CATALOG",
    "a file for a folder": f"render --catalog {EXAMPLE} --out file/below",
    "no such option": "render --ouut x",
    "no such value": "top --sort color",
    "no number": "demo --sessions many",
    "no URL": "top http://[::1",
    "another protocol": "top ftp://127.0.0.1",
    "nobody there": "top http://127.0.0.1:1",
    "no such token file": "top --token-file nowhere",
    "the demo's port is in use": "demo --fast --no-servers --serve --port PORT",
    "the sidecar's port is in use": f"sidecar --catalog {EXAMPLE} --listen 127.0.0.1:PORT --file x.log",
    "the pager's port is in use": "pager --port PORT",
    "no such shell": "completion tcsh",
    "no such verb": "chekc",
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence_on_standard_error_and_no_traceback(mistake: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with taken_port() as port:
        done = tooltel(*MISTAKES[mistake].replace("PORT", str(port)).split(), cwd=tmp_path)
    assert done.returncode == CANNOT_RUN, done
    # `check` reports a file that it cannot read as it does any problem: on standard output, with a count.
    told = done.stdout.splitlines()[:1] if MISTAKES[mistake].startswith("check") else done.stderr.splitlines()
    assert "Traceback" not in done.stderr + done.stdout
    assert len(told) == 1, done
    assert 20 < len(told[0]) < 300, told


def test_python_m_is_the_same_program(broken: Path) -> None:
    module = subprocess.run(
        [sys.executable, "-m", "tooltel", "check"], cwd=broken, env=environment(), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    script = tooltel("check", cwd=broken)
    assert (module.returncode, module.stdout, module.stderr) == (script.returncode, script.stdout, script.stderr)
    assert script.returncode == PROBLEMS


@pytest.mark.parametrize("arguments", [["--help"], ["check"], ["check", "--json"], ["top", "--help"]])
def test_a_reader_that_went_away_ends_it_quietly(arguments: list[str], broken: Path) -> None:
    """As `tooltel ... | true`: not a word, and the exit code of a program that SIGPIPE ended."""
    reading, writing = os.pipe()
    os.close(reading)
    done = tooltel(*arguments, cwd=broken, stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (HUNG_UP, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_told(broken: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = tooltel("check", cwd=broken, stdout=full)
    assert done.returncode == CANNOT_RUN
    assert done.stderr == "tooltel: No space left on device: make room, or give another path\n"


@pytest.mark.parametrize(("arguments", "code"), [("check", PROBLEMS), ("top URL --once", FINE), ("--help", FINE)])
def test_closed_streams_are_no_traceback(arguments: str, code: int, broken: Path) -> None:
    with serving(Site({"*": (200, "text/plain", EMPTY_FLEET)})) as site:
        script = f'"{PROGRAM}" {arguments.replace("URL", site.url)} >&- 2>&-; echo $?'
        done = subprocess.run(["/bin/sh", "-c", script], cwd=broken, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (f"{code}\n", "")


def test_an_interrupt_ends_it_with_130() -> None:
    with serving(Site({}, go=threading.Event())) as site:
        process = subprocess.Popen(
            [PROGRAM, "top", site.url, "--once"], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        assert site.asked.wait(PATIENCE)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (INTERRUPTED, "", "\nInterrupted.\n")


@pytest.mark.parametrize(
    ("env", "colored"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ({"FORCE_COLOR": "", "NO_COLOR": ""}, False),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True),
    ],
    ids=str,
)
def test_a_pipe_gets_colors_only_when_they_are_forced(env: dict[str, str], colored: bool, broken: Path) -> None:
    assert ("\x1b[" in tooltel("check", env=env, cwd=broken).stdout) is colored


@pytest.mark.parametrize(
    ("env", "colored"),
    [
        ({"TERM": "xterm-256color"}, True),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, False),
        ({"TERM": "xterm-256color", "NO_COLOR": ""}, True),
        ({"TERM": "dumb"}, False),
    ],
    ids=str,
)
def test_a_terminal_gets_colors_unless_it_says_otherwise(env: dict[str, str], colored: bool, broken: Path) -> None:
    with Terminal("check", str(broken / "tools.toml"), env=env) as shown:
        assert shown.wait() == PROBLEMS
    assert "unknown_owner" in shown.shown
    assert ("\x1b[" in shown.shown) is colored


def test_work_over_a_second_shows_a_sign_of_life_on_a_terminal() -> None:
    with serving(Site({"*": (200, "text/plain", EMPTY_FLEET)}, go=threading.Event())) as site:
        arguments = ("top", f"{site.url}/metrics", "--once", "--timeout", "60")
        with Terminal(*arguments, env={"TERM": "xterm"}, only_errors=True) as shown:
            shown.wait_for(f"asking {site.url}/metrics")
            assert site.go is not None
            site.go.set()
            assert shown.process.stdout is not None
            table = shown.process.stdout.read().decode()
            assert shown.wait() == FINE
    assert table.startswith("0 tools")
    assert "asking" not in table


def test_quick_work_shows_none(broken: Path) -> None:
    with Terminal("check", str(broken / "tools.toml"), env={"TERM": "xterm"}, only_errors=True) as shown:
        assert shown.wait() == PROBLEMS
    assert shown.shown == ""


@pytest.mark.parametrize("stream", ["pipe", "dumb"])
def test_no_sign_of_life_where_no_terminal_can_take_it_back(
    stream: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if stream == "dumb":
        monkeypatch.setenv("TERM", "dumb")
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    before = threading.active_count()
    with terminal.working("waiting", after=0):
        assert threading.active_count() == before
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["completion", "zsh"]])
def test_what_only_prints_loads_nothing_heavy(arguments: list[str]) -> None:
    code = (
        f"import sys; from tooltel.cli import main; main({arguments!r})\n"
        "heavy = ('rich', 'textual', 'prometheus_client', 'opentelemetry', 'structlog', 'tomli', 'yaml', 'asyncio',\n"
        "         'grafana_foundation_sdk', 'urllib.request', 'tooltel.runtime', 'tooltel.catalog', 'tooltel.top')\n"
        "print([name for name in heavy if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


def test_printing_once_loads_no_live_view() -> None:
    with serving(Site({"*": (200, "text/plain", EMPTY_FLEET)})) as site:
        code = (
            f"import sys; from tooltel.cli import main; main(['top', {site.url!r}, '--once'])\n"
            "heavy = ('textual', 'prometheus_client', 'opentelemetry', 'structlog', 'rich.console', 'asyncio')\n"
            "print([name for name in heavy if name in sys.modules], file=sys.stderr)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"
    assert done.stdout.startswith("0 tools")


@pytest.mark.parametrize("verb", ["check", "render"])
def test_json_has_a_short_spelling(verb: str, tmp_path: Path) -> None:
    (tmp_path / "tools.toml").write_bytes(EXAMPLE.read_bytes())
    long, short = (tooltel(verb, *form, cwd=tmp_path) for form in (["--format", "json"], ["--json"]))
    assert json.loads(short.stdout).keys() == json.loads(long.stdout).keys()
    both = tooltel(verb, "--format", "text", "--json", cwd=tmp_path)
    assert json.loads(both.stdout)
