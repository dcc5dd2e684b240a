"""The files that the two servers of a stack are started with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from tooltel.artifacts import RenderOptions, render
from tooltel.artifacts.routes import CONFIG
from tooltel.demo.stack.rerouting import reroute
from tooltel.demo.stack.squeeze import TICK, squeeze_routes, squeeze_rules

if TYPE_CHECKING:
    from tooltel.catalog import Catalog
    from tooltel.demo.stack.pager import Pager

RULES = PurePosixPath("alerts/rules")


@dataclass(frozen=True, slots=True)
class Ports:
    """Ports on loopback: the servers' own, and the one whose /metrics is scraped."""

    prometheus: int
    alertmanager: int
    metrics: int


@dataclass(frozen=True, slots=True)
class Files:
    """What is written into the servers' folder, as plain data by path; the rules apart, as they come later."""

    configs: Mapping[str, Any]
    rules: Mapping[str, Any]


def build_files(catalog: Catalog, options: RenderOptions, *, pager: Pager, ports: Ports) -> Files:
    """
    Render *catalog* for two servers: prometheus.yml, its rules, and alertmanager.yml.

    Every receiver becomes a webhook to *pager*; which receiver an alert reaches stays as rendered.
    """
    import yaml

    files = render(*reroute(catalog, options, pager.url), only=("rules", "routes"))
    rules = {
        f"rules/{PurePosixPath(path).name}": squeeze_rules(yaml.safe_load(text))
        for path, text in files.items()
        if PurePosixPath(path).parent == RULES
    }
    routes = yaml.safe_load(files[CONFIG])
    alertmanager = {**routes, "route": squeeze_routes(routes["route"])}
    return Files({"alertmanager.yml": alertmanager, "prometheus.yml": _prometheus(options, ports)}, rules)


def write_files(documents: Mapping[str, Any], folder: Path) -> None:
    """Write *documents* below *folder*; JSON is YAML, and says exactly what is meant."""
    for path, document in documents.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(document, indent=1), encoding="utf-8")


def _prometheus(options: RenderOptions, ports: Ports) -> dict[str, Any]:
    labels = {**options.selector, **({options.cluster_label: "local"} if options.cluster_label else {})}
    targets = {options.job: ports.metrics, "prometheus": ports.prometheus}
    return {
        "global": {"scrape_interval": TICK, "scrape_timeout": TICK, "evaluation_interval": TICK},
        "rule_files": ["rules/*.yml"],
        "alerting": {"alertmanagers": [{"static_configs": [{"targets": [f"127.0.0.1:{ports.alertmanager}"]}]}]},
        "scrape_configs": [
            {"job_name": job, "static_configs": [{"targets": [f"127.0.0.1:{port}"], "labels": labels}]}
            for job, port in targets.items()
        ],
    }
