"""What several dashboards show alike: colors with one meaning, links, and the panels that they share."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tooltel import signals
from tooltel.artifacts.dashboards import links, measures
from tooltel.artifacts.dashboards.doors import (
    cluster_columns,
    owner_link,
    owner_series_link,
    profile_link,
    tool_link,
    tool_series_link,
)
from tooltel.artifacts.dashboards.looks import CALL_RATE, CALLS, COUNT, GOOD, PLAIN, SHARE, WARN, WRONG, Box, Look, Step
from tooltel.artifacts.dashboards.panels import Panel, Style, bars_panel, graph_panel, stat_panel
from tooltel.artifacts.dashboards.queries import Form, Query
from tooltel.artifacts.dashboards.tables import Column, Order, table_panel
from tooltel.artifacts.dashboards.view import OWNER, RANGE, RATE, TOOL, View
from tooltel.artifacts.defaults import PAGE, TICKET
from tooltel.promql import Expr, call, either, one_of, over
from tooltel.signals import Reason, RejectionKind, RejectionSource, Risk, Status

FAILED_STEPS: Final = (Step(0.01, WARN), Step(0.05, WRONG))
ANY_WARNS: Final = (Step(0.5, WARN),)  # increase() extrapolates: half an event is one
ANY_IS_WRONG: Final = (Step(0.5, WRONG),)
NEAR_BUDGET: Final = 0.9
AGO: Final = Look("dtdurations", none="not seen", words={"0": ("last hour", PLAIN)})
WATCHDOG: Final = "Watchdog"

OUTCOME_COLORS: Final[Mapping[str, str]] = MappingProxyType(
    {
        Status.OK: "green",
        Status.PARTIAL: "yellow",
        Status.REPLAYED: "blue",
        Status.INVALID_ARGUMENTS: "purple",
        Status.REFUSED: "orange",
        Status.ERROR: "red",
        Status.TIMEOUT: "dark-red",
        Status.CANCELLED: "#9fa7b3",
        Status.ABANDONED: "#6e7680",
    }
)
REASON_COLORS: Final[Mapping[str, str]] = MappingProxyType(
    {
        Reason.RENAMED: "orange",
        Reason.NOT_IN_PROFILE: "blue",
        Reason.UNKNOWN: "purple",
        Reason.EMPTY: "#9fa7b3",
    }
)
# Of a legend that names a tool or a policy, and then the risk of the call.
RISK_COLORS: Final[Mapping[str, str]] = MappingProxyType(
    {f", {Risk.READ}$": "blue", f", {Risk.WRITE}$": "orange", f", {Risk.IRREVERSIBLE}$": "red"}
)
REJECTION_COLORS: Final[Mapping[str, str]] = MappingProxyType(
    {
        f"{RejectionKind.STRUCTURAL}, {RejectionSource.SCHEMA}": "purple",
        f"{RejectionKind.STRUCTURAL}, {RejectionSource.FRAMEWORK}": "light-purple",
        f"{RejectionKind.DOMAIN}, {RejectionSource.TOOL}": "blue",
    }
)


def share_steps(ratio: float) -> tuple[Step, ...]:
    """Steps of a share whose alert fires at *ratio*: it warns at half of that."""
    return (Step(ratio / 2, WARN), Step(ratio, WRONG))


def alerts_stat(view: View, width: int) -> Panel:
    """Alerts that fire now: pages and tickets."""
    says = (
        "Alerts of the chosen owner that fire now. A page (red) is somebody's night, a ticket (orange) "
        "somebody's week. no rules: Prometheus does not run the alerts. Good: 0 and 0."
    )
    queries = [
        Query(_firing(view, severity), legend=name, form=Form.INSTANT)
        for name, severity in (("pages", PAGE), ("tickets", TICKET))
    ]
    look = Look(COUNT, decimals=0, base=GOOD, steps=ANY_IS_WRONG, none="no rules")
    return stat_panel(Box("Firing alerts", says, width, 4), look, *queries, paint={"tickets": ANY_WARNS})


def _firing(view: View, severity: str) -> Expr:
    firing = view.alerts(alertstate="firing", severity=severity)
    if not view.options.alert(WATCHDOG).enabled:
        return either(call("count", firing), Expr("vector(0)", frozenset()))
    # The dead-man's switch always fires: where it does not, there are no rules, and 0 would be a lie.
    name = view.options.alert_name(WATCHDOG)
    return measures.counted(firing, view.everywhere(signals.ALERTS, alertname=name))


def _named(view: View, alerts: Expr) -> Expr:
    """The alerts with a label `alert`: the name without the fleet's prefix, as runbooks are called."""
    text = f'label_replace({alerts.text}, "alert", "$1", "alertname", "{view.options.alert_prefix}(.+)")'
    return Expr(text, alerts.labels | {"alert"})


def alerts_table(view: View, width: int, height: int) -> Panel:
    """Alerts of the chosen time range, with how long they fired."""
    apart = view.apart
    by = ("alert", "severity", "owner", "tool", "profile")
    firing = apart.total(_named(view, view.alerts(alertstate="firing")), *by, function="max")
    minutes = Expr(f"count_over_time({firing.text}[{RANGE}:1m])", firing.labels)
    # A page counts twice: it stands above the tickets, in its own color.
    pages = apart.total(_named(view, view.alerts(alertstate="firing", severity=PAGE)), *by, function="max")
    now = Look(COUNT, words={"2": ("firing", WRONG), "1": ("firing", WARN)}, none="over")
    runbook = f"{view.options.runbooks_url}/{links.of_field('alert')}.md"
    columns = [
        *cluster_columns(view),
        Column("alert", width=220, link=("Open the runbook", runbook)),
        Column("severity", width=80),
        Column("owner", link=owner_link(view), width=110),
        Column("tool", link=tool_link(view)),
        Column("profile"),
        Column("minutes", minutes, Look(COUNT, decimals=0), width=75),
        Column("now", either(Expr(f"2 * {pages.operand}", pages.labels, loose=True), firing), now, width=65),
    ]
    says = (
        "Alerts of the chosen owner that fired in the chosen time range, pages (red) that fire now on top, then "
        "tickets (orange). minutes: how long. A click on an alert opens its runbook. Good: empty."
    )
    order = Order("now")
    none = "no alert fired in this time range"
    return table_panel(Box("Alerts", says, width, height), columns, order=order, none=none)


def outcomes_panel(view: View, width: int, height: int) -> Panel:
    """Calls per second by outcome."""
    says = (
        "Settled calls per second, by how they ended. Good: nearly all green. Red (error, timeout) is the "
        "tool's doing; purple (invalid arguments) the model's; orange (refused) a policy's."
    )
    expr = view.total(view.rate(signals.TOOL_CALLS), "outcome")
    return graph_panel(
        Box("Calls by outcome", says, width, height),
        Look(CALL_RATE, none="no calls"),
        Query(expr, legend="{{outcome}}"),
        style=Style(stacked=True, paint=OUTCOME_COLORS),
    )


def not_found_panel(view: View, width: int, height: int) -> Panel:
    """Calls that reached no tool, by reason."""
    says = (
        "Calls to a name that is no tool of the profile, by reason. renamed: a retired name, add an "
        "alias; not_in_profile: the tool exists, but not for this kind of agent; unknown: the model made "
        "it up; empty: no name at all. Good: no bars."
    )
    expr = view.total(view.appeared(signals.NOT_FOUND, window=RATE), "reason")
    return graph_panel(
        Box("No such tool, by reason", says, width, height),
        Look(CALLS, decimals=0, none="every call found its tool"),
        Query(measures.happened(expr), legend="{{reason}}"),
        style=Style(bars=True, paint=REASON_COLORS),
    )


def rejections_panel(view: View, width: int, height: int) -> Panel:
    """Calls with wrong arguments, by kind and by whose verdict it is."""
    says = (
        "Calls whose arguments were rejected, by kind and by whose verdict it is. structural: they do not "
        "match the published schema, as tooltel's own check (schema) or the framework saw it; domain: "
        "well-formed, and refused by the tool. Good: few, and no step up after a release."
    )
    expr = view.total(view.appeared(signals.REJECTIONS, window=RATE), "kind", "source")
    return graph_panel(
        Box("Wrong arguments, by kind", says, width, height),
        Look(CALLS, decimals=0, none="no arguments were rejected"),
        Query(measures.happened(expr), legend="{{kind}}, {{source}}"),
        style=Style(bars=True, paint=REJECTION_COLORS),
    )


def fields_table(view: View, width: int, height: int) -> Panel:
    """Arguments that the model gets wrong."""
    apart = view.apart
    gained = apart.total(apart.appeared(signals.REJECTED_FIELDS), "owner", "tool", "kind", "field")
    columns = [
        *cluster_columns(view),
        Column("owner", link=owner_link(view), width=105),
        Column("tool", link=tool_link(view)),
        Column("field"),
        Column("kind", width=85),
        Column("times", Expr(f"{gained.operand} > 0", gained.labels, loose=True), Look(COUNT, 0), width=70),
    ]
    says = (
        "Arguments found wrong in rejected calls of the chosen time range, most often first. A field on "
        "top again and again wants a clearer description or a stricter schema. Good: empty."
    )
    none = "no argument was rejected in this time range"
    return table_panel(
        Box("Arguments the model gets wrong", says, width, height), columns, order=Order("times"), none=none
    )


def declarations_panel(view: View, width: int, height: int) -> Panel:
    """Size of the declarations of each profile against its budget."""
    says = (
        "Characters of all tool declarations that a profile's model calls carry, as really sent, over the "
        "profile's budget. Every model call pays for them. Good: below 90 %; above 100 % an alert fires."
    )
    steps = (Step(NEAR_BUDGET, WARN), Step(1, WRONG))
    look = Look(SHARE, decimals=0, base=GOOD, steps=steps, none="no budget", low=0, high=1.2)
    used = view.total(measures.budget_used(view), "profile", function="max")
    query = Query(used, legend="{{profile}}", form=Form.INSTANT)
    return bars_panel(Box("Declarations against budget", says, width, height), look, query)


def refusals_panel(view: View, width: int, height: int) -> Panel:
    """Calls that a policy refused."""
    says = (
        "Calls that a policy refused, by policy; red: irreversible ones, which raise an alert of their own. Good: "
        "none, or a few of a policy that does its work."
    )
    expr = view.total(view.appeared(signals.POLICY_REFUSALS, window=RATE), "policy", "risk")
    return graph_panel(
        Box("Refused by policy", says, width, height),
        Look(CALLS, decimals=0, none="no call was refused"),
        Query(measures.happened(expr), legend="{{policy}}, {{risk}}"),
        style=Style(bars=True, matching=RISK_COLORS),
    )


def repeats_panel(view: View, width: int, height: int) -> Panel:
    """Equal writes made twice."""
    says = (
        "Writes and irreversible calls made again with equal arguments in one session, after the first one had "
        "settled, of the five tools with most of them. Good: none; an irreversible one (red) pages its owner."
    )
    by = ("owner", "tool", "risk")
    expr = view.total(view.appeared(signals.REPEATED_CALLS, window=RATE), *by)
    gained = view.total(view.gained(signals.REPEATED_CALLS), *by)
    ever = view.total(over("max_over_time", view.series(signals.REPEATED_CALLS), RANGE), *by)
    # increase() is 0 for a series that was born with its first event: of those, the larger ones come first.
    ranking = Expr(f"{gained.operand} + {ever.operand} / 1e6", gained.labels, loose=True)
    most = measures.leading(view, expr, ranking, *by)
    return graph_panel(
        Box("Equal writes made twice", says, width, height),
        Look(CALLS, decimals=0, none="no write was made twice"),
        Query(measures.happened(most), legend="{{tool}}, {{risk}}"),
        style=Style(bars=True, matching=RISK_COLORS, link=tool_series_link(view)),
    )


def items_panel(view: View, width: int, height: int) -> Panel:
    """Items of partial results."""
    says = (
        "Items of calls that succeeded in part, by what became of them. outstanding: somebody has to "
        "finish them by hand. Good: no red."
    )
    paint = {"ok": "green", "failed": "orange", "compensated": "blue", "outstanding": "red"}
    expr = view.total(view.appeared(signals.BATCH_ITEMS, window=RATE), "status")
    return graph_panel(
        Box("Items of partial results", says, width, height),
        Look("suffix:items", decimals=0, none="no partial result"),
        Query(measures.happened(expr), legend="{{status}}"),
        style=Style(bars=True, paint=paint),
    )


def failed_by(view: View, label: str, width: int, height: int) -> Panel:
    """Share of failed calls over time, of the busiest owners or tools."""
    says = (
        f"Share of calls that ended in error or timeout, of the five by {label} with most of them. Good: flat and "
        f"near 0; one line that leaves the others is one {label}'s trouble, all of them together are the "
        "platform's."
    )
    share = measures.failed_share(view, label, window=RATE)
    top = measures.failing(view, share, label)
    link = owner_series_link(view) if label == OWNER else tool_series_link(view)
    return graph_panel(
        Box(f"Failed calls by {label}", says, width, height),
        Look(SHARE, none="no calls", low=0),
        Query(top, legend=f"{{{{{label}}}}}"),
        style=Style(steady=True, link=link),
    )


def slow_by(view: View, label: str, width: int, height: int) -> Panel:
    """95th percentile over time, of the busiest owners or tools."""
    says = (
        f"95th percentile of the time that calls spent in their tool, of the five slowest by {label}. The "
        "profile does not narrow it: the standard's metric has no such label. Good: flat."
    )
    value = measures.quantile(view, 0.95, label)
    top = measures.leading(view, value, measures.quantile(view, 0.95, label, window=RANGE), label)
    link = owner_series_link(view) if label == OWNER else tool_series_link(view)
    return graph_panel(
        Box(f"Slowest 5 % by {label}", says, width, height),
        Look("s", none="no calls", low=0),
        Query(top, legend=f"{{{{{label}}}}}", exemplars=label == TOOL),
        style=Style(steady=True, link=link),
    )


def names_table(view: View, width: int, height: int) -> Panel:
    """Old and misplaced names that models still ask for."""
    apart = view.apart
    by = ("requested", "reason", "profile", "owner")
    known = one_of(Reason.RENAMED, Reason.NOT_IN_PROFILE)
    gained = apart.total(apart.appeared(signals.NOT_FOUND, reason=known), *by)
    asked = Expr(f"{gained.operand} > 0", gained.labels, loose=True)
    since = measures.since_last(apart, signals.NOT_FOUND, *by, window=RANGE, reason=known)
    recent = Expr(apart.join(either(since), "and", asked, *by).text, since.labels, loose=True)
    columns = [
        *cluster_columns(view),
        Column("name", label="requested"),
        Column("reason", width=120, look=Look("string", words=_reasons())),
        Column("profile", link=profile_link(view), width=130),
        Column("owner", link=owner_link(view), width=120),
        Column("calls", asked, Look(COUNT, decimals=0), width=70),
        Column("last call", recent, AGO, width=95),
    ]
    says = (
        "Known names that models asked for in the chosen time range and did not get. renamed: give the "
        "tool an alias, or take the old name out of prompts and examples; not in profile: the agent was "
        "told of a tool that it may not use. last call: by the hour. Good: empty."
    )
    none = "no old or misplaced name was asked for in this time range"
    box = Box("Old and misplaced names still asked for", says, width, height)
    return table_panel(box, columns, order=Order("calls"), none=none)


def _reasons() -> dict[str, tuple[str, str]]:
    return {
        Reason.RENAMED: ("renamed", REASON_COLORS[Reason.RENAMED]),
        Reason.NOT_IN_PROFILE: ("not in profile", REASON_COLORS[Reason.NOT_IN_PROFILE]),
    }
