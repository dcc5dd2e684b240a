"""Values that are out of range: risk, objective, latency bound, budget, description, pinned version."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, Final

from tooltel.catalog.checks.house import level_of
from tooltel.catalog.hints import Hints
from tooltel.catalog.paths import key_path, shown
from tooltel.errors import Level, Problem
from tooltel.signals import BUCKETS, Risk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tooltel.catalog.catalog import Catalog
    from tooltel.catalog.nouns import Tool

OBJECTIVE_MIN: Final = 0.95  # below, a burn rate of 14.4 asks for more errors than there are calls
OBJECTIVE_MAX: Final = 0.9999  # above, one error of a tool with few calls is the whole budget
_RISKS: Final = tuple(risk.value for risk in Risk)
_LOOSE: Final = frozenset({"", "*", "latest", "any", "stable", "main"})


def find_value_problems(catalog: Catalog) -> Iterator[Problem]:
    """What is of the right type and still no value that means something."""
    risks, level = Hints(_RISKS), level_of(catalog, "description")
    shortest = catalog.house.description_min_chars
    for tool in catalog.tools.values():
        if tool.risk not in _RISKS:
            yield Problem(
                "unknown_risk",
                key_path("tools", tool.name, "risk"),
                f"no risk {shown(tool.risk)}",
                risks.fix(tool.risk),
            )
        if level is not Level.OFF:
            yield from _short(tool, shortest, level)
        if tool.objective is not None or tool.latency_bound is not None:
            yield from _promise(tool)
    for profile in catalog.profiles.values():
        if profile.budget_chars is not None and profile.budget_chars < 0:
            place = key_path("profiles", profile.name, "budget_chars")
            yield Problem("range", place, f"is {profile.budget_chars}", "write 0 or more")
    for server in catalog.mcp.values():
        if server.version.strip().lower() in _LOOSE:
            what = f"pins no version: {shown(server.version)}" if server.version else "has no version"
            place = key_path("mcp", server.name, "version")
            yield Problem("unpinned_version", place, what, 'write the exact one: version = "1.4.2"')


def _short(tool: Tool, shortest: int, level: Level) -> Iterator[Problem]:
    # An absent description is judged where the function and its docstring are known.
    if tool.description is None or len(tool.description.strip()) >= shortest:
        return
    yield Problem(
        "description",
        key_path("tools", tool.name, "description"),
        f"has {len(tool.description.strip())} characters of at least {shortest}",
        "say what the tool does and when to use it: the model reads nothing else",
        level=level,
        house=True,
    )


def _promise(tool: Tool) -> Iterator[Problem]:
    objective, bound = tool.objective, tool.latency_bound
    if objective is not None and not OBJECTIVE_MIN <= objective <= OBJECTIVE_MAX:
        yield Problem(
            "objective",
            key_path("tools", tool.name, "objective"),
            f"{objective} is not from {OBJECTIVE_MIN} to {OBJECTIVE_MAX}",
            _percent(objective),
        )
    if bound is not None and bound not in BUCKETS:
        yield Problem(
            "latency_bound",
            key_path("tools", tool.name, "latency_bound"),
            f"{bound} seconds is no bound of the histogram",
            f"write {_nearest_bound(bound)}, or another of {', '.join(map(str, BUCKETS))}",
        )


def _percent(objective: float) -> str:
    share = round(objective / 100, 6)
    if OBJECTIVE_MIN <= share <= OBJECTIVE_MAX:
        return f"write the share, not percent: {share}"
    return "write a share in that range, or leave it out for no burn-rate alert"


def _nearest_bound(seconds: float) -> float:
    if not seconds > 0:
        return BUCKETS[0]
    return min(BUCKETS, key=lambda bound: abs(log(bound / seconds)))  # bounds double: nearness is a ratio
