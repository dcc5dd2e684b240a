"""A scrape over HTTP, WSGI and ASGI: what it answers, where it listens, and that it lets go of its port."""

from __future__ import annotations

import asyncio
import gzip
import socket
import threading
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from wsgiref.util import setup_testing_defaults

import pytest

from tests.signals.desk import Desk, raising
from tests.signals.scrape import OPENMETRICS, TEXT, fetch, parse, read_openmetrics, total
from tooltel.testing import capture

CALLS = "tooltel_tool_calls_total"


@pytest.fixture
def desk() -> Desk:
    desk = Desk()
    desk.act("kb_search")
    desk.act("order_lookup", raising(OSError()))
    return desk


def test_a_scrape_answers_with_the_text_format(desk: Desk) -> None:
    with desk.tel.serve(port=0) as exposition:
        assert exposition.url == f"http://127.0.0.1:{exposition.port}/metrics"
        body, headers = fetch(exposition.url)
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert total(parse(body.decode()), CALLS, tool="kb_search", outcome="ok") == 1


@pytest.mark.parametrize(
    "accept",
    [
        (
            "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
            "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
        ),
        (
            "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
            "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
            "text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
        ),
    ],
    ids=["Prometheus 2", "Prometheus 3"],
)
def test_openmetrics_is_answered_to_those_who_ask_for_it(desk: Desk, accept: str) -> None:
    """As Prometheus asks: the best format first, with weights."""
    with desk.tel.serve(port=0) as exposition:
        body, headers = fetch(exposition.url, accept)
    assert headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
    assert body.endswith(b"# EOF\n")
    assert list(read_openmetrics(body.decode()))


@pytest.mark.parametrize("accept", ["*/*", "", "image/png", "text/plain", TEXT, "\xff;;;=,"])
def test_any_other_wish_gets_the_text_format(desk: Desk, accept: str) -> None:
    with desk.tel.serve(port=0) as exposition:
        body, headers = fetch(exposition.url, accept)
    assert headers["Content-Type"].startswith("text/plain")
    assert parse(body.decode())


def test_a_scrape_is_compressed_for_those_who_accept_it(desk: Desk) -> None:
    with desk.tel.serve(port=0) as exposition:
        packed, headers = fetch(exposition.url, **{"Accept-Encoding": "gzip"})
        plain, plain_headers = fetch(exposition.url)
    assert headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in plain_headers
    assert len(packed) < len(plain) / 3
    assert parse(gzip.decompress(packed).decode()) == parse(plain.decode())


def test_names_restrict_a_scrape_to_their_series(desk: Desk) -> None:
    with desk.tel.serve(port=0) as exposition:
        query = f"{exposition.url}?name[]={CALLS}&name[]=tooltel_build_info&name[]=nonsense"
        found = parse(fetch(query)[0].decode())
        whole = parse(fetch(exposition.url)[0].decode())
    assert found == {key: value for key, value in whole.items() if key[0] in (CALLS, "tooltel_build_info")}


def test_a_name_that_nothing_has_gives_an_empty_scrape(desk: Desk) -> None:
    with desk.tel.serve(port=0) as exposition:
        assert parse(fetch(f"{exposition.url}?name[]=nonsense")[0].decode()) == {}


def test_a_restricted_scrape_in_openmetrics_is_valid_too(desk: Desk) -> None:
    with desk.tel.serve(port=0) as exposition:
        query = f"{exposition.url}?name[]={CALLS}"
        (family,) = read_openmetrics(fetch(query, OPENMETRICS)[0].decode())
    assert (family.name, family.type) == ("tooltel_tool_calls", "counter")


# --- where it listens ---


def test_only_this_machine_is_served_unless_asked_otherwise(desk: Desk) -> None:
    with desk.tel.serve(port=0) as exposition:
        assert exposition.host == "127.0.0.1"
        assert exposition._server.socket.getsockname()[0] == "127.0.0.1"


def test_another_address_is_served_when_asked_for(desk: Desk) -> None:
    with desk.tel.serve(port=0, host="127.0.0.2") as exposition:
        assert fetch(exposition.url)[0]
        with pytest.raises(urllib.error.URLError):
            fetch(f"http://127.0.0.1:{exposition.port}/metrics")


def test_two_servers_of_one_process_have_ports_of_their_own(desk: Desk) -> None:
    with desk.tel.serve(port=0) as one, desk.tel.serve(port=0) as two:
        assert one.port != two.port
        assert fetch(one.url)[0]
        assert fetch(two.url)[0]


def test_a_port_that_is_taken_is_an_error_that_says_so_and_what_to_do(desk: Desk) -> None:
    with desk.tel.serve(port=0) as exposition:
        with pytest.raises(OSError, match=rf"127\.0\.0\.1:{exposition.port}.*another port \(0 takes any") as caught:
            desk.tel.serve(port=exposition.port)
        assert caught.value.errno is not None
        assert fetch(exposition.url)[0], "the first server is not harmed"


@pytest.mark.parametrize(("host", "port"), [("192.0.2.1", 0), ("127.0.0.1", 70000)])
def test_an_address_that_is_no_address_of_ours_is_an_error_that_names_it(desk: Desk, host: str, port: int) -> None:
    with pytest.raises(OSError, match=rf"{host}:{port}"):
        desk.tel.serve(port=port, host=host)


def test_closing_frees_the_port_at_once_and_ends_the_thread(desk: Desk) -> None:
    before = threading.active_count()
    exposition = desk.tel.serve(port=0)
    fetch(exposition.url)
    exposition.close()
    assert threading.active_count() == before
    with pytest.raises(urllib.error.URLError):
        fetch(exposition.url)
    again = desk.tel.serve(port=exposition.port)
    assert again.port == exposition.port
    again.close()


def test_closing_twice_does_nothing_more(desk: Desk) -> None:
    exposition = desk.tel.serve(port=0)
    exposition.close()
    exposition.close()


def test_a_client_that_says_nothing_holds_up_neither_scrapes_nor_closing(desk: Desk) -> None:
    exposition = desk.tel.serve(port=0)
    with socket.create_connection(("127.0.0.1", exposition.port)):
        assert fetch(exposition.url)[0]
        exposition.close()


# --- inside the host's own server ---


def wsgi(app: Any, *, method: str = "GET", path: str = "/metrics", query: str = "", **headers: str) -> Any:
    environ: dict[str, Any] = {"REQUEST_METHOD": method, "PATH_INFO": path, "QUERY_STRING": query}
    setup_testing_defaults(environ)
    environ.update({f"HTTP_{name.upper()}": value for name, value in headers.items()})
    started: list[Any] = []
    body = b"".join(app(environ, lambda status, headers: started.append((status, dict(headers)))))
    return *started[0], body


def test_a_wsgi_app_answers_scrapes(desk: Desk) -> None:
    app = desk.tel.wsgi_app()
    status, headers, body = wsgi(app)
    assert status == "200 OK"
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert total(parse(body.decode()), CALLS, outcome="error") == 1
    assert set(parse(wsgi(app, query=f"name[]={CALLS}")[2].decode())) < set(parse(body.decode()))
    assert gzip.decompress(wsgi(app, accept_encoding="gzip")[2]) == body
    assert wsgi(app, method="POST")[0].startswith("405")


async def asgi(app: Any, *, query: bytes = b"", headers: list[tuple[bytes, bytes]] | None = None) -> Any:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "GET", "path": "/metrics", "query_string": query, "headers": headers or [],
    }  # fmt: skip
    await app(scope, receive, send)
    start, body = sent
    return start["status"], {key.decode(): value.decode() for key, value in start["headers"]}, body["body"]


def test_an_asgi_app_answers_scrapes(desk: Desk) -> None:
    app = desk.tel.asgi_app()
    status, headers, body = asyncio.run(asgi(app))
    assert status == 200
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert total(parse(body.decode()), CALLS, outcome="error") == 1
    restricted = asyncio.run(asgi(app, query=f"name[]={CALLS}".encode()))[2]
    assert set(parse(restricted.decode())) < set(parse(body.decode()))
    accept = [(b"accept", OPENMETRICS.encode()), (b"accept-encoding", b"gzip")]
    _, headers, packed = asyncio.run(asgi(app, headers=accept))
    assert headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed).endswith(b"# EOF\n")


# --- while calls run ---


@pytest.mark.slow
def test_hundreds_of_scrapes_while_calls_run_see_whole_and_growing_counts(desk: Desk) -> None:
    """No scrape fails, none goes back, and the last one has every call."""
    stop = threading.Event()
    made = [0] * 3

    def work(mine: int) -> None:
        tool = desk.tool("kb_search")
        while not stop.is_set() and made[mine] < 1000:
            with desk.tel.session(profile=("support", "sales", "x")[mine]):
                error = type(f"E{made[mine] % 70}", (Exception,), {})
                with pytest.raises(error):
                    tool(raising(error()))
                desk.tel.not_found("zork")
            made[mine] += 1

    with desk.tel.serve(port=0) as exposition:
        workers = [threading.Thread(target=work, args=(mine,)) for mine in range(3)]
        for worker in workers:
            worker.start()

        def scrape(turn: int) -> tuple[int, float]:
            body = fetch(exposition.url, (TEXT, OPENMETRICS)[turn % 2])[0].decode()
            if turn % 2:
                assert body.endswith("# EOF\n")
                return turn, -1.0
            return turn, total(parse(body), CALLS, outcome="error", tool="kb_search")

        try:
            with ThreadPoolExecutor(8) as pool:
                results = list(pool.map(scrape, range(200)))
        finally:
            stop.set()
            for worker in workers:
                worker.join()
        final = parse(fetch(exposition.url)[0].decode())
    assert len(results) == 200
    counts = [count for _, count in results if count >= 0]
    assert max(counts) <= sum(made) == total(final, CALLS, outcome="error", tool="kb_search")
    assert total(final, "tooltel_tool_not_found_total") == sum(made)
    assert total(final, "tooltel_tool_calls_active") == 0


def test_a_scrape_is_no_call_and_changes_nothing(desk: Desk) -> None:
    with capture(desk.tel) as seen, desk.tel.serve(port=0) as exposition:
        for _ in range(3):
            fetch(exposition.url)
        assert seen.increases() == {}
