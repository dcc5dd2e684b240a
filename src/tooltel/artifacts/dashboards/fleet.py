"""The fleet: whether agents' tools are healthy, and which are the worst."""

from __future__ import annotations

from tooltel import signals
from tooltel.artifacts.dashboards import links, measures
from tooltel.artifacts.dashboards.board import Board, Row
from tooltel.artifacts.dashboards.doors import cluster_columns, owner_link, tool_link
from tooltel.artifacts.dashboards.looks import CALL_RATE, CALLS, COUNT, GOOD, SECONDS, SHARE, Box, Look
from tooltel.artifacts.dashboards.panels import Panel, stat_panel
from tooltel.artifacts.dashboards.parts import (
    ANY_WARNS,
    FAILED_STEPS,
    alerts_stat,
    declarations_panel,
    failed_by,
    not_found_panel,
    outcomes_panel,
    rejections_panel,
    share_steps,
    slow_by,
)
from tooltel.artifacts.dashboards.queries import Form, Query
from tooltel.artifacts.dashboards.tables import Column, Order, table_panel
from tooltel.artifacts.dashboards.view import OWNER, RANGE, View
from tooltel.signals import RejectionKind


def fleet_board(view: View) -> Board:
    """The dashboard to start from: one line of numbers, the worst tools, what goes wrong, and where."""
    causes = (outcomes_panel(view, 8, 8), not_found_panel(view, 8, 8), rejections_panel(view, 8, 8))
    places = (failed_by(view, OWNER, 8, 8), slow_by(view, OWNER, 8, 8), declarations_panel(view, 8, 8))
    rows = (
        Row("Are the tools healthy?", (_numbers(view),)),
        Row("Which are the worst?", ((_worst(view),),)),
        Row("What goes wrong: the tool, the name, or the arguments?", (causes,)),
        Row("Whose is it?", (places,)),
    )
    says = "All agents' tool calls: are the tools healthy, which are the worst, and whose are they?"
    return Board(links.FLEET, says, rows)


def _numbers(view: View) -> tuple[Panel, ...]:
    """One line of six numbers."""
    structural = measures.rejected_share(view, kind=RejectionKind.STRUCTURAL)
    ratio = view.options.alert("StructuralRejections").ratio or 0.1
    not_found = view.total(view.appeared(signals.NOT_FOUND))
    return (
        stat_panel(
            Box("Calls", "Tool calls that settled, per second. Good: the usual level for this hour.", 4, 4),
            Look(CALL_RATE, none="no calls"),
            Query(view.total(view.rate(signals.TOOL_CALLS))),
        ),
        stat_panel(
            Box(
                "Failed calls",
                "Share of calls that ended in error or timeout, over the chosen time range. Calls that "
                "the model got wrong, that a policy refused or that were cancelled do not count. Good: "
                "well below 1 %.",
                4,
                4,
            ),
            Look(SHARE, decimals=2, base=GOOD, steps=FAILED_STEPS, none="no calls"),
            Query(measures.failed_share(view), form=Form.INSTANT),
        ),
        stat_panel(
            Box(
                "Slowest 5 % take over",
                "95th percentile of the time that calls spent in their tool, over the chosen time range. "
                "Good: what your agents' users wait for without noticing.",
                4,
                4,
            ),
            Look(SECONDS, none="no calls"),
            Query(measures.quantile(view, 0.95, window=RANGE), form=Form.INSTANT),
        ),
        stat_panel(
            Box(
                "No such tool",
                "Calls to a name that is no tool of the profile, in the chosen time range: a rename "
                "without an alias, a tool of another profile, or a name that the model made up. Good: 0.",
                4,
                4,
            ),
            Look(CALLS, decimals=0, base=GOOD, steps=ANY_WARNS, none="no agent"),
            Query(not_found, form=Form.INSTANT),
        ),
        stat_panel(
            Box(
                "Wrong arguments",
                "Share of calls whose arguments break the published schema, in the chosen time range. "
                "Good: below 2 %; a rise after a release means that the model no longer understands a tool.",
                4,
                4,
            ),
            Look(SHARE, decimals=2, base=GOOD, steps=share_steps(ratio), none="no calls"),
            Query(structural, form=Form.INSTANT),
        ),
        alerts_stat(view, 4),
    )


def _worst(view: View) -> Panel:
    """The tools that fail most, with all that tells why."""
    apart = view.apart
    by = ("owner", "tool")
    calls = measures.calls(apart, *by)
    bad = apart.total(apart.gained(signals.TOOL_CALLS, outcome=measures.BAD), *by)
    refused = apart.total(apart.appeared(signals.POLICY_REFUSALS), *by)
    repeated = apart.total(apart.gained(signals.REPEATED_CALLS), *by)
    count = Look(COUNT, decimals=0)
    alarming = Look(COUNT, decimals=0, steps=ANY_WARNS)
    columns = [
        *cluster_columns(view),
        Column("owner", link=owner_link(view)),
        Column("tool", link=tool_link(view)),
        Column("calls", calls, count),
        Column("failed", bad, Look(COUNT, decimals=0, steps=ANY_WARNS)),
        Column("failed %", measures.failed_share(apart, *by, window=RANGE), Look(SHARE, 1, steps=FAILED_STEPS)),
        Column("p95", measures.quantile(apart, 0.95, *by, window=RANGE), Look(SECONDS)),
        Column("rejected", measures.rejected(apart, *by), count),
        Column("refused", refused, count),
        Column("repeated", repeated, alarming),
    ]
    says = (
        "The 25 tools with the most failed calls in the chosen time range. rejected: arguments were "
        "wrong; refused: a policy said no; repeated: an equal write was made again. Good: nothing in "
        "color. A click on a tool or an owner opens its dashboard."
    )
    box = Box("Worst tools", says, 24, 9)
    return table_panel(box, columns, order=Order("failed"), none="no calls in this time range")
