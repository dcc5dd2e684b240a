"""tooltel itself: whether what the other dashboards say can be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tooltel import signals
from tooltel.artifacts.dashboards import links, measures
from tooltel.artifacts.dashboards.board import Board, Row
from tooltel.artifacts.dashboards.doors import cluster_columns
from tooltel.artifacts.dashboards.looks import COUNT, GOOD, SHARE, WARN, WRONG, Box, Look, Step
from tooltel.artifacts.dashboards.panels import Panel, Style, graph_panel, stat_panel
from tooltel.artifacts.dashboards.parts import ANY_IS_WRONG, ANY_WARNS
from tooltel.artifacts.dashboards.queries import Form, Query
from tooltel.artifacts.dashboards.tables import Column, Order, table_panel
from tooltel.artifacts.dashboards.view import RATE, View
from tooltel.promql import Expr, call, compare, over, regex

if TYPE_CHECKING:
    from tooltel.signals import Metric

OURS = regex(".*tooltel.*")  # a rule group's label is its file and its name
MANY = (Step(1.5, WARN),)
FAILURE_COLORS = {"^error in ": "red", "^folded in ": "orange", "^rules of ": "purple"}


def itself_board(view: View) -> Board:
    """The dashboard of the platform: targets, contained failures, bounds, catalogs and versions."""
    rows = (
        Row("Can I trust what I see?", (_numbers(view),)),
        Row("What failed, and was kept away from the tools", ((_failures(view), _targets(view)),)),
        Row("Processes", ((_instances(view),),)),
        Row("Sidecars", ((_lag(view), _lines(view), _skipped(view)), (_sources(view),)), closed=True),
    )
    says = "Whether tooltel itself works: targets, contained failures, bounds that were hit, catalogs in use."
    return Board(links.ITSELF, says, rows, since="now-6h")


def _numbers(view: View) -> tuple[Panel, ...]:
    up = view.series(signals.UP, job=view.options.job)
    catalogs = view.total(view.series(signals.CATALOG_INFO), "sha", function="group")
    versions = view.total(view.series(signals.BUILD_INFO), "version", function="group")
    return (
        stat_panel(
            Box("Targets up", "Share of scraped processes that answer. Good: 100 %.", 4, 4),
            Look(SHARE, decimals=0, base=WRONG, steps=(Step(0.5, WARN), Step(1, GOOD)), none="no target"),
            Query(call("avg", up), form=Form.INSTANT),
        ),
        _count_stat(
            view,
            signals.INTERNAL_ERRORS,
            "Internal errors",
            "Failures inside tooltel that were kept away from a tool, in the chosen time range. Good: 0; "
            "each is a bug.",
        ),
        _count_stat(
            view,
            signals.LABEL_OVERFLOW,
            "Values folded",
            "Label values folded into other because of a bound, in the chosen time range. Good: 0; the "
            "numbers stay right, but say less.",
        ),
        _count_stat(
            view,
            signals.CATALOG_RELOAD_FAILURES,
            "Failed reloads",
            "Reloads that kept the old catalog because the new one had problems, in the chosen time range. Good: 0.",
        ),
        stat_panel(
            Box(
                "Catalogs in use",
                "Different catalogs that processes hold now. Good: 1; 2 for the minutes of a rollout.",
                4,
                4,
            ),
            Look(COUNT, decimals=0, base=GOOD, steps=MANY, none="no process"),
            Query(call("count", catalogs), form=Form.INSTANT),
        ),
        stat_panel(
            Box(
                "Versions of tooltel",
                "Different versions that run now. Good: 1; 2 for the time of a rollout.",
                4,
                4,
            ),
            Look(COUNT, decimals=0, base=GOOD, steps=MANY, none="no process"),
            Query(call("count", versions), form=Form.INSTANT),
        ),
    )


def _count_stat(view: View, metric: signals.Metric, title: str, says: str) -> Panel:
    steps = ANY_WARNS if metric is signals.LABEL_OVERFLOW else ANY_IS_WRONG
    return stat_panel(
        Box(title, says, 4, 4),
        Look(COUNT, decimals=0, base=GOOD, steps=steps, none="no process"),
        Query(view.total(view.gained(metric)), form=Form.INSTANT),
    )


def _failures(view: View) -> Panel:
    says = (
        "What failed, and when. error in: a failure inside tooltel, logged with its cause; folded in: label values of "
        "a metric that became other, as when a model invents names or agents run tools that the catalog lacks; "
        "rules of: evaluations that failed in Prometheus, where it scrapes itself: while they fail, alerts do not "
        "fire. Good: nothing failed."
    )
    failed = over("increase", view.foreign(signals.RULE_FAILURES, rule_group=OURS), RATE)
    # The label is the file and the group; the group alone tells which.
    short = Expr(f'label_replace({failed.text}, "group", "$1", "rule_group", ".*;(.+)")', failed.labels | {"group"})
    errors = view.total(view.gained(signals.INTERNAL_ERRORS, window=RATE), "component")
    folded = view.total(view.gained(signals.LABEL_OVERFLOW, window=RATE), "metric")
    return graph_panel(
        Box("Failures by place", says, 15, 7),
        Look("suffix:failures", decimals=0, none="nothing failed"),
        Query(measures.happened(errors), legend="error in {{component}}"),
        Query(measures.happened(folded), legend="folded in {{metric}}"),
        Query(measures.happened(view.total(short, "group")), legend="rules of {{group}}"),
        style=Style(bars=True, matching=FAILURE_COLORS),
    )


def _targets(view: View) -> Panel:
    says = "Scraped processes, by whether they answer. Good: no red; green moves only with a rollout."
    up = view.series(signals.UP, job=view.options.job)
    down = compare(Expr(f"count({up.text}) - sum({up.text})", frozenset(), loose=True), ">", 0)
    return graph_panel(
        Box("Targets", says, 9, 7),
        Look("suffix:targets", decimals=0, none="no target", low=0),
        Query(call("sum", up), legend="up"),
        Query(down, legend="down"),
        style=Style(stacked=True, paint={"up": "green", "down": "red"}),
    )


def _instances(view: View) -> Panel:
    apart = view.apart
    by = ("instance",)
    build = apart.total(apart.series(signals.BUILD_INFO), *by, "version", function="max")
    catalog = apart.total(apart.series(signals.CATALOG_INFO), *by, "sha", function="max")
    loaded = apart.total(apart.series(signals.CATALOG_LOADED), *by, function="max")
    failures = apart.total(apart.gained(signals.CATALOG_RELOAD_FAILURES), *by)
    age = Expr(f"time() - {loaded.operand}", loaded.labels, loose=True)
    columns = [
        *cluster_columns(view),
        Column("instance"),
        Column("tooltel", label="version", width=90),
        Column("build", build, hidden=True),
        Column("catalog", label="sha", width=130),
        Column("loaded from", catalog, hidden=True),
        Column("loaded", age, Look("dtdurations"), width=170),
        Column("failed reloads", failures, Look(COUNT, decimals=0, steps=ANY_WARNS), width=125),
    ]
    says = (
        "Processes with the version of tooltel, the fingerprint of the catalog they hold and how long ago they loaded "
        "it. Good: the same two everywhere, and no failed reload."
    )
    box = Box("Processes and their catalogs", says, 24, 6)
    return table_panel(box, columns, order=Order("failed reloads"), none="no process")


def _lag(view: View) -> Panel:
    says = "Bytes that were written to a source and are not counted yet. Good: near 0, and back there after a burst."
    expr = view.total(view.series(signals.SIDECAR_LAG), "source", function="max")
    return graph_panel(
        Box("Lag by source", says, 8, 7), Look("bytes", none="no sidecar", low=0), Query(expr, "{{source}}")
    )


def _lines(view: View) -> Panel:
    says = "Lines read per second. Good: the usual level; a fall to nothing is a log that moved."
    read = view.total(view.rate(signals.SIDECAR_LINES), "source")
    return graph_panel(
        Box("Lines read by source", says, 8, 7),
        Look("suffix:lines/s", none="no sidecar", low=0),
        Query(read, "{{source}}"),
        style=Style(steady=True),
    )


def _skipped(view: View) -> Panel:
    says = "Lines that could not be judged, by cause. Good: no bars."
    gained = view.gained(signals.SIDECAR_SKIPPED_LINES, window=RATE)
    return graph_panel(
        Box("Skipped lines by cause", says, 8, 7),
        Look("suffix:lines", decimals=0, none="no line was skipped"),
        Query(measures.happened(view.total(gained, "cause")), "{{cause}}"),
        style=Style(bars=True),
    )


def _sources(view: View) -> Panel:
    apart = view.apart
    by = ("source",)

    def gained(row: Metric) -> Expr:
        return apart.total(apart.gained(row), *by)

    last = apart.total(apart.series(signals.SIDECAR_LAST_READ), *by, function="max")
    held = apart.total(apart.series(signals.SIDECAR_OPEN_FILES), *by)
    ago = Expr(f"time() - {last.operand}", last.labels, loose=True)
    warns = Look(COUNT, decimals=0, steps=ANY_WARNS)
    columns = [
        *cluster_columns(view),
        Column("source"),
        Column("read", gained(signals.SIDECAR_BYTES), Look("bytes"), width=110),
        Column("counted", gained(signals.SIDECAR_MATCHES), Look("suffix:lines", decimals=0), width=110),
        Column("last read", ago, Look("dtdurations"), width=150),
        Column("open files", held, Look(COUNT, decimals=0), width=100),
        Column("rotations", gained(signals.SIDECAR_ROTATIONS), Look(COUNT, decimals=0), width=100),
        Column("truncations", gained(signals.SIDECAR_TRUNCATIONS), Look(COUNT, decimals=0), width=110),
        Column("skipped", gained(signals.SIDECAR_SKIPPED_BYTES), Look("bytes", steps=ANY_WARNS), width=110),
        Column("failed commits", gained(signals.SIDECAR_CHECKPOINT_FAILURES), warns, width=125),
    ]
    says = (
        "What each source gave in the chosen time range: its bytes, the lines that a signature counted, when it last "
        "gave any, and what went wrong. Good: nothing skipped, and no failed commit: while one fails, counts stand "
        "still."
    )
    return table_panel(Box("Sources", says, 24, 5), columns, order=Order("failed commits"), none="no sidecar")
