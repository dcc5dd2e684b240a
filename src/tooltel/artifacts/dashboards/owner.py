"""One owner: everything that a team is paged for."""

from __future__ import annotations

from tooltel import signals
from tooltel.artifacts.dashboards import links, measures
from tooltel.artifacts.dashboards.board import Board, Row
from tooltel.artifacts.dashboards.doors import cluster_columns, tool_link, tool_series_link
from tooltel.artifacts.dashboards.looks import CALLS, COUNT, GOOD, SECONDS, SHARE, TIMES, WARN, WRONG, Box, Look, Step
from tooltel.artifacts.dashboards.panels import Panel, Style, graph_panel, stat_panel
from tooltel.artifacts.dashboards.parts import (
    ANY_WARNS,
    FAILED_STEPS,
    NEAR_BUDGET,
    alerts_stat,
    alerts_table,
    failed_by,
    fields_table,
    items_panel,
    names_table,
    refusals_panel,
    rejections_panel,
    repeats_panel,
    share_steps,
    slow_by,
)
from tooltel.artifacts.dashboards.queries import Form, Query
from tooltel.artifacts.dashboards.tables import Column, Order, table_panel
from tooltel.artifacts.dashboards.view import RANGE, TOOL, View
from tooltel.promql import call
from tooltel.signals import RejectionKind


def owner_board(view: View) -> Board:
    """The dashboard that a page links to: what fires, how fast the budget burns, and why."""
    rows = (
        Row("Is anything of mine broken?", (_numbers(view),)),
        Row("What am I paged for?", ((alerts_table(view, 24, 8),),)),
        Row("My tools", ((_tools(view),), (_burn(view, 8, 8), failed_by(view, TOOL, 8, 8), slow_by(view, TOOL, 8, 8)))),
        Row(
            "Does the model call them right?",
            ((rejections_panel(view, 12, 8), fields_table(view, 12, 8)), (names_table(view, 24, 6),)),
        ),
        Row(
            "What must not happen",
            ((repeats_panel(view, 8, 8), refusals_panel(view, 8, 8), items_panel(view, 8, 8)),),
        ),
    )
    says = "Everything one team answers for. Choose an owner; a page's link has chosen it already."
    return Board(links.OWNER, says, rows, since="now-6h")


def _numbers(view: View) -> tuple[Panel, ...]:
    """One line of six numbers."""
    return (alerts_stat(view, 4), *_health(view), *_conduct(view))


def _health(view: View) -> tuple[Panel, ...]:
    fast, steps = _burn_steps(view)
    return (
        stat_panel(
            Box(
                "Failed calls",
                "Share of calls that ended in error or timeout, over the chosen time range. Good: below 1 %.",
                4,
                4,
            ),
            Look(SHARE, decimals=2, base=GOOD, steps=FAILED_STEPS, none="no calls"),
            Query(measures.failed_share(view), form=Form.INSTANT),
        ),
        stat_panel(
            Box(
                "Fastest burn",
                "The tool that spends its error budget fastest, over the last hour: 1 uses it up exactly "
                f"by the end of the period, {fast:g} pages. Good: below 1.",
                4,
                4,
            ),
            Look(
                TIMES,
                decimals=1,
                base=GOOD,
                steps=steps,
                none="no objective",
            ),
            Query(call("max", measures.burn(view)), form=Form.INSTANT),
        ),
    )


def _conduct(view: View) -> tuple[Panel, ...]:
    ratio = view.options.alert("StructuralRejections").ratio or 0.1
    return (
        stat_panel(
            Box(
                "Wrong arguments",
                "Share of calls whose arguments break the published schema, in the chosen time range. Good: below 2 %.",
                4,
                4,
            ),
            Look(SHARE, decimals=2, base=GOOD, steps=share_steps(ratio), none="no calls"),
            Query(measures.rejected_share(view, kind=RejectionKind.STRUCTURAL), form=Form.INSTANT),
        ),
        stat_panel(
            Box(
                "No such tool",
                "Calls, in the chosen time range, to an old name of this owner's tools, to a tool outside "
                "the profile, or to a name made up in this owner's profiles. Good: 0.",
                4,
                4,
            ),
            Look(CALLS, decimals=0, base=GOOD, steps=ANY_WARNS, none="none"),
            Query(view.total(view.appeared(signals.NOT_FOUND)), form=Form.INSTANT),
        ),
        stat_panel(
            Box(
                "Declarations",
                "Fullest declaration budget among this owner's profiles. Good: below 90 %.",
                4,
                4,
            ),
            Look(
                SHARE,
                decimals=0,
                base=GOOD,
                steps=(Step(NEAR_BUDGET, WARN), Step(1, WRONG)),
                none="no budget",
            ),
            Query(call("max", measures.budget_used(view)), form=Form.INSTANT),
        ),
    )


def _burn(view: View, width: int, height: int) -> Panel:
    fast, steps = _burn_steps(view)
    says = (
        "How many times faster than its objective allows a tool spends its error budget, over the hour before each "
        f"point: of the five tools with most failed calls. 1 is just sustainable; {fast:g} (dashed, red) pages when "
        "the last minutes agree. Good: below 1."
    )
    worst = measures.failing(view, measures.burn(view), "owner", "tool")
    return graph_panel(
        Box("Error budget burn by tool", says, width, height),
        Look(TIMES, decimals=1, base=GOOD, steps=steps, none="no objective", low=0),
        Query(worst, legend="{{tool}}"),
        style=Style(limits=True, link=tool_series_link(view)),
    )


def _burn_steps(view: View) -> tuple[float, tuple[Step, ...]]:
    """The burn rate that pages, and the colors of burn rates."""
    fast = view.options.alert("ToolErrorBudgetBurn").threshold or 14.4
    sustainable = (Step(1, WARN),) if fast > 1 else ()
    return fast, (*sustainable, Step(fast, WRONG))


def _tools(view: View) -> Panel:
    apart = view.apart
    by = ("owner", "tool")
    each = apart.total(apart.series(signals.TOOL_INFO), *by, "risk", "version", function="group")
    versions = apart.total(each, *by, "risk", function="count")
    calls = measures.calls(apart, *by)
    objective = apart.total(apart.series(signals.TOOL_OBJECTIVE), *by, function="max")
    running = apart.total(apart.series(signals.ACTIVE), *by)
    columns = [
        *cluster_columns(view),
        Column("owner", width=120),
        Column("tool", link=tool_link(view)),
        Column("risk", width=105),
        Column("versions", versions, Look(COUNT, decimals=0)),
        Column("calls", calls, Look(COUNT, decimals=0)),
        Column("running", running, Look(COUNT, decimals=0)),
        Column("failed %", measures.failed_share(apart, *by), Look(SHARE, 2, steps=FAILED_STEPS)),
        Column("objective", objective, Look(SHARE, 2)),
        Column("p95", measures.quantile(apart, 0.95, *by, window=RANGE), Look(SECONDS)),
        Column("rejected", measures.rejected(apart, *by), Look(COUNT, 0)),
    ]
    says = (
        "Every tool of the catalog that this owner has, and how it did in the chosen time range. More than one version "
        "means that a release is on its way. running: calls right now; p95: the slowest 5 % take longer; rejected: "
        "calls with wrong arguments. Good: nothing in color."
    )
    return table_panel(Box("Tools", says, 24, 8), columns, order=Order("failed %"), none="this owner has no tool")
