"""
Server processes that never outlive this one.

They are ended when their context ends, also by an exception or a signal. On Linux the kernel ends them as well when
this process is killed outright.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

from tooltel.errors import TooltelError
from tooltel.text import clean

PATIENCE: Final = 5.0  # seconds between asking a server to end and ending it
PORT_TAKEN: Final = "address already in use"

_POLL: Final = 0.02  # seconds between two questions whether a server is ready: it cannot tell by itself
_LOG_LINES: Final = 12

# Runs between fork and exec of the server, as a program of its own: code in a forked copy of a process with threads
# may deadlock. 1 is PR_SET_PDEATHSIG; a parent that has died before is noticed by its number.
_DIE_WITH_PARENT: Final = (
    "import ctypes, os, signal, sys\n"
    "ctypes.CDLL(None).prctl(1, signal.SIGKILL)\n"
    "os.getppid() == int(sys.argv[1]) or sys.exit(1)\n"
    "os.execv(sys.argv[2], sys.argv[2:])\n"
)


class ServerError(TooltelError, RuntimeError):
    """A server did not start, or ended by itself; the message ends with what it said last."""


class Child:
    """
    One server: started by entering the context, ended by leaving it.

    Its output goes to *log*; *ready* is the address that answers 200 once it works.
    """

    def __init__(self, name: str, command: Sequence[str | Path], *, log: Path, ready: str) -> None:
        self.name = name
        self._ready = ready
        self._command = [str(part) for part in command]
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        with self._log.open("wb") as output:
            self._process = subprocess.Popen(  # noqa: S603 - a server that find_binaries() has found
                _bound(self._command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C in a terminal is for us; we end them in order
            )
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    @property
    def pid(self) -> int | None:
        """The process' number, None before it is started."""
        return self._process.pid if self._process else None

    @property
    def log(self) -> str:
        """What the server has said."""
        return self._log.read_text(encoding="utf-8", errors="replace") if self._log.exists() else ""

    def demand_alive(self) -> None:
        """Raise ServerError when the server has ended."""
        if self._process is None or self._process.poll() is not None:
            code = self._process.returncode if self._process else "none"
            raise ServerError(f"{self.name} ended (code {code}); it said last:\n{self.last_words()}")

    def wait_until_ready(self, *, seconds: float) -> None:
        """Wait until it works; raises ServerError when it ends instead, or after *seconds*."""
        give_up = time.monotonic() + seconds
        while not _answers(self._ready):
            self.demand_alive()
            if time.monotonic() > give_up:
                raise ServerError(f"{self.name} was not ready after {seconds:g} s; it said last:\n{self.last_words()}")
            time.sleep(_POLL)
        self.demand_alive()  # it may be somebody else who answers at its port

    def reload(self) -> None:
        """Ask it to read its configuration again."""
        if self._process is not None:
            self._process.send_signal(signal.SIGHUP)

    def last_words(self) -> str:
        """The end of what the server has said, indented."""
        return "\n".join(f"  {clean(line, limit=300)}" for line in self.log.splitlines()[-_LOG_LINES:])


def _bound(command: Sequence[str]) -> list[str]:
    if sys.platform != "linux":
        return list(command)
    import os

    return [sys.executable, "-I", "-S", "-c", _DIE_WITH_PARENT, str(os.getpid()), *command]


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=1) as answer:  # noqa: S310 - a server of ours on loopback
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
