"""Panels: what is asked, how it is shown, and what good looks like. Their places are the board's business."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from tooltel import signals
from tooltel.artifacts.dashboards.looks import (
    CALLS,
    SHARE,
    TIMES,
    Box,
    Look,
    Step,
    override,
    plain_thresholds,
    unmeasured,
)
from tooltel.artifacts.dashboards.queries import SOURCE, Query
from tooltel.artifacts.dashboards.sdk import bargauge, common, dashboard, heatmap, stat, timeseries

if TYPE_CHECKING:
    from tooltel.signals import Metric

# A bar counts the events since the one before: few and wide ones can be told apart. Grafana's window for a point is a
# scrape longer than the step: over two minutes and more, few events are counted in two bars.
BARS: Final = 60
BAR_STEP: Final = "2m"
# Shares and quantiles of few calls jump about: fewer points, over two minutes and more, say something.
STEADY: Final = 40
STEADY_STEP: Final = "2m"

ROOM: Final = {SHARE: 0.05, TIMES: 2, "bytes": 1024}  # that an axis has at least, by unit
EVENTS: Final = 4  # the same, for counted events
WORDY: Final = 84  # pixels of an axis whose numbers have a word behind them


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
    points: int | None = None  # that a graph may have at most

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
            max_data_points=self.points,
            options=self.options,
            field_config=self.fields,
        )


def stat_panel(box: Box, look: Look, *queries: Query, paint: Mapping[str, tuple[Step, ...]] | None = None) -> Panel:
    """
    One number, or a few with names. *paint* gives single names steps of their own.

    There is no small graph behind the number: in a panel this low, its line would run through the digits.
    """
    text = common.BigValueTextMode.VALUE_AND_NAME if len(queries) > 1 else common.BigValueTextMode.VALUE
    options = stat.Options(
        graph_mode=common.BigValueGraphMode.NONE,
        color_mode=common.BigValueColorMode.VALUE,
        text_mode=text,
        reduce_options=common.ReduceDataOptions(calcs=["lastNotNull"], fields="", values=False),
    )
    overrides = [
        override(name, {"thresholds": plain_thresholds(replace(look, steps=steps))})
        for name, steps in (paint or {}).items()
    ]
    defaults = look.defaults(color=dashboard.FieldColorModeId.THRESHOLDS)
    # What is not measured is neither good nor bad; a number's color would be that of 0.
    defaults.mappings = [*(defaults.mappings or []), unmeasured(look)]
    fields = dashboard.FieldConfigSource(defaults=defaults, overrides=overrides)
    return Panel("stat", box, _numbered(queries), options, fields)


@dataclass(frozen=True, slots=True)
class Style:
    """
    How a graph is drawn.

    `bars` are for counted events, lines for rates, `steady` lines for shares and quantiles. `paint` gives single
    series a color, `matching` those whose names match a regular expression, and `hue` gives all others shades of one:
    where every series is a fault, none may be green. `link` is where a click on a series leads, with its title;
    `limits` draws the steps of the look as dashed lines.
    """

    bars: bool = False
    stacked: bool = False
    steady: bool = False
    paint: Mapping[str, str] = field(default_factory=dict)
    matching: Mapping[str, str] = field(default_factory=dict)
    hue: str | None = None
    link: tuple[str, str] | None = None
    limits: bool = False

    def custom(self, look: Look) -> timeseries.FieldConfig:
        """The style as Grafana keeps it, with room for the numbers of *look*."""
        areas = self.stacked or self.bars
        mode = common.StackingMode.NORMAL if areas else common.StackingMode.NONE
        limits = common.GraphThresholdsStyleMode.DASHED if self.limits else common.GraphThresholdsStyleMode.OFF
        return timeseries.FieldConfig(
            draw_style=common.GraphDrawStyle.BARS if self.bars else common.GraphDrawStyle.LINE,
            # An area without a line: the line of a series at 0 would be drawn on top, red where nothing is wrong.
            line_width=0 if areas else 1,
            fill_opacity=75 if areas else 5,
            show_points=common.VisibilityMode.NEVER,
            stacking=common.StackingConfig(mode=mode, group="A"),
            thresholds_style=common.GraphThresholdsStyleConfig(mode=limits),
            axis_soft_min=0,
            # Without it, a good day's zeros would stand under an axis up to 100.
            axis_soft_max=ROOM.get(look.unit, EVENTS if self.bars else None),
            axis_width=WORDY if look.unit.startswith("suffix:") else None,
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
    overrides = [override(name, {"color": _fixed(color)}) for name, color in style.paint.items()]
    overrides += [
        override(f"/{pattern}/", {"color": _fixed(color)}, matcher="byRegexp")  # without slashes it is the whole name
        for pattern, color in style.matching.items()
    ]
    if style.link:
        title, url = style.link
        overrides.append(override(".*", {"links": [{"title": title, "url": url}]}, matcher="byRegexp"))
    defaults = look.defaults(color=dashboard.FieldColorModeId.PALETTE_CLASSIC, custom=style.custom(look))
    if style.hue:
        defaults.color = dashboard.FieldColor(mode=dashboard.FieldColorModeId.SHADES, fixed_color=style.hue)
    fields = dashboard.FieldConfigSource(defaults=defaults, overrides=overrides)
    step = BAR_STEP if style.bars else STEADY_STEP if style.steady else None
    points = BARS if style.bars else STEADY if style.steady else None
    return Panel("timeseries", box, _numbered(queries), options, fields, interval=step, points=points)


def _fixed(color: str) -> dict[str, str]:
    return {"mode": "fixed", "fixedColor": color}


def bars_panel(box: Box, look: Look, query: Query) -> Panel:
    """One horizontal bar for each series, its name beside it, as full as it is near `look.high`."""
    options = bargauge.Options(
        display_mode=common.BarGaugeDisplayMode.GRADIENT,
        name_placement=common.BarGaugeNamePlacement.LEFT,
        orientation=common.VizOrientation.HORIZONTAL,
        # Grafana would make the text as tall as the bar and cut the name.
        sizing=common.BarGaugeSizing.MANUAL,
        min_viz_height=14,
        max_viz_height=34,
        text=common.VizTextDisplayOptions(title_size=13, value_size=14),
        reduce_options=common.ReduceDataOptions(calcs=["lastNotNull"], fields="", values=False),
    )
    defaults = look.defaults(color=dashboard.FieldColorModeId.THRESHOLDS)
    defaults.mappings = [*(defaults.mappings or []), unmeasured(look)]
    fields = dashboard.FieldConfigSource(defaults=defaults)
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
