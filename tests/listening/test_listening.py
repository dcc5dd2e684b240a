"""An HTTP server of ours bears many connections, odd requests and strangers' pages."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler
from urllib.parse import urlsplit

import pytest

from tooltel.listening import MOST_CONNECTIONS, Listener, names_no_stranger, path_and_query


class Handler(BaseHTTPRequestHandler):
    """Answers every request, or fails."""

    timeout = 30

    def do_GET(self) -> None:
        """Answer with a status alone."""
        if self.path == "/fail":
            raise LookupError("a fault of ours")
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def listener() -> Iterator[Listener]:
    with Listener(("127.0.0.1", 0), Handler) as listener:
        thread = threading.Thread(target=listener.serve_forever, args=(0.01,))
        thread.start()
        yield listener
        listener.shutdown()
        thread.join()


def connect(listener: Listener) -> socket.socket:
    return socket.create_connection(("127.0.0.1", listener.server_port), timeout=30)


def ask(listener: Listener, path: str = "/") -> bytes:
    """The first line of the answer; nothing where the connection was closed without one."""
    with connect(listener) as client:
        try:
            client.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
            return client.recv(4096).partition(b"\r\n")[0]
        except ConnectionError:
            return b""


def test_more_connections_than_it_bears_are_closed_and_those_it_has_are_served(listener: Listener) -> None:
    before = threading.active_count()
    with ExitStack() as open_ones:
        held = [open_ones.enter_context(connect(listener)) for _ in range(MOST_CONNECTIONS)]
        assert ask(listener) == b""
        assert threading.active_count() - before <= MOST_CONNECTIONS
        for client in held:
            client.sendall(b"GET / HTTP/1.0\r\n\r\n")
            assert client.recv(4096).startswith(b"HTTP/1.0 204")
    assert any(ask(listener).startswith(b"HTTP/1.0 204") for _ in range(1000)), "there is room again"


def test_a_client_that_goes_away_is_no_news_and_a_fault_of_ours_is(
    listener: Listener, capsys: pytest.CaptureFixture[str]
) -> None:
    with connect(listener) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # reset, not closed
        client.sendall(b"GET / HT")
    assert ask(listener).startswith(b"HTTP/1.0 204")
    assert ask(listener, "/fail") == b""
    listener.server_close()  # waits for nothing, as threads are daemons
    said = capsys.readouterr().err
    assert "ConnectionResetError" not in said
    assert "LookupError: a fault of ours" in said


@pytest.mark.parametrize("target", ["http://[::1", "//[/metrics", "http://[x]/"])
def test_what_is_no_address_has_no_path(target: str) -> None:
    assert path_and_query(target) in {("", ""), (target, "")}


def test_a_path_is_told_from_its_query() -> None:
    assert path_and_query("/metrics?name[]=a") == ("/metrics", "name[]=a")


@pytest.mark.parametrize(
    "host",
    [None, "", "127.0.0.1", "127.0.0.1:9464", "[::1]:9464", "localhost", "LocalHost:1", "10.0.0.7", "a.localhost"],
)
def test_a_host_that_is_an_address_or_localhost_is_no_strangers(host: str | None) -> None:
    assert names_no_stranger(host)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:9464", "localhost.evil.example", "127.0.0.1.x", "[", ":1"]
)
def test_any_other_name_may_be_a_strangers(host: str) -> None:
    assert not names_no_stranger(host)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_it_serves_where_its_address_says_until_it_is_closed(host: str) -> None:
    try:
        listener = Listener((host, 0), Handler)
    except OSError as error:  # a machine without IPv6
        pytest.skip(f"cannot listen on {host}: {error.strerror}")
    listener.start("tooltel-test")
    asked = HTTPConnection(urlsplit(listener.url).netloc, timeout=30)
    asked.request("GET", "/")
    assert asked.getresponse().status == 204
    asked.close()
    listener.close()
    assert "tooltel-test" not in {thread.name for thread in threading.enumerate()}
    with pytest.raises(ConnectionRefusedError):
        asked.request("GET", "/")
