"""
Whether a call was made before: the same tool with the same arguments in the same session.

Only hashes are kept, in bounded memory, for a limited time. A call is remembered once it has taken effect;
what was rejected, refused or failed outright may be tried again.
"""

from __future__ import annotations

import functools
import itertools
import json
import re
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields, is_dataclass
from hashlib import blake2b
from inspect import Signature
from types import MappingProxyType
from typing import Any, Final

from tooltel.signals import Status

EFFECTIVE: Final = frozenset({Status.OK, Status.PARTIAL, Status.TIMEOUT})  # may have taken effect
HARMLESS: Final = frozenset({Status.REPLAYED, Status.REFUSED, Status.INVALID_ARGUMENTS})  # stopped before any effect

_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+")  # as in `<Order object at 0x7f3c>`
SESSIONS: Final = 10_000
CALLS_PER_SESSION: Final = 256
WINDOW_SECONDS: Final = 86_400.0


def fingerprint(signature: Signature | None, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bytes | None:
    """
    A hash of canonical arguments: positional or by keyword, defaults given or left out, it is the same.

    None when the arguments have no canonical form (they do not fit the signature, refer to themselves, ...).
    """
    try:
        given: object = [args, kwargs]
        if signature is not None:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            given = bound.arguments
        text = json.dumps(given, sort_keys=True, separators=(",", ":"), default=_canonical)
    except Exception:  # noqa: BLE001 - arguments are the model's and the host's: no form, no opinion
        return None
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _canonical(value: object) -> object:
    # Nothing is copied, and no stranger's mapping is read: behind an argument there may be a client or a database.
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    if isinstance(value, (set, frozenset)):
        return sorted(map(repr, value))
    if isinstance(value, MappingProxyType):
        return dict(value)
    text = repr(value)
    if _ADDRESS.search(text):  # the next object may have the same one, and would seem to be this one
        text = str(_numbers.of(value))
    return f"{type(value).__qualname__}:{text}"


class _Numbers:
    """A number for each object that says no more of itself than where it is: never the same for two."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[object], int]] = {}
        self._next = itertools.count()

    def of(self, value: object) -> int:
        """The number of *value*, as long as it lives. Raises TypeError where nothing tells when that is over."""
        place = id(value)
        known = self._known.get(place)
        if known is not None and known[0]() is value:
            return known[1]
        number = next(self._next)
        self._known[place] = (weakref.ref(value, functools.partial(self._forget, place)), number)
        return number

    def _forget(self, place: int, gone: weakref.ref[object]) -> None:
        known = self._known.get(place)
        if known is not None and known[0] is gone:
            self._known.pop(place, None)


_numbers: Final = _Numbers()


class Repeats:
    """The memory of effective calls, per session: the oldest sessions and calls are forgotten first."""

    def __init__(
        self,
        *,
        sessions: int = SESSIONS,
        calls: int = CALLS_PER_SESSION,
        window: float = WINDOW_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sessions: OrderedDict[Hashable, dict[tuple[str, bytes], float]] = OrderedDict()
        self._limits = (sessions, calls, window)
        self._clock = clock
        self._lock = threading.RLock()  # reentrant: a finalizer that runs inside may call a tool

    def forked(self) -> None:
        """Start with a free lock: another thread may have held it when the process forked."""
        self._lock = threading.RLock()

    def note(self, session: Hashable, tool: str, print_: bytes, status: Status) -> float | None:
        """
        Take note of a settled call; give the seconds since an equal, effective call of the session, or None.

        A call that was stopped before any effect is neither a repeat nor remembered.
        """
        if status in HARMLESS:
            return None
        sessions, calls, window = self._limits
        key, now = (tool, print_), self._clock()
        with self._lock:
            seen = self._sessions.pop(session, None)
            if seen is None:
                if status not in EFFECTIVE:
                    return None
                seen = {}
            self._sessions[session] = seen  # most recently used last
            first = seen.get(key)
            if first is not None and now - first > window:
                first = None
                del seen[key]
            if first is None and status in EFFECTIVE:
                seen[key] = now
                while len(seen) > calls:
                    del seen[next(iter(seen))]
            while len(self._sessions) > sessions:
                self._sessions.popitem(last=False)
        return None if first is None else now - first

    def forget(self, session: Hashable) -> None:
        """Forget a session that is over, and that nothing can ever be part of again."""
        with self._lock:
            self._sessions.pop(session, None)
