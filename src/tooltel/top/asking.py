"""
Asking over HTTP: one answer, or one sentence that says why there is none and what to do next.

Passwords in a URL are sent as they are meant to be, to that host only, and are shown to nobody.
"""

from __future__ import annotations

import base64
import http.client
import socket
import ssl
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import SplitResult, unquote, urlencode, urlsplit

from tooltel._version import version
from tooltel.errors import NoMetricsError
from tooltel.text import clean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TIMEOUT: Final = 5.0  # seconds
LARGEST: Final = 256 << 20  # bytes of an answer: a thousand tools take 6 MB
_CHUNK: Final = 1 << 20
_SHOWN: Final = 200  # characters of a URL, of what a server says


class Answer(NamedTuple):
    """What a server answered, whatever its status."""

    status: int
    content_type: str
    text: str


@dataclass(frozen=True, slots=True)
class Address:
    """
    Where to ask. `base` is a URL without user, query and fragment; people see the same, or `shown` in its place.

    `authorization` is a header's value, or empty.
    """

    base: str
    query: str = ""
    authorization: str = ""
    shown: str = ""

    @property
    def title(self) -> str:
        """The URL, safe to be printed."""
        return clean(self.shown or self.base, limit=_SHOWN)

    @property
    def path(self) -> str:
        """The path of the URL, without a slash at its end."""
        return urlsplit(self.base).path.rstrip("/")

    def below(self, path: str, *, shown: str = "") -> Address:
        """The address with *path* appended to its own."""
        return Address(self.base.rstrip("/") + path, "", self.authorization, shown)


def read_address(url: str, *, token: str = "") -> Address:
    """
    Read a *url* as people write one: `host:port` is enough. Raises NoMetricsError for what can be no address.

    A user and password in it become an `Authorization` header, as does a *token*.
    """
    url = url.strip()
    if url.isdecimal():
        raise NoMetricsError(f"{clean(url)} is no URL: for a port of this machine, give 127.0.0.1:{clean(url)}")
    parts = _split(url)
    if parts.scheme not in {"http", "https"}:
        raise NoMetricsError(f"cannot ask over {clean(parts.scheme)}: give a URL that begins with http:// or https://")
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    port = f":{parts.port}" if parts.port is not None else ""
    authorization = f"Bearer {token}" if token else ""
    if parts.username is not None and not token:
        secret = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = "Basic " + base64.b64encode(secret.encode()).decode("ascii")
    return Address(f"{parts.scheme}://{host}{port}{parts.path}", parts.query, authorization)


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.hostname and parts.port != 0 and url.isprintable() and " " not in url:
            return parts
    except ValueError:  # a port that is no number, a bracket without its pair
        pass
    # What was given may hold a password: it is not repeated.
    raise NoMetricsError("that is no URL: give one such as http://127.0.0.1:9464/metrics or http://prometheus:9090")


def ask(
    address: Address,
    parameters: Mapping[str, str | Sequence[str]] | None = None,
    *,
    accept: str = "*/*",
    timeout: float = TIMEOUT,
) -> Answer:
    """
    Send one GET with *parameters* beside the address's own query, and give the answer of any status.

    Raises NoMetricsError when none comes whole within *timeout* seconds.
    """
    query = "&".join(part for part in (address.query, urlencode(parameters or {}, doseq=True)) if part)
    request = urllib.request.Request(f"{address.base}?{query}" if query else address.base)  # noqa: S310 - http(s) only
    request.add_header("Accept", accept)
    request.add_header("User-Agent", f"tooltel/{version}")
    if address.authorization:
        # Never copied into a redirected request; the handler below repeats it where the host is still the same.
        request.add_unredirected_header("Authorization", address.authorization)
    until = time.monotonic() + timeout
    try:
        with _open(address, request, timeout) as answer:
            return _read(answer, address, until)
    except NoMetricsError:
        raise
    except (OSError, http.client.HTTPException) as error:
        raise NoMetricsError(_explain(error, address, timeout)) from None


def _open(address: Address, request: urllib.request.Request, timeout: float) -> Any:
    try:
        return _opener(address).open(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        return error  # which is an answer, too


def _read(answer: Any, address: Address, until: float) -> Answer:
    body = bytearray()
    # read1: whatever is there, so that a server that drips cannot outwait the deadline.
    while chunk := answer.read1(_CHUNK):
        body += chunk
        if len(body) > LARGEST:
            raise NoMetricsError(f"{address.title} answers with more than {LARGEST >> 20} MiB: is it the right URL?")
        if time.monotonic() > until:
            raise TimeoutError
    if answer.length:  # of what was announced, this much did not come
        raise http.client.IncompleteRead(b"", answer.length)
    return Answer(answer.status, answer.headers.get("Content-Type", ""), body.decode("utf-8", errors="replace"))


class _SameHost(urllib.request.HTTPRedirectHandler):
    """Follows redirects, and tells who we are only to the host that we were sent to."""

    def redirect_request(self, req: urllib.request.Request, *rest: Any) -> urllib.request.Request | None:
        again = super().redirect_request(req, *rest)
        authorization = req.unredirected_hdrs.get("Authorization")
        if again is not None and authorization and _origin(again) == _origin(req):
            again.add_unredirected_header("Authorization", authorization)
        return again


def _origin(request: urllib.request.Request) -> tuple[str, str]:
    return request.type, request.host


def _opener(address: Address) -> urllib.request.OpenerDirector:
    # No proxy reaches what listens on this machine alone.
    proxies = [urllib.request.ProxyHandler({})] if _is_local(urlsplit(address.base).hostname or "") else []
    return urllib.request.build_opener(_SameHost, *proxies)


def _is_local(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _explain(error: Exception, address: Address, timeout: float) -> str:
    """Why there is no answer, and what to do about it."""
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    where = address.title
    if isinstance(reason, TimeoutError):
        return f"no answer from {where} within {timeout:g} s: is it the right port? --timeout waits longer"
    if isinstance(reason, ConnectionRefusedError):
        return (
            f"nothing listens at {where}: start what should (an agent serves with tel.serve(port=9464)), "
            "or give the URL of its /metrics or of Prometheus"
        )
    if isinstance(reason, socket.gaierror):
        return f"{where}: there is no such host: check the name"
    if isinstance(reason, ssl.SSLCertVerificationError):
        return f"{where}: its certificate is not trusted: name your authority's file in SSL_CERT_FILE"
    if isinstance(reason, ssl.SSLError):
        return f"{where} does not speak TLS: try http:// in place of https://"
    if isinstance(reason, (http.client.HTTPException, ConnectionError, UnicodeError)):
        return f"{where} does not answer as HTTP does: is it the right port, or does it want https://?"
    said = getattr(reason, "strerror", None) or reason
    return f"{where} cannot be reached: {clean(said, limit=_SHOWN)}: check the address and the network"
