from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tooltel.demo.live import Live
from tooltel.demo.pace import SimulatedTime
from tooltel.demo.stack import Binaries, Stack
from tooltel.demo.stage import open_stage

if TYPE_CHECKING:
    from pathlib import Path

    from tests.servers import Servers


@pytest.mark.slow
def test_what_is_judged_from_the_counts_is_what_real_servers_deliver(servers: Servers, tmp_path: Path) -> None:
    """Where no servers are, the demo says who would be told: this holds it to the rules and routes themselves."""
    binaries = Binaries(servers.prometheus, servers.alertmanager)
    with (
        open_stage(7, 120, SimulatedTime(), out=tmp_path) as stage,
        Stack(stage.catalog, metrics_port=stage.port, binaries=binaries) as stack,
    ):
        stage.play()
        live = Live(stage, stack)
        judged = {(n.owner, n.alert, n.tool or "", n.severity) for n in stage.report().notices}

        def told() -> set[tuple[str, str, str, str]]:
            return {(d.told.owner, d.told.alert, d.told.tool, d.severity) for d in live.deliveries()}

        assert live.await_pages()
        stack.pager.wait_for(lambda _: told() >= judged, seconds=20)
        assert {each for each in told() if each[3] != "none"} == judged
        assert stage.report(live.deliveries()).misdirected == []
