"""Durations as people write them: `30d`, `12h`, `1h30m`."""

from __future__ import annotations

import re
from typing import Final

_SECONDS: Final = {
    "ms": 0.001,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
    "d": 86400.0,
    "w": 7 * 86400.0,
    "y": 365 * 86400.0,
}  # the units of Prometheus
_PART: Final = re.compile(r"([0-9]{1,9})(ms|[smhdwy])")


def parse_duration(text: str) -> float:
    """The seconds that *text* means, such as "30d" or "1h30m"; raises ValueError for anything else."""
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"{text!r} is no duration")
    return sum(int(number) * _SECONDS[unit] for number, unit in parts)
