"""Shells complete verbs, options, values and files."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.processes import PROGRAM, environment, tooltel
from tooltel.cli.app import VERBS
from tooltel.cli.completion import SHELLS

pytestmark = pytest.mark.slow  # each starts a program

# Asks bash's own completion function for what Tab would offer after the words.
BASH = """
eval "$(tooltel completion bash)"
complete -p tooltel > /dev/null || exit 3
COMP_WORDS=(%s) COMP_CWORD=%d
_tooltel_completion tooltel
printf '%%s\\n' "${COMPREPLY[@]}"
"""


def bash(*words: str) -> list[str]:
    """What real bash offers for the last of *words*."""
    script = BASH % (" ".join(f"'{word}'" for word in words), len(words) - 1)
    env = environment({"PATH": f"{PROGRAM.parent}:{environment()['PATH']}"})
    done = subprocess.run(["bash", "-c", script], env=env, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("tooltel", ""), list(VERBS)),
        (("tooltel", "ch"), ["check"]),
        (("tooltel", "top", "--so"), ["--sort"]),
        (("tooltel", "top", "--by", ""), ["tool", "owner"]),
        (("tooltel", "render", "--only", "ru"), ["rules", "runbooks"]),
    ],
    ids=" ".join,
)
def test_bash_offers_what_fits(words: tuple[str, ...], offered: list[str]) -> None:
    assert set(bash(*words)) == set(offered)


@pytest.mark.parametrize(
    ("line", "offered"),
    [("tooltel to", "top"), ("tooltel top --j", "--json"), ("tooltel check ", "file,")],
)
def test_fish_is_answered(line: str, offered: str) -> None:
    env = {"_TOOLTEL_COMPLETE": "fish_complete", "COMP_WORDS": line, "COMP_CWORD": line.rpartition(" ")[2]}
    done = tooltel(env=env)
    assert (done.returncode, done.stderr) == (0, "")
    assert offered in done.stdout


@pytest.mark.parametrize(
    ("words", "place", "offered"),
    [("tooltel pa", 1, "pager"), ("tooltel top --on", 2, "--once"), ("tooltel check --catalog ", 3, "file")],
)
def test_zsh_is_answered(words: str, place: int, offered: str) -> None:
    env = {"_TOOLTEL_COMPLETE": "zsh_complete", "COMP_WORDS": words, "COMP_CWORD": str(place)}
    done = tooltel(env=env)
    assert (done.returncode, done.stderr) == (0, "")
    assert offered in done.stdout.split()


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_one_that_the_shell_can_read(shell: str, tmp_path: Path) -> None:
    """Every shell that is here reads it without a complaint; the others' are at least of their kind."""
    done = tooltel("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert {"bash": "complete -o", "zsh": "#compdef tooltel", "fish": "complete --no-files"}[shell] in done.stdout
    script = tmp_path / "script"
    script.write_text(done.stdout)
    if shutil.which(shell):
        subprocess.run([shell, "-n", script], check=True)
    if shell == "fish" and shutil.which(shell):
        asked = f"source {script}; complete -C 'tooltel to'"
        env = environment({"PATH": f"{PROGRAM.parent}:{environment()['PATH']}"})
        offered = subprocess.run([shell, "-c", asked], env=env, capture_output=True, text=True, check=True)
        assert offered.stdout.split()[0] == "top"


def test_the_shell_is_the_one_in_use_when_none_is_named() -> None:
    assert tooltel("completion", env={"SHELL": "/usr/bin/fish"}).stdout == tooltel("completion", "fish").stdout
    done = tooltel("completion", env={"SHELL": "/bin/tcsh"})
    assert done.returncode == 2
    assert done.stderr == (
        "tooltel completion: which shell? name one of bash, zsh, fish; see tooltel completion --help\n"
    )


def test_help_says_how_to_install_it() -> None:
    assert "tooltel completion --help" in tooltel("--help").stdout
    said = tooltel("completion", "--help").stdout
    assert all(f"tooltel completion {shell} > " in said for shell in SHELLS)
