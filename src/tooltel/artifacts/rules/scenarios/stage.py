"""
The stage of a unit test: series that are played to one rule, and the alerts that must fire at a time.

Time is counted in steps of one sample. Expectations read the series `ALERTS`, so that a test knows nothing of
texts: labels and times are the contract.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING, Any, Final

from tooltel import signals
from tooltel.artifacts.rules.book import OWNER, TOOL
from tooltel.artifacts.rules.finish import alert_labels
from tooltel.errors import SignalError
from tooltel.promql import LE, quote, seconds
from tooltel.signals import Kind, Metric

if TYPE_CHECKING:
    from tooltel.artifacts.rules.book import Alert, Book

MINUTE: Final = 60
FIVE: Final = 300
HOUR: Final = 3600

GRAIN: Final = 2**20  # fractions of samples are multiples of its inverse, which twenty digits write exactly

HERE, ELSEWHERE = "here", "elsewhere"  # two clusters: what happens in one must not be told of the other


def flat(value: float, steps: int) -> str:
    """The same value for *steps* samples."""
    return f"{_number(value)}x{steps - 1}" if steps > 1 else _number(value)


def absent(steps: int) -> str:
    """No sample for *steps* steps, as when nothing is scraped."""
    return f"_x{steps}"


def counter(*stretches: tuple[int, float], start: float = 0) -> str:
    """A counter that starts at *start* and grows, for each stretch of (steps, gain per step)."""
    parts, value = [_number(start)], start
    for steps, exact in stretches:
        # Sums of such numbers are exact: a stretch that began below the end of the last would be read as a reset.
        gain = round(exact * GRAIN) / GRAIN
        if steps > 0:
            parts.append(f"{_number(value + gain)}+{_number(gain)}x{steps - 1}")
        value += gain * steps
    return " ".join(parts)


@dataclass
class Stage:
    """
    One unit test of *alert*: `title` says what it shows, `step` is the distance of samples in seconds.

    Rules are evaluated every `pace` seconds: seldom where a test plays days.

    `tool` is a name that the rule is about. The lengths of the rule's window, `for` and `keep_firing_for`
    are given in steps, rounded up.
    """

    book: Book
    alert: Alert
    title: str
    step: int = MINUTE
    pace: int = MINUTE
    series: list[dict[str, str]] = field(default_factory=list)
    checks: list[dict[str, Any]] = field(default_factory=list)

    @property
    def tool(self) -> str:
        """A tool that the rule is about: the first that it names, or one that no rule names."""
        tools = self.alert.variant.tools
        return tools[0] if tools else self.other_tool

    @property
    def spare_tool(self) -> str:
        """Another tool, where an owner has two."""
        return f"{self.tool}_spare"

    def of(self, owner: str) -> dict[str, str]:
        """The labels of an alert about the tool of *owner*."""
        return {OWNER: owner, TOOL: self.tool}

    @property
    def other_tool(self) -> str:
        """A tool that no override and no bound is about."""
        name = "sample_tool"
        while name in self.book.catalog.tools:
            name += "_x"
        return name

    def steps(self, length: str | None) -> int:
        """How many steps a duration takes, rounded up."""
        return ceil(seconds(length) / self.step) if length and length != "0" else 0

    @property
    def tick(self) -> int:
        """How many steps lie between two evaluations."""
        return self.pace // self.step

    @property
    def window(self) -> int:
        """How far the rule looks back."""
        return self.steps(self.alert.settings.window)

    @property
    def wait(self) -> int:
        """How long the condition must hold before the alert fires."""
        return self.steps(self.alert.settings.for_)

    @property
    def keep(self) -> int:
        """How long the alert fires after its condition has ended."""
        return self.steps(self.alert.settings.keep_firing_for)

    def add(self, row: Metric, values: str, /, suffix: str = "", *, calm: str = "", **labels: str) -> None:
        """
        Play *values* to the series of *row* with *labels*.

        With a cluster label, the series plays in one cluster, and *calm* in another: values with which
        nothing is to be told; without *calm* an info is the same in both, and anything else is missing there.
        """
        known = {*row.labels, *signals.TARGET_LABELS, *([LE] if suffix == "_bucket" else [])}
        if unknown := sorted(set(labels) - known):
            raise SignalError(f"{row.name} has no label {', '.join(unknown)}")
        calm = calm or (values if row.kind is Kind.INFO else "")
        played = {HERE: values, ELSEWHERE: calm} if self._cluster else {HERE: values}
        for place, text in played.items():
            everything = {**labels, **self._placed(place), **self.book.options.selector}
            if text:
                self.series.append({"series": _series(f"{row.name}{suffix}", everything), "values": text})

    def add_removed(self, owner: str) -> None:
        """Say that the catalog holds another tool of this owner, and not the one that the test is about."""
        self.add_tool(owner, self.spare_tool)

    def add_tool(self, owner: str, tool: str = "", steps: int = 5000) -> None:
        """Say that the catalog holds a tool, with this owner."""
        labels = {"version": "1", "risk": str(signals.Risk.READ)}
        self.add(signals.TOOL_INFO, flat(1, steps), **{TOOL: tool or self.tool, OWNER: owner, **labels})

    def expect(self, at: int, *alerts: dict[str, str]) -> None:
        """Demand that exactly *alerts*, given by the labels of their series, fire at step *at*."""
        alert, book = self.alert, self.book
        static = alert_labels(book, alert)
        name = {"alertname": book.options.alert_name(alert.key), "alertstate": "firing"}
        chosen = {**name, "severity": static["severity"], "settings": static.get("settings", "")}
        here = self._placed(HERE) if self._cluster in alert.expr.labels else {}
        firing = sorted(_series(signals.ALERTS.name, {**here, **labels, **static, **name}) for labels in alerts)
        self.checks.append(
            {
                "expr": _series(signals.ALERTS.name, chosen),
                "eval_time": f"{at * self.step}s",
                "exp_samples": [{"labels": each, "value": 1} for each in firing],
            }
        )

    def expect_nothing_yet(self, at: int) -> None:
        """Demand that nothing fires at step *at*, where the condition holds and only `for` holds the alert back."""
        if self.wait:
            self.expect(at)

    def expect_kept(self, ended: int, *alerts: dict[str, str]) -> None:
        """Demand that *alerts* still fire, though their condition *ended*, because they are kept for a while."""
        if self.keep > 4 * self.tick:
            self.expect(ended + self.keep - 3 * self.tick, *alerts)

    @property
    def _cluster(self) -> str | None:
        """The label that tells two clusters apart, unless a static matcher has chosen one."""
        label = self.book.options.cluster_label
        return None if label in self.book.options.selector else label

    def _placed(self, place: str) -> dict[str, str]:
        return {self._cluster: place} if self._cluster else {}

    def written(self) -> dict[str, Any]:
        """The test as promtool reads it."""
        return {
            "name": f"{self.book.options.alert_name(self.alert.key)}: {self.title}",
            "interval": f"{self.step}s",
            "input_series": self.series,
            "promql_expr_test": self.checks,
        }


def _series(name: str, labels: dict[str, str]) -> str:
    pairs = ", ".join(f"{label}={quote(value)}" for label, value in labels.items())
    return f"{name}{{{pairs}}}" if pairs else name


def _number(value: float) -> str:
    # promtool's notation knows no exponents.
    return f"{value:.20f}".rstrip("0").rstrip(".") if value != int(value) else str(int(value))
