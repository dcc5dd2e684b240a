"""A real Alertmanager mutes exactly what the rendered tests say."""

from __future__ import annotations

import json
import re
import subprocess
import time
import urllib.request
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import yaml

from tooltel.artifacts.options import RenderOptions
from tooltel.artifacts.routes import CONFIG, TESTS, render_routes
from tooltel.catalog import Catalog, Owner

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.servers import Servers

DEADLINE = 30.0
NOWHERE = {"webhook_configs": [{"url": "http://127.0.0.1:9/"}]}
CATALOG = Catalog(owners=[Owner("platform", page=NOWHERE)], platform_owner="platform")
OPTIONS = RenderOptions(cluster_label="cluster", labels={"env": "prod"}, deadman=NOWHERE)


@contextmanager
def alertmanager(servers: Servers, config: Path) -> Iterator[str]:
    """A running Alertmanager with *config*; gives its address."""
    command = [
        str(servers.alertmanager), f"--config.file={config}", f"--storage.path={config.parent}",
        "--web.listen-address=127.0.0.1:0", "--cluster.listen-address=",
    ]  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            for line in process.stderr:
                if found := re.search(r"Listening on\b.*address=(127\.0\.0\.1:\d+)", line):
                    yield f"http://{found[1]}"
                    return
            raise AssertionError("it never listened")
        finally:
            process.terminate()


def ask(url: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, headers={"Content-Type": "application/json"})  # noqa: S310 - ours
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - the server started above
        return json.loads(answer.read() or "null")


def states(address: str, run: str) -> set[str]:
    return {alert["status"]["state"] for alert in ask(f"{address}/api/v2/alerts?filter=run={run}")}


def muted(address: str, case: dict[str, Any], run: str) -> bool:
    """Whether the case's alert is muted while its `firing` alerts are there."""
    page = {
        "alertname": "TooltelCanary",
        "owner": run,
        "tool": "t",
        "cluster": "one",
        "env": "prod",
        "severity": "page",
    }
    canary = {**page, "severity": "ticket", "run": f"{run}-canary"}
    alerts = [*case["firing"], {**case["labels"], "run": run}, page, canary]
    for labels in alerts:  # one by one: Alertmanager looks at them in the order in which they came
        ask(f"{address}/api/v2/alerts", [{"labels": labels}])
    give_up = time.monotonic() + DEADLINE
    # The canary came last and is to be muted: once it is, everything before it has been looked at.
    while states(address, f"{run}-canary") != {"suppressed"}:
        assert time.monotonic() < give_up, f"{case['name']}: Alertmanager never judged the alerts"
    (state,) = states(address, run)
    ask(f"{address}/api/v2/alerts", [{"labels": each, "endsAt": "2020-01-01T00:00:00Z"} for each in alerts])
    return state == "suppressed"


def test_a_real_alertmanager_mutes_what_the_rendered_tests_say(servers: Servers, tmp_path: Path) -> None:
    files = render_routes(CATALOG, OPTIONS)
    config = tmp_path / "alertmanager.yml"
    config.write_text(files[CONFIG])
    cases = [case for case in yaml.safe_load(files[TESTS])["tests"] if "firing" in case]
    assert {case["inhibited"] for case in cases} == {True, False}
    with alertmanager(servers, config) as address:
        judged = {case["name"]: muted(address, case, f"r{at}") for at, case in enumerate(cases)}
    assert judged == {case["name"]: case["inhibited"] for case in cases}
