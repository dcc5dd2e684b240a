"""Prometheus and Alertmanager with what the stack mounts: real ones accept it, and a page reaches the pager's page."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.deploy.stack import MOUNTED, ROOT, config, mounts, services
from tools import compose as compose_tool
from tooltel import signals
from tooltel.artifacts import RenderOptions
from tooltel.demo.duty import PagerPage
from tooltel.demo.hostile import HOSTILE
from tooltel.demo.pace import SimulatedTime
from tooltel.demo.pushing import ENDPOINT
from tooltel.demo.stack.children import Child
from tooltel.demo.stack.squeeze import squeeze_routes
from tooltel.demo.telemetry import CATALOG, watched
from tooltel.loading import load

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.servers import Servers

ROUTES = "alertmanager/alertmanager.yml"
PAGER = "http://pager:9099/"


def lay_out(service: str, root: Path) -> Path:
    """The folder of *service* in a container, with what is mounted there; its path in the container is cut off."""
    for mount in mounts(service):
        target = root / mount.target.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(mount.source)
    return root


def test_prometheus_accepts_its_configuration_and_finds_every_rule(servers: Servers, tmp_path: Path) -> None:
    root = lay_out("prometheus", tmp_path)
    command = [str(servers.promtool), "check", "config", str(root / "etc/prometheus/prometheus.yml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = done.stdout + done.stderr
    for path in sorted((ROOT / "alerts" / "rules").glob("*.yml")):
        assert path.name in said


def test_alertmanager_accepts_its_configuration(servers: Servers, tmp_path: Path) -> None:
    root = lay_out("alertmanager", tmp_path)
    command = [str(servers.amtool), "check-config", str(root / "etc/alertmanager/alertmanager.yml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_agent_is_scraped_under_the_name_that_rules_and_dashboards_ask_for() -> None:
    targets = {
        each["job_name"]: each["static_configs"][0]["targets"]
        for each in config("prometheus/prometheus.yml")["scrape_configs"]
    }
    assert targets[RenderOptions.from_catalog(load(CATALOG)).job] == ["agent:9464"]


def test_prometheus_keeps_data_for_as_long_as_the_rules_look_back() -> None:
    retention = RenderOptions.from_catalog(load(CATALOG)).retention
    assert f"--storage.tsdb.retention.time={retention}" in services()["prometheus"]["command"]


def test_routes_are_the_rendered_ones_with_every_receiver_a_webhook_to_the_pager() -> None:
    assert compose_tool.routes() == compose_tool.ROUTES.read_text("utf-8"), "run make render"
    rendered = yaml.safe_load((ROOT / "alerts" / "alertmanager.yml").read_text("utf-8"))
    assert config(ROUTES)["route"] == rendered["route"]
    assert config(ROUTES)["inhibit_rules"] == rendered["inhibit_rules"]
    assert [each["name"] for each in config(ROUTES)["receivers"]] == [each["name"] for each in rendered["receivers"]]
    for receiver in config(ROUTES)["receivers"]:
        (webhook,) = receiver.pop("webhook_configs")
        assert webhook == {"url": f"{PAGER}notify/{receiver.pop('name')}", "send_resolved": True}
        assert receiver == {}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as asked:
        return int(asked.getsockname()[1])


def call(url: str, message: Any = None) -> Any:
    data = None if message is None else json.dumps(message).encode()
    request = urllib.request.Request(url, data=data, headers={"Content-Type": "application/json"})  # noqa: S310 - loopback
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - loopback
        return answer.read().decode()


def until(look: Callable[[], bool], *, seconds: float) -> bool:
    """Ask again and again, as there is nobody who would tell; the event is never set, and only waits."""
    nobody, give_up = threading.Event(), time.monotonic() + seconds
    while not look():
        if time.monotonic() > give_up:
            return False
        nobody.wait(0.05)
    return True


@pytest.mark.slow
def test_a_page_of_a_real_alertmanager_arrives_at_its_owner_and_hostile_names_are_only_text(
    servers: Servers, tmp_path: Path
) -> None:
    with PagerPage(port=0) as page:
        routes = config(ROUTES)
        routes["route"] = squeeze_routes(routes["route"])
        text = json.dumps(routes).replace(PAGER, page.url)
        (tmp_path / "alertmanager.yml").write_text(text)
        port = free_port()
        command: list[str | Path] = [
            servers.alertmanager, f"--config.file={tmp_path / 'alertmanager.yml'}",
            f"--storage.path={tmp_path / 'data'}", f"--web.listen-address=127.0.0.1:{port}",
            "--cluster.listen-address=",
        ]  # fmt: skip
        url = f"http://127.0.0.1:{port}"
        with Child("Alertmanager", command, log=tmp_path / "log", ready=f"{url}/-/ready") as child:
            child.wait_until_ready(seconds=60)
            evil = "<script>alert(1)</script>"
            names = [
                evil,
                *(name for name, _ in HOSTILE if isinstance(name, str) and name.strip() and "\ud800" not in name),
            ]
            alerts = [
                {
                    "labels": {
                        "alertname": "TooltelToolInvented",
                        "severity": "page",
                        "owner": "payments",
                        "tool": name,
                    },
                    "annotations": {"summary": name, "dashboard_url": "javascript:alert(1)"},
                }
                for name in names
            ]
            call(f"{url}/api/v2/alerts", alerts)
            assert until(lambda: len(page.rota.notices()) >= len(set(names)), seconds=60), child.last_words()
        shown = call(page.url)
    assert {(notice.receiver, notice.owner) for notice in page.rota.notices()} == {("payments-page", "payments")}
    assert "<h2>payments" in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    assert "<script" not in shown
    assert "javascript:" not in shown


@pytest.mark.slow
def test_a_real_prometheus_keeps_the_exemplars_that_lead_to_traces(
    newest_servers: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the flags and the configuration of the stack; addresses and folders are this test's."""
    monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:9")  # nobody listens: exemplars are all that counts here
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    with (
        watched(SimulatedTime(), spans=None, logs=None, environ=os.environ) as telemetry,
        telemetry.tel.serve(0) as exposition,
    ):

        @telemetry.tel.tool(name="order_lookup")
        def lookup() -> None:
            pass

        port = free_port()
        text = (MOUNTED / "prometheus/prometheus.yml").read_text().replace("agent:9464", f"127.0.0.1:{exposition.port}")
        (tmp_path / "prometheus.yml").write_text(text)
        flags = [
            each
            for each in services()["prometheus"]["command"]
            if not each.startswith(("--config", "--storage.tsdb.path", "--web"))
        ]
        assert flags
        command: list[str | Path] = [
            newest_servers.prometheus, *flags, f"--config.file={tmp_path / 'prometheus.yml'}",
            f"--storage.tsdb.path={tmp_path / 'data'}", f"--web.listen-address=127.0.0.1:{port}",
        ]  # fmt: skip
        url = f"http://127.0.0.1:{port}"
        query = urllib.parse.urlencode(
            {"query": f"{signals.DURATION.name}_bucket", "start": time.time() - 600, "end": time.time() + 600}
        )

        def found() -> list[dict[str, Any]]:
            lookup()  # an exemplar is of the scrape that follows it
            answer = json.loads(call(f"{url}/api/v1/query_exemplars?{query}"))
            return [each for series in answer["data"] for each in series["exemplars"]]

        with Child("Prometheus", command, log=tmp_path / "log", ready=f"{url}/-/ready") as child:
            child.wait_until_ready(seconds=60)
            assert until(lambda: bool(found()), seconds=60), child.last_words()
            labels = found()[0]["labels"]
    assert set(labels) == {signals.KEY_TRACE_ID, signals.KEY_SPAN_ID}
    assert int(labels[signals.KEY_TRACE_ID], 16)
