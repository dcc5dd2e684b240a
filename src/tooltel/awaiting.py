"""What a plain function returned to be awaited: its call lives on until that is done."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Coroutine, Generator
from typing import TYPE_CHECKING, Any, Final

from tooltel.signals import Component

if TYPE_CHECKING:
    from tooltel.call import Call

# Methods that a stand-in has of its own, or that must not run for it.
_OWN: Final = frozenset({
    "__await__", "__class__", "__class_getitem__", "__del__", "__delattr__", "__dir__", "__getattr__",
    "__getattribute__", "__init__", "__init_subclass__", "__new__", "__setattr__", "__subclasshook__",
})  # fmt: skip
# To use an awaitable in one of these ways is not to await it: then it is the tool's result as it stands.
_OTHER_WAYS: Final = frozenset({"__aenter__", "__aiter__", "__enter__", "__iter__"})


def keep_open(result: Any, call: Call) -> Any:
    """
    Give *result*, so that *call* settles when it is done; where it never is, the call was abandoned.

    A future comes back itself: its owner may cancel it, or compare it by identity. A coroutine comes back driven by
    another one of its name; any other awaitable behind a stand-in that is of its class and does what it does.
    """
    try:
        return _kept_open(result, call)
    except Exception as error:  # noqa: BLE001 - an object may be of any class, and a class of any metaclass
        call.services.guard.contain(Component.CALL, error)
        call.settle()
        return result


def _kept_open(result: Any, call: Call) -> Any:
    if inspect.iscoroutine(result):
        driven = _driven(result, _Pending(call))
        for name in ("__name__", "__qualname__"):  # by them Python warns of a coroutine that nobody awaits
            setattr(driven, name, getattr(result, name))
        return driven
    asyncio = sys.modules.get("asyncio")
    if asyncio is not None and asyncio.isfuture(result):
        if result.done():  # its loop may never turn again
            _future_done(call, result)
        else:
            result.add_done_callback(functools.partial(_future_done, call))
        return result
    kind: Any = type(result)
    return _stand_in_class(kind)(result, _Pending(call))


class _Pending:
    """
    Holds a call until its result is awaited.

    Where that never happens, the call was abandoned; but where the result `served` in another way, as a client that
    also can be awaited, it was all that the tool had to give.
    """

    __slots__ = ("call", "served")

    def __init__(self, call: Call) -> None:
        self.call = call
        self.served = False

    def __del__(self) -> None:
        if self.call.is_open and not sys.is_finalizing():
            self.call.settle(None if self.served else GeneratorExit())


async def _driven(awaitable: Any, pending: _Pending) -> Any:
    call = pending.call
    call.resume()
    try:
        result = await awaitable
    except BaseException as error:
        call.fail(error)
        raise
    return call.finish(result)


def _future_done(call: Call, future: Any) -> None:
    call.lasted()
    if future.cancelled():
        call.settle(sys.modules["asyncio"].CancelledError())
        return
    # `exception()` would mark a failure as seen, and keep the loop from telling that nobody has looked at it.
    error = future._exception if hasattr(future, "_exception") else future.exception()  # noqa: SLF001
    if error is None:
        call.returned(future.result())
    call.settle(error)


class _StandIn:
    """Stands in for an awaitable: to await it, the first time, is to run the call; all else is passed on."""

    __slots__ = ("__driver", "__inner", "__pending", "__weakref__")

    def __init__(self, inner: Any, pending: _Pending) -> None:
        put = object.__setattr__
        put(self, "_StandIn__inner", inner)
        put(self, "_StandIn__pending", pending)
        put(self, "_StandIn__driver", None)

    def __await__(self) -> Generator[Any, Any, Any]:
        pending = self.__pending
        if pending is None:  # awaited before
            awaited: Generator[Any, Any, Any] = self.__inner.__await__()
            return awaited
        object.__setattr__(self, "_StandIn__pending", None)
        return _driven(self.__inner, pending).__await__()

    def __getattr__(self, name: str) -> Any:
        return getattr(_serving(self), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(_serving(self), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(_serving(self), name)

    def __dir__(self) -> list[str]:
        return dir(self.__inner)


def _serving(stand_in: Any) -> Any:
    """The awaitable, which is asked for something that it also can do."""
    pending = stand_in._StandIn__pending  # noqa: SLF001 - a friend of the class
    if pending is not None:
        pending.served = True
    return stand_in._StandIn__inner  # noqa: SLF001


def _used(stand_in: Any) -> Any:
    """The awaitable, which is used in another way than by awaiting it."""
    pending = stand_in._StandIn__pending  # noqa: SLF001
    if pending is not None:
        object.__setattr__(stand_in, "_StandIn__pending", None)
        pending.call.settle()
    return stand_in._StandIn__inner  # noqa: SLF001


def _driver(stand_in: Any) -> Any:
    """What drives the awaitable by hand, as a task drives a coroutine."""
    driver = stand_in._StandIn__driver  # noqa: SLF001
    if driver is None:
        driver = stand_in.__await__()
        object.__setattr__(stand_in, "_StandIn__driver", driver)
    return driver


@functools.lru_cache(maxsize=256)
def _stand_in_class(kind: Any) -> Callable[[Any, _Pending], Any]:
    # Python looks special methods up on the class, so a class of its own passes on those that *kind* has.
    body: dict[str, Any] = {"__slots__": (), "__class__": property(lambda self: type(self._StandIn__inner))}
    for name in dir(kind):
        if name.startswith("__") and name.endswith("__") and name not in _OWN:
            method = getattr(kind, name, None)
            if method is None or callable(method):  # None: as __hash__ of what is equal by value
                body[name] = method if method is None else _passed_on(method, name)
    if issubclass(kind, Coroutine):
        for name in ("send", "throw", "close"):
            body[name] = _handed_over(name)
    return type(f"{kind.__name__}StandIn", (_StandIn,), body)


def _passed_on(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    if name in _OTHER_WAYS:
        return lambda self, *args, **kwargs: method(_used(self), *args, **kwargs)
    return lambda self, *args, **kwargs: method(self._StandIn__inner, *args, **kwargs)


def _handed_over(name: str) -> Callable[..., Any]:
    return lambda self, *args: getattr(_driver(self), name)(*args)
