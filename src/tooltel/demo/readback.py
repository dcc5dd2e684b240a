"""What a scrape says: the exposition read back, as Prometheus would read it."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Final

from prometheus_client.parser import text_string_to_metric_families

from tooltel import signals
from tooltel.demo.entries import COUNTED, SILENT, Entry, Tally, compared
from tooltel.errors import SignalError
from tooltel.readings import histogram_quantile
from tooltel.signals import Kind, Metric, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_COUNT: Final = "_count"
_BUCKET: Final = "_bucket"
_LE: Final = "le"
_TOOL_OF_DURATION: Final = signals.DURATION.labels[0]  # the one metric whose label names are a standard's


class Scrape:
    """The samples of one exposition, by sample name. Raises ValueError for text that is no exposition."""

    def __init__(self, text: str) -> None:
        self._samples: dict[str, list[tuple[Mapping[str, str], float]]] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                self._samples.setdefault(sample.name, []).append((sample.labels, sample.value))

    def samples(self, name: str, /, **wanted: str) -> Iterator[tuple[Mapping[str, str], float]]:
        """Labels and value of each sample of that name that has the *wanted* labels."""
        for labels, value in self._samples.get(name, ()):
            if all(labels.get(key) == text for key, text in wanted.items()):
                yield labels, value

    def total(self, metric: Metric, /, **wanted: str) -> float:
        """The sum of a row's samples that have the *wanted* labels; of a histogram, its observations."""
        _check(metric, wanted)
        return sum(value for _, value in self.samples(_counted_name(metric), **wanted))

    def by(self, metric: Metric, label: str, /, **wanted: str) -> Counter[str]:
        """Whole numbers of a row, summed by one of its labels; zeros are left out."""
        _check(metric, (label, *wanted))
        found: Counter[str] = Counter()
        for labels, value in self.samples(_counted_name(metric), **wanted):
            if value:
                found[labels[label]] += round(value)
        return found

    def quantile(self, q: float, tool: str) -> float | None:
        """What `histogram_quantile(q, sum by (le) (...))` gives for a tool's duration; None without calls."""
        return histogram_quantile(q, self._buckets(tool))

    def slower_than(self, bound: float, tool: str) -> int:
        """How many calls of a tool took longer than *bound*, which is one of the histogram's."""
        buckets = self._buckets(tool)
        return buckets[math.inf] - buckets[bound]

    def _buckets(self, tool: str) -> Counter[float]:
        buckets: Counter[float] = Counter()
        for labels, value in self.samples(signals.DURATION.name + _BUCKET, **{_TOOL_OF_DURATION: tool}):
            buckets[float(labels[_LE])] += round(value)
        return buckets

    def tally(self) -> Tally:
        """What was recorded, in the terms of the ledger; a row that must be silent shows when it is not."""
        tally = Tally()
        for metric in (*COUNTED, *SILENT):
            for labels, value in self.samples(_counted_name(metric)):
                if value:
                    key = Entry(metric.name, tuple((label, labels[label]) for label in compared(metric)))
                    tally[key] += round(value)
        return tally


def _check(metric: Metric, labels: Iterable[str]) -> None:
    for label in labels:
        if label not in metric.labels:
            raise SignalError(f"{metric.name} has no label {label!r}, only {', '.join(metric.labels)}")


def _counted_name(metric: Metric) -> str:
    return metric.name + _COUNT if metric.kind is Kind.HISTOGRAM else metric.name


def failures(outcomes: Counter[str]) -> int:
    """Calls that burn a budget."""
    return sum(outcomes[status] for status in signals.BAD)


def troubles(outcomes: Counter[str]) -> list[tuple[str, int]]:
    """Outcomes other than `ok`, the most frequent first."""
    return [(status, count) for status, count in outcomes.most_common() if status != Status.OK]
