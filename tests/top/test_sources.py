"""What a URL is, is found out by asking; then it is looked at again and again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.processes import Site, serving
from tests.top.fleets import Agent, make_agent, quiet
from tooltel import signals
from tooltel.errors import NoMetricsError
from tooltel.testing import FakeClock
from tooltel.top.asking import read_address
from tooltel.top.gains import Key
from tooltel.top.looks import Firing
from tooltel.top.rows import make_rows
from tooltel.top.sources import MetricsPage, PrometheusServer, find_source, firing_query, queries

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = (200, "text/plain; version=0.0.4", b'tooltel_tool_calls_total{outcome="ok",owner="o",tool="t"} 3\n')
FOREIGN = (200, "text/plain", b"# HELP up Up.\nup 1\n")
HTML = (200, "text/html; charset=utf-8", b"<html>hello</html>")


@pytest.fixture
def agent() -> Iterator[tuple[Agent, str]]:
    """An agent with its real /metrics, and the URL of that."""
    with quiet():
        made = make_agent({"order_refund": "orders", "kb_search": "kb"})
        with made.tel.serve(port=0) as served:
            yield made, served.url


def test_a_real_page_is_found_at_its_own_url_and_at_its_servers(agent: tuple[Agent, str]) -> None:
    made, url = agent
    made.call("order_refund", 3, seconds=0.3)
    made.call("order_refund", fail=True)
    with made.tel.session(profile="support"):
        made.tel.not_found("order_find")
    for given in (url, url.removesuffix("/metrics"), url.removesuffix("metrics"), url.removeprefix("http://")):
        source = find_source(given)
        assert isinstance(source, MetricsPage)
        assert source.title == url
        rows = {row.key: row for row in make_rows(source.look())}
        refund = rows[Key("order_refund", "orders")]
        assert (refund.calls, refund.error_ratio) == (4, 0.25)
        assert refund.p95 == pytest.approx(0.16 + 0.16 * 2.8 / 3)
        assert rows[Key("", "desk")].not_found == 1
        assert set(rows) == {("order_refund", "orders"), ("kb_search", "kb"), ("", "desk")}


def test_a_page_is_looked_at_again_and_again(agent: tuple[Agent, str]) -> None:
    made, url = agent
    clock = FakeClock(0.0)
    source = MetricsPage(read_address(url), window=10, clock=clock)
    made.call("order_refund", 5)
    first = source.look()
    clock.advance(4)
    made.call("order_refund", 2)
    second = source.look()
    assert (first.since_start, second.since_start, second.seconds) == (True, False, 4)
    found = {row.tool: (row.calls, row.per_second) for row in make_rows(second)}
    assert found == {"order_refund": (2, 0.5), "kb_search": (0, 0.0)}
    assert first.firing is second.firing is None


def test_only_our_own_series_are_asked_for() -> None:
    """An exporter with a hundred thousand series of its host's shows us a few."""
    with serving(Site({"/metrics": PAGE})) as site:
        find_source(f"{site.url}/metrics")
    ((path, headers),) = site.requests
    for row in (signals.TOOL_CALLS, signals.REJECTIONS, signals.NOT_FOUND, signals.BUILD_INFO):
        assert f"name%5B%5D={row.name}" in path
    assert headers["Accept"].startswith("text/plain;version=0.0.4")


def test_a_query_in_the_url_is_kept() -> None:
    with serving(Site({"/metrics": PAGE})) as site:
        find_source(f"{site.url}/metrics?collect=tools")
    assert site.requests[0][0].startswith("/metrics?collect=tools&name")


def test_a_page_below_any_path_is_found() -> None:
    with serving(Site({"/app/metrics": PAGE, "/odd": PAGE})) as site:
        assert find_source(f"{site.url}/app").title == f"{site.url}/app/metrics"
        assert find_source(f"{site.url}/odd").title == f"{site.url}/odd"


# --- what is neither -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answers", "path", "said"),
    [
        ({}, "", "/metrics answers 404, and is no Prometheus either: give the URL of"),
        ({"*": HTML}, "", "/metrics answers with text/html, not with metrics: give the URL of"),
        ({"*": FOREIGN}, "", "/metrics shows metrics, but none of tooltel's: give the URL that"),
        ({"/metrics": FOREIGN}, "/metrics", "/metrics shows metrics, but none of tooltel's: give the URL that"),
        (
            {"*": (200, "text/plain", b"")},
            "/metrics",
            "/metrics shows metrics, but none of tooltel's: give the URL that",
        ),
        ({"*": (500, "text/plain", b"oh")}, "/metrics", "/metrics answers 500, and is no Prometheus either: give"),
        ({"*": (401, "text/plain", b"")}, "", " lets nobody in who does not say who it is (401): put a user into"),
        ({"*": (403, "text/plain", b"")}, "/metrics", "/metrics lets nobody in who does not say who it is (403): put"),
        (
            {"*": (503, "text/plain", b"reading\x1b[2J")},
            "",
            "/metrics is not ready yet (503): reading\\x1b[2J: try again",
        ),
        ({"*": (200, "application/json", b'{"status": "success"}')}, "", "/metrics answers with application/json, not"),
        ({"*": (200, "x\x1b", b"[" * 100_000)}, "", "/metrics answers with x\\x1b, not with metrics"),
    ],
)
def test_what_is_neither_is_told_in_one_sentence(answers: dict[str, Any], path: str, said: str) -> None:
    with serving(Site(answers)) as site, pytest.raises(NoMetricsError) as refused:
        find_source(site.url.replace("//", "//me:s3cret@") + path)
    assert str(refused.value).startswith(f"{site.url}{said}")
    assert str(refused.value).isprintable()
    assert "s3cret" not in str(refused.value)


def test_a_page_that_stops_being_one_is_told_and_comes_back() -> None:
    with serving(Site({"/metrics": PAGE})) as site:
        source = find_source(f"{site.url}/metrics")
        source.look()
        site.answers = {"/metrics": (500, "text/plain", b"")}
        with pytest.raises(NoMetricsError, match="answers 500"):
            source.look()
        site.answers = {"/metrics": PAGE}
        assert not source.look().since_start


# --- Prometheus ------------------------------------------------------------------------------------------


def vector(*samples: tuple[dict[str, Any], Any]) -> tuple[int, str, bytes]:
    result = [{"metric": labels, "value": [0, value]} for labels, value in samples]
    body = {"status": "success", "data": {"resultType": "vector", "result": result}}
    return 200, "application/json", json.dumps(body).encode()


@pytest.mark.parametrize("path", ["", "/", "/graph", "/query?g0.expr=up", "/alerts", "/prom", "/prom/graph"])
def test_a_prometheus_is_one_below_any_path_and_on_any_of_its_pages(path: str) -> None:
    answers = {"/api/v1/query": vector(), "/prom/api/v1/query": vector()}
    with serving(Site(answers)) as site:
        source = find_source(site.url + path)
    assert isinstance(source, PrometheusServer)
    assert source.title.rstrip("/") == site.url + ("/prom" if "prom" in path else "")


def test_odd_samples_are_passed_over() -> None:
    labels = {"tool": "t", "owner": "o", "outcome": "ok"}
    answer = vector((labels, "NaN"), (labels, "-1"), (labels, "3"), ({"tool": 5}, "1"), ({}, "1"), (labels, None))
    with serving(Site({"/api/v1/query": answer})) as site:
        look = find_source(site.url).look()
    # The same answer to each question: of those, the calls and the rejections have such labels.
    assert {row.calls for row in make_rows(look) if row.tool == "t"} == {3.0}


def test_alerts_are_told_once_and_pages_first() -> None:
    found = {"alertname": "Slow", "severity": "ticket", "owner": "o", "tool": "t", "instance": "a"}
    page = {"alertname": "Burn", "severity": "page", "owner": "o", "tool": "t"}
    answer = vector((found, "1"), ({**found, "instance": "b"}, "1"), (page, "1"))
    with serving(Site({"/api/v1/query": answer})) as site:
        look = find_source(site.url).look()
    assert look.firing == (Firing("Burn", "page", "o", "t"), Firing("Slow", "ticket", "o", "t"))


def test_a_prometheus_without_tools_says_what_to_add() -> None:
    with serving(Site({"/api/v1/query": vector()})) as site, pytest.raises(NoMetricsError) as refused:
        find_source(site.url, window=900).look()
    assert str(refused.value) == (
        f"{site.url} is a Prometheus without calls of tools in the last 15m: add the agents' /metrics to its "
        "scrape_configs, or look back further with --window 1h"
    )


def test_a_query_that_is_refused_is_told_with_prometheus_own_words() -> None:
    refusal = (422, "application/json", b'{"status":"error","error":"query processing would load too many samples"}')
    with serving(Site({"/api/v1/query": vector()})) as site:
        source = find_source(site.url)
        site.answers = {"/api/v1/query": refusal}
        with pytest.raises(NoMetricsError, match="refuses a query: query processing would load too many samples: try"):
            source.look()


def test_queries_read_only_what_is_emitted() -> None:
    read = {row for query in [*queries("5m").values(), firing_query()] for row in query.reads}
    assert read == {signals.TOOL_CALLS, signals.DURATION, signals.REJECTIONS, signals.NOT_FOUND, signals.ALERTS}
