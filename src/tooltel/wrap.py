"""
The shells: a callable wrapped in one of its own kind, so that `inspect` still tells the truth.

All logic is in `call`. A shell may only open a life, run the tool in steps, and get out.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from typing import Any, Final, TypeVar

from tooltel.call import Binding, Call, Stream

F = TypeVar("F", bound=Callable[..., Any])

_PLAIN: Final = frozenset({str, int, float, bool, bytes, list, dict, tuple, set, type(None)})


def wrap(fn: Callable[..., Any], binding: Binding) -> Callable[..., Any]:
    """
    Give *fn* in a shell of the same kind: function, coroutine function, generator or async generator.

    Partials and callable objects are looked through for their kind. Signature, name, docstring and attributes are
    those of *fn*; exceptions, results and items pass untouched.
    """
    kind = _plain_function(fn)
    if inspect.isasyncgenfunction(kind):
        shell = _async_generator(fn, binding)
    elif inspect.isgeneratorfunction(kind):
        shell = _generator(fn, binding)
    elif inspect.iscoroutinefunction(kind):
        shell = _coroutine(fn, binding)
    else:
        shell = _function(fn, binding)
    return _dressed(shell, fn, binding)


def _plain_function(fn: Callable[..., Any]) -> Callable[..., Any]:
    while isinstance(fn, functools.partial):
        fn = fn.func
    if inspect.isroutine(fn) or inspect.isclass(fn):
        return fn
    return type(fn).__call__


def _dressed(shell: Callable[..., Any], fn: Callable[..., Any], binding: Binding) -> Callable[..., Any]:
    shell = functools.update_wrapper(shell, fn)
    name = binding.alias or getattr(fn, "__name__", binding.tool.name)
    if binding.alias or not hasattr(fn, "__name__"):
        shell.__name__ = shell.__qualname__ = name
    if not hasattr(fn, "__module__") or isinstance(fn, functools.partial):
        inner = _plain_function(fn)
        shell.__module__ = inner.__module__
        shell.__doc__ = inner.__doc__
    return shell


def _function(fn: Callable[..., Any], binding: Binding) -> Callable[..., Any]:
    def shell(*args: Any, **kwargs: Any) -> Any:
        with Call(binding, args, kwargs) as call:
            result = fn(*args, **kwargs)
            if type(result) in _PLAIN or not hasattr(type(result), "__await__"):
                return call.returned(result)
            return _awaited(result, call)

    return shell


def _coroutine(fn: Callable[..., Any], binding: Binding) -> Callable[..., Any]:
    async def shell(*args: Any, **kwargs: Any) -> Any:
        with Call(binding, args, kwargs) as call:
            return call.returned(await fn(*args, **kwargs))

    return shell


def _generator(fn: Callable[..., Any], binding: Binding) -> Callable[..., Any]:
    def shell(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        stream = Stream(binding, args, kwargs)
        try:
            with stream:
                inner = fn(*args, **kwargs)
            result = yield from _Stepped(inner, stream)
        except BaseException as error:
            stream.settle(error)
            raise
        stream.settle()
        return result

    return shell


class _Stepped(Generator[Any, Any, Any]):
    """A generator whose every resumption is one step of a stream."""

    __slots__ = ("_inner", "_stream")

    def __init__(self, inner: Generator[Any, Any, Any], stream: Stream) -> None:
        self._inner, self._stream = inner, stream

    def __next__(self) -> Any:
        with self._stream:
            item = next(self._inner)
        self._stream.passed()
        return item

    def send(self, value: Any, /) -> Any:
        with self._stream:
            item = self._inner.send(value)
        self._stream.passed()
        return item

    def throw(self, *error: Any) -> Any:
        with self._stream:
            item = self._inner.throw(*error)
        self._stream.passed()
        return item

    def close(self) -> None:
        with self._stream:
            self._inner.close()


def _async_generator(fn: Callable[..., Any], binding: Binding) -> Callable[..., Any]:
    async def shell(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        stream = Stream(binding, args, kwargs)
        try:
            with stream:
                inner = fn(*args, **kwargs)
            resume: Callable[[], Awaitable[Any]] = inner.__anext__
            while True:
                try:
                    with stream:
                        item = await resume()
                except StopAsyncIteration:
                    break
                stream.passed()
                try:
                    sent = yield item
                except GeneratorExit:
                    with stream:
                        await inner.aclose()
                    raise
                except BaseException as error:  # noqa: BLE001 - thrown in by the consumer: it is for the tool
                    resume = functools.partial(inner.athrow, error)
                else:
                    resume = inner.__anext__ if sent is None else functools.partial(inner.asend, sent)
        except BaseException as error:
            stream.settle(error)
            raise
        stream.settle()

    return shell


def _awaited(result: Any, call: Call) -> Any:
    """A plain function returned something to await: its call lives on until that is done."""
    if inspect.iscoroutine(result):
        call.defer()
        return _driven(result, call)
    asyncio = sys.modules.get("asyncio")
    if asyncio is not None and asyncio.isfuture(result):
        # The very object must come back: its owner may cancel it or compare it by identity.
        call.defer()
        result.add_done_callback(functools.partial(_future_done, call))
        return result
    call.defer()
    return _AwaitableProxy(result, call)


async def _driven(awaitable: Awaitable[Any], call: Call) -> Any:
    with call:
        return call.returned(await awaitable)


def _future_done(call: Call, future: Any) -> None:
    with call:
        # An exception is read from a cancelled or failed future without raising it into the loop.
        if future.cancelled():
            asyncio = sys.modules["asyncio"]
            error: BaseException | None = asyncio.CancelledError()
        else:
            error = future.exception()
        if error is None:
            call.returned(future.result())
        else:
            call.defer()
    if error is not None:
        call.settle(error)


class _AwaitableProxy:
    """Stands in for an awaitable of unknown kind: whatever else it can do is passed through."""

    def __init__(self, inner: Any, call: Call) -> None:
        self.__wrapped__ = inner
        self.__call = call

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)

    def __await__(self) -> Generator[Any, Any, Any]:
        return _driven(self.__wrapped__, self.__call).__await__()
