"""Doors from one dashboard to the next: a cell or a series leads to its tool, owner or profile."""

from __future__ import annotations

from tooltel.artifacts.dashboards import links
from tooltel.artifacts.dashboards.tables import Column
from tooltel.artifacts.dashboards.view import OWNER, PROFILE, RISK, TOOL, View


def tool_link(view: View) -> tuple[str, str]:
    """From a row with an owner and a tool to that tool's dashboard."""
    chosen = {**_cluster(view), OWNER: links.of_field(OWNER), TOOL: links.of_field(TOOL)}
    return ("Open this tool", links.address(links.TOOL, chosen, (PROFILE, RISK)))


def owner_link(view: View) -> tuple[str, str]:
    """From a row with an owner to that owner's dashboard."""
    chosen = {**_cluster(view), OWNER: links.of_field(OWNER)}
    return ("Open this owner", links.address(links.OWNER, chosen, (PROFILE, RISK)))


def profile_link(view: View) -> tuple[str, str]:
    """From a row with a profile to the fleet as that profile sees it."""
    chosen = {**_cluster(view), PROFILE: links.of_field(PROFILE)}
    return ("Open the fleet for this profile", links.address(links.FLEET, chosen, (OWNER, RISK)))


def tool_series_link(view: View) -> tuple[str, str]:
    """From a graph's series with a tool to that tool's dashboard."""
    carried = _carried_cluster(view)
    return (
        "Open this tool",
        links.address(links.TOOL, {TOOL: links.of_series(TOOL)}, (*carried, PROFILE, RISK)),
    )


def owner_series_link(view: View) -> tuple[str, str]:
    """From a graph's series with an owner to that owner's dashboard."""
    carried = _carried_cluster(view)
    chosen = {OWNER: links.of_series(OWNER)}
    return ("Open this owner", links.address(links.OWNER, chosen, (*carried, PROFILE, RISK)))


def cluster_columns(view: View) -> list[Column]:
    """The first column of a table that keeps clusters apart, where there are any."""
    return [Column(view.cluster, width=110)] if view.cluster else []


def _cluster(view: View) -> dict[str, str]:
    return {view.cluster: links.of_field(view.cluster)} if view.cluster else {}


def _carried_cluster(view: View) -> tuple[str, ...]:
    return (view.cluster,) if view.cluster else ()
