"""A pager: an HTTP server on loopback that writes down every notification of an Alertmanager."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any, Final, Self, TypeVar
from urllib.parse import quote, unquote

from tooltel.listening import Listener

Found = TypeVar("Found")

LARGEST: Final = 8 * 2**20  # bytes of a notification


@dataclass(frozen=True, slots=True)
class Notification:
    """
    One message to one receiver.

    `at` is `time.monotonic()` when it arrived. `status` is firing while one of its alerts fires, else resolved;
    `alerts` are Alertmanager's own, each with `status`, `labels` and `annotations`.
    """

    receiver: str
    at: float
    status: str
    alerts: tuple[Mapping[str, Any], ...]

    def names(self, label: str) -> set[str]:
        """The values of *label* among its alerts; empty where an alert lacks it."""
        return {alert["labels"].get(label, "") for alert in self.alerts}


class Pager:
    """
    Receives webhooks on a free port while its context is open, and remembers them in the order of arrival.

    Threads may wait for a notification with `wait_for`; nothing here polls.
    """

    def __init__(self) -> None:
        self._arrived = threading.Condition()
        self._notifications: list[Notification] = []
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.pager = self

    def __enter__(self) -> Self:
        self._server.start("tooltel-pager")
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    @property
    def notifications(self) -> tuple[Notification, ...]:
        """Everything that has arrived."""
        with self._arrived:
            return tuple(self._notifications)

    def url(self, receiver: str) -> str:
        """The address to which notifications for *receiver* go."""
        return f"{self._server.url}/{quote(receiver, safe='')}"

    def wait_for(self, look: Callable[[Sequence[Notification]], Found | None], *, seconds: float) -> Found | None:
        """
        Wait until *look* finds something in what has arrived, and give that; None after *seconds*.

        *look* is asked at once and after each arrival, with everything so far. What it gives must be true.
        """
        with self._arrived:
            return self._arrived.wait_for(lambda: look(tuple(self._notifications)), timeout=seconds) or None

    def take(self, notification: Notification) -> None:
        """Write *notification* down and wake whoever waits."""
        with self._arrived:
            self._notifications.append(notification)
            self._arrived.notify_all()


class _Server(Listener):
    pager: Pager


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = 10  # seconds that a connection may be silent; Alertmanager keeps its open

    def do_POST(self) -> None:
        at = time.monotonic()
        size = int(self.headers.get("Content-Length") or 0)
        if not 0 < size <= LARGEST:
            self.send_error(413)
            return
        try:
            message = json.loads(self.rfile.read(size))
            alerts = tuple(message["alerts"])
            taken = Notification(unquote(self.path.removeprefix("/")), at, message["status"], alerts)
        except (ValueError, TypeError, KeyError):
            self.send_error(400)
            return
        self.server.pager.take(taken)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class' name
        """Say nothing: what arrived is in the pager."""
