"""Questions to Prometheus, as Grafana keeps them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from tooltel import signals
from tooltel.artifacts.dashboards.links import DATASOURCE
from tooltel.artifacts.dashboards.sdk import common, prometheus
from tooltel.artifacts.dashboards.view import spelled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tooltel.promql import Expr
    from tooltel.signals import Metric

SOURCE: Final = common.DataSourceRef(type_val="prometheus", uid=f"${{{DATASOURCE}}}")

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
