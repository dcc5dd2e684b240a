"""Both servers are found in one place, under either of Alertmanager's names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tooltel.demo.stack import Binaries, find_binaries


def put(folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    return folder


@pytest.mark.parametrize("name", ["alertmanager", "prometheus-alertmanager"])
def test_servers_on_the_path_are_found_by_either_name(tmp_path: Path, name: str) -> None:
    folder = put(tmp_path / "bin", "prometheus", name)
    found = find_binaries({"PATH": f"/nowhere:{folder}"}, checkout=tmp_path)
    assert found == Binaries(folder / "prometheus", folder / name)


def test_debians_name_goes_first_because_another_program_has_ours(tmp_path: Path) -> None:
    folder = put(tmp_path / "bin", "prometheus", "alertmanager", "prometheus-alertmanager")
    found = find_binaries({"PATH": str(folder)}, checkout=tmp_path)
    assert found
    assert found.alertmanager.name == "prometheus-alertmanager"


def test_a_checkouts_own_servers_are_found_the_newest_first(tmp_path: Path) -> None:
    stable = put(tmp_path / ".servers/stable", "prometheus", "alertmanager")
    assert find_binaries({"PATH": ""}, checkout=tmp_path) == Binaries(stable / "prometheus", stable / "alertmanager")
    new = put(tmp_path / ".servers/new", "prometheus", "alertmanager")
    assert find_binaries({"PATH": ""}, checkout=tmp_path) == Binaries(new / "prometheus", new / "alertmanager")


def test_the_path_goes_before_the_checkout(tmp_path: Path) -> None:
    put(tmp_path / ".servers/new", "prometheus", "alertmanager")
    folder = put(tmp_path / "bin", "prometheus", "alertmanager")
    found = find_binaries({"PATH": str(folder)}, checkout=tmp_path)
    assert found
    assert found.prometheus.parent == folder


def test_a_folder_that_is_named_is_the_only_one_looked_into(tmp_path: Path) -> None:
    put(tmp_path / "bin", "prometheus", "alertmanager")
    named = tmp_path / "named"
    settings = {"PATH": str(tmp_path / "bin"), "TOOLTEL_SERVERS": str(named)}
    assert find_binaries(settings, checkout=tmp_path) is None
    put(named, "prometheus", "alertmanager")
    assert find_binaries(settings, checkout=tmp_path) == Binaries(named / "prometheus", named / "alertmanager")


def test_one_server_without_the_other_is_none(tmp_path: Path) -> None:
    folder = put(tmp_path / "bin", "prometheus")
    assert find_binaries({"PATH": str(folder)}, checkout=tmp_path) is None


def test_a_file_that_cannot_be_run_is_no_server(tmp_path: Path) -> None:
    folder = put(tmp_path / "bin", "prometheus", "alertmanager")
    (folder / "prometheus").chmod(0o644)
    assert find_binaries({"PATH": str(folder)}, checkout=tmp_path) is None
