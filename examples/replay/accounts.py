"""Two accounts of one replay: what was executed, as the player saw it, and what was recorded, as a scrape shows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from prometheus_client.openmetrics.exposition import generate_latest

from tooltel import signals
from tooltel.testing import parse_samples

if TYPE_CHECKING:
    from examples.replay.playing import Played
    from tooltel import Tooltel


def executed_calls(played: Iterable[Played]) -> Counter[str]:
    """How often each tool was called, by the answers that the model was given."""
    return Counter(answer.step.name for one in played for answer in one.answers if answer.found)


def own_errors(played: Iterable[Played]) -> int:
    """
    How many calls answered `{"error": ...}`.

    These are recorded as `ok`: a dictionary with a key of that name is as likely a report about an error. Raising, or
    returning an unmistakable shape, is how a tool says that its call went wrong.
    """
    results = (answer.result for one in played for answer in one.answers)
    return sum(isinstance(result, dict) and "error" in result for result in results)


def recorded(tel: Tooltel, metric: signals.Metric, *labels: str) -> Counter[tuple[str, ...]]:
    """The counter *metric* of *tel*, summed by *labels*, series at 0 left out."""
    found: Counter[tuple[str, ...]] = Counter()
    for (name, pairs), value in parse_samples(tel.view).items():
        if name == metric.name and value:
            has = dict(pairs)
            found[tuple(has[label] for label in labels)] += int(value)
    return found


def recorded_calls(tel: Tooltel) -> Counter[str]:
    """How often each tool was called, by the metrics."""
    return Counter({tool: count for (tool,), count in recorded(tel, signals.TOOL_CALLS, "tool").items()})


def openmetrics(tel: Tooltel) -> str:
    """Everything that a scrape of *tel* shows now, as OpenMetrics text."""
    text: bytes = generate_latest(tel.view)  # type: ignore[no-untyped-call]  # prometheus_client leaves it untyped
    return text.decode()
