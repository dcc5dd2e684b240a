"""Squeezed rules and routes say the same about a world that runs faster."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from promql_parser import parse

import tooltel.demo
from tooltel.artifacts import render
from tooltel.demo.stack.squeeze import FACTOR, squeeze_expression, squeeze_routes, squeeze_rules
from tooltel.loading import load

if TYPE_CHECKING:
    from tests.servers import Servers

FILES = render(load(Path(tooltel.demo.__file__).with_name("tools.toml")), only=("rules", "routes"))
RULES = {path: yaml.safe_load(text) for path, text in FILES.items() if path.startswith("alerts/rules/")}


@pytest.mark.parametrize(
    ("text", "squeezed"),
    [
        ("rate(m[5m])", "rate(m[2000ms])"),
        ("increase(m[1h30m])", "increase(m[36000ms])"),
        ("present_over_time(m[1d] offset 15m)", "present_over_time(m[576000ms] offset 6000ms)"),
        ("60 * sum_over_time(m:rate5m[1h:1m])", "0.4 * sum_over_time(m:rate5m[24000ms:400ms])"),
        ("300 * sum_over_time(m:rate5m[1d:5m])", "2 * sum_over_time(m:rate5m[576000ms:2000ms])"),
        ("m offset 15m", "m offset 6000ms"),
        ("m offset 15m\n>= 5", "m offset 6000ms\n>= 5"),
        ("m:ratio5m > 14.4 * b", "m:ratio5m > 14.4 * b"),
        ('m{tool="a[5m] offset 5m"}', 'm{tool="a[5m] offset 5m"}'),
        (r'm{tool="\"[5m]"}[5m]', r'm{tool="\"[5m]"}[2000ms]'),
        ('m{le="0.32"}', 'm{le="0.32"}'),
    ],
)
def test_windows_offsets_and_steps_shrink_and_nothing_else(text: str, squeezed: str) -> None:
    assert squeeze_expression(text) == squeezed


def seconds_of(node: Any, found: list[float]) -> list[float]:
    """Every duration of a parsed expression, in the order of the tree."""
    for name in ("range", "offset", "step"):
        value = getattr(node, name, None)
        if value is not None:
            found.append(value.total_seconds())
    for name in ("expr", "lhs", "rhs", "vs", "vector_selector"):
        if (child := getattr(node, name, None)) is not None:
            seconds_of(child, found)
    for child in getattr(node, "args", None) or []:
        seconds_of(child, found)
    return found


def test_every_duration_of_every_rendered_rule_shrinks_by_the_factor() -> None:
    """By a parser's word, not by ours."""
    pairs = [
        (old["expr"], new["expr"])
        for document in RULES.values()
        for before, after in zip(document["groups"], squeeze_rules(document)["groups"], strict=True)
        for old, new in zip(before["rules"], after["rules"], strict=True)
    ]
    measured = 0
    for old, new in pairs:
        plain, squeezed = seconds_of(parse(old), []), seconds_of(parse(new), [])
        assert squeezed == pytest.approx([each / FACTOR for each in plain]), old
        measured += len(plain)
    assert measured > 50


def test_waits_of_rules_shrink_and_groups_are_evaluated_at_every_tick() -> None:
    document = {"groups": [{"name": "g", "interval": "2m", "rules": [
        {"alert": "A", "expr": "m > 0", "for": "2m", "keep_firing_for": "10m", "labels": {"settings": "for=2m"}},
        {"record": "r", "expr": "m"},
    ]}]}  # fmt: skip
    assert squeeze_rules(document) == {"groups": [{"name": "g", "interval": "500ms", "rules": [
        {"alert": "A", "expr": "m > 0", "for": "800ms", "keep_firing_for": "4000ms", "labels": {"settings": "for=2m"}},
        {"record": "r", "expr": "m"},
    ]}]}  # fmt: skip


def test_every_wait_of_every_route_shrinks() -> None:
    route = yaml.safe_load(FILES["alerts/alertmanager.yml"])["route"]
    squeezed = squeeze_routes(route)
    assert (squeezed["group_wait"], squeezed["group_interval"], squeezed["repeat_interval"]) == (
        "400ms", "4000ms", "576000ms",
    )  # fmt: skip
    assert '"1m"' not in json.dumps(squeezed)
    assert len(squeezed["routes"]) == len(route["routes"])


def test_prometheus_accepts_the_squeezed_rules(servers: Servers, tmp_path: Path) -> None:
    for path, document in RULES.items():
        (tmp_path / Path(path).name).write_text(json.dumps(squeeze_rules(document)))
    files = sorted(tmp_path.glob("*.yml"))
    done = subprocess.run([servers.promtool, "check", "rules", *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
