"""
Measure one evaluation of all rule groups for a large fleet, by a real Prometheus with three days of series behind it.

    python bench/rules.py --prometheus .servers/new/prometheus --promtool .servers/new/promtool

The history holds everything that rules look back on, at the distance at which it is scraped or recorded: raw series
for as long as a rule reads them, and recorded ones for all days. Blocks are written two hours at a time, because
promtool reads its whole input again for each block. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from tooltel import signals
from tooltel.artifacts.options import RenderOptions
from tooltel.artifacts.rules import render_rules
from tooltel.catalog import Catalog, Owner, Profile, Tool

SCRAPE: Final = 15  # seconds
BLOCK: Final = 7200
HOUR: Final = 3600
DAY: Final = 86400
VARIANTS: Final = 20  # courses of values: enough that no two neighbors compress alike
EVERY: Final = 60  # interval of all groups here, so that each is evaluated soon


@dataclass(frozen=True)
class History:
    """Series that have the same kind of values: `kept` seconds back from now, a sample every `step` seconds."""

    series: list[str]
    step: int
    kept: int
    kind: str  # counter, rate, errors or constant

    def lines(self, start: int, end: int, now: int) -> Iterator[str]:
        """Samples of all series with start <= time < end, one text for each series."""
        first = max(start, now - self.kept)
        first += -first % self.step
        times = range(first, min(end, now), self.step)
        if not times:
            return
        courses = [[f" {self._value(at, course)} {at}\n" for at in times] for course in range(VARIANTS)]
        for place, name in enumerate(self.series):
            yield name.join(["", *courses[place % VARIANTS]])

    def _value(self, at: int, course: int) -> str:
        if self.kind == "constant":
            return "1"
        if self.kind == "counter":
            return str((at // SCRAPE - 110_000_000) * (course % 4))
        value = (1 + random.random()) * (course + 1) / 10
        if self.kind == "errors":  # one tool in VARIANTS burns its budget, and its alerts write their texts
            value *= 0.3 if course == 0 else 0.0002
        return f"{value:.7f}"


def large_catalog(tools: int, owners: int) -> Catalog:
    """A catalog in which every tool has everything that a rule may be about."""
    risks = list(signals.Risk)
    return Catalog(
        tools=[
            Tool(
                f"tool_{at:04}", f"team_{at % owners:02}", risks[at % 3], profiles=(f"profile_{at % 20:02}",),
                aliases=(f"alias_{at:04}",), retired=(f"retired_{at:04}",), objective=(0.99, 0.95, 0.999)[at % 3],
                latency_bound=(0.32, 0.64, 1.28, 2.56)[at % 4],
                description="What it does, in forty characters or more.",
            )
            for at in range(tools)
        ],
        owners=[Owner(f"team_{at:02}") for at in range(owners)],
        profiles=[Profile(f"profile_{at:02}", f"team_{at % owners:02}", 20_000) for at in range(20)],
        platform_owner="team_00", security_owner="team_01",
    )  # fmt: skip


def histories(catalog: Catalog, days: int) -> list[History]:
    """Everything that the rules read, for as long as they look back."""
    tools = list(catalog.tools.values())
    long, day, short = days * DAY, DAY + HOUR, 2 * HOUR

    def of(name: str, *parts: str, only: list[Tool] = tools) -> list[str]:
        return [
            f'{name}{{instance="a:9464",job="tooltel",tool="{tool.name}",owner="{tool.owner}"{part}}}'
            for tool in only
            for part in parts or ("",)
        ]

    def recorded(part: str, rate: str) -> list[str]:
        return [f'owner_tool:tooltel_tool_calls{part}:{rate}{{owner="{t.owner}",tool="{t.name}"}}' for t in tools]

    outcomes = [
        f',version="1",risk="read",profile="{profile}",outcome="{outcome}"'
        for profile in ("none", "profile")
        for outcome in signals.BORN_OUTCOMES
    ]
    writing = [tool for tool in tools if tool.counts_repeats]
    duration = [
        f'{signals.DURATION.name}{suffix}{{instance="a:9464",job="tooltel",gen_ai_tool_name="{tool.name}",'
        f'owner="{tool.owner}",risk="read"{le}}}'
        for tool in tools
        for suffix, le in (("_count", ""), *(("_bucket", f',le="{bound}"') for bound in (*signals.BUCKETS, "+Inf")))
    ]
    seen = [
        f'owner_sha_tool_version:tooltel_tool_declaration:max{{owner="{t.owner}",sha="aa",tool="{t.name}",version="1"}}'
        for t in tools
    ]
    retired = [
        f'{signals.NOT_FOUND.name}{{instance="a:9464",job="tooltel",profile="{tool.profiles[0]}",owner="{tool.owner}",'
        f'reason="renamed",requested="{tool.retired[0]}"}}'
        for tool in tools
    ]
    alias = [
        series for tool in tools for series in of(signals.ALIAS_CALLS.name, f',alias="{tool.aliases[0]}"', only=[tool])
    ]
    kinds = [
        f',kind="{kind}",source="{source}"'
        for kind, source in (("structural", "framework"), ("structural", "schema"), ("domain", "tool"))
    ]
    return [
        History(recorded("", "rate5m") + recorded("_judged", "rate5m"), 30, long, "rate"),
        History(recorded("_bad", "rate5m"), 30, long, "errors"),
        History(recorded("_judged", "rate5m_sparse"), 120, long, "rate"),
        History(recorded("_bad", "rate5m_sparse"), 120, long, "errors"),
        History(seen, 120, long, "constant"),
        History(of(signals.TOOL_CALLS.name, *outcomes), SCRAPE, short, "counter"),
        History(duration, SCRAPE, short, "counter"),
        History(of(signals.REJECTIONS.name, *kinds), SCRAPE, short, "constant"),
        History(of(signals.BATCH_ITEMS.name, ',status="outstanding"'), SCRAPE, day, "constant"),
        History(
            of(signals.POLICY_REFUSALS.name, ',risk="irreversible",policy="limits"', only=writing),
            SCRAPE,
            day,
            "constant",
        ),
        History(of(signals.REPEATED_CALLS.name, ',risk="irreversible"', only=writing), SCRAPE, day, "constant"),
        History(retired, SCRAPE, day, "constant"),
        History(alias, SCRAPE, short, "constant"),
        History(of(signals.TOOL_INFO.name, ',version="1",risk="read"'), SCRAPE, day, "constant"),
        History(of(signals.TOOL_DECLARATION_INFO.name, ',version="1",sha="aa"'), SCRAPE, short, "constant"),
        History(of(signals.TOOL_OBJECTIVE.name), SCRAPE, short, "constant"),
    ]


def write_history(promtool: Path, folder: Path, parts: list[History], now: int, days: int) -> int:
    """Write blocks up to *now* below *folder*; gives the number of samples."""
    samples = 0
    start = now - days * DAY
    for block in range(start - start % BLOCK, now, BLOCK):
        text = folder.with_name("block.om")
        with text.open("w") as out:
            for part in parts:
                for lines in part.lines(max(block, start), block + BLOCK, now):
                    samples += lines.count("\n")
                    out.write(lines)
            out.write("# EOF\n")
        subprocess.run(  # noqa: S603 - the caller's own binary
            [promtool, "tsdb", "create-blocks-from", "openmetrics", "--quiet", text, folder],
            check=True, capture_output=True,
        )  # fmt: skip
        text.unlink()
    return samples


def write_rules(catalog: Catalog, folder: Path) -> None:
    """Write the rendered rules, with one short interval for all groups."""
    for path, text in render_rules(catalog, RenderOptions.from_catalog(catalog)).items():
        document = yaml.safe_load(text)
        for group in document["groups"]:
            group["interval"] = f"{EVERY}s"
        (folder / Path(path).name).write_text(yaml.safe_dump(document))


@contextmanager
def running(prometheus: Path, folder: Path) -> Iterator[str]:
    """A Prometheus on the history in *folder*; gives its address, and ends it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    (folder / "prometheus.yml").write_text(yaml.safe_dump({"rule_files": [str(folder / "rules" / "*.yml")]}))
    command = [
        str(prometheus), f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={address}", "--storage.tsdb.retention.time=45d", "--log.level=error",
    ]  # fmt: skip
    child = subprocess.Popen(command)  # noqa: S603 - the caller's own binary
    try:
        yield f"http://{address}"
    finally:
        child.terminate()
        child.wait(timeout=60)


def evaluations(address: str, seen: dict[str, str], patience: float) -> dict[str, float]:
    """
    Seconds that each group took in a round in which all were evaluated.

    `seen` holds when each was evaluated before, and is updated.
    """
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        groups = _groups(address)
        fresh = {group["name"]: group["lastEvaluation"] for group in groups}
        if groups and all(not at.startswith("0001") and at != seen.get(name) for name, at in fresh.items()):
            failed = [rule for group in groups for rule in group["rules"] if rule["health"] != "ok"]
            if failed:
                raise SystemExit(f"{failed[0]['name']} fails: {failed[0].get('lastError')}")
            seen.update(fresh)
            return {group["name"]: group["evaluationTime"] for group in groups}
        time.sleep(1)
    raise SystemExit("not all groups were evaluated in time")


def cpu_seconds(address: str) -> float:
    """Processor time that Prometheus has used so far: a figure that other work on the machine does not change."""
    with urllib.request.urlopen(f"{address}/metrics", timeout=10) as answer:  # noqa: S310 - loopback
        lines = answer.read().decode().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("process_cpu_seconds_total "))


def _groups(address: str) -> list[dict[str, Any]]:
    try:
        with urllib.request.urlopen(f"{address}/api/v1/rules", timeout=10) as answer:  # noqa: S310 - loopback
            groups: list[dict[str, Any]] = json.load(answer)["data"]["groups"]
            return groups
    except OSError:
        return []


def main() -> None:
    """Write the history, evaluate, and print what each group took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prometheus", type=Path, default=Path(".servers/new/prometheus"))
    parser.add_argument("--promtool", type=Path, default=Path(".servers/new/promtool"))
    parser.add_argument("--tools", type=int, default=1000)
    parser.add_argument("--owners", type=int, default=50)
    parser.add_argument("--days", type=int, default=3)
    given = parser.parse_args()
    random.seed(1)
    catalog = large_catalog(given.tools, given.owners)
    started = time.perf_counter()
    rendered = sum(len(text) for text in render_rules(catalog, RenderOptions.from_catalog(catalog)).values())
    render_seconds = time.perf_counter() - started
    with tempfile.TemporaryDirectory(prefix="tooltel-rules-") as name:
        folder = Path(name)
        (folder / "rules").mkdir()
        (folder / "data").mkdir()
        write_rules(catalog, folder / "rules")
        began, now = time.monotonic(), int(time.time())
        samples = write_history(given.promtool, folder / "data", histories(catalog, given.days), now, given.days)
        wrote = time.monotonic() - began
        with running(given.prometheus, folder) as address:
            seen: dict[str, str] = {}
            rounds = [evaluations(address, seen, patience=900)]
            before = cpu_seconds(address)
            rounds.append(evaluations(address, seen, patience=600))
            cpu = cpu_seconds(address) - before
        shutil.rmtree(folder / "data", ignore_errors=True)
    for group in rounds[0]:
        print(f"{group:32} {rounds[0][group]:8.3f} s {rounds[1][group]:8.3f} s")
    totals = [round(sum(each.values()), 3) for each in rounds]
    print(json.dumps({
        "tools": given.tools, "owners": given.owners, "days": given.days, "samples": samples,
        "rendered_bytes": rendered, "render_seconds": round(render_seconds, 2), "history_seconds": round(wrote),
        "evaluation_seconds": totals,
        "cpu_seconds_of_a_round": round(cpu, 2), "load": round(os.getloadavg()[0], 1),
    }))  # fmt: skip


if __name__ == "__main__":
    main()
