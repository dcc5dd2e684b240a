"""The command line as a process of its own, as a shell starts it."""

from __future__ import annotations

import os
import pty
import resource
import select
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

PROGRAM = Path(sys.executable).parent / "tooltel"
PATIENCE = 60  # seconds for something that takes a fraction of one
COLOR = ("NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS", "LINES", "CLICOLOR", "CLICOLOR_FORCE")


def environment(given: Mapping[str, str] | None = None) -> dict[str, str]:
    """The test's own environment, without what a developer's terminal wants."""
    return {**{name: value for name, value in os.environ.items() if name not in COLOR}, **(given or {})}


def tooltel(
    *arguments: str, env: Mapping[str, str] | None = None, cwd: Path | None = None, stdout: Any = subprocess.PIPE
) -> subprocess.CompletedProcess[str]:
    """Run the verb and wait for its end."""
    return subprocess.run(
        [PROGRAM, *arguments], env=environment(env), cwd=cwd, stdout=stdout, stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip


def processor_time() -> float:
    """Seconds of a processor that ended children took: unlike a clock's, they are not those of other work."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@dataclass
class Site:
    """
    What a server of a test's own answers: status, type and body by path, or for every path.

    With `go`, it answers only once that is set; `asked` is set by the first request, whose lines are in `requests`.
    """

    answers: Mapping[str, tuple[int, str, bytes]]
    go: threading.Event | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    asked: threading.Event = field(default_factory=threading.Event)
    requests: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    url: str = ""


class _Quiet(ThreadingHTTPServer):
    """One whose clients may go, or speak another protocol, without a word of it on standard error."""

    def handle_error(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def serving(site: Site, *, tls: ssl.SSLContext | None = None) -> Iterator[Site]:
    """Serve *site* on a free port of loopback until left."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.requests.append((self.path, dict(self.headers)))
            site.asked.set()
            if site.go is not None:
                site.go.wait(PATIENCE)
            status, kind, body = site.answers.get(self.path.partition("?")[0]) or site.answers.get(
                "*", (404, "text/plain", b"nothing here\n")
            )
            self.send_response(status)
            for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **site.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with _Quiet(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        site.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield site
        finally:
            if site.go is not None:
                site.go.set()
            server.shutdown()
            thread.join()


@contextmanager
def taken_port() -> Iterator[int]:
    """A port of loopback that somebody listens on, and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


class Terminal:
    """A process on a terminal of its own; whatever it shows adds up in `shown`."""

    def __init__(self, *arguments: str, env: Mapping[str, str] | None = None, only_errors: bool = False) -> None:
        self.shown = ""
        self._own, theirs = pty.openpty()
        streams: dict[str, Any] = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
        if only_errors:
            streams |= {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen([PROGRAM, *arguments], env=environment(env), start_new_session=True, **streams)
        os.close(theirs)

    def wait_for(self, words: str) -> None:
        """Read until *words* were shown."""
        self._read(lambda: words in self.shown)
        assert words in self.shown, self.shown

    def press(self, keys: str) -> None:
        """Type *keys*."""
        os.write(self._own, keys.encode())

    def wait(self) -> int:
        """Read to the end, and give the exit code."""
        self._read(lambda: False)
        return self.process.wait(PATIENCE)

    def _read(self, is_enough: Callable[[], bool]) -> None:
        while not is_enough():
            if not select.select([self._own], [], [], PATIENCE)[0]:
                raise TimeoutError(self.shown)
            try:
                chunk = os.read(self._own, 65536)
            except OSError:  # Linux tells the other end's closing so
                return
            if not chunk:
                return
            self.shown += chunk.decode("utf-8", errors="replace")

    def close(self) -> None:
        """End what still runs."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        os.close(self._own)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
