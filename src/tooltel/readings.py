"""What numbers that were read back say, as the rules have it: a quantile of buckets, the share of errors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tooltel import signals

if TYPE_CHECKING:
    from collections.abc import Mapping


def histogram_quantile(q: float, buckets: Mapping[float, float]) -> float | None:
    """
    The q-quantile of cumulative *buckets*, by upper bound, as PromQL's function of this name gives it.

    Linear within a bucket, the first of which begins at 0, and beyond the last finite bound that bound. None without
    observations. https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_quantile
    """
    counts: list[tuple[float, float]] = []
    most = 0.0
    for bound, count in sorted(buckets.items()):
        most = max(most, count)  # pages of two moments, and rounding, may let a bucket hold less than the one below
        counts.append((bound, most))
    if not counts or not most:
        return None
    rank, start, below = q * most, 0.0, 0.0
    for bound, count in counts:
        if count >= rank and count > below:
            return start if math.isinf(bound) else start + (bound - start) * (rank - below) / (count - below)
        start, below = bound, count
    return start


def error_ratio(outcomes: Mapping[str, float]) -> float | None:
    """The share of errors that burns a budget: bad calls by calls that are not neutral; None without any."""
    judged = sum(outcomes.values()) - sum(outcomes.get(status, 0) for status in signals.NEUTRAL)
    return sum(outcomes.get(status, 0) for status in signals.BAD) / judged if judged > 0 else None
