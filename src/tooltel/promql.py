"""
PromQL built from the table of signals: a name that nothing emits cannot be written.

An `Expr` is text that also knows which labels its result may carry, so that a label is refused wherever it is
used: in a matcher, in `by`, in `on`. A `Scope` holds what a fleet adds to every query: static matchers, and
labels kept by every aggregation. Everything here is pure and makes one small piece of text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple

from tooltel.errors import SignalError
from tooltel.signals import TARGET_LABELS, Kind, Metric

LE: Final = "le"  # the label of a histogram's buckets, which is Prometheus' own
SECONDS: Final = MappingProxyType({"y": 31536000, "w": 604800, "d": 86400, "h": 3600, "m": 60, "s": 1})

_DURATION: Final = re.compile(r"(?:\d+[ywdhms])+")
_PART: Final = re.compile(r"(\d+)([ywdhms])")
_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\0": r"\x00"})


# --- values ------------------------------------------------------------------------------------------


class Match(NamedTuple):
    """How a label is matched: `operator` is =, !=, =~ or !~; `value` is not yet escaped for quotes."""

    operator: str
    value: str


def regex(pattern: str) -> Match:
    """Match a label against an RE2 *pattern*, which is anchored at both ends."""
    return Match("=~", pattern)


def one_of(*values: str) -> Match:
    """Match a label that is exactly one of *values*."""
    return Match("=~", "|".join(_literal(value) for value in values))


def none_of(*values: str) -> Match:
    """Match a label that is none of *values*."""
    return Match("!~", "|".join(_literal(value) for value in values))


def differs(value: str) -> Match:
    """Match a label that is not *value*."""
    return Match("!=", value)


def quote(value: str) -> str:
    """Give *value* as a PromQL string, quotes included, whatever it contains."""
    return f'"{value.translate(_ESCAPES)}"'


def seconds(duration: str) -> int:
    """Read a Prometheus duration such as `1d12h`; raises ValueError for anything else."""
    if not _DURATION.fullmatch(duration):
        raise ValueError(f"{duration!r} is no duration such as 15m or 1d12h")
    return sum(int(count) * SECONDS[unit] for count, unit in _PART.findall(duration))


def duration(length: float) -> str:
    """Write *length* seconds as the shortest exact Prometheus duration, e.g. `30d`."""
    whole = int(length)
    for unit in ("d", "h", "m"):
        if whole and whole % SECONDS[unit] == 0:
            return f"{whole // SECONDS[unit]}{unit}"
    return f"{whole}s"


def number(value: float) -> str:
    """Write *value* as PromQL reads it, without a needless fraction."""
    return str(int(value)) if value == int(value) else repr(float(value))


def _literal(value: str) -> str:
    # RE2's own set, not re.escape: RE2 refuses some escapes that Python makes (of a space).
    return re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", value)


# --- expressions ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Expr:
    """
    A PromQL expression: its text, the labels that its result may carry, and the rows of signals it `reads`.

    `loose` says that the text needs parentheses before it can be an operand.
    """

    text: str
    labels: frozenset[str]
    loose: bool = False
    reads: frozenset[Metric] = frozenset()

    def __str__(self) -> str:
        return self.text

    @property
    def operand(self) -> str:
        """The text, ready to stand beside an operator."""
        if not self.loose:
            return self.text
        inner = self.text.replace("\n", "\n  ")
        return f"(\n  {inner}\n)" if "\n" in self.text else f"({self.text})"


@dataclass(frozen=True, slots=True)
class Recorded:
    """A series that one of our own recording rules writes: its name, and the expression behind it."""

    name: str
    expr: Expr


def scalar(value: float) -> Expr:
    """A number as an expression."""
    return Expr(number(value), frozenset())


def call(function: str, *arguments: Expr | str | float) -> Expr:
    """Apply a PromQL *function*; the last expression's labels are kept, strings are taken as they are."""
    given = [each for each in arguments if isinstance(each, Expr)]
    parts = [number(each) if isinstance(each, (int, float)) else str(each) for each in arguments]
    labels = given[-1].labels if given else frozenset[str]()
    return Expr(f"{function}({', '.join(parts)})", labels, reads=_read_by(*given))


def compare(left: Expr, operator: str, right: Expr | float) -> Expr:
    """Keep the samples of *left* that compare with a number, or with the equally labeled one of *right*."""
    other = right if isinstance(right, Expr) else scalar(right)
    text = f"{left.operand} {operator} {other.operand}"
    return Expr(text, left.labels, loose=True, reads=_read_by(left, other))


def either(*arms: Expr) -> Expr:
    """Union of *arms*; of equally labeled samples the first arm's is taken."""
    text = "\nor\n".join(arm.operand for arm in arms)
    labels = frozenset[str]().union(*(arm.labels for arm in arms))
    return Expr(text, labels, loose=len(arms) > 1, reads=_read_by(*arms))


def renamed(expr: Expr, source: str, target: str) -> Expr:
    """Copy label *source* to *target*, for joins with series that use another name; *source* stays."""
    _demand(expr, (source,), "label_replace")
    rest = f', "{target}", "$1", "{source}", "(.*)"'
    inner = expr.text.replace("\n", "\n  ")
    text = f"label_replace(\n  {inner}\n  {rest}\n)" if "\n" in inner else f"label_replace({inner}{rest})"
    return Expr(text, expr.labels | {target}, reads=expr.reads)


def _read_by(*parts: Expr) -> frozenset[Metric]:
    return frozenset[Metric]().union(*(part.reads for part in parts))


def _demand(expr: Expr, labels: Iterable[str], place: str) -> None:
    if unknown := sorted(set(labels) - expr.labels):
        known = ", ".join(sorted(expr.labels)) or "none"
        raise SignalError(f"{place}: no label {', '.join(unknown)} on {expr.text!r}, which has {known}")


# --- what a fleet adds to every query ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scope:
    """
    What is the same in every query of one fleet.

    `selector` are static matchers put into every selector; `keep` are labels that every `by` and `on` keeps,
    so that two clusters never add up. Both name labels of the fleet's own, which no signal has.
    """

    selector: Mapping[str, str] = field(default_factory=dict)
    keep: tuple[str, ...] = ()

    def series(self, metric: Metric, suffix: str = "", /, **matchers: str | Match) -> Expr:
        """
        Select the series of *metric*, with `_bucket`, `_sum` or `_count` as *suffix* for a histogram.

        Raises SignalError for a label that the row lacks and for a suffix that does not fit its kind.
        """
        name = f"{metric.name}{suffix}"
        if name not in metric.series:
            raise SignalError(f"{metric.name} has no series {name!r}, only {', '.join(metric.series)}")
        own = set(metric.labels) | set(TARGET_LABELS) | ({LE} if suffix == "_bucket" else set())
        known = frozenset(own | set(self.selector) | set(self.keep))
        if unknown := sorted(set(matchers) - known):
            raise SignalError(f"{name} has no label {', '.join(unknown)}, only {', '.join(sorted(known))}")
        return Expr(f"{name}{self._matching(matchers)}", known, reads=frozenset({metric}))

    def recorded(self, recorded: Recorded, /, **matchers: str | Match) -> Expr:
        """Select a recorded series: its rule carries the static matchers as labels, so they hold here too."""
        known = recorded.expr.labels | set(self.selector)
        if unknown := sorted(set(matchers) - known):
            raise SignalError(f"{recorded.name} has no label {', '.join(unknown)}, only {', '.join(sorted(known))}")
        return Expr(f"{recorded.name}{self._matching(matchers)}", known, reads=recorded.expr.reads)

    def total(self, expr: Expr, /, *by: str, function: str = "sum") -> Expr:
        """Aggregate *expr* by the labels *by* and those that the fleet keeps; `function` is sum, max, ..."""
        _demand(expr, by, f"{function} by")
        labels = self._kept(by)
        head = f"{function} by ({', '.join(labels)}) " if labels else function
        if "\n" not in expr.text:
            return Expr(f"{head}({expr.text})", frozenset(labels), reads=expr.reads)
        inner = expr.text.replace("\n", "\n  ")
        return Expr(f"{head}(\n  {inner}\n)", frozenset(labels), reads=expr.reads)

    def join(self, left: Expr, operator: str, right: Expr, /, *on: str, bring: Iterable[str] | None = None) -> Expr:
        """
        Combine two vectors that agree on the labels *on* and those that the fleet keeps.

        *operator* is a set operator (and, unless, or), arithmetic or a comparison. With `bring`, many samples
        of *left* meet one of *right* (`group_left`) and get its labels named there, which may be none.
        """
        for side in (left, right):
            _demand(side, on, f"{operator} on")
        brought = tuple(bring or ())
        _demand(right, brought, "group_left")
        many = "" if bring is None else f" group_left ({', '.join(brought)})"
        text = f"{left.operand}\n{operator} on ({', '.join(self._kept(on))}){many}\n{right.operand}"
        keeps_left = operator in {"and", "unless"} or bring is not None
        labels = left.labels | set(brought) if keeps_left else frozenset(self._kept(on))
        return Expr(text, labels, loose=True, reads=_read_by(left, right))

    def rate(self, metric: Metric, window: str, suffix: str = "", /, **matchers: str | Match) -> Expr:
        """Increase per second of a counter over *window* (a duration, or Grafana's interval variable)."""
        return over("rate", self.series(metric, suffix, **matchers), window)

    def increase(self, metric: Metric, window: str, suffix: str = "", /, **matchers: str | Match) -> Expr:
        """Increase of a counter over *window*."""
        return over("increase", self.series(metric, suffix, **matchers), window)

    def first_seen_or_increase(self, metric: Metric, window: str, /, **matchers: str | Match) -> Expr:
        """
        What a counter gained within *window*, also where its series was born with the first event.

        `increase()` gives 0 for a series born at 1. A series that was not there before the window counts with
        its value; presence is asked for a whole day before, so that a gap in scraping is no birth.
        """
        if metric.kind is not Kind.COUNTER:
            raise SignalError(f"{metric.name} is a {metric.kind}, not a counter")
        series = self.series(metric, **matchers)
        before = over("present_over_time", series, "1d", offset=window)
        born = Expr(f"{series.text}\nunless\n{before.text}", series.labels, loose=True)
        return either(born, over("increase", series, window))

    def _kept(self, labels: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.keep, *labels)))

    def _matching(self, matchers: Mapping[str, str | Match]) -> str:
        return _braces({**self.selector, **matchers})


def over(function: str, series: Expr, window: str, /, *, offset: str = "") -> Expr:
    """Apply a range *function* such as max_over_time to *series* over *window*."""
    moved = f" offset {offset}" if offset else ""
    return Expr(f"{function}({series.text}[{window}]{moved})", series.labels, reads=series.reads)


def _braces(matchers: Mapping[str, str | Match]) -> str:
    if not matchers:
        return ""
    pairs = ((label, Match("=", want) if isinstance(want, str) else want) for label, want in matchers.items())
    return "{" + ", ".join(f"{label}{want.operator}{quote(want.value)}" for label, want in pairs) + "}"
