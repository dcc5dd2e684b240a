"""What tests run in processes of their own: an agent that talks, and a logger that rotates."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from pathlib import Path
from types import FrameType


def talk() -> int:
    """Write to both outputs, unusual bytes too, and end with status 7."""
    sys.stdout.buffer.write(b"12:00:00 WARN a.B - Tool not found: old_1\n\xff\xfe no text\nunended")
    sys.stderr.buffer.write(b"12:00:00 WARN a.B - Tool not found: old_2\r\n")
    return 7


def wait_for_signals() -> int:
    """Say each signal that comes, until SIGTERM, and end with status 3."""
    stopped: list[int] = []

    def said(number: int, _frame: FrameType | None) -> None:
        print(f"got {signal.Signals(number).name}", flush=True)  # noqa: T201 - its part
        if number == signal.SIGTERM:
            stopped.append(number)

    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP):
        signal.signal(number, said)
    print("ready", flush=True)  # noqa: T201 - its part
    while not stopped:
        signal.pause()
    return 3


def rotate_slowly(folder: str, lines: int) -> int:
    """
    Write *lines* lines to app.log in about a minute and rotate every 50: by renaming, or by copying and truncating.

    Every third renaming is noticed late, as by a logger that looks at its name now and then.
    """
    log = Path(folder) / "app.log"
    file = log.open("ab", buffering=0)
    for number in range(lines):
        file.write(b"2026-11-30 12:00:00,000 WARN a.B - step %d\n" % number)
        file.write(b"2026-11-30 12:00:00,000 WARN a.B - Tool not found: old_%d\n" % number)
        if number % 50 == 49:
            for old in range(lines // 50, 0, -1):
                if (log.parent / f"app.log.{old}").exists():
                    (log.parent / f"app.log.{old}").rename(log.parent / f"app.log.{old + 1}")
            if number % 100 == 99:
                shutil.copyfile(log, log.parent / "app.log.1")
                file.truncate(0)
            else:
                log.rename(log.parent / "app.log.1")
                if number % 150 == 149:
                    time.sleep(0.3)
                    file.write(b"2026-11-30 12:00:00,000 WARN a.B - written late %d\n" % number)
                file.close()
                file = log.open("ab", buffering=0)
        time.sleep(0.03)
    file.close()
    return 0


if __name__ == "__main__":
    name, *arguments = sys.argv[1:]
    if name == "rotate_slowly":
        code = rotate_slowly(arguments[0], int(arguments[1]))
    else:
        code = {"talk": talk, "wait_for_signals": wait_for_signals}[name]()
    sys.stdout.flush()
    os._exit(code)
