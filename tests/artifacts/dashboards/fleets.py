"""Fleets that set the options which reach into queries."""

from __future__ import annotations

from typing import Final

from tooltel.artifacts.options import RenderOptions

PLAIN: Final = RenderOptions()
CLUSTERS: Final = RenderOptions(cluster_label="cluster", selector={"namespace": "agents"})
PINNED: Final = RenderOptions(cluster_label="cluster", selector={"cluster": "eu", "namespace": "agents"})
OTHERS: Final = RenderOptions(
    job="agents", alert_prefix="Acme", labels={"fleet": "blue"}, runbooks_url="https://wiki.example.com/rb"
)
# Text that means something to PromQL, to Grafana, or to JSON, and that a label may hold all the same.
HOSTILE: Final = RenderOptions(selector={"namespace": 'a"b\\c', "zone": "$owner [[tool]] ${profile}", "team": "日本 é"})
FLEETS: Final = {
    "plain": PLAIN, "clusters": CLUSTERS, "pinned": PINNED, "others": OTHERS, "hostile": HOSTILE,
}  # fmt: skip


def extra_labels(options: RenderOptions) -> frozenset[str]:
    """Labels that the fleet's series have beside those of the table."""
    clusters = {options.cluster_label} if options.cluster_label else set()
    return frozenset({*options.selector, *clusters})
