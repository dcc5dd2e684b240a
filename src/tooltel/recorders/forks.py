"""
Forks: no thread may hold a lock of prometheus_client while the process is copied.

A child that was forked while another thread held such a lock would wait for ever at its first call. So a fork waits
for the few microseconds that it is held. Each metric has one for its children; where processes share values, a
single one guards them all, and every recording takes it. A value of one process alone has a lock too, but the
interpreter switches threads nowhere inside that.
"""

from __future__ import annotations

import os
import threading
from functools import cache
from typing import Final

GATE: Final = threading.RLock()  # reentrant, as a signal handler may record, too


@cache
def wait_at_forks() -> None:
    """Let every fork of this process wait for the gate, from now on."""
    # A child that is forked in the middle of an import waits for its end for ever, too. This one is otherwise due
    # at the first drop.
    import difflib  # noqa: F401

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=GATE.acquire, after_in_parent=GATE.release, after_in_child=GATE.release)
