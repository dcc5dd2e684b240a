"""
Where both ends of a connection are in one process, and watched by one Tooltel: there a call is one.

The client begins it; the server finds it, and tells it what came of it. Where the SDK carries contexts along (2.x, in
memory) the server runs inside the client's call as it is. Elsewhere (1.x, loopback) the server looks for a call of this
name with these arguments that some client here waits for; nothing is added to a message. So, where a client here waits
for another server's tool of the same name, and somebody asks a server here for it with equal arguments at that moment,
those two count as one.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from pydantic_core import to_json

from tooltel.call import current_call, inside

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from tooltel.call import Call
    from tooltel.observed import Observed
    from tooltel.runtime import Tooltel

_Key = tuple[str, bytes]


class Together:
    """The calls of one Tooltel's clients that are waiting for an answer."""

    def __init__(self) -> None:
        self.has_servers = False  # without one, nobody will look
        self._waiting: dict[_Key, deque[Call]] = {}
        self._keys: WeakKeyDictionary[Call, _Key] = WeakKeyDictionary()
        self._served: WeakKeyDictionary[Call, tuple[str, Mapping[str, Any]]] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def ask(self, call: Observed, name: str, arguments: Mapping[str, Any], *, outer: Call | None) -> None:
        """
        Let a server find *call*, begun inside *outer*.

        A gateway asks on for what it is asked: its own question, which is the same call still, must not be taken for
        that of the next one who asks the gateway for the same.
        """
        if not self.has_servers or (outer is not None and outer in self._served and outer.tool.name == call.tool.name):
            return
        key = _key(name, arguments)
        with self._lock:
            self._waiting.setdefault(key, deque()).append(call)
            self._keys[call] = key

    def answered(self, call: Call | None) -> None:
        """Let no server find *call* any more."""
        if call is None or not self._keys:
            return
        with self._lock:
            key = self._keys.get(call)
            if key is not None:
                self._take(key, call)

    def _take(self, key: _Key, call: Call) -> None:
        del self._keys[call]
        waiting = self._waiting[key]
        waiting.remove(call)
        if not waiting:
            del self._waiting[key]

    def serve(self, name: str, arguments: Mapping[str, Any]) -> AbstractContextManager[None]:
        """Enter the call that a client here has made, where it is not entered already; each is found once."""
        here = current_call()
        if here is not None and here in self._keys:
            self.answered(here)
            return nullcontext()
        if not self._waiting:
            return nullcontext()
        key = _key(name, arguments)
        with self._lock:
            if key not in self._waiting:
                return nullcontext()
            found = self._waiting[key][0]
            self._take(key, found)
        return inside(found)

    def serves(self, call: Observed, name: str, arguments: Mapping[str, Any]) -> None:
        """Take note that *call* is a server's."""
        self._served[call] = (name, arguments)

    def is_handed_on(self, name: str, arguments: Any) -> bool:
        """Whether the call that is being served here came from a server that this one is mounted in, and goes on."""
        outer = current_call()
        asked, given = self._served.get(outer, ("", {})) if outer is not None else ("", {})
        return asked != name and bool(name) and asked.endswith(f"_{name}") and (arguments or {}) == given


_together: WeakKeyDictionary[Tooltel, Together] = WeakKeyDictionary()


def together_on(tel: Tooltel) -> Together:
    """What the clients and the servers that *tel* watches share."""
    return _together.setdefault(tel, Together())


def _key(name: str, arguments: Mapping[str, Any]) -> _Key:
    return name, to_json(arguments, serialize_unknown=True)
