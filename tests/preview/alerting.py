"""What Prometheus would have written, had it evaluated the committed rules over a past."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.request import urlopen

import yaml

from tests.backfill import Prometheus, serving, write_blocks
from tooltel.promql import seconds

if TYPE_CHECKING:
    from tests.servers import Servers

    Labels = tuple[tuple[str, str], ...]

EVERY: Final = 60  # seconds between two evaluations
DEPTH: Final = 3  # recorded rules read recorded rules, and promtool reads only what is there before it starts
FAILURES: Final = "prometheus_rule_evaluation_failures_total"


@contextmanager
def alerted(servers: Servers, data: Path, rules: list[Path], *, start: float, end: float) -> Iterator[Prometheus]:
    """Run Prometheus over the storage in *data*, as if the rules in *rules* had run from *start* to *end*."""
    recorded = ["tsdb", "create-blocks-from", "rules", f"--start={start:.0f}", f"--end={end:.0f}"]
    for _ in range(DEPTH):
        with serving(servers, data) as prometheus:
            options = [
                f"--url={prometheus.url}",
                f"--eval-interval={EVERY}s",
                f"--output-dir={data.parent / 'recorded'}",
            ]
            subprocess.run([servers.promtool, *recorded, *options, *rules], check=True, capture_output=True)
        for block in (data.parent / "recorded").iterdir():
            block.rename(data / block.name)
    with serving(servers, data, rules=rules) as prometheus:
        text = "\n".join([*_fired(prometheus, rules, start, end), *_own(prometheus, start, end), "# EOF\n"])
    write_blocks(servers, text, data)
    with serving(servers, data) as prometheus:
        yield prometheus


def _fired(prometheus: Prometheus, rules: list[Path], start: float, end: float) -> Iterator[str]:
    """Series of alerts that fire, in OpenMetrics' text format."""
    yield "# TYPE ALERTS gauge"
    groups = [group for path in rules for group in yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]]
    for rule in (rule for group in groups for rule in group["rules"] if "alert" in rule):
        for series in prometheus.query_range(rule["expr"], start=start, end=end, step=EVERY):
            labels = {name: value for name, value in series["metric"].items() if name != "__name__"}
            labels |= {**rule.get("labels", {}), "alertname": rule["alert"], "alertstate": "firing"}
            times = [int(at) for at, _ in series["values"]]
            for at in firing(times, wait=_wait(rule, "for"), keep=_wait(rule, "keep_firing_for"), end=int(end)):
                yield _line("ALERTS", labels, 1, at)


def _wait(rule: dict[str, Any], key: str) -> int:
    return seconds(str(rule.get(key, "0s")))


def firing(times: list[int], *, wait: int, keep: int, end: int) -> list[int]:
    """When an alert fires that is true at *times*: after it was true for *wait*, and *keep* seconds longer."""
    found: list[int] = []
    true, since, last = set(times), None, None
    for now in range(times[0], end + 1, EVERY):
        if now in true:
            since = now if since is None else since
            if now - since >= wait:
                last = now
                found.append(now)
            continue
        since = None
        if last is not None and now - last < keep:
            found.append(now)
        else:
            last = None
    return found


def _own(prometheus: Prometheus, start: float, end: float) -> Iterator[str]:
    """How often Prometheus failed to evaluate each group, as it says itself: by now, and so all the time."""
    yield f"# TYPE {FAILURES.removesuffix('_total')} counter"
    with urlopen(f"{prometheus.url}/metrics", timeout=60) as answer:  # noqa: S310 - loopback, our own server
        said = answer.read().decode()
    for line in said.splitlines():
        if line.startswith(f"{FAILURES}{{"):
            series, value = line.rsplit(" ", 1)
            yield from (f"{series} {value} {at}" for at in range(int(start), int(end) + 1, EVERY))


def _line(name: str, labels: dict[str, str], value: float, at: int) -> str:
    text = ",".join(f'{label}="{_escaped(each)}"' for label, each in sorted(labels.items()))
    return f"{name}{{{text}}} {value:g} {at}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
