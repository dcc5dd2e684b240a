"""Tables that a person can act on: one row a tool, a name or a profile; the worst first; cells lead on."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tooltel.artifacts.dashboards.looks import NONE, TEXT, Box, Look, override, plain_mappings, plain_thresholds
from tooltel.artifacts.dashboards.panels import Panel
from tooltel.artifacts.dashboards.queries import Form, Query
from tooltel.artifacts.dashboards.sdk import common, dashboard, table

if TYPE_CHECKING:
    from tooltel.promql import Expr

ROWS: Final = 25  # as many as somebody reads; the worst are first
EMPTY: Final = "-"
NARROW: Final = 90  # pixels of a number


@dataclass(frozen=True, slots=True)
class Column:
    """
    One column: a label, or with `expr` a number.

    `name` is the heading, in one short word or two. `label` is the label's own name where the heading
    differs. `link` is where a click leads, with its title. `width` is in pixels; labels share what is left.
    A `hidden` number is there for the labels that its query brings; a `bar` draws the number beside itself.
    """

    name: str
    expr: Expr | None = None
    look: Look | None = None
    label: str = ""
    link: tuple[str, str] | None = None
    width: int | None = None
    hidden: bool = False
    bar: bool = False

    @property
    def reference(self) -> str:
        """The name of the column's query; Grafana calls the answer `Value #name`."""
        return re.sub(r"\W+", "_", self.name.replace("%", "share"))

    def fields(self) -> tuple[str, ...]:
        """Names that the column's data may have before it is renamed."""
        return (self.label or self.name,) if self.expr is None else (f"Value #{self.reference}",)


@dataclass(frozen=True, slots=True)
class Order:
    """Rows are sorted by column `by`, the largest first unless `rising`; the first `rows` stay."""

    by: str
    rising: bool = False
    rows: int = ROWS


def table_panel(box: Box, columns: Sequence[Column], *, order: Order, none: str) -> Panel:
    """
    A table with *columns* in the given order; *none* is said where it has no row.

    Every number comes from a query of its own. Rows meet where all labels that every query has are equal.
    """
    asked = [column for column in columns if column.expr is not None]
    queries = {each.reference: Query(each.expr, form=Form.TABLE) for each in asked if each.expr is not None}
    fields = dashboard.FieldConfigSource(
        defaults=dashboard.FieldConfig(
            unit=TEXT,
            no_value=none,
            color=dashboard.FieldColor(mode=dashboard.FieldColorModeId.THRESHOLDS),
            thresholds=Look(TEXT).thresholds(),
            # Grafana's own least width of 150 pixels would push a wide table off a small screen.
            custom=common.TableFieldOptions(min_width=60, filterable=False),
        ),
        overrides=[_styled(column) for column in columns if not column.hidden],
    )
    options = table.Options(
        show_header=True,
        cell_height=common.TableCellHeight.SM,
        sort_by=[common.TableSortByFieldState(display_name=order.by, desc=not order.rising)],
    )
    return Panel("table", box, queries, options, fields, transformations=_shaping(columns, order))


def _shaping(columns: Sequence[Column], order: Order) -> tuple[dashboard.DataTransformerConfig, ...]:
    shown = [column for column in columns if not column.hidden]
    names = {field: column.name for column in shown for field in column.fields()}
    numbers = [column for column in columns if column.expr is not None]
    brought = frozenset[str]().union(*(column.expr.labels for column in numbers if column.expr is not None))
    unseen = ["Time", *sorted(brought - set(names)), *(each.fields()[0] for each in numbers if each.hidden)]
    if len(numbers) == 1 and not numbers[0].hidden:
        names["Value"] = numbers[0].name  # with a single query Grafana leaves the reference out
    organized = {
        "excludeByName": dict.fromkeys(unseen, True),
        "indexByName": {field: place for place, field in enumerate(names)},
        "renameByName": {field: name for field, name in names.items() if field != name},
    }
    sort = {"fields": {}, "sort": [{"field": order.by, "desc": not order.rising}]}
    steps: tuple[tuple[str, Mapping[str, object]], ...] = (
        ("merge", {}),
        ("organize", organized),
        ("sortBy", sort),
        ("limit", {"limitField": order.rows}),
    )
    return tuple(dashboard.DataTransformerConfig(id_val=name, options=options) for name, options in steps)


def _styled(column: Column) -> dashboard.DashboardFieldConfigSourceOverrides:
    look = column.look or Look(TEXT)
    properties: dict[str, object] = {"unit": look.unit, "noValue": EMPTY if look.none == NONE else look.none}
    if width := column.width or (NARROW if column.expr is not None and not column.bar else None):
        properties["custom.width"] = width
    if look.decimals is not None:
        properties["decimals"] = look.decimals
    if look.steps or look.words:
        properties["thresholds"] = plain_thresholds(look)
        properties["custom.cellOptions"] = {"type": "color-text"}
    if column.bar:
        properties["custom.cellOptions"] = {"type": "gauge", "mode": "basic", "valueDisplayMode": "text"}
        properties["color"] = {"mode": "fixed", "fixedColor": look.base}
        properties["min"] = 0
    if look.words:
        properties["mappings"] = plain_mappings(look)
    if column.link:
        title, url = column.link
        properties["links"] = [{"title": title, "url": url}]
    return override(column.name, properties)
