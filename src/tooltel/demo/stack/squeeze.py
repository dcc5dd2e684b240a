"""
Time squeezed: rules and routes in which a minute lasts a second.

Every duration shrinks by the same factor: windows, offsets, steps, `for`, waits. So a rule still says what it said,
about a world that runs sixty times as fast, and a page arrives within seconds. Counts and ratios stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from tooltel.promql import seconds

FACTOR: Final = 60
TICK: Final = "1s"  # scrapes and evaluations: nothing shorter than one of them is worth writing

_QUOTED: Final = re.compile(r'("(?:[^"\\]|\\.)*")')  # label values, which are not touched
_DURATION: Final = r"(?:\d+[ywdhms])+"
_WINDOW: Final = re.compile(rf"(\[|:|offset ){_DURATION}(?=[\]:\s)]|$)")
# Points of a recorded rate are multiplied by the seconds between them, which are fewer now.
_WIDTH: Final = re.compile(r"\b(\d+) \* (?=sum_over_time\()")


def squeeze_rules(document: Mapping[str, Any]) -> dict[str, Any]:
    """A rule file with its groups evaluated every second and every duration squeezed."""
    return {"groups": [_group(group) for group in document["groups"]]}


def squeeze_routes(node: Mapping[str, Any]) -> dict[str, Any]:
    """A route and all below it, with their waits squeezed."""
    waits = {key: squeezed(node[key], least=0.05) for key in node if key.endswith(("_wait", "_interval"))}
    return {**node, **waits, "routes": [squeeze_routes(child) for child in node.get("routes", ())]}


def squeezed(duration: str, *, least: float = 1.0) -> str:
    """*duration* divided by the factor, but no shorter than *least* seconds; nothing stays nothing."""
    length = seconds(duration)
    return "0s" if length == 0 else f"{max(round(1000 * length / FACTOR), round(1000 * least))}ms"


def _group(group: Mapping[str, Any]) -> dict[str, Any]:
    return {**group, "interval": squeezed(group.get("interval", TICK)), "rules": [_rule(each) for each in group["rules"]]}


def _rule(rule: Mapping[str, Any]) -> dict[str, Any]:
    waits = {key: squeezed(rule[key]) for key in ("for", "keep_firing_for") if key in rule}
    return {**rule, **waits, "expr": squeeze_expression(rule["expr"])}


def squeeze_expression(text: str) -> str:
    """PromQL with its windows, offsets and steps squeezed; what stands in quotes stays."""
    parts = _QUOTED.split(text)
    parts[::2] = [_WIDTH.sub(_narrower, _WINDOW.sub(_shorter, part)) for part in parts[::2]]
    return "".join(parts)
