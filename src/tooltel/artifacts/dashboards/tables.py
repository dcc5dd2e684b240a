"""Tables that a person can act on: one row a tool, a name or a profile; the worst first; cells lead on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tooltel.artifacts.dashboards.panels import (
    NONE,
    Box,
    Form,
    Look,
    Panel,
    Query,
    override,
    plain_mappings,
    plain_thresholds,
)
from tooltel.artifacts.dashboards.sdk import common, dashboard, table

if TYPE_CHECKING:
    from tooltel.promql import Expr

ROWS: Final = 25  # as many as somebody reads; the worst are first
EMPTY: Final = "-"
LABEL_UNIT: Final = "string"
NARROW: Final = 90  # pixels of a number


@dataclass(frozen=True, slots=True)
class Column:
    """
    One column: a label, or with `expr` a number.

    `name` is the heading, in one short word or two. `label` is the label's own name where the heading
    differs. `link` is where a click leads, with its title. `width` is in pixels; labels share what is left.
    """

    name: str
    expr: Expr | None = None
    look: Look | None = None
    label: str = ""
    link: tuple[str, str] | None = None
    width: int | None = None

    @property
    def reference(self) -> str:
        """The name of the column's query; Grafana calls the answer `Value #name`."""
        return self.name.replace(" ", "_")

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
            unit=LABEL_UNIT,
            no_value=none,
            color=dashboard.FieldColor(mode=dashboard.FieldColorModeId.THRESHOLDS),
            thresholds=Look(LABEL_UNIT).thresholds(),
            # Grafana's own least width of 150 pixels would push a wide table off a small screen.
            custom=common.TableFieldOptions(min_width=60, filterable=False),
        ),
        overrides=[_styled(column) for column in columns],
    )
    options = table.Options(
        show_header=True,
        cell_height=common.TableCellHeight.SM,
        sort_by=[common.TableSortByFieldState(display_name=order.by, desc=not order.rising)],
    )
    return Panel("table", box, queries, options, fields, transformations=_shaping(columns, order))


def _shaping(columns: Sequence[Column], order: Order) -> tuple[dashboard.DataTransformerConfig, ...]:
    names = {field: column.name for column in columns for field in column.fields()}
    if len(numbers := [column.name for column in columns if column.expr is not None]) == 1:
        names["Value"] = numbers[0]  # with a single query Grafana leaves the reference out
    organized = {
        "excludeByName": {"Time": True},
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
    properties: dict[str, object] = {}
    width = column.width or (NARROW if column.expr is not None else None)
    if width:
        properties["custom.width"] = width
    if look := column.look:
        properties["unit"] = look.unit
        properties["noValue"] = EMPTY if look.none == NONE else look.none
        if look.decimals is not None:
            properties["decimals"] = look.decimals
        if look.steps or look.words:
            properties["thresholds"] = plain_thresholds(look)
            properties["custom.cellOptions"] = {"type": "color-text"}
        if look.words:
            properties["mappings"] = plain_mappings(look)
    if column.link:
        title, url = column.link
        properties["links"] = [{"title": title, "url": url}]
    return override(column.name, properties)
