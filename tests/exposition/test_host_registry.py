"""Beside the host's own metrics: its registry shows ours, our exposition shows its, and neither harms the other."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Summary, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from tests.signals.desk import Desk, make_catalog, make_tools
from tests.signals.scrape import parse, read_openmetrics, samples, series, total, write_openmetrics
from tooltel import RegistryError, Tooltel
from tooltel.signals import EMITTED

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric as Family


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry(auto_describe=True)


def test_the_hosts_own_metrics_endpoint_shows_our_series(registry: CollectorRegistry) -> None:
    desk = Desk(registry=registry)
    desk.act("kb_search")
    Counter("host_requests", "The host's.", registry=registry).inc()
    found = parse(generate_latest(registry).decode())
    assert total(found, "tooltel_tool_calls_total", tool="kb_search", outcome="ok") == 1
    assert total(found, "tooltel_tool_info", tool="order_lookup", owner="orders") == 1
    assert total(found, "host_requests_total") == 1
    shown = {key: value for key, value in found.items() if not key[0].endswith("_created")}
    assert samples(desk.tel) == shown


def test_the_default_registry_is_the_hosts() -> None:
    said = run(
        """
        import prometheus_client, tooltel
        tel = tooltel.configure()
        assert tel.registry is prometheus_client.REGISTRY
        assert b"tooltel_build_info" in prometheus_client.generate_latest()
        tooltel.configure()  # replaces the first one, so that its series are not there twice
        assert prometheus_client.generate_latest().count(b"# TYPE tooltel_build_info") == 1
        print("{}")
        """
    )
    assert said == {}


def test_created_samples_are_left_out_of_ours_only(registry: CollectorRegistry) -> None:
    """They double the series, and no panel reads them. In the host's own exposition it is the host who decides."""
    desk = Desk(registry=registry)
    desk.act("kb_search")
    Counter("host_requests", "The host's.", ["path"], registry=registry).labels("/").inc()
    Histogram("host_seconds", "The host's.", registry=registry).observe(1)
    Summary("host_bytes", "The host's.", registry=registry).observe(1)
    text = generate_latest(desk.tel.view).decode()
    assert "_created" not in text
    assert "_created" not in write_openmetrics(desk.tel.view)
    assert "tooltel_tool_calls_created" in generate_latest(registry).decode()
    assert "host_requests_created" in generate_latest(registry).decode()


def test_the_global_switch_for_created_is_left_alone() -> None:
    said = run(
        """
        import json, prometheus_client.metrics as metrics
        before = metrics._use_created
        import tooltel
        tel = tooltel.configure()
        prometheus_client = __import__("prometheus_client")
        prometheus_client.generate_latest(tel.view)
        tel.serve(port=0).close()
        print(json.dumps([before, metrics._use_created]))
        """
    )
    assert said == [True, True]


@pytest.mark.parametrize("kind", ["gauge", "counter"])
def test_a_metric_of_the_host_that_is_called_created_is_kept(registry: CollectorRegistry, kind: str) -> None:
    desk = Desk(registry=registry)
    if kind == "gauge":
        Gauge("pods_created", "How many pods were made.", registry=registry).set(7)
        assert total(samples(desk.tel), "pods_created") == 7
    else:
        Counter("pods_created", "How many pods were made.", registry=registry).inc(7)
        assert total(samples(desk.tel), "pods_created_total") == 7


class Cached:
    """A collector that gives the same objects each time, as one that polls in the background does."""

    def __init__(self) -> None:
        counter = CounterMetricFamily("host_jobs", "The host's.", labels=["queue"])
        counter.add_metric(["a"], 1, created=123.0)
        gauge = GaugeMetricFamily("host_depth", "The host's.", labels=["queue"])
        gauge.add_metric(["a"], 2)
        self.families: list[Family] = [counter, gauge]

    def collect(self) -> Iterable[Family]:
        return self.families


def test_a_hosts_cached_families_are_not_changed_by_a_scrape(registry: CollectorRegistry) -> None:
    desk = Desk(registry=registry)
    registry.register(Cached())
    before = generate_latest(registry)
    whole = generate_latest(desk.tel.view)
    generate_latest(desk.tel.view.restricted_registry(["host_jobs_total"]))
    generate_latest(desk.tel.view.restricted_registry(["nothing"]))
    assert generate_latest(desk.tel.view) == whole
    assert generate_latest(registry) == before
    assert total(parse(whole.decode()), "host_depth") == 2


def test_our_series_are_typed_alike_in_both_expositions(registry: CollectorRegistry) -> None:
    """All but one: a fingerprint's info is written like a gauge, and becomes an info in our own exposition."""
    desk = Desk(registry=registry)
    desk.tel.declared("support", [{"name": "kb_search"}])
    ours = types(write_openmetrics(desk.tel.view))
    host = types(write_openmetrics(registry))
    assert ours == {row.family: row.kind.value for row in EMITTED if row.family in ours}
    assert set(ours.items()) - set(host.items()) == {("tooltel_tool_declaration", "info")}
    names = {name for name, _ in samples(desk.tel)}
    assert "tooltel_tool_declaration_info" in names


def types(text: str) -> dict[str, str]:
    return {family.name: family.type for family in read_openmetrics(text) if family.samples}


def test_an_info_can_be_asked_for_by_its_series_name(registry: CollectorRegistry) -> None:
    desk = Desk(registry=registry)
    desk.tel.declared("support", [{"name": "kb_search"}])
    only = desk.tel.view.restricted_registry(["tooltel_tool_declaration_info", "tooltel_tool_info"])
    found = parse(generate_latest(only).decode())
    assert {name for name, _ in found} == {"tooltel_tool_declaration_info", "tooltel_tool_info"}


# --- one registry, one Tooltel ---


def test_a_second_tooltel_on_one_registry_is_refused_with_what_to_do(registry: CollectorRegistry) -> None:
    desk = Desk(registry=registry)
    before = generate_latest(desk.tel.view)
    with pytest.raises(RegistryError, match=r"close\(\)"):
        Tooltel(make_catalog(), registry=registry)
    assert generate_latest(desk.tel.view) == before, "the first one is not harmed"


@pytest.mark.parametrize("name", ["tooltel_build", "tooltel_tool_calls", "tooltel_label_overflow"])
def test_a_clash_with_a_series_of_the_host_leaves_nothing_behind(registry: CollectorRegistry, name: str) -> None:
    """Whichever series it is: those of the recorder, or those read from the catalog."""
    suffix = "_info" if name == "tooltel_build" else "_total"
    Gauge(name + suffix, "The host's, by accident.", registry=registry)
    with pytest.raises(RegistryError, match=name):
        Tooltel(make_catalog(), registry=registry)
    assert [family.name for family in registry.collect()] == [name + suffix]


def test_a_closed_tooltel_leaves_the_registry_and_makes_room(registry: CollectorRegistry) -> None:
    desk = Desk(registry=registry)
    desk.tel.close()
    assert list(registry.collect()) == []
    Tooltel(make_catalog(), registry=registry)


def test_closing_twice_does_nothing_more(registry: CollectorRegistry) -> None:
    with Tooltel(make_catalog(), registry=registry) as tel:
        tel.close()
    assert list(registry.collect()) == []


def test_tools_wrapped_before_closing_keep_working_without_complaint(
    registry: CollectorRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    """A module that was imported before a second configure() still holds tools of the first one."""
    desk = Desk(registry=registry)
    tool = desk.tool("kb_search")
    desk.act("kb_search")
    desk.tel.close()
    with desk.tel.session(profile="support"):
        assert tool(lambda: "done") == "done"
        desk.act("order_lookup")  # met for the first time after closing
        desk.tel.not_found("zork")
        desk.tel.declared("support", [{"name": "kb_search"}])
    assert "telemetry_error" not in caplog.text
    assert len(desk.spans.ended) == 4


# --- what the catalog says now ---


def test_a_reload_changes_what_the_catalog_says_and_leaves_no_old_series(registry: CollectorRegistry) -> None:
    desk = Desk(registry=registry)
    tools = make_tools()
    before = samples(desk.tel)
    changed = [
        replace(tools[0], owner="orders", version="4"),
        replace(tools[1], objective=0.95),
        *tools[2:-1],
    ]
    desk.tel.reload(make_catalog(changed))
    for found in (samples(desk.tel), parse(generate_latest(registry).decode())):
        infos = {tuple(sorted(dict(has).items())) for has in series(found, "tooltel_tool_info")}
        assert infos == {
            (("owner", tool.owner), ("risk", tool.risk), ("tool", tool.name), ("version", tool.version))
            for tool in changed
        }
        assert list(series(found, "tooltel_tool_objective_ratio").values()) == [0.95]
        assert len(series(found, "tooltel_catalog_info")) == 1
        assert set(series(found, "tooltel_catalog_info")) != set(series(before, "tooltel_catalog_info"))
    loaded = "tooltel_catalog_loaded_timestamp_seconds"
    assert total(samples(desk.tel), loaded) >= total(before, loaded)


def test_an_odd_catalog_made_in_code_fails_neither_a_hosts_scrape_nor_a_reload(registry: CollectorRegistry) -> None:
    render: Any = {1: {"a": 1, 2: object()}, "b": [{3: 4, "c": 5}]}
    odd = replace(make_catalog(), render=render)
    desk = Desk(catalog=odd, registry=registry)
    assert total(parse(generate_latest(registry).decode()), "tooltel_catalog_info", sha=odd.sha) == 1
    assert desk.tel.reload(odd) == ()


def test_a_reload_that_fails_is_counted_and_changes_nothing_else(registry: CollectorRegistry) -> None:
    desk = Desk(registry=registry)
    desk.tool("kb_search")
    before = samples(desk.tel)
    assert desk.tel.reload(make_catalog([]))  # a wrapped tool is missing
    assert desk.tel.reload("/nowhere/tools.toml")
    after = samples(desk.tel)
    assert {key: value for key, value in after.items() if before[key] != value} == {
        ("tooltel_catalog_reload_failures_total", frozenset()): 2.0
    }


# --- a subprocess, for what is global ---


def run(program: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
