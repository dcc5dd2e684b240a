"""The command line itself: its verbs, its exit codes, and what it never shows."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from types import MappingProxyType

import click
import pytest

from tooltel import cli
from tooltel._version import version
from tooltel.cli import app, main
from tooltel.cli.codes import codes_of
from tooltel.errors import CatalogError, Problem, SettingError


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    said = capsys.readouterr()
    return code, said.out, said.err


def add_verb(monkeypatch: pytest.MonkeyPatch, verb: click.Command) -> None:
    """Put *verb* into the table as `trial`, as a module of its own."""
    monkeypatch.setattr(sys.modules[__name__], "trial", verb, raising=False)
    verbs = {**app.VERBS, "trial": app.Verb(f"{__name__}:trial", "A trial.")}
    monkeypatch.setattr(app, "VERBS", MappingProxyType(verbs))


def raising(error: BaseException) -> click.Command:
    def fail() -> None:
        raise error

    return click.Command("trial", callback=fail)


def test_the_console_script_is_this_main() -> None:
    (script,) = entry_points(group="console_scripts", name="tooltel")
    assert script.load() is main


def test_version_is_told_by_both_ways_in(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--version") == (0, f"tooltel {version}\n", "")
    done = subprocess.run([sys.executable, "-m", "tooltel", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"tooltel {version}\n"


def test_help_lists_every_verb_with_examples_and_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "--help")
    assert (code, err) == (0, "")
    assert "Examples:" in out
    assert "Exit codes:" in out
    for name, verb in app.VERBS.items():
        assert f"  {name} " in out
        assert verb.summary in out


@pytest.mark.parametrize("verb", app.VERBS)
def test_every_verb_has_help_with_examples(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, verb, "--help")
    assert code == 0
    assert "Examples:" in out


def test_no_verb_at_all_gives_help_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys)
    assert (code, out) == (2, "")
    assert err.startswith("Usage: tooltel ")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("chekc", "no verb 'chekc': did you mean check? see tooltel --help"),
        ("zzz", "no verb 'zzz': there are check, render, sidecar, "),
        ("\x1b[31m", "no verb '\\x1b[31m': there are "),
    ],
)
def test_an_unknown_verb_is_told_with_the_nearest(given: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, given)
    assert (code, out) == (2, "")
    assert err.startswith(f"tooltel: {said}")
    assert len(err.splitlines()) == 1


def test_a_verb_whose_module_is_not_there_is_not_listed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    verbs = {**app.VERBS, "later": app.Verb("tooltel.cli.of_a_later_time:later", "Later.")}
    monkeypatch.setattr(app, "VERBS", MappingProxyType(verbs))
    assert "later" not in run(capsys, "--help")[1]
    assert run(capsys, "later")[0] == 2


def test_help_imports_no_verb_and_check_imports_no_package_of_another() -> None:
    code = (
        "import sys; from tooltel.cli import main; main(['--help'])\n"
        "assert 'tooltel.cli.check' not in sys.modules\n"
        "main(['check', 'nowhere.toml'])\n"
        "heavy = ('rich', 'textual', 'grafana_foundation_sdk', 'yaml', 'opentelemetry.sdk')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_verb_chooses_the_exit_code(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for value, code in ((None, 0), (0, 0), (1, 1), (2, 2)):
        add_verb(monkeypatch, click.Command("trial", callback=partial(_same, value)))
        assert run(capsys, "trial") == (code, "", "")


def _same(value: int | None) -> int | None:
    return value


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (
            SettingError("TOOLTEL_X", "there is no such setting"),
            2,
            "tooltel: setting TOOLTEL_X: there is no such setting\n",
        ),
        (FileNotFoundError(2, "No such file", "a.txt"), 2, "tooltel: a.txt: No such file: check the path\n"),
        (OSError("odd"), 2, "tooltel: odd\n"),
        (
            PermissionError(13, "Permission denied", "b"),
            2,
            "tooltel: b: Permission denied: check who may, or give another path\n",
        ),
        (OSError(98, "it is taken; do this"), 2, "tooltel: it is taken; do this\n"),
        (
            click.UsageError("give FILE"),
            2,
            "tooltel trial: give FILE; see tooltel trial --help\n",
        ),
        (KeyboardInterrupt(), 130, "\nInterrupted.\n"),
        (
            CatalogError([Problem("r", "tools.a", "one", "fix it"), Problem("r", "b\n\x1b", "two", "fix")], source="f"),
            1,
            "2 problems in f:\n  error: tools.a: one; fix it [r]\n  error: b\\n\\x1b: two; fix [r]\n",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_mistake_is_told_without_a_traceback(
    error: BaseException,
    code: int,
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if isinstance(error, click.UsageError):
        add_verb(monkeypatch, click.Command("trial", callback=_fail))
    else:
        add_verb(monkeypatch, raising(error))
    assert run(capsys, "trial") == (code, "", said)


def _fail() -> None:
    click.get_current_context().fail("give FILE")


def test_an_error_of_our_own_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    add_verb(monkeypatch, raising(ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        main(["trial"])


@pytest.mark.parametrize(("package", "verb", "extra"), [("click", "--help", "cli"), ("rich", "demo", "cli")])
def test_a_missing_package_is_told_with_the_pip_line(package: str, verb: str, extra: str, tmp_path: Path) -> None:
    code = f"import sys\nsys.modules[{package!r}] = None\nfrom tooltel.cli import main\nsys.exit(main([{verb!r}]))\n"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("tooltel: ")
    assert f"needs {package}" in done.stderr
    assert f"pip install '.[{extra}]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_exit_codes_are_the_documented_ones() -> None:
    assert (cli.FINE, cli.PROBLEMS, cli.CANNOT_RUN, cli.INTERRUPTED, cli.HUNG_UP) == (0, 1, 2, 130, 141)


@pytest.mark.parametrize("verb", ["", *app.VERBS])
def test_help_tells_every_exit_code_of_the_table(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, *([verb] if verb else []), "--help")
    told = " ".join(out.partition("Exit codes:")[2].split())
    assert told == " ".join(f"{code} {meaning}" for code, meaning in codes_of(verb).items())
    assert {cli.FINE, cli.CANNOT_RUN, cli.INTERRUPTED, cli.HUNG_UP} <= set(codes_of(verb))
