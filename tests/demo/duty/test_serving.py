"""The pager takes Alertmanager's webhooks and nothing else, and shows the page and the runbooks."""

from __future__ import annotations

import http.client
import json
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from tooltel.demo.duty import PagerPage
from tooltel.demo.duty.serving import LARGEST

if TYPE_CHECKING:
    from collections.abc import Iterator

RUNBOOKS = Path(__file__).resolve().parents[3] / "alerts" / "runbooks"
ALERT = {
    "status": "firing",
    "labels": {"alertname": "Burn", "owner": "payments", "severity": "page"},
    "annotations": {},
}


@pytest.fixture
def pager() -> Iterator[PagerPage]:
    with PagerPage(port=0, runbooks=RUNBOOKS, clock=lambda: 1000.0) as running:
        yield running


def ask(pager: PagerPage, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, str, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", urlsplit(pager.url).port or 0, timeout=10)
    try:
        given = {name.replace("_", "-"): text for name, text in headers.items()}
        connection.request(method, path, body, given)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), answer.headers
    finally:
        connection.close()


def post(pager: PagerPage, body: bytes, path: str = "/notify/payments-page", kind: str = "application/json") -> int:
    return ask(pager, "POST", path, body, Content_Type=kind)[0]


def test_a_notification_appears_on_the_page(pager: PagerPage) -> None:
    assert post(pager, json.dumps({"alerts": [ALERT]}).encode(), urlsplit(pager.webhook("payments-page")).path) == 200
    status, text, headers = ask(pager, "GET", "/")
    assert status == 200
    assert "<h2>payments" in text
    assert "payments-page" in text
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("name", ["a b/c?d#e", "Ünïcode ☃", "%2F", "../.."])
def test_any_receiver_name_comes_back_as_it_was(pager: PagerPage, name: str) -> None:
    assert post(pager, json.dumps({"alerts": [ALERT]}).encode(), urlsplit(pager.webhook(name)).path) == 200
    assert [each.receiver for each in pager.rota.notices()] == [name]


@pytest.mark.parametrize("body", [b"not json", b"[]", b"{}", b'{"alerts": 1}', b"\xff", b"[" * 10**5])
def test_what_is_no_notification_is_refused(pager: PagerPage, body: bytes) -> None:
    assert post(pager, body) == 400
    assert pager.rota.notices() == []


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_what_a_strangers_page_can_make_a_browser_send_is_refused(pager: PagerPage, kind: str) -> None:
    assert post(pager, json.dumps({"alerts": [ALERT]}).encode(), kind=kind) == 415


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_page_that_a_stranger_names_is_shown_to_no_browser(pager: PagerPage, method: str) -> None:
    """Its name may lead to this machine, where the browser may read what nobody else on the network can."""
    path = "/" if method == "GET" else "/notify/x"
    body = None if method == "GET" else json.dumps({"alerts": [ALERT]}).encode()
    status, _, _ = ask(pager, method, path, body, Content_Type="application/json", Host="evil.example:9099")
    assert status == 403
    assert pager.rota.notices() == []
    assert ask(pager, "GET", "/", Host="localhost:9099")[0] == 200


def test_an_address_that_is_none_gets_an_answer(pager: PagerPage) -> None:
    for method in (b"GET", b"POST"):
        with socket.create_connection(("127.0.0.1", urlsplit(pager.url).port or 0), timeout=10) as client:
            client.sendall(method + b" http://[::1 HTTP/1.0\r\n\r\n")
            assert client.recv(4096).startswith(b"HTTP/1.0 404")


@pytest.mark.parametrize("size", ["0", "-1", "x", str(LARGEST + 1), "9" * 5000])
def test_a_message_without_a_fair_size_is_refused_unread(pager: PagerPage, size: str) -> None:
    status, text, _ = ask(pager, "POST", "/notify/x", b"", Content_Type="application/json", Content_Length=size)
    assert status == 413
    assert str(LARGEST) in text


@pytest.mark.parametrize("path", ["/", "/notify/", "/other"])
def test_a_notification_to_nobody_is_refused(pager: PagerPage, path: str) -> None:
    assert post(pager, b"{}", path) == 404


def test_health_is_asked_for_by_path(pager: PagerPage) -> None:
    assert ask(pager, "GET", "/healthz")[:2] == (200, "ok\n")


def test_runbooks_are_shown_as_they_are(pager: PagerPage) -> None:
    status, text, headers = ask(pager, "GET", "/runbooks/ToolSilent.md")
    assert (status, text) == (200, (RUNBOOKS / "ToolSilent.md").read_text("utf-8"))
    assert headers["Content-Type"] == "text/plain; charset=utf-8"
    assert ask(pager, "GET", "/runbooks")[1] == (RUNBOOKS / "README.md").read_text("utf-8")


@pytest.mark.parametrize(
    "path",
    [
        "../alertmanager.yml",
        "..%2falertmanager.yml",
        "%2e%2e/alertmanager.yml",
        "/etc/passwd",
        "None.md",
        "a/b.md",
        "x%00.md",
    ],
)
def test_nothing_but_the_folders_runbooks_is_shown(pager: PagerPage, path: str) -> None:
    assert ask(pager, "GET", f"/runbooks/{path}")[0] == 404


def test_without_a_folder_there_are_no_runbooks() -> None:
    with PagerPage(port=0) as bare:
        assert ask(bare, "GET", "/runbooks/ToolSilent.md")[0] == 404


def test_it_listens_on_loopback_unless_told() -> None:
    with PagerPage(port=0) as page:
        assert urlsplit(page.url).hostname == "127.0.0.1"


def test_an_unknown_path_says_where_the_page_is(pager: PagerPage) -> None:
    assert ask(pager, "GET", "/nowhere")[:2] == (404, "nothing here; the page is at /\n")
