"""
Forks: no thread may be inside prometheus_client's files while the process is copied.

Where processes share values, one lock guards them all, and a child that was forked while another thread held it
would wait for ever at its first call. So a fork waits for the few microseconds that a recording takes.
"""

from __future__ import annotations

import os
import threading
from functools import cache
from typing import Final

GATE: Final = threading.RLock()  # held while shared values move; reentrant, as a signal handler may record, too


@cache
def wait_at_forks() -> None:
    """Let every fork of this process wait for the gate, from now on."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=GATE.acquire, after_in_parent=GATE.release, after_in_child=GATE.release)
