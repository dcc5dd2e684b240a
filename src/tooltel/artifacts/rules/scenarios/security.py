"""Unit tests of the alerts about refused and repeated calls, and about MCP servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from tooltel import signals
from tooltel.artifacts.rules.book import OWNER, RISK, TOOL, TOOL_OWNER, Alert, Book
from tooltel.artifacts.rules.scenarios.events import play_events
from tooltel.artifacts.rules.scenarios.stage import Stage, absent, counter, flat
from tooltel.signals import POLICY_REFUSALS, REPEATED_CALLS, Metric, Risk

EVENT: Final = "fires on any call, also the first, not on a gap in scraping, and resolves"
POLICY: Final = {"policy": "sample_policy"}


def _refusals(book: Book, alert: Alert) -> Iterator[Stage]:
    stage = Stage(book, alert, "fires on more refusals than usual, also the first, and resolves")

    def labels(owner: str) -> dict[str, str]:
        return {OWNER: owner, TOOL: stage.tool, **POLICY}

    least = int(alert.settings.threshold or 0) + 1
    play_events(stage, _player(stage, POLICY_REFUSALS, Risk.WRITE, labels), labels, least=least)
    yield stage


def _refused(book: Book, alert: Alert) -> Iterator[Stage]:
    stage = Stage(book, alert, EVENT)

    def labels(owner: str) -> dict[str, str]:
        return {OWNER: owner, TOOL: stage.tool, **POLICY}

    def told(owner: str) -> dict[str, str]:
        return {TOOL_OWNER: owner, TOOL: stage.tool, **POLICY}

    play_events(stage, _player(stage, POLICY_REFUSALS, Risk.IRREVERSIBLE, labels), told)
    yield stage


def _repeated(book: Book, alert: Alert) -> Iterator[Stage]:
    stage = Stage(book, alert, EVENT)

    def labels(owner: str) -> dict[str, str]:
        return {OWNER: owner, TOOL: stage.tool}

    play_events(stage, _player(stage, REPEATED_CALLS, Risk.IRREVERSIBLE, labels), labels)
    yield stage


def _player(
    stage: Stage, row: Metric, risk: Risk, labels: Callable[[str], dict[str, str]]
) -> Callable[[str, str], None]:
    """Add events of *row*, and what must not count: a lower risk where one matters, tools that are gone."""
    lower = Risk.WRITE if risk is Risk.IRREVERSIBLE else None
    for owner, other in (("removed", risk), ("moved", risk), ("harmless", lower)):
        if other:
            stage.add(row, counter((999, 5)), **labels(owner), **{RISK: str(other)})
    for owner in ("heir", "harmless"):
        stage.add_tool(owner)
    stage.add_removed("removed")

    def play(owner: str, values: str) -> None:
        stage.add(row, values, calm=flat(0, 10), **labels(owner), **{RISK: str(risk)})
        stage.add_tool(owner)

    return play


# --- MCP servers -----------------------------------------------------------------------------------------


def _drift(book: Book, alert: Alert) -> Iterator[Stage]:
    stage = Stage(book, alert, "fires for a version that is not pinned, and resolves")
    start, bad = 5, stage.wait + 10
    pinned = {"server_version": "1.4.2"}

    def play(server: str, values: str, version: str) -> None:
        where = {OWNER: f"{server}_owner", "server": server}
        stage.add(signals.MCP_SERVER_PINNED_INFO, flat(1, 500), **where, **pinned)
        stage.add(signals.MCP_SERVER_INFO, values, calm="_", **where, server_version=version)

    play("drifted", f"{absent(start)} {flat(1, bad)} stale", "2.0.0")
    play("steady", flat(1, 500), pinned["server_version"])
    other = {OWNER: "other_owner", "server": "other", "server_version": "2.0.0"}
    stage.add(signals.MCP_SERVER_PINNED_INFO, flat(1, 500), **other)
    firing = {TOOL_OWNER: "drifted_owner", "server": "drifted", "server_version": "2.0.0"}
    stage.expect(start - 1)
    stage.expect_nothing_yet(start + stage.wait - 1)
    stage.expect(start + stage.wait + 2, firing)
    stage.expect(start + bad + stage.keep + 2)
    yield stage


def _some(row: Metric) -> Callable[[Book, Alert], Iterator[Stage]]:
    def stages(book: Book, alert: Alert) -> Iterator[Stage]:
        stage = Stage(book, alert, "fires for any tool, and resolves")
        start, bad = 5, stage.wait + 10
        values = f"{flat(0, start)} {flat(1, bad)} {flat(0, 500)}"
        for server, played in (("wild", values), ("tame", flat(0, 500))):
            stage.add(row, played, calm=flat(0, 500), server=server, **{OWNER: f"{server}_owner"})
        firing = {TOOL_OWNER: "wild_owner", "server": "wild"}
        stage.expect(start - 1)
        stage.expect_nothing_yet(start + stage.wait - 1)
        stage.expect(start + stage.wait + 2, firing)
        stage.expect(start + bad + stage.keep + 2)
        yield stage

    return stages


SCENARIOS: Final[Mapping[str, Callable[[Book, Alert], Iterator[Stage]]]] = MappingProxyType(
    {
        "PolicyRefusals": _refusals,
        "IrreversibleCallRefused": _refused,
        "IrreversibleCallRepeated": _repeated,
        "McpServerVersionDrift": _drift,
        "McpUnlistedTools": _some(signals.MCP_UNLISTED),
        "McpChangedTools": _some(signals.MCP_CHANGED),
    }
)
