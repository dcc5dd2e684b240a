"""`tooltel check` finds every problem of a catalog, for people and for pipelines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tooltel.demo
from tooltel.cli import main

EXAMPLE = Path(tooltel.demo.__file__).with_name("tools.toml")
GOLDEN = Path(__file__).parent.parent / "loading" / "golden"
TOOLTEL = [sys.executable, "-m", "tooltel"]

GOOD = """\
[catalog]
platform_owner = "platform"
levels = { description = "warn" }
[owners.platform]
page = { slack_configs = [{ api_url_file = "/etc/key", channel = "#platform" }] }
[profiles.support]
owner = "platform"
budget_chars = 1000
[tools.order_lookup]
owner = "platform"
profiles = ["support"]
"""
WARNED = GOOD + 'description = "short"\n'
BAD = WARNED + 'risk = "reed"\nobjective = 99\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str], str]:
    code = main(["check", *arguments])
    said = capsys.readouterr()
    return code, said.out.splitlines(), said.err


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    code = main(["check", "--format", "json", *arguments])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return {**found, "code": code}


def test_a_good_catalog_is_one_line_and_exit_code_0(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = check(capsys, str(EXAMPLE))
    assert (code, err) == (0, "")
    assert out == [f"{EXAMPLE}: 13 tools, 4 owners, 2 profiles: no problems"]


def test_problems_are_a_line_each_then_their_number_and_exit_code_1(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "tools.toml").write_text(BAD)
    code, out, err = check(capsys)
    assert (code, err) == (1, "")
    assert [line.partition(" ")[0] for line in out] == ["tools.toml:12:", "tools.toml:13:", "tools.toml:14:", "2"]
    assert out[0].startswith("tools.toml:12: warn: tools.order_lookup.description: has 5 characters")
    assert out[1].endswith("no risk 'reed'; did you mean 'read'? [unknown_risk]")
    assert out[-1] == "2 errors, 1 warning in tools.toml"


@pytest.mark.parametrize(("arguments", "code"), [((), 0), (("--strict",), 1)])
def test_warnings_fail_only_when_strict(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], code: int
) -> None:
    (folder / "tools.toml").write_text(WARNED)
    found, out, _ = check(capsys, *arguments)
    assert found == code
    assert out[-1] == "1 warning in tools.toml"


def test_json_is_one_object_with_every_fact(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "tools.toml").write_text(BAD)
    found = report(capsys)
    assert {key: value for key, value in found.items() if key != "problems"} == {
        "code": 1,
        "source": "tools.toml",
        "errors": 2,
        "warnings": 1,
        "tools": 1,
        "owners": 1,
        "profiles": 1,
    }
    assert found["problems"][1] == {
        "rule": "unknown_risk",
        "path": "tools.order_lookup.risk",
        "what": "no risk 'reed'",
        "fix": "did you mean 'read'?",
        "file": "tools.toml",
        "line": 13,
        "level": "error",
        "house": False,
    }


def test_json_of_a_good_catalog_has_no_problems(capsys: pytest.CaptureFixture[str]) -> None:
    found = report(capsys, str(EXAMPLE))
    assert (found["code"], found["errors"], found["problems"]) == (0, 0, [])


@pytest.mark.parametrize("case", sorted(path.stem for path in GOLDEN.glob("*.toml")))
def test_the_command_prints_what_loading_finds(
    case: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(GOLDEN)
    code, out, _ = check(capsys, f"{case}.toml")
    assert code == 1
    assert set((GOLDEN / f"{case}.txt").read_text(encoding="utf-8").splitlines()) <= set(out)


def test_options_of_artifacts_and_receivers_are_checked_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = '[render]\njbo = "x"\n[render.alerts.ToolErrrs]\nwindow = "5m"\n'
    receiver = GOOD.replace('channel = "#platform"', 'channnel = "#platform"')
    (folder / "tools.toml").write_text(receiver + 'alerts = { NoSuchAlert = { window = "5m" } }\n' + more)
    paths = {problem["path"]: problem["line"] for problem in report(capsys)["problems"]}
    assert paths == {
        "owners.platform.page.slack_configs[0].channnel": 5,
        "tools.order_lookup.alerts.NoSuchAlert": 12,
        "render.jbo": 14,
        "render.alerts.ToolErrrs": 15,
    }


def test_what_only_rendering_needs_is_a_warning(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "tools.toml").write_text('[owners.platform]\n[tools.order_lookup]\nowner = "platform"\n')
    assert report(capsys)["code"] == 0
    assert report(capsys, "--strict")["problems"][0]["rule"] == "no_platform_owner"


# --- what cannot be run ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere.toml",), "there is no such file"),
        ((".",), "is a directory"),
        (("--catalog", "no_such_module_anywhere:CATALOG"), "No module named"),
        (("--catalog", "json:loads"), "is a function"),
    ],
)
def test_a_catalog_that_is_not_there_is_exit_code_2(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    code, out, _ = check(capsys, *arguments)
    assert code == 2
    assert said in out[0]
    assert out[-1].startswith("1 error in ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("a.toml", "--catalog", "b.toml"), "not both"),
        (("a.toml", "b.toml"), "unexpected extra argument"),
        (("--format", "xml"), "xml"),
        (("--no-such-option",), "--no-such-option"),
        (("tools.toml", "--declarations", "support=nowhere.json"), "No such file"),
        (("tools.toml", "--declarations", "support=tools.toml"), "is no JSON"),
        (("tools.toml", "--declarations", "suport=sent.json"), "did you mean 'support'?"),
        (("tools.toml", "--declarations", "sent.json"), "--declarations PROFILE=sent.json"),
    ],
)
def test_wrong_usage_is_told_on_stderr_and_exit_code_2(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    (folder / "tools.toml").write_text(GOOD)
    (folder / "sent.json").write_text("[]")
    code, out, err = check(capsys, *arguments)
    assert (code, out) == (2, [])
    assert said in err
    assert "Traceback" not in err


# --- declarations ------------------------------------------------------------------------------------------


@pytest.fixture
def sent(folder: Path) -> Path:
    (folder / "tools.toml").write_text(GOOD)
    declarations = [{"name": "order_lokup", "description": "x" * 1000, "input_schema": {"type": "object"}}]
    (folder / "sent.json").write_text(json.dumps(declarations))
    return folder


@pytest.mark.usefixtures("sent")
def test_declarations_are_held_against_names_and_budgets(capsys: pytest.CaptureFixture[str]) -> None:
    problems = report(capsys, "--declarations", "support=sent.json")["problems"]
    assert [(problem["rule"], problem["path"], problem["line"]) for problem in problems] == [
        ("declared_name", "declarations.support.order_lokup", None),
        ("budget", "profiles.support.budget_chars", 8),
    ]


def test_a_file_of_declarations_that_is_called_like_its_profile_needs_no_name(
    sent: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (sent / "sent.json").rename(sent / "support.json")
    assert report(capsys, "--declarations", "support.json")["errors"] == 2


def test_many_files_of_one_profile_are_its_declarations_together(
    sent: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "order_lookup"
    for number in (1, 2):
        (sent / f"{number}.json").write_text(json.dumps({"name": name, "description": "x" * 480}))
    both = report(capsys, "--declarations", "support=1.json", "--declarations", "support=2.json")
    assert [problem["rule"] for problem in both["problems"]] == ["duplicate_declaration", "budget"]
    assert report(capsys, "--declarations", "support=1.json")["problems"] == []


# --- as a process ------------------------------------------------------------------------------------------


def run(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*TOOLTEL, "check", *arguments],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )


def test_a_catalog_in_code_is_found_in_the_folder_one_works_in(folder: Path) -> None:
    (folder / "my_agent.py").write_text(
        "from tooltel import Catalog, Owner, Tool\n"
        "CATALOG = Catalog(tools=[Tool('order_lookup', 'nobody')], owners=[Owner('platform')])\n"
    )
    script = Path(sys.executable).with_name("tooltel")
    done = subprocess.run(
        [script, "check", "--catalog", "my_agent:CATALOG"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "error: tools.order_lookup.owner: no owner 'nobody'" in done.stdout
    assert done.stdout.splitlines()[-1].endswith(" in my_agent:CATALOG")


def test_a_pipe_gets_no_colors_and_no_color_is_obeyed(folder: Path) -> None:
    (folder / "tools.toml").write_text(BAD)
    assert "\x1b" not in run(cwd=folder).stdout
    assert "\x1b" not in run(cwd=folder, NO_COLOR="1", FORCE_COLOR="1").stdout


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
@pytest.mark.parametrize(("no_color", "colored"), [("", True), ("1", False)])
def test_a_terminal_gets_colors_unless_it_does_not_want_any(folder: Path, no_color: str, *, colored: bool) -> None:
    (folder / "tools.toml").write_text(BAD)
    ours, theirs = os.openpty()
    try:
        environment = {**os.environ, "NO_COLOR": no_color, "TERM": "xterm"}
        subprocess.run([*TOOLTEL, "check"], cwd=folder, stdout=theirs, env=environment, check=False, timeout=60)
        said = os.read(ours, 10_000)
    finally:
        os.close(ours)
        os.close(theirs)
    assert b"unknown_risk" in said
    assert (b"\x1b[" in said) is colored


def test_a_reader_that_leaves_early_gets_no_traceback(folder: Path) -> None:
    tools = "".join(f'[tools.tool_{number}]\nowner = "nobody"\n' for number in range(3_000))
    (folder / "tools.toml").write_text(GOOD + tools)
    with subprocess.Popen([*TOOLTEL, "check"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 141  # as of a program that SIGPIPE ended


def test_a_terminal_that_is_not_utf8_gets_escapes(folder: Path) -> None:
    text = '[owners."größe 🦊"]\n[tools.order_lookup]\nowner = "größe 🐧"\n'
    (folder / "tools.toml").write_text(text, encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run([*TOOLTEL, "check"], cwd=folder, env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (1, b"")
    assert "größe \\U0001f427" in done.stdout.decode("latin-1")


def test_hostile_names_move_no_cursor_and_forge_no_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "order\\u001b[2J\\ntools.toml:1: error: forged"
    (folder / "tools.toml").write_text(f'{GOOD}["tools"."{name}{"x" * 3000}"]\nowner = "platform"\n')
    code, out, _ = check(capsys)
    assert code == 1
    assert len(out) == 2
    assert all(line.isprintable() and len(line) < 1_200 for line in out)


def test_a_log_signature_that_could_stall_a_reader_is_a_problem_with_its_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    signature = "[[signatures]]\nmoment = \"not_found\"\npattern = 'no such tool (a+)+!'\n"
    (folder / "tools.toml").write_text(GOOD + signature)
    found = report(capsys)
    slow = [(each["rule"], each["line"]) for each in found["problems"] if each["path"] == "signatures[0].pattern"]
    assert slow == [("slow_pattern", (GOOD + signature).count("\n"))]
    assert found["code"] == 1


def test_what_is_wrong_with_a_log_signature_is_said_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "tools.toml").write_text(GOOD + '[[signatures]]\nmoment = "nonsense"\npattern = "("\n')
    paths = [each["path"] for each in report(capsys)["problems"] if each["path"].startswith("signatures")]
    assert sorted(paths) == ["signatures[0].moment", "signatures[0].pattern"]
