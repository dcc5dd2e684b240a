"""Run each framework's tests in environments of their own: its oldest and its newest supported version.

`make matrix`, or `.venv/bin/python tools/matrix.py [ENV ...]`; an ENV also names every environment that begins with it
(`adk`). Each lives in .matrix/ENV, made by uv from the package indexes that pip is configured with, holds the project
in place with that framework's extra alone, and is kept until what it must hold changes. Two run at a time.

Exit codes: 0 when all passed, 1 when one did not or could not be made, also at a second attempt (its output is shown,
and stays in .matrix/ENV.log), 2 when there is no such environment.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import re
import subprocess
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).resolve().parent.parent
MATRIX = ROOT / ".matrix"
SIDE_BY_SIDE = 2
FINDING = Lock()  # uv looks itself up through sysconfig, whose first look-up two threads must not share
SHOWN_LINES = 60  # of the output of an environment that failed
ATTEMPTS = 2  # to make an environment: a download may fail
BETWEEN_ATTEMPTS = 5.0  # seconds
TESTING = (
    "pytest>=8.3",
    "pytest-randomly>=3.16",
    "pytest-timeout>=2.3",
    "hypothesis>=6.100",
)
# A framework's own warnings, at import or later, are its own business; ours are still errors.
WARNINGS = "filterwarnings=error:::tooltel"
NOT_FOR_TESTS = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE")


class Environment(NamedTuple):
    """
    One framework at one version: `extra` of this project, then `requirements` that pin it.

    `tests` is the folder to run. `python` is the interpreter (a version or a path for uv); None: the running one.
    """

    name: str
    extra: str
    requirements: tuple[str, ...]
    tests: str
    python: str | None = None


ENVIRONMENTS = (
    Environment("adk-oldest", "adk", ("google-adk==1.18.0",), "tests/integrations/adk"),
    Environment("adk-before-names", "adk", ("google-adk[mcp]==2.8.0",), "tests/integrations/adk"),
    Environment("adk-newest", "adk", ("google-adk[mcp]==2.13.0",), "tests/integrations/adk"),
    Environment("anthropic-oldest", "anthropic", ("anthropic==0.68.0",), "tests/integrations/anthropic"),
    Environment("anthropic-last-0", "anthropic", ("anthropic==0.125.0",), "tests/integrations/anthropic"),
    Environment("anthropic-newest", "anthropic", ("anthropic==2.14.0",), "tests/integrations/anthropic"),
    Environment(
        "langchain-oldest",
        "langchain",
        (
            "langchain==1.0.0",
            "langchain-core==1.0.0",
            "langgraph==1.0.0",
            "langgraph-prebuilt==1.0.2",
            "langchain-classic==1.0.0",
        ),
        "tests/integrations/langchain",
    ),
    Environment(  # the last where a middleware cannot run what its agent does not know; later prebuilts do not fit it
        "langchain-before-any-tool",
        "langchain",
        ("langchain==1.2.6", "langgraph==1.0.8", "langgraph-prebuilt==1.0.8", "langchain-classic==1.0.1"),
        "tests/integrations/langchain",
    ),
    Environment(
        "langchain-newest",
        "langchain",
        ("langchain==1.5.2", "langgraph==1.2.24", "langchain-classic==1.0.8"),
        "tests/integrations/langchain",
    ),
    Environment(
        "openai-agents-oldest",
        "openai-agents",
        ("openai-agents==0.10.4", "openai==2.26.0"),
        "tests/integrations/openai_agents",
    ),
    Environment(
        "openai-agents-newest", "openai-agents", ("openai-agents==0.24.0",), "tests/integrations/openai_agents"
    ),
    Environment("pydantic-ai-oldest", "pydantic-ai", ("pydantic-ai-slim==1.71.0",), "tests/integrations/pydantic_ai"),
    Environment("pydantic-ai-last-1", "pydantic-ai", ("pydantic-ai-slim==1.107.10",), "tests/integrations/pydantic_ai"),
    Environment("pydantic-ai-first-2", "pydantic-ai", ("pydantic-ai-slim==2.0.0",), "tests/integrations/pydantic_ai"),
    Environment("pydantic-ai-newest", "pydantic-ai", ("pydantic-ai-slim==2.68.0",), "tests/integrations/pydantic_ai"),
    Environment("mcp-oldest", "mcp", ("mcp==1.10.0", "pydantic<2.12"), "tests/integrations/mcp"),
    Environment("mcp-last-1", "mcp", ("mcp==1.30.0",), "tests/integrations/mcp"),
    Environment("mcp-first-2", "mcp", ("mcp==2.0.0",), "tests/integrations/mcp"),
    Environment("mcp-newest", "mcp", ("mcp==2.3.0",), "tests/integrations/mcp"),
    Environment("fastmcp-oldest", "fastmcp", ("fastmcp==2.14.0", "mcp<2"), "tests/integrations/fastmcp"),
    Environment("fastmcp-first-3", "fastmcp", ("fastmcp==3.0.0",), "tests/integrations/fastmcp"),
    Environment("fastmcp-last-3", "fastmcp", ("fastmcp==3.4.11",), "tests/integrations/fastmcp"),
    Environment("fastmcp-newest", "fastmcp", ("fastmcp==4.2.3",), "tests/integrations/fastmcp"),
)


class Result(NamedTuple):
    """
    What became of one environment: what its tests said, or that there was no environment.

    `unsteady` says that something failed, and passed when it was run once more: that is told, and no failure.
    """

    environment: Environment
    passed: bool
    seconds: float
    said: str
    log: Path
    unsteady: bool = False


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for, and print a line for each environment."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("environments", nargs="*", metavar="ENV", help="names, or their beginnings; none: all")
    parser.add_argument("--list", action="store_true", help="print the names alone")
    options = parser.parse_args(arguments)
    chosen = [
        environment
        for environment in ENVIRONMENTS
        if not options.environments or any(environment.name.startswith(name) for name in options.environments)
    ]
    unknown = [
        name
        for name in options.environments
        if not any(environment.name.startswith(name) for environment in ENVIRONMENTS)
    ]
    if unknown:
        names = ", ".join(environment.name for environment in ENVIRONMENTS)
        print(f"matrix: no environment {', '.join(unknown)}; there are: {names}", file=sys.stderr)
        return 2
    if options.list:
        print("\n".join(environment.name for environment in chosen))
        return 0
    return _run_all(chosen)


def _run_all(chosen: Sequence[Environment]) -> int:
    results: list[Result] = []
    started = time.monotonic()
    width = max(len(environment.name) for environment in chosen)
    index = pip_configuration()
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        running = [pool.submit(_run, environment, index) for environment in chosen]
        for done in as_completed(running):
            result = done.result()
            results.append(result)
            verdict = "unsteady" if result.unsteady else "passed" if result.passed else "FAILED"
            line = f"{result.environment.name:{width}}  {verdict:8}  {result.seconds:5.1f} s  {result.said}"
            print(line, flush=True)
            if not result.passed:
                tail = result.log.read_text(encoding="utf-8", errors="replace").splitlines()[-SHOWN_LINES:]
                print(*(f"    {line}" for line in tail), f"    (all of it: {result.log})", sep="\n", flush=True)
    print(summary(results, time.monotonic() - started))
    return 0 if all(result.passed for result in results) else 1


def summary(results: Sequence[Result], seconds: float) -> str:
    """The last line: how many passed, which did not and why, and how long all took."""
    failed = [f"{result.environment.name} ({result.said or 'see its log'})" for result in results if not result.passed]
    unsteady = [f"{result.environment.name} ({result.said})" for result in results if result.unsteady]
    told = f"; failed: {', '.join(sorted(failed))}" if failed else ""
    told += f"; unsteady: {', '.join(sorted(unsteady))}" if unsteady else ""
    return f"matrix: {len(results) - len(failed)} of {len(results)} passed in {seconds / 60:.1f} min{told}"


def _run(environment: Environment, index: Mapping[str, str]) -> Result:
    started = time.monotonic()
    folder = MATRIX / environment.name
    log = MATRIX / f"{environment.name}.log"
    MATRIX.mkdir(exist_ok=True)
    with log.open("wb") as output:
        made = _prepare(environment, folder, index, output)
        first = made and _test(environment, folder, output)
        # A busy machine fails a test of its own kind now and then; what is broken fails again.
        passed = first or (made and _test(environment, folder, output, "--last-failed"))
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    sums = [line.strip("= ") for line in lines if re.fullmatch(r"=* ?\d+ (passed|failed|error).* in .*", line)]
    said = (sums[0] if sums else "") if made else "could not be made"
    return Result(environment, passed, time.monotonic() - started, said, log, unsteady=passed and not first)


def _prepare(environment: Environment, folder: Path, index: Mapping[str, str], output: BinaryIO) -> bool:
    """Make the environment, unless it already holds what it must."""
    wanted = _contents(environment)
    stamp = folder / "stamp"
    python = _python(folder)
    if python.exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return True
    uv = _uv()
    making = [uv, "venv", "--quiet", "--clear", "--python", environment.python or sys.executable, str(folder)]
    installing = [uv, "pip", "install", "--quiet", "--python", str(python), *_requirements(environment)]
    for attempt in range(ATTEMPTS):
        if attempt:
            output.write(b"matrix: once more\n")
            output.flush()
            time.sleep(BETWEEN_ATTEMPTS)
        if all(_succeeds(command, {**index, **os.environ}, output) for command in (making, installing)):
            stamp.write_text(wanted, encoding="utf-8")
            return True
    return False


def _test(environment: Environment, folder: Path, output: BinaryIO, *which: str) -> bool:
    command = [
        str(_python(folder)), "-m", "pytest", environment.tests, *which,
        "-o", f"cache_dir={folder / 'pytest-cache'}", "-o", WARNINGS,
    ]  # fmt: skip
    # Bytecode is kept, and in the environment: without it one framework takes 20 s to import, each time.
    surroundings = {name: value for name, value in os.environ.items() if name not in NOT_FOR_TESTS}
    added = {"NO_SKIP": "1", "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    return _succeeds(command, {**surroundings, **added}, output)


def _succeeds(command: Sequence[str], surroundings: Mapping[str, str], output: BinaryIO) -> bool:
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=surroundings,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.returncode == 0


def _requirements(environment: Environment) -> tuple[str, ...]:
    return ("--editable", f".[{environment.extra}]", *environment.requirements, *TESTING)


def _contents(environment: Environment) -> str:
    """A hash of all that decides what is installed: of the project's own table, only the part that matters here."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extra = project["optional-dependencies"].get(environment.extra)
    decides = [_requirements(environment), environment.python or sys.version, project["dependencies"], extra]
    return hashlib.sha256(json.dumps(decides).encode()).hexdigest()


def _python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _uv() -> str:
    try:
        from uv import find_uv_bin
    except ImportError:
        sys.exit("matrix: uv is not in this environment; `make setup` installs it")
    with FINDING:
        return find_uv_bin()


# --- the package index -----------------------------------------------------------------------------

# pip's settings, and the variables by which uv knows the same.
SETTINGS = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "no-index": "UV_NO_INDEX",
    "constraint": "UV_CONSTRAINT",
    "trusted-host": "UV_INSECURE_HOST",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "timeout": "UV_HTTP_TIMEOUT",
    "cert": "SSL_CERT_FILE",
}
SECTIONS = ("global.", "install.", ":env:.")  # the later ones win


def pip_configuration() -> dict[str, str]:
    """Give uv's environment variables for the package indexes that pip uses on this machine."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return as_uv(said)


def as_uv(listed: str) -> dict[str, str]:
    """Translate what `pip config list` prints; pip takes the best version of all its indexes, and so shall uv."""
    found = {"UV_INDEX_STRATEGY": "unsafe-best-match", "UV_PYTHON_DOWNLOADS": "never"}
    for section in SECTIONS:
        for line in listed.splitlines():
            key, _, value = line.partition("=")
            variable = SETTINGS.get(key.removeprefix(section)) if key.startswith(section) else None
            if variable is not None:
                several = str(ast.literal_eval(value)).split()
                found[variable] = ("," if variable == "UV_FIND_LINKS" else " ").join(several)
    return found


if __name__ == "__main__":
    sys.exit(main())
