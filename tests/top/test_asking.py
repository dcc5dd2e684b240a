"""A URL is asked once, as people write it; whatever goes wrong is one sentence, and no password is in it."""

from __future__ import annotations

import base64
import socket
import ssl
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.processes import Site, serving, taken_port
from tooltel.errors import NoMetricsError
from tooltel.top import asking
from tooltel.top.asking import ask, read_address

if TYPE_CHECKING:
    from collections.abc import Iterator

SECRET = "s3cret-pass"
OK = (200, "text/plain", b"fine\n")


@pytest.mark.parametrize(
    ("url", "base", "query"),
    [
        ("127.0.0.1:9464", "http://127.0.0.1:9464", ""),
        ("agent", "http://agent", ""),
        ("https://h/metrics?a=b", "https://h/metrics", "a=b"),
        ("  http://h:1/p/  ", "http://h:1/p/", ""),
        ("http://[::1]:9090/x", "http://[::1]:9090/x", ""),
        ("http://u:p@h:1/m#frag", "http://h:1/m", ""),
    ],
)
def test_a_url_is_read_as_people_write_it(url: str, base: str, query: str) -> None:
    address = read_address(url)
    assert (address.base, address.query, address.title) == (base, query, base)


@pytest.mark.parametrize(
    "url",
    ["", "http://", "http://[::1", "h:99999", "h:port", "http://a b/", "http://h:0/",
     "http://h/\nx", "http://\x1b/", "file:///etc/passwd"]
)  # fmt: skip
def test_what_is_no_url_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(NoMetricsError, match="that is no URL: give one such as") as refused:
        read_address(url.replace("h", f"u:{SECRET}@h", 1) if url == "h:99999" else url)
    assert SECRET not in str(refused.value)


def test_a_port_alone_is_told_how_to_be_one() -> None:
    with pytest.raises(NoMetricsError, match=r"9464 is no URL: for a port of this machine, give 127\.0\.0\.1:9464$"):
        read_address(" 9464 ")


@pytest.mark.parametrize("url", ["file://h/etc/passwd", "ftp://h/", "gopher://h"])
def test_nothing_but_http_is_asked(url: str) -> None:
    with pytest.raises(NoMetricsError, match=r"^cannot ask over \w+: give a URL that begins with http"):
        read_address(url)


def test_an_answer_of_any_status_is_one() -> None:
    site = Site({"/": OK, "/gone": (410, "text/html", b"gone")})
    with serving(site):
        assert ask(read_address(f"{site.url}/"), {"a": "b c", "n[]": ("x", "y")}) == (200, "text/plain", "fine\n")
        assert ask(read_address(f"{site.url}/gone?q=1"), {"a": "b"}) == (410, "text/html", "gone")
    assert [path for path, _ in site.requests] == ["/?a=b+c&n%5B%5D=x&n%5B%5D=y", "/gone?q=1&a=b"]


def test_a_user_in_the_url_is_who_asks_and_is_never_shown() -> None:
    site = Site({"/": OK})
    with serving(site):
        address = read_address(site.url.replace("//", f"//me%40here:{SECRET}@") + "/")
        ask(address)
        assert address.title == f"{site.url}/"
        ((_, headers),) = site.requests
        assert base64.b64decode(headers["Authorization"].removeprefix("Basic ")).decode() == f"me@here:{SECRET}"
    assert SECRET not in repr(address.base)
    with pytest.raises(NoMetricsError) as refused:
        ask(address)
    assert SECRET not in str(refused.value)


def test_a_token_is_sent_as_one() -> None:
    site = Site({"/": OK})
    with serving(site):
        ask(read_address(f"{site.url}/", token=SECRET))
    assert site.requests[0][1]["Authorization"] == f"Bearer {SECRET}"


@pytest.mark.parametrize("same", [True, False])
def test_who_asks_is_told_to_another_host_by_no_redirect(same: bool) -> None:
    there = Site({"*": OK})
    with serving(there):
        here = Site({"/old": (302, "text/plain", b""), "/new": OK})
        with serving(here):
            here.headers = {"Location": "/new" if same else f"{there.url}/new"}
            assert ask(read_address(f"{here.url}/old", token=SECRET)).text == "fine\n"
    _, headers = (here.requests if same else there.requests)[-1]
    assert ("Authorization" in headers) is same


def test_a_proxy_is_not_asked_for_what_is_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    with serving(Site({"*": OK})) as site:
        assert ask(read_address(site.url)).status == 200


# --- what goes wrong -------------------------------------------------------------------------------------


def told(url: str, timeout: float = 5.0) -> str:
    """The sentence of a question that fails."""
    with pytest.raises(NoMetricsError) as refused:
        ask(read_address(url), timeout=timeout)
    return str(refused.value)


def test_nobody_listens() -> None:
    with taken_port() as port:
        pass  # it was free, and is again
    assert told(f"http://u:{SECRET}@127.0.0.1:{port}").startswith(
        f"nothing listens at http://127.0.0.1:{port}: start what should"
    )


def test_there_is_no_such_host() -> None:
    said = told("http://no-such-host.invalid:9464")
    assert said.startswith("http://no-such-host.invalid:9464")
    assert "check the" in said


def test_nobody_answers_in_time() -> None:
    with taken_port() as port:
        said = told(f"127.0.0.1:{port}", timeout=0.05)
    assert said == (
        f"no answer from http://127.0.0.1:{port} within 0.05 s: is it the right port? --timeout waits longer"
    )


@pytest.fixture
def drip() -> Iterator[str]:
    """A server that never ends its answer, and says a little all the time."""
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                try:
                    while not stop.wait(0.01):
                        connection.sendall(b"#\n")
                except OSError:
                    pass  # the other end has had enough

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        stop.set()
        thread.join()


def test_an_answer_that_never_ends_is_none(drip: str) -> None:
    assert told(drip, timeout=0.2).startswith(f"no answer from http://{drip} within 0.2 s")


def test_an_answer_without_bounds_is_none(drip: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "LARGEST", 10)
    assert told(drip).endswith("answers with more than 0 MiB: is it the right URL?")


@pytest.fixture
def blurt(request: pytest.FixtureRequest) -> Iterator[str]:
    """A server that answers every connection with the same bytes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(request.param)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        thread.join()


@pytest.mark.parametrize(
    "blurt", [b"", b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ncut"], indirect=True
)
def test_what_speaks_no_http_is_told_so(blurt: str) -> None:
    assert (
        told(blurt) == f"http://{blurt} does not answer as HTTP does: is it the right port, or does it want https://?"
    )


def test_plain_http_behind_https_is_told_so() -> None:
    with serving(Site({"*": OK})) as site:
        url = site.url.replace("http:", "https:")
        assert told(url) == f"{url} does not speak TLS: try http:// in place of https://"


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate of loopback that nobody vouches for, with its key."""
    path = tmp_path / "both.pem"
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "-", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1"],
        capture_output=True, check=True,
    )  # fmt: skip
    path.write_bytes(made.stdout)
    return path


@pytest.mark.slow
def test_a_certificate_is_checked_and_can_be_vouched_for(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with serving(Site({"*": OK}), tls=context) as site:
        said = told(site.url)
        assert said == f"{site.url}: its certificate is not trusted: name your authority's file in SSL_CERT_FILE"
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert ask(read_address(site.url)).text == "fine\n"
