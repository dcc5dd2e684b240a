"""A real Prometheus answers for a fleet: what its series say, and within a second for a thousand tools."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING

import pytest

from tests.backfill import backfilled
from tests.cli.processes import processor_time, tooltel
from tests.top.histories import History
from tooltel.errors import NoMetricsError
from tooltel.top.asking import ask, read_address
from tooltel.top.looks import Firing
from tooltel.top.rows import By, make_rows
from tooltel.top.sources import PrometheusServer, find_source

if TYPE_CHECKING:
    from tests.servers import Servers

SECOND = 1.0


def test_a_fleets_rows_are_what_its_series_say(servers: Servers) -> None:
    """Rates, ratios and quantiles as a recording of them would have them; alerts as they fire."""
    fleet = History(time.time())
    fleet.call("order_refund", "orders", ok=90, error=10, seconds=2.0)
    fleet.call("kb_search", "kb", ok=600)
    fleet.call("idle_tool", "kb", ok=0)
    fleet.reject("kb_search", "kb", 2, "framework")
    fleet.reject("kb_search", "kb", 3, "schema")
    fleet.miss("desk", "other", 4)
    fleet.miss("orders", "refund_order", 0)
    burn = {"alertname": "ToolErrorBudgetBurn", "severity": "page", "owner": "orders", "tool": "order_refund"}
    fleet.fire(alertstate="firing", **burn)
    fleet.fire(alertstate="pending", **{**burn, "alertname": "ToolLatencyHigh"})
    fleet.fire(alertstate="firing", alertname="NodeDown", severity="page")  # not ours: nobody owns it
    fleet.fire(alertstate="firing", alertname="Watchdog", severity="none", owner="platform")  # as it always does
    with backfilled(servers, fleet.text()) as prometheus:
        source = find_source(f"{prometheus.url}/graph", window=240)
        look = source.look()
        printed = tooltel("top", prometheus.url, "--once", "--window", "4m")
        scripted = tooltel("top", prometheus.url, "--json", "--window", "4m", "--by", "owner")
        own = tooltel("top", f"{prometheus.url}/metrics", "--once")
    assert isinstance(source, PrometheusServer)
    rows = {row.tool: row for row in make_rows(look)}
    assert set(rows) == {"order_refund", "kb_search", "idle_tool", ""}
    refund, search = rows["order_refund"], rows["kb_search"]
    assert refund.per_second == pytest.approx(100 / 60, rel=0.05)
    assert refund.error_ratio == pytest.approx(0.1)
    assert refund.p95 == pytest.approx(1.28 + 1.28 * 0.95)
    assert look.firing == refund.firing == (Firing("ToolErrorBudgetBurn", "page", "orders", "order_refund"),)
    assert search.rejected == pytest.approx(12, rel=0.05)
    assert rows[""].not_found == pytest.approx(16, rel=0.05)
    assert (rows["idle_tool"].calls, rows["idle_tool"].error_ratio, rows["idle_tool"].p95) == (0, None, None)
    assert {row.owner: row.tools for row in make_rows(look, By.OWNER)} == {"orders": 1, "kb": 2, "desk": 0}

    assert printed.returncode == 0, printed.stderr
    headline, _, first, second, *_ = printed.stdout.splitlines()
    assert headline == f"3 tools · last 4 min · 1 firing: 1 page · {prometheus.url}"
    assert first.split()[:2] == ["kb_search", "kb"]
    assert second.split()[-1] == "ToolErrorBudgetBurn"
    assert {row["owner"] for row in json.loads(scripted.stdout)["rows"]} == {"orders", "kb", "desk"}
    assert own.returncode == 2
    assert "of a Prometheus, give the URL without /metrics" in own.stderr


def test_the_first_calls_of_a_tool_have_a_quantile(newest_servers: Servers) -> None:
    """Their histogram was born with them, which an increase alone would not see."""
    fleet = History(time.time())
    fleet.call("young_tool", "kb", ok=20, seconds=0.3, young=True)
    with backfilled(newest_servers, fleet.text()) as prometheus:
        rows = {row.tool: row for row in make_rows(find_source(prometheus.url, window=240).look())}
    assert rows["young_tool"].p95 == pytest.approx(0.16 + 0.16 * 0.95)


def test_a_prometheus_that_scrapes_no_agent_says_what_to_do(newest_servers: Servers) -> None:
    with backfilled(newest_servers, "# TYPE up gauge\nup 1 1700000000\n# EOF\n") as prometheus:
        source = find_source(prometheus.url)
        with pytest.raises(NoMetricsError, match="add the agents' /metrics to its scrape_configs"):
            source.look()


@pytest.mark.slow
def test_a_thousand_tools_are_answered_within_a_second(newest_servers: Servers) -> None:
    """Start to end, and Prometheus' own part: in seconds of a processor, as other work shares this machine's clock."""
    fleet = History(time.time())
    for number in range(1000):
        fleet.call(f"tool_{number:04}", f"team_{number % 40}", ok=1 + number, error=number % 7)
    with backfilled(newest_servers, fleet.text()) as prometheus:

        def spent() -> float:
            text = ask(read_address(f"{prometheus.url}/metrics"), timeout=60).text
            (own,) = re.findall(r"^process_cpu_seconds_total (\S+)", text, re.MULTILINE)
            return float(own) + processor_time()

        took = []
        for _ in range(3):
            start = spent()
            done = tooltel("top", prometheus.url, "--once", "--window", "4m", "--timeout", "1m")
            took.append(spent() - start)
            assert done.returncode == 0, done.stderr
            assert len(done.stdout.splitlines()) == 1002
    assert min(took) < 2 * SECOND  # twice the promise: what two cores share is slower, too
