"""From a failing tool to its team's pager and to nobody else's, through a real Prometheus and Alertmanager."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from prometheus_client import CollectorRegistry

import tooltel.demo
from tooltel import Tooltel
from tooltel.demo.stack import Binaries, ServerError, Stack
from tooltel.demo.stack import stack as stack_module
from tooltel.demo.stack.drill import run_drill
from tooltel.loading import load

if TYPE_CHECKING:
    from tests.servers import Servers

EXAMPLE = Path(tooltel.demo.__file__).with_name("tools.toml")

pytestmark = pytest.mark.slow


def binaries(servers: Servers) -> Binaries:
    return Binaries(servers.prometheus, servers.alertmanager)


def test_a_failing_tool_pages_its_team_and_nobody_else_within_ten_seconds_and_then_resolves(servers: Servers) -> None:
    tel = Tooltel(load(EXAMPLE), registry=CollectorRegistry())
    with (
        tel.serve(0) as exposition,
        Stack(tel.catalog, metrics_port=exposition.port, binaries=binaries(servers)) as stack,
    ):
        report = run_drill(tel, stack, "payment_refund")
        failed = stack.query("prometheus_rule_evaluation_failures_total > 0")
    assert report.paged is not None, report
    assert report.paged < 10
    assert report.page_receivers == {"payments-page"}
    assert report.told <= {"payments-page", "payments-ticket"}
    assert report.resolved is not None, report
    assert failed == []


def test_a_stack_without_metrics_says_so_and_leaves_nothing_behind(newest_servers: Servers) -> None:
    with pytest.raises(ServerError, match="scraped nothing from port 9: is /metrics served there"):
        Stack(load(EXAMPLE), metrics_port=9, binaries=binaries(newest_servers), seconds=7).__enter__()


def test_taken_ports_are_passed_over_and_a_server_that_dies_is_told_at_the_end_of_the_block(
    newest_servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    tel = Tooltel(load(EXAMPLE), registry=CollectorRegistry())
    taken = socket.create_server(("127.0.0.1", 0))
    free = stack_module._free_port
    # In pairs, Prometheus' and Alertmanager's: each finds its port taken once.
    ports = iter([taken.getsockname()[1], free(), free(), taken.getsockname()[1]])
    monkeypatch.setattr(stack_module, "_free_port", lambda: next(ports, 0) or free())

    def let_one_die() -> None:
        with Stack(load(EXAMPLE), metrics_port=port, binaries=binaries(newest_servers)) as stack:
            alertmanager, _ = stack._children
            assert alertmanager.pid
            os.kill(alertmanager.pid, signal.SIGKILL)
            while True:
                try:
                    stack.demand_alive()
                except ServerError:
                    return

    with tel.serve(0) as exposition:
        port = exposition.port
        with taken, pytest.raises(ServerError, match="Alertmanager ended"):
            let_one_die()
    assert next(ports, None) is None


PROGRAM = """
import signal, sys, tempfile
from pathlib import Path
from prometheus_client import CollectorRegistry
from tooltel import Tooltel
from tooltel.demo.stack import Binaries, Stack
from tooltel.loading import load
tempfile.tempdir = sys.argv[4]
catalog = load(sys.argv[1])
with Tooltel(catalog, registry=CollectorRegistry()).serve(0) as exposition:
    binaries = Binaries(Path(sys.argv[2]), Path(sys.argv[3]))
    with Stack(catalog, metrics_port=exposition.port, binaries=binaries) as stack:
        print(*(child.pid for child in stack._children), flush=True)
        signal.pause()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux' kernel ends the children of a killed process")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_servers_end_with_the_process_that_started_them(
    newest_servers: Servers, tmp_path: Path, number: signal.Signals
) -> None:
    found = binaries(newest_servers)
    command: list[str | Path] = [sys.executable, "-c", PROGRAM, EXAMPLE, found.prometheus, found.alertmanager, tmp_path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as parent:
        assert parent.stdout
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(pids) == 2
        parent.send_signal(number)
        parent.wait(30)
    for pid in pids:
        status = Path(f"/proc/{pid}/status")
        while status.exists() and "State:\tZ" not in status.read_text():
            pass
    if number is not signal.SIGKILL:
        assert list(tmp_path.iterdir()) == []
