"""
Where the dashboards are, and addresses that lead from one to another without losing what was chosen.

Addresses are relative, so that they hold wherever Grafana is served from. No package is needed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

FLEET: Final = "tooltel-fleet"
OWNER: Final = "tooltel-owner"
TOOL: Final = "tooltel-tool"
LIFECYCLE: Final = "tooltel-lifecycle"
ITSELF: Final = "tooltel-itself"

TITLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        FLEET: "Fleet",
        OWNER: "Owner",
        TOOL: "Tool",
        LIFECYCLE: "Lifecycle",
        ITSELF: "tooltel itself",
    }
)

DATASOURCE: Final = "datasource"  # the variable that holds the data source


def of_field(label: str) -> str:
    """The value of *label* in the row of a table, ready to stand in an address."""
    return f"${{__data.fields.{label}:percentencode}}"


def of_series(label: str) -> str:
    """The value of *label* of the series that was clicked, ready to stand in an address."""
    return f"${{__field.labels.{label}:percentencode}}"


def address(uid: str, chosen: Mapping[str, str], carried: Iterable[str] = ()) -> str:
    """
    The address of dashboard *uid* with variables *chosen* by name and others *carried* over as they are.

    The time range goes along.
    """
    parts = [f"${{{name}:queryparam}}" for name in (DATASOURCE, *carried) if name not in chosen]
    parts += [f"var-{name}={value}" for name, value in chosen.items()]
    return f"/d/{uid}?{'&'.join([*parts, '${__url_time_range}'])}"
