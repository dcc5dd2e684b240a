"""One tool: how its calls end, how long they take, which version does it, and what the model gets wrong."""

from __future__ import annotations

from tooltel import signals
from tooltel.artifacts.dashboards import links, measures
from tooltel.artifacts.dashboards.board import Board, Row
from tooltel.artifacts.dashboards.doors import cluster_columns, owner_link, tool_link
from tooltel.artifacts.dashboards.looks import CALL_RATE, CALLS, CHARS, COUNT, GOOD, PLAIN, SECONDS, SHARE, Box, Look
from tooltel.artifacts.dashboards.panels import Panel, Style, graph_panel, heat_panel, stat_panel
from tooltel.artifacts.dashboards.parts import (
    FAILED_STEPS,
    OUTCOME_COLORS,
    alerts_stat,
    fields_table,
    items_panel,
    outcomes_panel,
    refusals_panel,
    rejections_panel,
    repeats_panel,
    share_steps,
)
from tooltel.artifacts.dashboards.queries import Form, Query
from tooltel.artifacts.dashboards.tables import Column, Order, table_panel
from tooltel.artifacts.dashboards.view import RATE, View
from tooltel.promql import LE, Expr, call, differs
from tooltel.signals import RejectionKind

QUANTILES = (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))
TRACES = "A dot is one call: a click on it opens its trace, where exemplars are on."


def tool_board(view: View) -> Board:
    """The dashboard of a single tool; with several chosen, they add up."""
    rows = (
        Row("Does it work?", (_numbers(view),)),
        Row("How do its calls end?", ((outcomes_panel(view, 14, 8), _errors(view, 10, 8)),)),
        Row("How long do they take?", ((_heat(view), _quantiles(view)),)),
        Row("Versions side by side", ((_by_version(view), _failed_by_version(view)), (_versions(view),))),
        Row(
            "Does the model call it right?",
            ((rejections_panel(view, 9, 8), fields_table(view, 9, 8), _corrections(view, 6, 8)),),
        ),
        Row(
            "What must not happen",
            ((repeats_panel(view, 8, 8), refusals_panel(view, 8, 8), items_panel(view, 8, 8)),),
        ),
    )
    says = "One tool in depth. Choose a tool; with several chosen, their calls add up."
    return Board(links.TOOL, says, rows, since="now-3h")


def _numbers(view: View) -> tuple[Panel, ...]:
    objective = call("max", view.series(signals.TOOL_OBJECTIVE))
    size = call("max", view.series(signals.TOOL_DECLARATION_CHARS))
    ratio = view.options.alert("StructuralRejections").ratio or 0.1
    return (
        alerts_stat(view, 4),
        stat_panel(
            Box("Calls", "Settled calls per second. Good: the usual level for this hour.", 4, 4),
            Look(CALL_RATE, none="no calls"),
            Query(view.total(view.rate(signals.TOOL_CALLS))),
        ),
        stat_panel(
            Box(
                "Failed calls",
                "Share of calls that ended in error or timeout, over the chosen time range. Good: below "
                "what the objective leaves.",
                3,
                4,
            ),
            Look(SHARE, decimals=2, base=GOOD, steps=FAILED_STEPS, none="no calls"),
            Query(measures.failed_share(view), form=Form.INSTANT),
        ),
        stat_panel(
            Box(
                "Objective",
                "Share of calls that the tool promises to serve without error; the highest of those "
                "chosen. Good: there is one; without it, nobody is paged for errors.",
                3,
                4,
            ),
            Look(SHARE, decimals=2, base=PLAIN, none="no objective"),
            Query(objective, form=Form.INSTANT),
        ),
        stat_panel(
            Box(
                "Running now",
                "Calls in flight. Good: it falls back to 0; a rising floor is a call that hangs.",
                3,
                4,
            ),
            Look(CALLS, decimals=0, none="not wrapped"),
            Query(view.total(view.series(signals.ACTIVE))),
        ),
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
                "Declaration",
                "Characters of the tool's declaration as last sent to the model; the largest of those "
                "chosen. Every model call pays for it. Good: as short as the model's mistakes allow.",
                3,
                4,
            ),
            Look(CHARS, decimals=0, none="not declared"),
            Query(size, form=Form.INSTANT),
        ),
    )


def _errors(view: View, width: int, height: int) -> Panel:
    says = (
        "Calls that did not succeed, by type of error: an exception's class, timeout, or what the model "
        "or a policy did. Good: no bars. The profile does not narrow it."
    )
    gained = view.gained(signals.DURATION, "_count", window=RATE, error_type=differs(""))
    return graph_panel(
        Box("Errors by type", says, width, height),
        Look(CALLS, decimals=0, none="no call failed"),
        Query(measures.happened(view.total(gained, "error_type")), legend="{{error_type}}"),
        style=Style(bars=True, hue="red", paint=OUTCOME_COLORS),
    )


def _heat(view: View) -> Panel:
    says = (
        "How many calls took how long. Good: one dark, level band; a second band above it is a slow "
        f"path (a cold cache, a retry). {TRACES} The profile does not narrow it."
    )
    gained = view.total(view.gained(signals.DURATION, "_bucket", window=RATE), LE)
    query = Query(gained, legend="{{le}}", form=Form.HEATMAP, exemplars=True)
    return heat_panel(Box("Duration", says, 12, 9), Look(SECONDS, none="no calls"), query)


def _quantiles(view: View) -> Panel:
    says = (
        "Half of the calls take less than p50, all but 1 % less than p99. first item: the same p95 for the first item "
        f"of a stream, what a user waits before anything moves. Good: flat, and close together. {TRACES}"
    )
    queries = [Query(measures.quantile(view, at), legend=name, exemplars=name == "p99") for name, at in QUANTILES]
    queries.append(Query(measures.quantile(view, 0.95, metric=signals.FIRST_ITEM), legend="first item, p95"))
    return graph_panel(
        Box("Duration, quantiles", says, 12, 9),
        Look(SECONDS, none="no calls", low=0),
        *queries,
        style=Style(steady=True),
    )


def _by_version(view: View) -> Panel:
    says = (
        "Calls per second by version. Good: one version, or the new one taking over from the old. Two for "
        "long: a release that stopped half-way."
    )
    rate = view.total(view.rate(signals.TOOL_CALLS), "tool", "version")
    return graph_panel(
        Box("Calls by version", says, 12, 8),
        Look(CALL_RATE, none="no calls"),
        Query(_of_busiest(view, rate), legend="{{tool}} {{version}}"),
        style=Style(stacked=True),
    )


def _failed_by_version(view: View) -> Panel:
    says = "Share of failed calls by version. Good: no difference between versions. If only the new one fails, go back."
    share = measures.failed_share(view, "tool", "version", window=RATE)
    return graph_panel(
        Box("Failed calls by version", says, 12, 8),
        Look(SHARE, none="no calls", low=0),
        Query(_of_busiest(view, share), legend="{{tool}} {{version}}"),
        style=Style(steady=True),
    )


def _of_busiest(view: View, expr: Expr) -> Expr:
    """No more tools than a graph can hold, where many are chosen."""
    return measures.busiest(view, expr, "tool")


def _versions(view: View) -> Panel:
    apart = view.apart
    by = ("owner", "tool", "version")
    shown = apart.total(apart.series(signals.TOOL_DECLARATION_INFO), *by, "sha", function="count")
    columns = [
        *cluster_columns(view),
        Column("owner", link=owner_link(view), width=120),
        Column("tool", link=tool_link(view)),
        Column("version", width=120),
        Column("declaration", label="sha", width=150),
        Column("shown by", shown, Look(COUNT, decimals=0)),
        Column("failed %", measures.failed_share(apart, *by), Look(SHARE, 1, steps=FAILED_STEPS)),
    ]
    says = (
        "Versions in use, with the fingerprint of what the model is shown and the number of processes that show it. "
        "Good: one fingerprint for each version."
    )
    none = "no calls in this time range"
    return table_panel(Box("Versions in use", says, 24, 6), columns, order=Order("failed %"), none=none)


def _corrections(view: View, width: int, height: int) -> Panel:
    says = (
        "Share of rejected calls whose next try was accepted, in the chosen time range. Good: above 80 %: "
        "the model understood what was wrong from what the tool answered."
    )
    every = view.total(view.gained(signals.CORRECTIONS))
    right = view.total(view.gained(signals.CORRECTIONS, corrected="true"))
    share = view.join(right, "/", Expr(f"{every.operand} > 0", every.labels, loose=True))
    return stat_panel(
        Box("Corrected on the next try", says, width, height),
        Look(SHARE, decimals=0, none="nothing to correct"),
        Query(share, form=Form.INSTANT),
    )
