"""Catalogs for tests of rules: the example's, and what fleets do to it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import tooltel.demo
from tooltel.loading import load

if TYPE_CHECKING:
    from tooltel.catalog import Catalog

EXAMPLE: Final = load(Path(tooltel.demo.__file__).with_name("tools.toml"))
DAY: Final = 86_400.0


def with_options(**render: Any) -> Catalog:
    """The example with these keys in its `[render]` table."""
    return replace(EXAMPLE, render=render)


def with_alerts(tool: str, base: Catalog = EXAMPLE, /, **alerts: dict[str, Any]) -> Catalog:
    """A catalog in which one tool overrides options of alerts."""
    return base.with_tool(replace(base.tools[tool], alerts=alerts))


TWO_CLUSTERS: Final = with_options(
    cluster_label="cluster",
    selector={"namespace": "agents"},
    labels={"origin": "tools"},
    alert_prefix="Acme",
    job="agents",
)
ONE_OF_TWO: Final = with_options(cluster_label="cluster", selector={"cluster": "eu"})
OTHER_NUMBERS: Final = replace(
    with_options(
        alerts={
            "ToolErrorBudgetBurn": {"threshold": 10, "minimum": 20, "for": "5m"},
            "ToolErrorBudgetBurnSlow": {"threshold": 2, "minimum": 50, "for": "0s", "keep_firing_for": "0s"},
            "ToolLatencyHigh": {"ratio": 0.2, "minimum": 50, "window": "30m", "for": "0s"},
            "ToolSilent": {"window": "12h", "minimum": 10, "for": "1h"},
            "ToolInvented": {"minimum": 10, "window": "5m"},
            "ToolRenamedCalled": {"window": "1h", "for": "5m"},
            "StructuralRejections": {"ratio": 0.3, "minimum": 50, "window": "30m"},
            "DomainRejections": {"ratio": 0.9, "minimum": 5},
            "DeclarationChangedWithoutVersionBump": {"window": "2d", "for": "3h"},
            "PolicyRefusals": {"threshold": 0, "window": "5m", "for": "0s"},
            "FleetDown": {"ratio": 0.2, "for": "0s"},
            "TargetDown": {"for": "1m", "keep_firing_for": "5m"},
            "AliasSafeToRemove": {"for": "2h"},
            "SidecarLagging": {"threshold": 5},
            "RuleEvaluationFailing": {"window": "10m"},
        }
    ),
    session_retention=7 * DAY,
)
OWN_NUMBERS: Final = with_alerts(
    "payout_release",
    with_alerts(
        "payment_refund",
        with_alerts(
            "order_lookup",
            ToolLatencyHigh={"ratio": 0.5},
            ToolSilent={"window": "12h"},
            ToolErrorBudgetBurn={"minimum": 50, "severity": "ticket"},
            ToolErrorBudgetBurnSlow={"severity": "page"},
            StructuralRejections={"enabled": False},
            DomainRejections={"minimum": 4},
            PolicyRefusals={"threshold": 100},
            DeclarationChangedWithoutVersionBump={"window": "1d"},
            PartialResultsOutstanding={"severity": "page"},
        ),
        IrreversibleCallRefused={"severity": "page"},
        IrreversibleCallRepeated={"window": "1h"},
    ),
    IrreversibleCallRefused={"severity": "page"},
)
FLEETS: Final = {
    "example": EXAMPLE,
    "two clusters": TWO_CLUSTERS,
    "one of two clusters": ONE_OF_TWO,
    "other numbers": OTHER_NUMBERS,
    "own numbers": OWN_NUMBERS,
}
