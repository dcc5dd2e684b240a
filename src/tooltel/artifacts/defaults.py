"""The table of alerts: every alert by name, with the numbers that a fleet or a single tool may change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, Final

PAGE: Final = "page"
TICKET: Final = "ticket"
INFO: Final = "info"
NONE: Final = "none"  # the dead-man's switch: it concerns nobody as long as it arrives


@dataclass(frozen=True, slots=True)
class AlertOptions:
    """
    The numbers of one alert; None means not given, or in the table of defaults, not adjustable.

    `threshold` is what the measured value is compared with, `ratio` the share of calls, `minimum` the number
    of events below which nothing is said, `window` how far the alert looks back. `for_` (`for` in a file) and
    `keep_firing_for` are Prometheus' own. `per_tool` says that a tool may override them in the catalog.
    """

    threshold: float | None = None
    ratio: float | None = None
    minimum: float | None = None
    window: str | None = None
    for_: str | None = None
    keep_firing_for: str | None = None
    severity: str | None = None
    enabled: bool | None = None
    per_tool: bool = False

    @classmethod
    def read(cls, table: Mapping[str, Any]) -> AlertOptions:
        """Read checked options as a file has them, where `for_` is written `for`."""
        return cls(**{"for_" if key == "for" else key: value for key, value in table.items()})

    def over(self, other: AlertOptions) -> AlertOptions:
        """These options, with what *other* says instead."""
        said = {name: getattr(other, name) for name in OPTION_FIELDS if getattr(other, name) is not None}
        return AlertOptions(**{**{each.name: getattr(self, each.name) for each in fields(self)}, **said})

    def adjustable(self) -> tuple[str, ...]:
        """Keys that a file may set for this alert, as a file writes them."""
        numbers = [name for name in ("threshold", "ratio", "minimum", "window") if getattr(self, name) is not None]
        waits = [] if self.severity == NONE else ["for", "keep_firing_for", "severity"]
        return (*numbers, *waits, "enabled")


OPTION_FIELDS: Final = tuple(each.name for each in fields(AlertOptions) if each.name != "per_tool")


def _row(severity: str, waits: str = "0/0", **rest: Any) -> AlertOptions:
    for_, _, keep = waits.partition("/")
    return AlertOptions(severity=severity, for_=for_, keep_firing_for=keep or "0", enabled=True, **rest)


def _tool(severity: str, waits: str, **rest: Any) -> AlertOptions:
    return _row(severity, waits, per_tool=True, **rest)


# Names carry no prefix: options.alert_prefix adds it. `waits` are for / keep_firing_for.
ALERTS: Final[Mapping[str, AlertOptions]] = MappingProxyType(
    {
        # reliability. The burn alerts' threshold is the burn rate of their faster pair of windows; the slower
        # pair keeps its proportion (14.4 and 6, 3 and 1: https://sre.google/workbook/alerting-on-slos/).
        "ToolErrorBudgetBurn": _tool(PAGE, "2m/10m", threshold=14.4, minimum=5),
        "ToolErrorBudgetBurnSlow": _tool(TICKET, "15m/30m", threshold=3, minimum=10),
        "ToolLatencyHigh": _tool(TICKET, "10m/15m", ratio=0.05, minimum=20, window="15m"),
        "ToolSilent": _tool(TICKET, "30m", minimum=100, window="6h"),
        "PartialResultsOutstanding": _tool(TICKET, "0/15m", window="15m"),
        # contract
        "ToolRenamedCalled": _row(TICKET, "0/15m", window="15m"),
        "ToolNotInProfile": _row(TICKET, "0/15m", window="15m"),
        "ToolInvented": _row(TICKET, "0/15m", minimum=3, window="15m"),
        "StructuralRejections": _tool(TICKET, "5m/15m", ratio=0.1, minimum=5, window="15m"),
        "DomainRejections": _tool(TICKET, "15m/30m", ratio=0.3, minimum=20, window="15m"),
        "DeclarationOverBudget": _row(TICKET, "10m"),
        "DeclarationChangedWithoutVersionBump": _tool(TICKET, "0", window="7d"),
        "ToolWithoutOwner": _row(TICKET, "10m"),
        # security
        "PolicyRefusals": _tool(TICKET, "5m/15m", threshold=10, window="15m"),
        "IrreversibleCallRefused": _tool(TICKET, "0/15m", window="15m"),
        "IrreversibleCallRepeated": _tool(PAGE, "0/15m", window="15m"),
        "McpServerVersionDrift": _row(TICKET, "15m"),
        "McpUnlistedTools": _row(TICKET, "15m"),
        "McpChangedTools": _row(TICKET, "15m"),
        # lifecycle. The window of an alias is the catalog's session retention.
        "AliasSafeToRemove": _row(INFO, "1h"),
        # platform
        "CatalogReloadFailed": _row(TICKET, "0/15m", window="15m"),
        "CatalogSkew": _row(TICKET, "30m"),
        "TargetDown": _row(TICKET, "5m"),
        "FleetDown": _row(PAGE, "2m", ratio=0.5),
        "InternalErrors": _row(TICKET, "0/15m", window="15m"),
        "LabelOverflow": _row(TICKET, "0/15m", window="1h"),
        "SidecarLagging": _row(TICKET, "10m", threshold=10_000_000),
        "SidecarSkippedBytes": _row(TICKET, "0/15m", window="15m"),
        "SidecarCheckpointFailing": _row(TICKET, "5m/15m", window="15m"),
        "RuleEvaluationFailing": _row(TICKET, "5m", window="5m"),
        "Watchdog": _row(NONE),
    }
)
