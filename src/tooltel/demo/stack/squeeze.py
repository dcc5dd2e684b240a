"""
Time squeezed: rules and routes in which five minutes last two seconds.

Every duration shrinks by the same factor: windows, offsets, steps, `for`, waits. So a rule still says what it said,
about a world that runs that much faster, and a page arrives within seconds. Counts and ratios stay.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from tooltel.promql import seconds

FACTOR: Final = 150
TICK: Final = "500ms"  # between scrapes and between evaluations: four in the shortest window, and no busy machine

_QUOTED: Final = re.compile(r'("(?:[^"\\]|\\.)*")')  # label values, which are not touched
_DURATION: Final = r"(?:\d+[ywdhms])+"
_WINDOW: Final = re.compile(rf"(\[|:|offset ){_DURATION}(?=[\]:\s)]|$)")
# Points of a recorded rate are multiplied by the seconds between them, which are fewer now.
_WIDTH: Final = re.compile(r"\b(\d+) \* (?=sum_over_time\()")


def squeeze_rules(document: Mapping[str, Any]) -> dict[str, Any]:
    """A rule file with its groups evaluated at every tick and every duration squeezed."""
    return {"groups": [_group(group) for group in document["groups"]]}


def squeeze_routes(node: Mapping[str, Any]) -> dict[str, Any]:
    """A route and all below it, with their waits squeezed."""
    waits = {key: squeezed(node[key]) for key in node if key.endswith(("_wait", "_interval"))}
    return {**node, **waits, "routes": [squeeze_routes(child) for child in node.get("routes", ())]}


def squeezed(duration: str) -> str:
    """*duration* divided by the factor."""
    return f"{round(1000 * seconds(duration) / FACTOR)}ms"


def _group(group: Mapping[str, Any]) -> dict[str, Any]:
    return {**group, "interval": TICK, "rules": [_rule(each) for each in group["rules"]]}


def _rule(rule: Mapping[str, Any]) -> dict[str, Any]:
    waits = {key: squeezed(rule[key]) for key in ("for", "keep_firing_for") if key in rule}
    return {**rule, **waits, "expr": squeeze_expression(rule["expr"])}


def squeeze_expression(text: str) -> str:
    """PromQL with its windows, offsets and steps squeezed; what stands in quotes stays."""
    parts = _QUOTED.split(text)
    parts[::2] = [_WIDTH.sub(_narrower, _WINDOW.sub(_shorter, part)) for part in parts[::2]]
    return "".join(parts)


def _shorter(found: re.Match[str]) -> str:
    start, duration = found[1], found[0].removeprefix(found[1])
    return f"{start}{squeezed(duration)}"


def _narrower(found: re.Match[str]) -> str:
    return f"{int(found[1]) / FACTOR:g} * "
