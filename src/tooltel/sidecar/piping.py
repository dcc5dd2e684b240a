"""Reading pipes: standard input, or the two outputs of a child whose words pass through untouched."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from tooltel.sidecar.streams import Stream

if TYPE_CHECKING:
    from types import FrameType

    from tooltel.sidecar.engine import Engine
    from tooltel.sidecar.reading import Limits

_CHUNK: Final = 64 * 1024
_TICK: Final = 0.25  # seconds between turns while nothing comes

# Not those that a terminal handles by itself, nor those that mean this very process.
_FORWARDED: Final = tuple(
    getattr(signal, name)
    for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGCONT", "SIGTSTP")
    if hasattr(signal, name)
)
# A terminal gives these to the whole foreground group: forwarding would make two of one.
_FROM_TERMINAL: Final = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGWINCH)


class Pipe(NamedTuple):
    """A descriptor to read, the stream that counts it, and the descriptor that gets its bytes, or None."""

    fd: int
    stream: Stream
    out: int | None = None


class Pump:
    """Reads pipes until all have ended, passes their bytes on, and turns the engine."""

    def __init__(self, engine: Engine, pipes: Sequence[Pipe], *, goes_on: Callable[[], bool] = lambda: True) -> None:
        self._engine = engine
        self._goes_on = goes_on
        self._selector = selectors.DefaultSelector()
        self._files: list[Pipe] = []  # what select cannot wait for is always ready
        for pipe in pipes:
            try:
                self._selector.register(pipe.fd, selectors.EVENT_READ, pipe)
            except PermissionError:
                self._files.append(pipe)

    @property
    def is_over(self) -> bool:
        """Whether every pipe has ended."""
        return not self._selector.get_map() and not self._files

    def run(self) -> None:
        """Pump until every pipe has ended, or *goes_on* says no."""
        while not self.is_over and self._goes_on():
            self.step(_TICK)

    def step(self, seconds: float) -> bool:
        """Wait at most so long for bytes, and take them. Whether there were any."""
        ready = [key.data for key, _ in self._selector.select(0 if self._files else seconds)] + self._files
        for pipe in ready:
            self._take(pipe)
        if not ready:
            for key in list(self._selector.get_map().values()):
                key.data.stream.let_go()
                self._engine.feed(key.data.stream)
        self._engine.turn()
        return bool(ready)

    def _take(self, pipe: Pipe) -> None:
        data = os.read(pipe.fd, _CHUNK)
        if data and pipe.out is not None and not _write(pipe.out, data):
            self._end(pipe)  # nobody reads: the child finds its pipe broken, as it would without us
            os.close(pipe.fd)
        elif data:
            pipe.stream.write(data)
            self._engine.feed(pipe.stream)
        else:
            self._end(pipe)

    def _end(self, pipe: Pipe) -> None:
        pipe.stream.close()
        self._engine.feed(pipe.stream)
        if pipe in self._files:
            self._files.remove(pipe)
        else:
            self._selector.unregister(pipe.fd)

    def end(self) -> None:
        """Nothing more is read."""
        for pipe in [*self._files, *(key.data for key in list(self._selector.get_map().values()))]:
            self._end(pipe)
        self._selector.close()


def _write(fd: int, data: bytes) -> bool:
    """Pass bytes on; False where their reader has gone."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(fd, rest) :]
        except BrokenPipeError:
            return False
        except BlockingIOError:  # somebody made it so; it is as full as a pipe can be
            selector = selectors.DefaultSelector()
            selector.register(fd, selectors.EVENT_WRITE)
            selector.select()
            selector.close()
    return True


def run_child(engine: Engine, command: Sequence[str], *, limits: Limits) -> int:
    """
    Run *command*, pass its two outputs through, count them, and return the status that a shell would give.

    Signals are forwarded; the child decides when to end. Raises OSError where it cannot be started.
    """
    if sys.stdout is not None:
        sys.stdout.flush()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)  # noqa: S603
    assert child.stdout is not None  # noqa: S101
    assert child.stderr is not None  # noqa: S101
    _forward_to(child)
    pipes = (
        Pipe(child.stdout.fileno(), Stream("stdout", limits=limits), 1),
        Pipe(child.stderr.fileno(), Stream("stderr", limits=limits), 2),
    )
    pump = Pump(engine, pipes, goes_on=lambda: child.poll() is None)
    pump.run()
    while not pump.is_over and pump.step(0):
        pass
    child.wait()
    pump.end()
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


def _forward_to(child: subprocess.Popen[bytes]) -> None:
    has_terminal = os.isatty(0)

    def forward(number: int, _frame: FrameType | None) -> None:
        if not (has_terminal and number in _FROM_TERMINAL) and child.poll() is None:
            child.send_signal(number)

    for number in _FORWARDED:
        signal.signal(number, forward)
