"""Five minutes of a fleet as OpenMetrics text, until now: what a Prometheus would have scraped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tooltel import signals
from tooltel.promql import LE

STEP = 60  # seconds between samples
STEPS = 6


@dataclass
class History:
    """Series that rise evenly from 0, by name and labels; `ends` is Unix time."""

    ends: float
    rises: dict[tuple[str, str], float] = field(default_factory=dict)  # per step
    stand: dict[tuple[str, str], float] = field(default_factory=dict)
    births: dict[tuple[str, str], float] = field(default_factory=dict)  # there at the end only

    def call(
        self, tool: str, owner: str, *, ok: float, error: float = 0.0, seconds: float = 0.1, young: bool = False
    ) -> None:
        """Let *tool* be called in each step, each call taking *seconds*; a *young* one's buckets come at the end."""
        common = {"owner": owner, "risk": "read"}
        for outcome, count in ((signals.Status.OK, ok), (signals.Status.ERROR, error), (signals.Status.TIMEOUT, 0.0)):
            labels = {**common, "tool": tool, "outcome": outcome, "profile": "support", "version": "1"}
            self.rises[signals.TOOL_CALLS.name, _text(labels)] = count
        for bound in (*signals.BUCKETS, float("inf")):
            labels = {**common, "gen_ai_tool_name": tool, "error_type": "", LE: "+Inf" if bound > 1e9 else f"{bound}"}
            series = (f"{signals.DURATION.name}_bucket", _text(labels))
            (self.births if young else self.rises)[series] = (ok + error) * (bound >= seconds)
        for source in ("framework", "schema"):
            self.reject(tool, owner, 0.0, source)

    def reject(self, tool: str, owner: str, count: float, source: str) -> None:
        """Let calls of *tool* be rejected in each step."""
        labels = {"tool": tool, "owner": owner, "kind": "structural", "source": source}
        self.rises[signals.REJECTIONS.name, _text(labels)] = count

    def miss(self, owner: str, requested: str, count: float) -> None:
        """Let calls reach no tool in each step."""
        labels = {"owner": owner, "profile": "support", "reason": "unknown", "requested": requested}
        self.rises[signals.NOT_FOUND.name, _text(labels)] = count

    def fire(self, **labels: str) -> None:
        """Let an alert be as it is all the time."""
        self.stand[signals.ALERTS.name, _text(labels)] = 1.0

    def text(self) -> str:
        """The history in the format that promtool reads."""
        return "\n".join([*self._lines(), "# EOF\n"])

    def _lines(self) -> Iterator[str]:
        start = self.ends - STEP * (STEPS - 1)
        times = [start + STEP * step for step in range(STEPS)]
        for name in sorted({name for name, _ in [*self.rises, *self.stand, *self.births]}):
            yield f"# TYPE {name.removesuffix('_total')} {'counter' if name.endswith('_total') else 'unknown'}"
            for (family, labels), rise in self.rises.items():
                if family == name:
                    yield from (f"{name}{labels} {rise * step} {at}" for step, at in enumerate(times))
            for (family, labels), value in self.births.items():
                if family == name:
                    yield f"{name}{labels} {value} {self.ends}"
            for (family, labels), value in self.stand.items():
                if family == name:
                    yield from (f"{name}{labels} {value} {at}" for at in times)


def _text(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{name}="{value}"' for name, value in sorted(labels.items())) + "}"
