"""What the sidecar serves: the counts of one commit, whether it lives and can be relied on, and the last matches."""

from __future__ import annotations

import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from tests.sidecar.kit import CATALOG, Sidecar, append, line
from tests.signals.scrape import OPENMETRICS, families, fetch, parse, total
from tooltel import signals
from tooltel.exposition import CatalogCollector
from tooltel.listening import is_loopback
from tooltel.sidecar import serving
from tooltel.sidecar.exposing import Scrape
from tooltel.sidecar.serving import STUCK, Server

if TYPE_CHECKING:
    from tests.servers import Servers


def scrape_of(sidecar: Sidecar) -> Any:
    return Scrape(sidecar.engine, CatalogCollector(lambda: CATALOG, lambda: 1.0, "0"))


@pytest.fixture
def sidecar(tmp_path: Path) -> Sidecar:
    append(tmp_path / "app.log", line(1), b"12:00:00 WARN a.B - Tool not found: rm -rf \x1b[31m/\n")
    sidecar = Sidecar(tmp_path)
    sidecar.crank()
    return sidecar


@pytest.fixture
def server(sidecar: Sidecar) -> Iterator[Server]:
    with Server(
        sidecar.engine, scrape_of(sidecar), host="127.0.0.1", port=0, monotonic=sidecar.clock.monotonic
    ) as server:
        yield server


def get(server: Server, path: str) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(server.url + path, timeout=30) as answer:  # noqa: S310 - our own server
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


@pytest.mark.parametrize("accept", ["text/plain", OPENMETRICS])
def test_a_scrape_shows_the_series_of_the_table_with_their_labels(server: Server, accept: str) -> None:
    rows = {row.family: row for row in signals.METRICS} | {row.name: row for row in signals.METRICS}
    found = families(f"{server.url}/metrics", accept)
    assert {row.family for row in signals.METRICS if "sidecar" in row.name} <= set(found)
    for name, family in found.items():
        for sample in family.samples:
            assert set(sample.labels) == set(rows[name].labels)


def test_a_scrape_holds_what_was_committed(server: Server, sidecar: Sidecar, tmp_path: Path) -> None:
    append(tmp_path / "app.log", line(2))
    sidecar.engine.turn()  # commits
    append(tmp_path / "app.log", line(3))
    sidecar.clock.advance(0.01)
    sidecar.engine.turn()  # reads, and it is too early for a commit
    found = parse(fetch(f"{server.url}/metrics")[0].decode())
    assert total(found, signals.SIDECAR_LINES.name) == 3
    assert total(found, signals.SIDECAR_LAG.name) == len(line(3))
    sidecar.crank()
    found = parse(fetch(f"{server.url}/metrics")[0].decode())
    assert total(found, signals.SIDECAR_LINES.name) == 4
    assert total(found, signals.SIDECAR_LAG.name) == 0


def test_a_scrape_can_be_of_some_names(server: Server) -> None:
    status, body = get(server, f"/metrics?name[]={signals.SIDECAR_LINES.name}")
    assert status == 200
    assert {name for name, _ in parse(body.decode())} == {signals.SIDECAR_LINES.name}


def test_health_follows_the_engines_turns(server: Server, sidecar: Sidecar) -> None:
    assert get(server, "/healthz") == (200, b"ok\n")
    sidecar.clock.advance(STUCK)
    assert get(server, "/healthz")[0] == 503
    sidecar.engine.turn()
    assert get(server, "/healthz")[0] == 200


def test_readiness_names_what_is_missing(server: Server, sidecar: Sidecar, tmp_path: Path) -> None:
    (tmp_path / "app.log").unlink()
    sidecar.settle()
    status, body = get(server, "/readyz")
    assert status == 200
    assert json.loads(body) == {
        "ready": True, "problems": [], "waiting_for": [str(tmp_path / "app.log")], "cannot_read": {},
    }  # fmt: skip


def test_the_last_matches_are_names_and_reasons(server: Server) -> None:
    status, body = get(server, "/matches")
    assert status == 200
    matches = json.loads(body)["matches"]
    assert [(each["signature"], each["status"], each["name"], each["reason"], each["times"]) for each in matches] == [
        ("plain.not_found", "not_found", "rm -rf /", "unknown", 1),
        ("plain.not_found", "not_found", "old_1", "renamed", 1),
    ]


def test_the_last_matches_are_for_the_machine_itself(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "is_loopback", lambda _address: False)
    assert get(server, "/matches")[0] == 403
    assert get(server, "/healthz")[0] == 200


def test_a_browsers_page_of_a_stranger_gets_none_of_them(server: Server) -> None:
    """Its name may lead to this machine, where the browser's questions come from loopback."""
    asked = urllib.request.Request(f"{server.url}/matches", headers={"Host": "evil.example:9464"})  # noqa: S310
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(asked, timeout=30)  # noqa: S310 - our own server


@pytest.mark.parametrize("accept", ["application/openmetrics-text;version=x", ";;=,", "\xff", "application/json"])
def test_a_wish_that_nobody_can_read_is_answered_with_plain_text(server: Server, accept: str) -> None:
    asked = urllib.request.Request(f"{server.url}/metrics", headers={"Accept": accept})  # noqa: S310
    with urllib.request.urlopen(asked, timeout=30) as answer:  # noqa: S310 - our own server
        assert answer.headers["Content-Type"].startswith("text/plain")
        assert total(parse(answer.read().decode()), signals.SIDECAR_LINES.name) == 2


@pytest.mark.parametrize(
    ("address", "is_near"),
    [("127.0.0.1", True), ("127.8.9.1", True), ("::1", True), ("::ffff:127.0.0.1", True),
     ("10.0.0.1", False), ("::ffff:10.0.0.1", False), ("fe80::1%eth0", False), ("2001:db8::1", False)],
)  # fmt: skip
def test_an_address_is_the_machines_own_in_each_spelling(address: str, is_near: bool) -> None:
    assert is_loopback(address) is is_near


def test_what_is_not_there_is_said(server: Server) -> None:
    status, body = get(server, "/metricz")
    assert status == 404
    assert b"/metrics" in body


def test_a_taken_port_is_told_with_what_to_do(server: Server, sidecar: Sidecar) -> None:
    with pytest.raises(OSError, match="give another --listen"):
        Server(sidecar.engine, scrape_of(sidecar), host="127.0.0.1", port=server.port, monotonic=lambda: 0.0)


def test_nothing_is_shown_until_a_lost_generation_is_caught_up_with(tmp_path: Path, sidecar: Sidecar) -> None:
    sidecar.kill()
    slots = sorted((tmp_path / "state").glob("state.*"), key=lambda slot: slot.read_bytes()[16:24])
    slots[-1].write_bytes(b"")
    sidecar.start()
    with Server(sidecar.engine, scrape_of(sidecar), host="127.0.0.1", port=0, monotonic=lambda: 0.0) as server:
        assert get(server, "/metrics")[0] == 503
        assert get(server, "/readyz")[0] == 503
        sidecar.settle()
        assert get(server, "/metrics")[0] == 200


def test_the_text_of_a_run_to_the_end_holds_what_a_scrape_does(sidecar: Sidecar) -> None:
    found, scraped = (
        [
            (family.name, family.type, family.documentation, family.samples)
            for family in text_string_to_metric_families(text)
        ]
        for text in (scrape_of(sidecar).as_text(), generate_latest(scrape_of(sidecar)).decode())
    )
    assert found == scraped
    assert sum(len(samples) for *_, samples in found) > 100


def test_promtool_finds_nothing_to_complain_about(sidecar: Sidecar, servers: Servers) -> None:
    for text in (generate_latest(scrape_of(sidecar)), scrape_of(sidecar).as_text().encode()):
        said = subprocess.run([servers.promtool, "check", "metrics"], input=text, capture_output=True, check=False)
        assert (said.returncode, said.stdout.decode(), said.stderr.decode()) == (0, "", "")
