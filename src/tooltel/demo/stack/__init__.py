"""
A real Prometheus and a real Alertmanager for a while: on loopback, in a temporary folder, with time squeezed.

    with Stack(catalog, metrics_port=exposition.port) as stack:  # about six seconds: see Stack
        ...  # make trouble
        page = stack.pager.wait_for(first_page, seconds=10)  # whoever is told, the pager has it

`find_binaries()` says whether this machine has the servers; `HOW_TO_GET` is the line to show where it has not.
"""

from __future__ import annotations

from tooltel.demo.stack.binaries import HOW_TO_GET, Binaries, find_binaries
from tooltel.demo.stack.children import ServerError
from tooltel.demo.stack.pager import Notification, Pager
from tooltel.demo.stack.stack import Stack

__all__ = ["HOW_TO_GET", "Binaries", "Notification", "Pager", "ServerError", "Stack", "find_binaries"]
