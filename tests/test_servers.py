"""The servers that tests run against are real, and of the generations that are promised to users."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from tests.servers import Servers

# Prometheus (promtool with it) and Alertmanager (amtool with it) that each generation promises at least.
OLDEST = {"stable": ((2, 42), (0, 25)), "path": ((2, 42), (0, 25)), "new": ((3, 5), (0, 33))}


def version(binary: Path) -> tuple[int, int]:
    said = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True)
    major, minor = (said.stdout or said.stderr).split()[2].split(".")[:2]
    return int(major), int(minor)


def test_binaries_run_and_are_recent_enough(servers: Servers) -> None:
    prometheus, alertmanager = OLDEST[servers.name]
    assert min(version(servers.prometheus), version(servers.promtool)) >= prometheus
    assert min(version(servers.alertmanager), version(servers.amtool)) >= alertmanager


def test_one_generation_is_found_for_tests_that_need_no_more(newest_servers: Servers) -> None:
    prometheus, _ = OLDEST[newest_servers.name]
    assert version(newest_servers.prometheus) >= prometheus


def test_alertmanager_finds_its_default_templates(servers: Servers, tmp_path: Path) -> None:
    """An unpacked Alertmanager reads its templates from beside it; without them it never starts listening."""
    config = tmp_path / "alertmanager.yml"
    config.write_text("route: {receiver: nobody}\nreceivers: [{name: nobody}]\n")
    with subprocess.Popen(
        [
            servers.alertmanager,
            f"--config.file={config}",
            f"--storage.path={tmp_path}",
            "--web.listen-address=127.0.0.1:0",
            "--cluster.listen-address=",
        ],
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            lines: list[str] = []
            for line in process.stderr:
                lines.append(line)
                if "Listening on" in line:
                    break
            assert "Listening on" in lines[-1], "".join(lines)
        finally:
            process.terminate()
