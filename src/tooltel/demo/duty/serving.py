"""The pager's web server: notifications come in, the page and the runbooks go out."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Final, Self
from urllib.parse import quote, unquote

from tooltel.demo.duty.page import POLICY, page_of
from tooltel.demo.duty.rota import Rota
from tooltel.listening import Listener, is_loopback, names_no_stranger, path_and_query

PORT: Final = 9099
NOTIFY: Final = "/notify/"  # and the receiver's name
RUNBOOKS: Final = "/runbooks"
HEALTH: Final = "/healthz"
LARGEST: Final = 2**20  # bytes of a notification

_INDEX: Final = "README.md"
_RUNBOOK: Final = re.compile(r"[A-Za-z0-9_]{1,100}\.md")  # no separator: a name stays in its folder


class PagerPage:
    """
    Serves while its context is open, on loopback unless told otherwise; port 0 takes any that is free.

    *runbooks* is a folder of Markdown files to be shown as they are. Raises OSError for a port in use.
    """

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = PORT,
        runbooks: Path | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.rota = Rota()
        self.runbooks = runbooks
        self.clock = clock
        try:
            self._server = _Server((host, port), _Handler)
        except OSError as error:
            said = (
                f"cannot show pages on {host}:{port}: {error.strerror or error}; give another port, or 0 for a free one"
            )
            raise OSError(error.errno, said) from error
        self._server.page = self

    def __enter__(self) -> Self:
        self._server.start("tooltel-pager-page")
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"{self._server.url}/"

    def webhook(self, receiver: str) -> str:
        """The address to which an Alertmanager sends what *receiver* is to be told."""
        return f"{self._server.url}{NOTIFY}{quote(receiver, safe='')}"


class _Server(Listener):
    page: PagerPage


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = 10  # seconds that a connection may be silent
    server_version = "tooltel"
    sys_version = ""

    def do_GET(self) -> None:
        path = unquote(path_and_query(self.path)[0])
        if self._is_for_others():
            self._refuse(HTTPStatus.FORBIDDEN, f"ask for {self.server.page.url}")
        elif path == "/":
            page = self.server.page
            self._answer(page_of(page.rota.notices(), page.clock()), "text/html")
        elif path == HEALTH:
            self._answer("ok\n")
        elif path == RUNBOOKS or path.startswith(RUNBOOKS + "/"):
            self._show_runbook(path.removeprefix(RUNBOOKS).removeprefix("/") or _INDEX)
        else:
            self._answer("nothing here; the page is at /\n", status=HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:
        path = path_and_query(self.path)[0]
        if self._is_for_others():
            self._refuse(HTTPStatus.FORBIDDEN, f"send to {self.server.page.url}")
            return
        if not path.startswith(NOTIFY) or path == NOTIFY:
            self._refuse(HTTPStatus.NOT_FOUND, f"send notifications to {NOTIFY}RECEIVER")
            return
        # A page of somebody else's cannot make a browser send this type without asking first.
        if self.headers.get_content_type() != "application/json":
            self._refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send application/json, as Alertmanager does")
            return
        size = self.headers.get("Content-Length", "")
        if not size.isdecimal() or len(size) > len(str(LARGEST)) or not 0 < int(size) <= LARGEST:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a notification has 1 to {LARGEST} bytes")
            return
        try:
            message = json.loads(self.rfile.read(int(size)))
            if not isinstance(message, dict):
                raise ValueError("a notification is an object")  # noqa: TRY004 - one kind of mistake for the caller
            taken = self.server.page.rota.take(unquote(path.removeprefix(NOTIFY)), message, self.server.page.clock())
        except (ValueError, RecursionError) as error:
            self._refuse(HTTPStatus.BAD_REQUEST, f"no notification of Alertmanager's: {type(error).__name__}")
            return
        self._answer(f"noted {taken}\n")

    def _is_for_others(self) -> bool:
        """Whether a page of a stranger's, in a browser on this machine, asks for what only the machine may see."""
        bound = str(self.server.server_address[0])
        return is_loopback(bound) and not names_no_stranger(self.headers.get("Host"))

    def _show_runbook(self, name: str) -> None:
        folder = self.server.page.runbooks
        path = folder / name if folder is not None and _RUNBOOK.fullmatch(name) else None
        if path is None or not path.is_file():
            self._answer("no such runbook\n", status=HTTPStatus.NOT_FOUND)
        else:
            self._answer(path.read_text("utf-8"))

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        # What is not read would be taken for the next request of the connection.
        self.close_connection = True
        self._answer(why + "\n", status=status)

    def _answer(self, text: str, kind: str = "text/plain", *, status: HTTPStatus = HTTPStatus.OK) -> None:
        body = text.encode("utf-8", "backslashreplace")
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class' name
        """Say nothing: what arrived is on the page."""
