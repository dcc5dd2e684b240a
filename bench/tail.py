"""
Measure the sidecar on one GiB of log against grep and mtail, in one interleaved run; the last line is JSON.

    python bench/tail.py [--mib 1024] [--rounds 3] [--keep FOLDER]

The log is the same on every machine: lines of logback with different times, threads, loggers and messages, of which
0.1 % or 10 % tell of a tool that was not found, one in a hundred of those with a name that comes only once.
`grep -c -F` of one literal is the floor that a search can reach, mtail (apt install mtail) the usual way to count. CPU
seconds are user and system of the whole process, its start included; the sidecar runs as an installer leaves it, with
compiled modules and every signature.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

LITERAL: Final = "Tool not found: "
SHARES: Final = (0.001, 0.1)
KNOWN: Final = 40  # names that come again and again
GREP_BAR: Final = 0.7  # of grep's CPU seconds, at 0.1 %
MTAIL_BARS: Final = (80, 20)  # times less than mtail, at 0.1 % and 10 %
MEMORY_BAR: Final = 1.5  # of an idle sidecar's peak

_TEXT: Final = (
    "order lookup started finished in ms for customer payment service cache hit miss request response status with "
    "retry tool call handled session agent model tokens prompt completion queue worker batch event user page index"
)
_LOGGERS: Final = (
    "com.acme.agent.Runner", "com.acme.agent.Session", "com.google.adk.runner.Runner", "com.acme.http.Client",
)  # fmt: skip
CATALOG: Final = """
[catalog]
platform_owner = "platform"
[owners.platform]
[profiles.support]
owner = "platform"
[tools.order_lookup]
owner = "platform"
risk = "read"
profiles = ["support"]
description = "Look an order up by its number, with its lines and their states."
retired = ["retired_00", "retired_01", "retired_02", "retired_03"]
"""
# A careful mtail program.
_MTAIL_PATTERNS: Final = {
    "adk_java": r" - Tool not found: (?P<name>\S+)",
    "adk": r" Function (?P<name>\S*) is not found in the tools_dict",
    "openai": r" Tool (?P<name>\S+) not found in agent ",
    "langgraph": r"Error: (?P<name>\S+) is not a valid tool",
    "pydantic": r"Unknown tool name: '(?P<name>[^']*)'",
    "strands": r"tool_name=<(?P<name>[^>]*)>.* tool not found in registry",
    "mcp": r"Tool '(?P<name>[^']*)' rejected arguments",
    "agno": r"Function (?P<name>\S+) not found",
}
_MTAIL: Final = "counter dropped by kind\n" + "".join(
    f'/{pattern}/ {{\n  dropped["{kind}"]++\n}}\n' for kind, pattern in _MTAIL_PATTERNS.items()
)


def write_log(path: Path, size: int, share: float) -> dict[str, int]:
    """Write *size* bytes of log; give its lines, and how many of them tell of a drop: in all, and of a known name."""
    rng = random.Random(20261130)
    words = _TEXT.split()
    bodies = [
        f"[pool-{rng.randrange(4)}-thread-{rng.randrange(16)}] {rng.choice(('INFO ', 'DEBUG', 'WARN '))} "
        f"{rng.choice(_LOGGERS)} - {' '.join(rng.choices(words, k=rng.randint(4, 12)))} {rng.randrange(10**6)}\n"
        for _ in range(20_000)
    ]
    head = "WARN  com.google.adk.flows.llmflows.Functions - " + LITERAL
    counts = {"lines": 0, "drops": 0, "retired": 0}
    written = 0
    with path.open("w", encoding="ascii", newline="") as file:
        while written < size:
            block = []
            for _ in range(10_000):
                number = counts["lines"]
                counts["lines"] += 1
                stamp = f"2026-11-30 {time.strftime('%H:%M:%S', time.gmtime(number // 1000))}.{number % 1000:03d} "
                if rng.random() >= share:
                    block.append(stamp + bodies[int(rng.random() * 20_000)])
                    continue
                name = f"retired_{rng.randrange(KNOWN):02d}" if rng.random() < 0.99 else f"invented_{number}"
                counts["drops"] += 1
                counts["retired"] += name in ("retired_00", "retired_01", "retired_02", "retired_03")
                block.append(f"{stamp}[pool-1-thread-{int(rng.random() * 16)}] {head}{name}\n")
            text = "".join(block)
            written += len(text)
            file.write(text)
    return counts


@dataclass(frozen=True, slots=True)
class Ran:
    """One run: CPU seconds, peak memory in KiB, and what it printed."""

    cpu: float
    peak: int
    output: str


def run(command: Sequence[str], *, cwd: Path) -> Ran:
    """Run a command to its end; its output goes through a file, so that no pipe slows it."""
    # An installer compiles modules; a checkout whose environment forbids that would do it anew in each run.
    compiled = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(cwd / "compiled")}
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL, cwd=cwd, env=compiled)  # noqa: S603
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode()
    if process.returncode:
        raise SystemExit(f"{command[0]} failed with {process.returncode}")
    return Ran(usage.ru_utime + usage.ru_stime, usage.ru_maxrss, text)


def commands(log: Path, folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Who takes part."""
    tooltel = str(Path(sys.executable).with_name("tooltel"))
    yield "tooltel", [tooltel, "sidecar", "--catalog", str(folder / "tools.toml"), "--file", f"log={log}", "--once"]
    yield "grep", ["grep", "-c", "-F", LITERAL, str(log)]
    mtail = shutil.which("mtail")
    if mtail is not None:
        yield "mtail", [mtail, "--progs", str(folder / "progs"), "--logs", str(log), "--one_shot",
                        "--one_shot_format", "prometheus"]  # fmt: skip


def measure(log: Path, folder: Path, rounds: int) -> dict[str, list[Ran]]:
    """Everybody in turn, again and again; mtail once, as a minute of it tells enough."""
    ran: dict[str, list[Ran]] = {}
    for number in range(rounds):
        for name, command in commands(log, folder):
            if name != "mtail" or number == 0:
                ran.setdefault(name, []).append(run(command, cwd=folder))
    return ran


def value(text: str, pattern: str) -> int:
    """The sum of the samples whose line matches."""
    return int(sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if re.match(pattern, line)))


def is_true(counted: str, truth: dict[str, int]) -> bool:
    """Whether the sidecar counted what is there."""
    return (
        value(counted, "tooltel_sidecar_lines_total") == truth["lines"]
        and value(counted, "tooltel_sidecar_matches_total") == truth["drops"]
        and value(counted, "tooltel_tool_not_found_total") == truth["drops"]
        and value(counted, 'tooltel_tool_not_found_total{.*reason="renamed"') == truth["retired"]
    )


def check(ran: dict[str, list[Ran]], truth: dict[str, int]) -> bool:
    """Whether everybody counted what is there."""
    counted = [is_true(each.output, truth) for each in ran["tooltel"]]
    counted += [int(each.output) == truth["drops"] for each in ran["grep"]]
    counted += [value(each.output, "dropped{") == truth["drops"] for each in ran.get("mtail", ())]
    return all(counted)


def report(share: float, ran: dict[str, list[Ran]], truth: dict[str, int], idle: Ran, mib: int) -> dict[str, object]:
    """Print a table, and give the figures."""
    per_gib = 1024 / mib
    cpu = {name: statistics.median(each.cpu for each in runs) * per_gib for name, runs in ran.items()}
    peak = max(each.peak for each in ran["tooltel"])
    print(
        f"{share:.1%} of {truth['lines']:,} lines tell of a drop; counts {'equal' if check(ran, truth) else 'DIFFER'}"
    )
    for name, seconds in cpu.items():
        print(f"  {name:<8} {seconds:7.2f} CPU s/GiB   {seconds / cpu['tooltel']:7.1f} x tooltel")
    print(f"  peak memory {peak / 1024:.0f} MiB, {peak / idle.peak:.2f} x idle ({idle.peak / 1024:.0f} MiB)")
    bars = {"counts": check(ran, truth), "memory": peak <= MEMORY_BAR * idle.peak}
    if share == SHARES[0]:
        bars["grep"] = cpu["tooltel"] <= GREP_BAR * cpu["grep"]
    if "mtail" in cpu:
        bars["mtail"] = cpu["mtail"] >= MTAIL_BARS[SHARES.index(share)] * cpu["tooltel"]
    print("  bars: " + ", ".join(f"{name} {'held' if held else 'MISSED'}" for name, held in bars.items()))
    return {"share": share, "cpu_s_per_gib": cpu, "peak_kib": peak, "idle_kib": idle.peak, "bars": bars}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="where logs are kept for the next run")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = options.keep or Path(made)
        (folder / "progs").mkdir(parents=True, exist_ok=True)
        (folder / "tools.toml").write_text(CATALOG, encoding="ascii")
        (folder / "progs" / "drops.mtail").write_text(_MTAIL, encoding="ascii")
        (folder / "empty.log").touch()
        start = dict(commands(folder / "empty.log", folder))["tooltel"]
        run(start, cwd=folder)  # compiles
        idle = min((run(start, cwd=folder) for _ in range(5)), key=lambda each: each.cpu)
        print(f"a start alone: {idle.cpu:.2f} CPU s")
        figures = []
        for share in SHARES:
            log = folder / f"share-{share}.log"
            truth = write_log(log, options.mib * 2**20, share)
            figures.append(report(share, measure(log, folder, options.rounds), truth, idle, options.mib))
            if not options.keep:
                log.unlink()
    print(json.dumps({"mib": options.mib, "start_cpu_s": idle.cpu, "figures": figures}))


if __name__ == "__main__":
    main()
