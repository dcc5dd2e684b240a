"""The sidecar's HTTP: /metrics, /healthz, /readyz, and the last matches for whoever sits on the same machine."""

from __future__ import annotations

import errno
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import parse_qs

from tooltel.listening import Listener, is_loopback, names_no_stranger, path_and_query
from tooltel.sidecar.exposing import Scrape, matches_as_json, readiness_as_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from tooltel.sidecar.engine import Engine

STUCK: Final = 60.0  # seconds without a turn: longer than any one takes

_JSON: Final = "application/json"
_TEXT: Final = "text/plain; charset=utf-8"


class Server:
    """
    A running HTTP server. Close it, or use it as a context manager.

    *monotonic* is the engine's clock. Raises OSError where the address cannot be listened on.
    """

    def __init__(self, engine: Engine, scrape: Scrape, *, host: str, port: int, monotonic: Callable[[], float]) -> None:
        handler = type(
            "Handler", (_Handler,), {"engine": engine, "scrape": scrape, "monotonic": staticmethod(monotonic)}
        )
        try:
            self._server = Listener((host, port), handler)
        except (OSError, OverflowError) as error:
            raise OSError(
                getattr(error, "errno", None) or errno.EINVAL,
                f"cannot listen on {host}:{port}: {getattr(error, 'strerror', None) or error}; "
                "give another --listen HOST:PORT, or stop what listens there",
            ) from error
        self.host = host
        self.port: int = self._server.server_port
        self._server.start("tooltel-http")

    @property
    def url(self) -> str:
        """Where it listens."""
        return self._server.url

    def close(self) -> None:
        """Stop serving; returns when the port is free."""
        self._server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


class _Handler(BaseHTTPRequestHandler):
    engine: Engine
    scrape: Scrape
    monotonic: Callable[[], float]
    timeout = 30  # seconds for a request to arrive: a silent client must not hold a thread for ever
    server_version = "tooltel"
    sys_version = ""

    def do_GET(self) -> None:
        """Answer a request; HEAD gets the same without a body."""
        path, query = path_and_query(self.path)
        routes = {
            "/metrics": lambda: self._metrics(query),
            "/healthz": self._health,
            "/readyz": self._ready,
            "/matches": self._matches,
        }
        route = routes.get(path)
        if route is None:
            self._answer(404, _TEXT, b"there are /metrics, /healthz, /readyz and /matches\n")
        else:
            route()

    do_HEAD = do_GET  # noqa: N815 - http.server's name

    def _metrics(self, query: str) -> None:
        if not self.engine.values_may_be_seen:
            self._answer(503, _TEXT, b"reading again what the lost generation of the state had read\n")
            return
        from prometheus_client.exposition import choose_encoder

        try:
            encode, content_type = choose_encoder(self.headers.get("Accept", ""))
        except Exception:  # noqa: BLE001 - of a version that is no number: what nobody can read is no wish
            encode, content_type = choose_encoder("")
        names = parse_qs(query).get("name[]")
        registry: Any = self.scrape.restricted_registry(names) if names else self.scrape
        self._answer(200, content_type, encode(registry))

    def _health(self) -> None:
        silent = self.monotonic() - self.engine.beat
        if silent < STUCK:
            self._answer(200, _TEXT, b"ok\n")
        else:
            self._answer(503, _TEXT, f"no turn for {silent:.0f} seconds\n".encode())

    def _ready(self) -> None:
        is_ready, body = readiness_as_json(self.engine)
        self._answer(200 if is_ready else 503, _JSON, body)

    def _matches(self) -> None:
        # What a model asked for is nobody's business on the network.
        if is_loopback(self.client_address[0]) and names_no_stranger(self.headers.get("Host")):
            self._answer(200, _JSON, matches_as_json(self.engine))
        else:
            self._answer(403, _TEXT, b"only from the machine itself\n")

    def _answer(self, status: int, content_type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_args: Any) -> None:
        """Scrapes are no news."""
