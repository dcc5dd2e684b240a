"""What every HTTP server here has in common: a stranger can neither exhaust it nor make a browser read it."""

from __future__ import annotations

import sys
from http.server import ThreadingHTTPServer
from ipaddress import ip_address
from socket import AF_INET, AF_INET6
from threading import BoundedSemaphore, Thread
from typing import Any, Final
from urllib.parse import urlsplit

MOST_CONNECTIONS: Final = 64  # at once; each takes a thread and a descriptor, and the files that we read need some, too


class Listener(ThreadingHTTPServer):
    """
    Serves at most MOST_CONNECTIONS at once, and closes further ones at once; on IPv6 where its host is such an address.

    It listens from the beginning, and serves from `start` to `close`, in a thread of its own.
    """

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = MOST_CONNECTIONS

    def __init__(self, address: tuple[str, int], handler: Any) -> None:
        self._free = BoundedSemaphore(MOST_CONNECTIONS)
        self.address_family = AF_INET6 if ":" in address[0] else AF_INET
        super().__init__(address, handler)
        host = f"[{address[0]}]" if ":" in address[0] else address[0]
        self.url = f"http://{host}:{self.server_port}"  # of the host as it was given

    def start(self, name: str) -> None:
        """Serve, in a thread of that *name*."""
        self._serving = Thread(target=self.serve_forever, name=name, daemon=True)
        self._serving.start()

    def close(self) -> None:
        """Stop serving; returns when the port is free."""
        self.shutdown()
        self.server_close()
        self._serving.join()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve one connection in a thread of its own, where there is room for one."""
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:  # no thread could be started
            self._free.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve one connection, and make room."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say what went wrong, unless a client only went away: that would fill the log with tracebacks."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


def path_and_query(target: str) -> tuple[str, str]:
    """The path of a request and its query, as they are written; both empty where it is no address at all."""
    try:
        parts = urlsplit(target)
    except ValueError:  # as of an unclosed bracket
        return "", ""
    return parts.path, parts.query


def is_loopback(address: str) -> bool:
    """Whether an address is the machine's own, also as IPv6 writes one of IPv4."""
    found = ip_address(address.partition("%")[0])
    mapped = getattr(found, "ipv4_mapped", None)
    return (found if mapped is None else mapped).is_loopback


def names_no_stranger(host: str | None) -> bool:
    """
    Whether a `Host` header holds an address or localhost, or there is none.

    A page of a stranger's can let its own name lead to this machine, and then have a browser on it read what is
    for the machine only. It cannot do without that name.
    """
    if not host:
        return True
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or name.endswith(".localhost") or bool(ip_address(name))
    except ValueError:
        return False
