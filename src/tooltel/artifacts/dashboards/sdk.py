"""The classic dashboard types of grafana-foundation-sdk, without its advice to write the newer format."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    # The classic format is the one that every Grafana since 12 reads from files; the SDK warns at import.
    warnings.simplefilter("ignore", DeprecationWarning)
    from grafana_foundation_sdk.cog.encoder import JSONEncoder
    from grafana_foundation_sdk.models import (
        bargauge,
        common,
        dashboard,
        heatmap,
        prometheus,
        stat,
        table,
        timeseries,
        units,
    )

__all__ = [
    "JSONEncoder",
    "bargauge",
    "common",
    "dashboard",
    "heatmap",
    "prometheus",
    "stat",
    "table",
    "timeseries",
    "units",
]
