"""Names and declarations over their life: aliases that may go, names asked for in vain, what models see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tooltel import signals
from tooltel.artifacts.dashboards import links, measures
from tooltel.artifacts.dashboards.board import Board, Row
from tooltel.artifacts.dashboards.doors import cluster_columns, owner_link, profile_link, tool_link
from tooltel.artifacts.dashboards.looks import CALLS, CHARS, COUNT, GOOD, PLAIN, SHARE, WARN, WRONG, Box, Look, Step
from tooltel.artifacts.dashboards.panels import Panel, Style, graph_panel, stat_panel
from tooltel.artifacts.dashboards.parts import AGO, ANY_IS_WRONG, ANY_WARNS, NEAR_BUDGET, names_table, not_found_panel
from tooltel.artifacts.dashboards.queries import Form, Query
from tooltel.artifacts.dashboards.tables import Column, Order, table_panel
from tooltel.artifacts.dashboards.view import RANGE, RATE, View
from tooltel.promql import Expr, call, compare, duration, either, over
from tooltel.signals import UNOWNED, Reason

if TYPE_CHECKING:
    from tooltel.signals import Metric

ALIAS = ("alias", "tool", "owner")
WATCHED = 0.95  # share of the hours that must have been watched before silence is believed; the alert's too


def lifecycle_board(view: View) -> Board:
    """The dashboard for whoever renames, moves or re-describes a tool."""
    rows = (
        Row("Is anything left over?", (_numbers(view),)),
        Row("Aliases: when may each go?", ((_aliases(view), _alias_calls(view)),)),
        Row("Renames: what is asked for in vain?", ((names_table(view, 15, 8), not_found_panel(view, 9, 8)),)),
        Row(
            "Declarations: what is the model shown, and what does it cost?",
            ((_profiles(view), _sizes(view)), (_fingerprints(view), _largest(view))),
        ),
        Row("MCP servers", ((_servers(view),),)),
    )
    says = "Renames, aliases and declarations: what is left over from the past, and what the model is shown now."
    return Board(links.LIFECYCLE, says, rows, since="now-7d", refresh="5m")


def _retention(view: View) -> str:
    return duration(view.catalog.session_retention)


def _numbers(view: View) -> tuple[Panel, ...]:
    removable = call("sum", _removable(view))
    unowned = view.total(view.series(signals.TOOL_CALLS, owner=UNOWNED), "tool", function="group")
    over_budget = compare(measures.budget_used(view), ">", 1)
    return (
        stat_panel(
            Box(
                "Aliases that may go",
                f"Old names that nobody called for {_retention(view)}, which is longer than a session is "
                "kept, and that were watched for as long. Good: 0, after they have been removed.",
                4,
                4,
            ),
            Look(COUNT, decimals=0, base=PLAIN, steps=(Step(0.5, "blue"),), none="no alias"),
            Query(removable, form=Form.INSTANT),
        ),
        stat_panel(
            Box(
                "Aliases called",
                "Calls that used an old name that still works, in the chosen time range. Good: falling.",
                4,
                4,
            ),
            Look(CALLS, decimals=0, none="no alias"),
            Query(view.total(view.gained(signals.ALIAS_CALLS)), form=Form.INSTANT),
        ),
        _reason_stat(view, "Retired names", Reason.RENAMED, "a name that no longer works: give it an alias"),
        _reason_stat(view, "Misplaced names", Reason.NOT_IN_PROFILE, "a tool that this kind of agent may not use"),
        stat_panel(
            Box(
                "Profiles over budget",
                "Profiles whose declarations are larger than their budget. Good: 0.",
                4,
                4,
            ),
            Look(COUNT, decimals=0, base=GOOD, steps=ANY_IS_WRONG, none="no agent"),
            Query(measures.counted(over_budget, measures.budget_used(view)), form=Form.INSTANT),
        ),
        stat_panel(
            Box(
                "Unowned tools",
                "Tools that agents run and the catalog does not hold. Their pages go to the platform. Good: 0.",
                4,
                4,
            ),
            Look(COUNT, decimals=0, base=GOOD, steps=ANY_WARNS, none="no agent"),
            Query(measures.counted(unowned, view.series(signals.TOOL_CALLS)), form=Form.INSTANT),
        ),
    )


def _reason_stat(view: View, title: str, reason: Reason, means: str) -> Panel:
    gained = view.total(view.appeared(signals.NOT_FOUND, reason=reason))
    return stat_panel(
        Box(title, f"Calls, in the chosen time range, to {means}. Good: 0.", 4, 4),
        Look(CALLS, decimals=0, base=GOOD, steps=ANY_WARNS, none="none"),
        Query(measures.at_least_zero(gained, view.series(signals.NOT_FOUND)), form=Form.INSTANT),
    )


def _removable(view: View) -> Expr:
    """1 for an alias that may go, 0 for one that must stay: as the alert sees it."""
    metric, window = signals.ALIAS_CALLS, _retention(view)
    silent = compare(view.total(over("increase", view.series(metric), window), *ALIAS), "== bool", 0)
    before = measures.present_before(view, metric, *ALIAS, window=window)
    enough = compare(measures.watched(view, metric, *ALIAS, window=window), ">=", WATCHED)
    known = view.join(view.join(silent, "and", before, *ALIAS), "and", enough, *ALIAS)
    here = view.total(view.series(metric), *ALIAS)
    verdict = either(known, Expr(f"0 * {here.operand}", here.labels, loose=True))
    # What is gone now has no row: an alias that was removed last week need not be removed again.
    return _still(view, verdict, here)


def _aliases(view: View) -> Panel:
    apart = view.apart
    metric, window = signals.ALIAS_CALLS, _retention(view)
    here = apart.total(apart.series(metric), *ALIAS)
    calls = apart.total(over("increase", apart.series(metric), window), *ALIAS)
    last = measures.since_last(apart, metric, *ALIAS, window=window)
    watched = measures.watched(apart, metric, *ALIAS, window=window)
    verdicts = {"0": ("keep", PLAIN), "1": ("may go", "blue")}
    columns = [
        *cluster_columns(view),
        Column("alias"),
        Column("tool", link=tool_link(view)),
        Column("owner", link=owner_link(view), width=110),
        Column("calls", _still(apart, calls, here), Look(COUNT, decimals=0), width=65),
        Column("last call", _still(apart, last, here), AGO, width=95),
        Column("watched", _still(apart, watched, here), Look(SHARE, decimals=0), width=80),
        Column("verdict", _removable(apart), Look(COUNT, words=verdicts), width=80),
    ]
    says = (
        f"Old names that still work. calls: within {window}, the time for which sessions are kept. last "
        f"call: found by looking at the counter hour by hour over {window}. watched: share of these "
        "hours for which Prometheus has the series. An alias may go when it was watched from the start "
        f"of {window} on, and for {WATCHED * 100:.0f} % of it, without a call; Prometheus' retention "
        "must be longer than that. Good: no alias that may go."
    )
    box = Box("Aliases", says, 15, 8)
    return table_panel(box, columns, order=Order("verdict"), none="the catalog has no alias")


def _still(view: View, expr: Expr, here: Expr) -> Expr:
    return Expr(view.join(expr, "and", here, *ALIAS).text, expr.labels, loose=True)


def _alias_calls(view: View) -> Panel:
    says = "Calls that used an old name. Good: falling to nothing after a rename, as sessions that know it end."
    expr = view.total(view.gained(signals.ALIAS_CALLS, window=RATE), "alias")
    return graph_panel(
        Box("Calls by an old name", says, 9, 8),
        Look(CALLS, decimals=0, none="no old name was called"),
        Query(measures.happened(expr), legend="{{alias}}"),
        style=Style(bars=True, hue="blue"),
    )


def _profiles(view: View) -> Panel:
    apart = view.apart
    by = ("profile", "owner")

    def latest(metric: Metric) -> Expr:
        return apart.total(apart.series(metric), *by, function="max")

    whole = Look(COUNT, decimals=0)
    steps = (Step(NEAR_BUDGET, WARN), Step(1, WRONG))
    columns = [
        *cluster_columns(view),
        Column("profile", link=profile_link(view)),
        Column("owner", link=owner_link(view), width=110),
        Column("tools", latest(signals.PROFILE_TOOLS), whole, width=60),
        Column("chars", latest(signals.DECLARATION_CHARS), whole, width=75),
        Column("tokens", latest(signals.DECLARATION_TOKENS), whole, width=75),
        Column("budget", latest(signals.DECLARATION_BUDGET), whole, width=75),
        Column("used", measures.budget_used(apart, *by), Look(SHARE, 0, steps=steps), width=65),
    ]
    says = (
        "What each profile's model calls carry: number of tools, characters, tokens where the agent "
        "counts them, and the budget in characters. Good: used below 90 %."
    )
    box = Box("Profiles", says, 12, 8)
    return table_panel(box, columns, order=Order("used"), none="no profile was declared yet")


def _sizes(view: View) -> Panel:
    says = (
        "Characters of all declarations of a profile over time, of the five largest. Good: flat; a step is a release, "
        "and somebody should be able to say which."
    )
    chars = view.total(view.series(signals.DECLARATION_CHARS), "profile", function="max")
    most = over("max_over_time", view.series(signals.DECLARATION_CHARS), RANGE)
    largest = measures.leading(view, chars, view.total(most, "profile", function="max"), "profile")
    return graph_panel(
        Box("Declarations over time", says, 12, 8),
        Look(CHARS, none="nothing was declared yet", low=0),
        Query(largest, legend="{{profile}}"),
    )


def _fingerprints(view: View) -> Panel:
    apart = view.apart
    window = view.options.alert("DeclarationChangedWithoutVersionBump").window or "7d"
    by = ("owner", "tool", "version")
    metric = signals.TOOL_DECLARATION_INFO
    seen = over("max_over_time", apart.series(metric), window)
    each = apart.total(seen, *by, "sha", function="group")
    columns = [
        *cluster_columns(view),
        Column("owner", link=owner_link(view), width=100),
        Column("tool", link=tool_link(view)),
        Column("version", width=85),
        Column("fingerprint", label="sha", width=120),
        Column(
            "first seen",
            measures.since_first(apart, metric, *by, "sha", window=window),
            Look("dtdurations"),
            width=90,
        ),
        Column(
            "shown by",
            apart.total(apart.series(metric), *by, "sha", function="count"),
            Look(COUNT, decimals=0),
            width=85,
        ),
        Column(
            "same version",
            apart.total(each, *by, function="count"),
            Look(COUNT, decimals=0, steps=(Step(1.5, WRONG),)),
            width=110,
        ),
    ]
    says = (
        f"Fingerprints of what the model was shown within {window}. shown by: processes that show it now; "
        "same version: how many fingerprints this version had. More than 1 means that a declaration "
        "changed without a new version. Good: 1 everywhere."
    )
    box = Box("Fingerprints by version", says, 15, 9)
    return table_panel(box, columns, order=Order("same version"), none="nothing was declared yet")


def _largest(view: View) -> Panel:
    apart = view.apart
    chars = apart.total(apart.series(signals.TOOL_DECLARATION_CHARS), "owner", "tool", function="max")
    columns = [
        *cluster_columns(view),
        Column("owner", link=owner_link(view), width=105),
        Column("tool", link=tool_link(view), width=170),
        Column("chars", chars, Look(COUNT, decimals=0, base="blue"), bar=True),
    ]
    says = (
        "Characters of single declarations as last sent to the model, the largest first: shorten the descriptions at "
        "the top. Good: no tool far above the others."
    )
    box = Box("Largest declarations", says, 9, 9)
    return table_panel(box, columns, order=Order("chars"), none="nothing was declared yet")


def _servers(view: View) -> Panel:
    apart = view.apart
    by = ("server", "owner")
    offered = apart.total(apart.series(signals.MCP_SERVER_INFO), *by, "server_version", function="count")
    unlisted = apart.total(apart.series(signals.MCP_UNLISTED), *by, function="max")
    changed = apart.total(apart.series(signals.MCP_CHANGED), *by, function="max")
    pinned = apart.total(apart.series(signals.MCP_SERVER_PINNED_INFO), *by, "server_version", function="count")
    alarming = Look(COUNT, decimals=0, steps=(Step(0.5, WRONG),))
    columns = [
        *cluster_columns(view),
        Column("server"),
        Column("owner", link=owner_link(view)),
        Column("version", label="server_version"),
        Column("running", offered, Look(COUNT, decimals=0)),
        Column("pinned", pinned, Look(COUNT, decimals=0)),
        Column("unlisted", unlisted, alarming),
        Column("changed", changed, alarming),
    ]
    says = (
        "MCP servers by version: processes that talk to it, and whether the catalog pins it. unlisted: "
        "tools that it offers and the catalog does not allow; changed: tools whose definition changed. "
        "Good: 0 in both."
    )
    return table_panel(Box("MCP servers", says, 24, 7), columns, order=Order("unlisted"), none="no MCP server in use")
