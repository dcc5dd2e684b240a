"""Panels: what is asked, how it is shown, and what good looks like. Their places are the board's business."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tooltel import signals
from tooltel.artifacts.dashboards.links import DATASOURCE
from tooltel.artifacts.dashboards.sdk import (
    bargauge,
    common,
    dashboard,
    heatmap,
    prometheus,
    stat,
    timeseries,
    units,
)
from tooltel.artifacts.dashboards.view import spelled

if TYPE_CHECKING:
    from tooltel.promql import Expr
    from tooltel.signals import Metric

CALLS: Final = "count:calls"
CALL_RATE: Final = "count:calls/s"
SHARE: Final = units.PercentUnit
SECONDS: Final = units.Seconds

NONE: Final = "none"
PLAIN, GOOD, WARN, WRONG = "text", "green", "orange", "red"  # red only where somebody should act

SOURCE: Final = common.DataSourceRef(type_val="prometheus", uid=f"${{{DATASOURCE}}}")
EVENT_STEP: Final = "1m"  # a bar of a rare event stands for a minute at least, or it would be drawn several times

_SERIES: Final[Mapping[str, Metric]] = {
    name: metric for metric in (*signals.METRICS, *signals.EXTERNAL) for name in metric.series
}


class Form(StrEnum):
    """How Prometheus is asked, and what the answer looks like."""

    RANGE = "range"
    INSTANT = "instant"
    TABLE = "table"
    HEATMAP = "heatmap"


@dataclass(frozen=True, slots=True)
class Query:
    """One question to Prometheus. `legend` names its series, `{{label}}` standing for a label's value."""

    expr: Expr
    legend: str = ""
    form: Form = Form.RANGE
    exemplars: bool = False

    @property
    def reads(self) -> frozenset[Metric]:
        """The rows of the table of signals that the expression names."""
        return frozenset(_SERIES[word] for word in re.findall(r"\w+", self.expr.text) if word in _SERIES)

    def target(self, ref: str) -> prometheus.Dataquery:
        """The query as Grafana keeps it."""
        instant = self.form in (Form.INSTANT, Form.TABLE)
        formats = {
            Form.TABLE: prometheus.PromQueryFormat.TABLE,
            Form.HEATMAP: prometheus.PromQueryFormat.HEATMAP,
        }
        return prometheus.Dataquery(
            datasource=SOURCE,
            editor_mode=prometheus.QueryEditorMode.CODE,
            expr=spelled(self.expr),
            exemplar=self.exemplars,
            format_val=formats.get(self.form, prometheus.PromQueryFormat.TIME_SERIES),
            instant=instant,
            legend_format=self.legend,
            range_val=not instant,
            ref_id=ref,
        )


@dataclass(frozen=True, slots=True)
class Box:
    """What a panel's frame says, and its size: `width` of 24 columns, `height` in grid rows of 38 pixels."""

    title: str
    says: str
    width: int
    height: int


class Step(NamedTuple):
    """From `value` on, the color is another one."""

    value: float
    color: str


@dataclass(frozen=True, slots=True)
class Look:
    """
    How a number is shown.

    `base` is the color below the first of the `steps`; `none` is said where there is no data; `low` and
    `high` bound an axis or a bar; `words` replace single values by a text and a color.
    """

    unit: str
    decimals: int | None = None
    base: str = PLAIN
    steps: tuple[Step, ...] = ()
    none: str = NONE
    low: float | None = None
    high: float | None = None
    words: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def thresholds(self) -> dashboard.ThresholdsConfig:
        """The colors as Grafana keeps them; the first step has no bound."""
        steps = [dashboard.Threshold(value=None, color=self.base)]
        steps += [dashboard.Threshold(value=step.value, color=step.color) for step in self.steps]
        return dashboard.ThresholdsConfig(mode=dashboard.ThresholdsMode.ABSOLUTE, steps=steps)

    def mappings(self) -> list[dashboard.ValueMapping]:
        """Words for single values, as Grafana keeps them."""
        if not self.words:
            return []
        results = {
            value: dashboard.ValueMappingResult(text=text, color=color, index=place)
            for place, (value, (text, color)) in enumerate(self.words.items())
        }
        return [dashboard.ValueMap(options=results)]

    def defaults(self, *, color: dashboard.FieldColorModeId, custom: object = None) -> dashboard.FieldConfig:
        """The look as defaults of a panel's fields."""
        return dashboard.FieldConfig(
            unit=self.unit,
            decimals=self.decimals,
            min_val=self.low,
            max_val=self.high,
            mappings=self.mappings(),
            thresholds=self.thresholds(),
            color=dashboard.FieldColor(mode=color),
            no_value=self.none,
            custom=custom,
        )


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel without a place: what `board` puts on the grid."""

    kind: str
    box: Box
    queries: Mapping[str, Query]  # by reference
    options: object
    fields: dashboard.FieldConfigSource
    transformations: tuple[dashboard.DataTransformerConfig, ...] = ()
    interval: str | None = None

    @property
    def reads(self) -> frozenset[Metric]:
        """Every row that a query of the panel names."""
        return frozenset().union(*(query.reads for query in self.queries.values()))

    @property
    def waits(self) -> bool:
        """Whether the panel needs a row that no code emits yet."""
        return any(metric.state is signals.State.WAITING for metric in self.reads)

    def at(self, place: dashboard.GridPos, number: int) -> dashboard.Panel:
        """The panel as Grafana keeps it, at its place and with its number."""
        return dashboard.Panel(
            type_val=self.kind,
            id_val=number,
            title=self.box.title,
            description=self.box.says,
            datasource=SOURCE,
            grid_pos=place,
            targets=[query.target(ref) for ref, query in self.queries.items()],
            transformations=list(self.transformations) or None,
            interval=self.interval,
            options=self.options,
            field_config=self.fields,
        )


def stat_panel(box: Box, look: Look, *queries: Query, paint: Mapping[str, tuple[Step, ...]] | None = None) -> Panel:
    """
    One number, or a few with names. A range query gives it a small graph of where it came from.

    *paint* gives single names steps of their own.
    """
    graph = common.BigValueGraphMode.AREA if queries[0].form is Form.RANGE else common.BigValueGraphMode.NONE
    text = common.BigValueTextMode.VALUE_AND_NAME if len(queries) > 1 else common.BigValueTextMode.VALUE
    options = stat.Options(
        graph_mode=graph,
        color_mode=common.BigValueColorMode.VALUE,
        text_mode=text,
        reduce_options=common.ReduceDataOptions(calcs=["lastNotNull"], fields="", values=False),
    )
    overrides = [
        override(name, {"thresholds": plain_thresholds(replace(look, steps=steps))})
        for name, steps in (paint or {}).items()
    ]
    fields = dashboard.FieldConfigSource(
        defaults=look.defaults(color=dashboard.FieldColorModeId.THRESHOLDS), overrides=overrides
    )
    return Panel("stat", box, _numbered(queries), options, fields)


@dataclass(frozen=True, slots=True)
class Style:
    """
    How a graph is drawn.

    `bars` are for counted events, lines for rates; `paint` gives single series a color; `link` is where a
    click on a series leads, with its title; `limits` draws the steps of the look as dashed lines.
    """

    bars: bool = False
    stacked: bool = False
    paint: Mapping[str, str] = field(default_factory=dict)
    link: tuple[str, str] | None = None
    limits: bool = False

    def custom(self) -> timeseries.FieldConfig:
        """The style as Grafana keeps it."""
        mode = common.StackingMode.NORMAL if self.stacked or self.bars else common.StackingMode.NONE
        limits = common.GraphThresholdsStyleMode.DASHED if self.limits else common.GraphThresholdsStyleMode.OFF
        return timeseries.FieldConfig(
            draw_style=common.GraphDrawStyle.BARS if self.bars else common.GraphDrawStyle.LINE,
            line_width=1,
            fill_opacity=80 if self.bars else 25 if self.stacked else 5,
            show_points=common.VisibilityMode.NEVER,
            stacking=common.StackingConfig(mode=mode, group="A"),
            thresholds_style=common.GraphThresholdsStyleConfig(mode=limits),
            axis_soft_min=0,
        )


def graph_panel(box: Box, look: Look, *queries: Query, style: Style | None = None) -> Panel:
    """Values over time, the legend below, the largest first in the tooltip."""
    style = style or Style()
    options = timeseries.Options(
        legend=common.VizLegendOptions(show_legend=True),
        tooltip=common.VizTooltipOptions(
            mode=common.TooltipDisplayMode.MULTI, sort=common.SortOrder.DESCENDING, hide_zeros=style.bars
        ),
    )
    overrides = [
        override(name, {"color": {"mode": "fixed", "fixedColor": color}}) for name, color in style.paint.items()
    ]
    if style.link:
        title, url = style.link
        overrides.append(override(".*", {"links": [{"title": title, "url": url}]}, matcher="byRegexp"))
    fields = dashboard.FieldConfigSource(
        defaults=look.defaults(color=dashboard.FieldColorModeId.PALETTE_CLASSIC, custom=style.custom()),
        overrides=overrides,
    )
    step = EVENT_STEP if style.bars else None
    return Panel("timeseries", box, _numbered(queries), options, fields, interval=step)


def bars_panel(box: Box, look: Look, query: Query) -> Panel:
    """One horizontal bar for each series, its name beside it, as full as it is near `look.high`."""
    options = bargauge.Options(
        display_mode=common.BarGaugeDisplayMode.GRADIENT,
        name_placement=common.BarGaugeNamePlacement.LEFT,
        orientation=common.VizOrientation.HORIZONTAL,
        reduce_options=common.ReduceDataOptions(calcs=["lastNotNull"], fields="", values=False),
    )
    fields = dashboard.FieldConfigSource(defaults=look.defaults(color=dashboard.FieldColorModeId.THRESHOLDS))
    return Panel("bargauge", box, _numbered((query,)), options, fields)


def heat_panel(box: Box, look: Look, query: Query) -> Panel:
    """How many values fell into each bucket of a histogram over time, exemplars on top."""
    options = heatmap.Options(
        calculate=False,
        color=heatmap.HeatmapColorOptions(
            mode=heatmap.HeatmapColorMode.SCHEME,
            scheme="Oranges",
            fill="dark-orange",
            scale=heatmap.HeatmapColorScale.EXPONENTIAL,
            exponent=0.5,
            steps=64,
        ),
        cell_values=heatmap.CellValues(unit=CALLS, decimals=0),
        tooltip=heatmap.HeatmapTooltip(mode=common.TooltipDisplayMode.SINGLE, y_histogram=True),
        y_axis=heatmap.YAxisConfig(unit=look.unit, axis_placement=common.AxisPlacement.LEFT),
    )
    custom = heatmap.FieldConfig(hide_from=common.HideSeriesConfig())
    defaults = look.defaults(color=dashboard.FieldColorModeId.THRESHOLDS, custom=custom)
    return Panel("heatmap", box, _numbered((query,)), options, dashboard.FieldConfigSource(defaults=defaults))


def _numbered(queries: Sequence[Query]) -> dict[str, Query]:
    return dict(zip("ABCDEFGH", queries, strict=False))


def plain_thresholds(look: Look) -> dict[str, Any]:
    """The colors of *look* as the value of an override."""
    steps: list[dict[str, Any]] = [{"value": None, "color": look.base}]
    steps += [{"value": step.value, "color": step.color} for step in look.steps]
    return {"mode": "absolute", "steps": steps}


def plain_mappings(look: Look) -> list[dict[str, Any]]:
    """The words of *look* as the value of an override."""
    results = {
        value: {"text": text, "color": color, "index": place}
        for place, (value, (text, color)) in enumerate(look.words.items())
    }
    return [{"type": "value", "options": results}]


def override(
    name: str, properties: Mapping[str, object], *, matcher: str = "byName"
) -> dashboard.DashboardFieldConfigSourceOverrides:
    """Other *properties* for the fields that *matcher* finds by *name*."""
    return dashboard.DashboardFieldConfigSourceOverrides(
        matcher=dashboard.MatcherConfig(id_val=matcher, options=name),
        properties=[dashboard.DynamicConfigValue(id_val=key, value=value) for key, value in properties.items()],
    )
