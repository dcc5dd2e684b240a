"""Every snippet of the documentation is run, or held against what would run it."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest
import tomli
import yaml
from promql_parser import parse as parse_promql

from tests.artifacts.expressions import Reader, known_series
from tests.docs.pages import PAGES, README, ROOT, Block, named_files, read_blocks, run, whole_catalog
from tests.docs.test_links import name_of
from tooltel.cli import main
from tooltel.cli.app import VERBS, app

if TYPE_CHECKING:
    from tests.servers import Servers

SNIPPETS = [(page, block) for page in PAGES for block in read_blocks(page)]
LANGUAGES = {"sh", "toml", "python", "yaml", "promql", "text", "json", "ini"}


def commands_of(page: Path) -> list[str]:
    """Every shell command of *page*, in order."""
    return [command for block in read_blocks(page) for command in block.commands]


def is_harmless(command: str) -> bool:
    """Whether *command* is quick, and without any effect beyond the folder that it runs in."""
    return command.startswith(("tooltel check", "tooltel render"))


def needs_servers(command: str) -> bool:
    """Whether *command* is one of Prometheus' or Alertmanager's own tools."""
    return command.startswith(("promtool", "amtool"))


COMMANDS = [
    pytest.param(page, command, id=f"{name_of(page)}: {command}"[:80])
    for page in PAGES
    for command in commands_of(page)
]
# The README's are run in the order of its story, by tests of its own.
WITH_SERVER_TOOLS = [page for page in PAGES if page != README and any(map(needs_servers, commands_of(page)))]
WITH_HARMLESS = [page for page in PAGES if page != README and any(map(is_harmless, commands_of(page)))]
EXAMPLE_TESTS = sorted((ROOT / "tests" / "integrations").rglob("test_example.py"))
WITH_PYTHON = [page for page in PAGES if any(block.language == "python" for block in read_blocks(page))]


def snippets(language: str = "", *, quoted: bool | None = None) -> pytest.MarkDecorator:
    """Every snippet as a test of its own: those of a language, and those that an example does or does not hold."""
    chosen = [
        pytest.param(page, block, id=f"{name_of(page)}-{number}")
        for number, (page, block) in enumerate(SNIPPETS)
        if language in ("", block.language) and quoted in (None, block.source is not None)
    ]
    return pytest.mark.parametrize(("page", "block"), chosen)


@snippets()
def test_its_language_is_one_that_is_tested(page: Path, block: Block) -> None:
    assert block.language in LANGUAGES


@snippets("toml")
def test_a_catalog_or_a_part_of_one_has_no_problem(
    page: Path, block: Block, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "tools.toml"
    path.write_text(whole_catalog(block.text), "utf-8")
    main(["check", "--strict", "--format", "json", str(path)])
    report = json.loads(capsys.readouterr().out)
    assert [f"{each['path']}: {each['what']}" for each in report["problems"]] == []
    assert report["tools"]


@snippets("yaml")
def test_yaml_is_yaml(page: Path, block: Block) -> None:
    assert [document for document in yaml.safe_load_all(block.text) if document]


def test_what_a_workflow_runs_succeeds_on_a_catalog_and_what_is_rendered_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = ROOT / "docs" / "catalog.md"
    workflows = [yaml.safe_load(block.text) for block in read_blocks(page) if block.language == "yaml"]
    steps = [
        step["run"] for flow in workflows for job in flow["jobs"].values() for step in job["steps"] if "run" in step
    ]
    install, *commands = steps
    check_pip(page, shlex.split(install)[1:])
    put_files(page, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["render", "--out", "ops"]) == 0  # what is committed
    assert any("--check" in command for command in commands)
    for command in commands:
        assert is_harmless(command)
        assert main(shlex.split(command)[1:]) == 0, (command, capsys.readouterr())


@snippets("promql")
def test_a_query_is_one_and_names_series_and_labels_that_exist(page: Path, block: Block) -> None:
    if "__name__" in block.text:  # about all series there are
        parse_promql(block.text)
        return
    reader = Reader(known_series(waiting=False))
    reader.read(block.text)
    assert reader.faults == []


@pytest.mark.parametrize("page", [page for page in WITH_PYTHON if page != README], ids=name_of)
def test_the_python_of_a_page_runs_from_top_to_bottom(page: Path, tmp_path: Path) -> None:
    put_files(page, tmp_path)
    blocks = [block.text for block in read_blocks(page) if block.language == "python" and block.source is None]
    (tmp_path / "page.py").write_text("\n".join(blocks), "utf-8")
    done = run(f"{sys.executable} page.py", tmp_path)
    assert done.returncode == 0, done.stderr


@snippets("python", quoted=True)
def test_lines_that_need_a_framework_stand_in_the_example_that_is_run_with_it(page: Path, block: Block) -> None:
    assert block.source is not None
    source = (page.parent / block.source).resolve()
    example = " ".join(source.read_text("utf-8").split())
    missing = [line.strip() for line in block.text.splitlines() if " ".join(line.split()) not in example]
    assert missing == []
    assert source.is_relative_to(ROOT / "src") or any(source.name in test.read_text("utf-8") for test in EXAMPLE_TESTS)


@pytest.mark.parametrize("page", WITH_HARMLESS, ids=name_of)
def test_harmless_commands_of_a_page_succeed_in_their_order(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put_files(page, tmp_path)
    monkeypatch.chdir(tmp_path)
    for command in filter(is_harmless, commands_of(page)):
        assert main(shlex.split(command)[1:]) == 0, (command, capsys.readouterr())


@pytest.mark.parametrize("page", WITH_SERVER_TOOLS, ids=name_of)
def test_commands_of_prometheus_and_alertmanager_succeed_on_what_is_rendered(
    page: Path, tmp_path: Path, newest_servers: Servers
) -> None:
    put_files(page, tmp_path)
    assert run("tooltel render --out ops", tmp_path).returncode == 0
    for command in filter(needs_servers, commands_of(page)):
        done = run(command, tmp_path, newest_servers.promtool.parent)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        if "owner=payments" in command:
            assert done.stdout == "payments-page\n"


@pytest.mark.parametrize(("page", "command"), COMMANDS)
def test_a_command_is_one_that_its_program_takes(page: Path, command: str) -> None:
    for part in re.split(r" \| ", command.removesuffix(" &")):
        program, *arguments = shlex.split(part)
        while "=" in program.split("/")[0]:  # a variable before the command
            program, *arguments = arguments
        check = PROGRAMS.get(program)
        assert check is not None, f"{program} is held against nothing"
        check(page, arguments)


# --- what a program takes ----------------------------------------------------------------------------


def check_tooltel(page: Path, arguments: list[str]) -> None:
    """The verb exists and takes these options; paths need not be there."""
    verb, *rest = arguments
    assert verb in VERBS
    with click.Context(app, info_name="tooltel", **app.context_settings) as parent:
        command = app.get_command(parent, verb)
        assert command is not None
        command.make_context(verb, rest, parent=parent).close()


def check_make(page: Path, arguments: list[str]) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in (each for each in arguments if "=" not in each):
        assert re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE), f"make has no target {target}"


def check_python(page: Path, arguments: list[str]) -> None:
    """A script that the page writes, one of the repository, or a module of it."""
    if arguments[0] == "-m":
        assert arguments[1] in {"venv", "agent", "pytest"}, arguments
        return
    assert arguments[0] in named_files(page) or (ROOT / arguments[0]).exists(), arguments


def check_pip(page: Path, arguments: list[str]) -> None:
    """The extras exist."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        extras = tomli.load(file)["project"]["optional-dependencies"]
    assert arguments[0] == "install"
    named = re.findall(r"\[([\w,-]+)\]", " ".join(arguments))
    assert named
    assert set(",".join(named).split(",")) <= set(extras)


def check_curl(page: Path, arguments: list[str]) -> None:
    """It asks for something that tooltel serves."""
    (url,) = [each for each in arguments if each.startswith("http")]
    assert re.fullmatch(r"http://127\.0\.0\.1:9464/(metrics|healthz|readyz|matches)", url)


def take_anything(page: Path, arguments: list[str]) -> None:
    """Nothing is known of its arguments here."""


PROGRAMS = {
    "tooltel": check_tooltel,
    "make": check_make,
    "python": check_python,
    "python3": check_python,
    "pip": check_pip,
    "curl": check_curl,
    # These are run, with real servers, here and by tests/readme.
    **dict.fromkeys(("promtool", "amtool", "prometheus", "alertmanager"), take_anything),
    # And these are not ours.
    **dict.fromkeys(
        (".", "export", "cd", "mkdir", "kill", "git", "jq", "grep", "journalctl", "kubectl"), take_anything
    ),
}


def put_files(page: Path, folder: Path) -> None:
    """Write the files that *page* names; without a catalog of its own it leans on the README's."""
    for name, text in {"tools.toml": named_files(README)["tools.toml"], **named_files(page)}.items():
        (folder / name).write_text(text, "utf-8")
