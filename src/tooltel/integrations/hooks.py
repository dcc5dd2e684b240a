"""What every plug-in needs: hooks that never raise into a framework, and a place for calls that are still open."""

from __future__ import annotations

import functools
import inspect
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar, cast

from tooltel.signals import Component

if TYPE_CHECKING:
    from tooltel.observed import Observed
    from tooltel.runtime import Tooltel

P = ParamSpec("P")
R = TypeVar("R")

OPEN_CALLS: Final = 10_000  # at once, in one plug-in; beyond that the oldest are taken for torn down


def contained(hook: Callable[P, R]) -> Callable[P, R | None]:
    """
    Let a method of an object with a `tel` be a hook: whatever goes wrong inside is contained, and None is given.

    None is what every framework here takes for "go on as you would have". Works for methods and coroutine methods.
    Exceptions that are no `Exception`s (a cancellation, an interrupt) pass.
    """
    if inspect.iscoroutinefunction(hook):
        awaited = cast("Callable[..., Awaitable[Any]]", hook)

        @functools.wraps(hook)
        async def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return await awaited(self, *args, **kwargs)
            except Exception as error:  # noqa: BLE001 - any failure of ours, in somebody else's loop
                self.tel.guard.contain(Component.INTEGRATIONS, error)
                return None

        return cast("Callable[P, R | None]", guarded)

    @functools.wraps(hook)
    def plain(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return hook(self, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 - any failure of ours, in somebody else's loop
            self.tel.guard.contain(Component.INTEGRATIONS, error)
            return None

    return cast("Callable[P, R | None]", plain)


class OpenCalls:
    """Calls that have begun and not ended, by a key of the framework's. Bounded: a lost end costs no memory."""

    def __init__(self, tel: Tooltel) -> None:
        self.tel = tel
        self._calls: OrderedDict[Hashable, Observed] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, key: Hashable, call: Observed) -> None:
        """Keep *call* until it is taken; one that never is settles as abandoned when it is pushed out."""
        with self._lock:
            self._calls[key] = call
            pushed = self._calls.popitem(last=False)[1] if len(self._calls) > OPEN_CALLS else None
        if pushed is not None:
            pushed.settle(GeneratorExit())

    def take(self, key: Hashable) -> Observed | None:
        """The call kept under *key*, once."""
        with self._lock:
            return self._calls.pop(key, None)

    def peek(self, key: Hashable) -> Observed | None:
        """The call kept under *key*, which stays."""
        return self._calls.get(key)
