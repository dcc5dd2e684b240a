"""What a scrape says, read with prometheus_client's own parsers."""

from __future__ import annotations

import urllib.request
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from prometheus_client import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric as Family

OPENMETRICS = "application/openmetrics-text; version=1.0.0"
TEXT = "text/plain; version=0.0.4"

Labels = frozenset[tuple[str, str]]


class _HasView(Protocol):
    @property
    def view(self) -> Any: ...


def fetch(url: str, accept: str = TEXT, **headers: str) -> tuple[bytes, Mapping[str, str]]:
    """Body and headers of one real scrape."""
    request = urllib.request.Request(url, headers={"Accept": accept, **headers})  # noqa: S310 - our own server
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - our own server
        return answer.read(), dict(answer.headers)


def families(url: str, accept: str = TEXT) -> dict[str, Family]:
    """The families of one real scrape, by name; a counter's name is without `_total` in both formats."""
    text = fetch(url, accept)[0].decode()
    return {family.name: family for family in (read_openmetrics(text) if "openmetrics" in accept else read_text(text))}


def read_text(text: str) -> list[Family]:
    """The families of a scrape in the text format."""
    return list(parse_text(text))


def read_openmetrics(text: str) -> list[Family]:
    """The families of a scrape in OpenMetrics; raises ValueError for what is not valid."""
    return list(parse_openmetrics(text))  # type: ignore[no-untyped-call]


def write_openmetrics(registry: Any) -> str:
    """What a scrape in OpenMetrics says of *registry*, or of a view."""
    text: bytes = generate_openmetrics(registry)  # type: ignore[no-untyped-call]
    return text.decode()


def samples(tel: _HasView) -> dict[tuple[str, Labels], float]:
    """Every sample of a scrape in the text format, by name and labels."""
    return parse(generate_latest(tel.view).decode())


def parse(text: str) -> dict[tuple[str, Labels], float]:
    """Every sample in *text*, by name and labels; a series that is there twice fails."""
    found: dict[tuple[str, Labels], float] = {}
    for family in read_text(text):
        for sample in family.samples:
            key = (sample.name, frozenset(sample.labels.items()))
            assert key not in found, f"{key} is exposed twice"
            found[key] = sample.value
    return found


def series(found: Mapping[tuple[str, Labels], float], name: str, **labels: str) -> dict[Labels, float]:
    """The series called *name* that carry *labels*."""
    wanted = frozenset(labels.items())
    return {has: value for (called, has), value in found.items() if called == name and wanted <= has}


def total(found: Mapping[tuple[str, Labels], float], name: str, **labels: str) -> float:
    """The sum of the series called *name* that carry *labels*."""
    return sum(series(found, name, **labels).values())


def values(found: Mapping[tuple[str, Labels], float], name: str, label: str) -> set[str]:
    """The values of *label* on the series called *name*."""
    return {dict(labels).get(label, "") for labels in series(found, name)}
