"""
The shells: a callable wrapped in one of its own kind, so that `inspect` still tells the truth.

All logic is in `call`. A shell may only open a life, run the tool in steps, and get out.
"""

from __future__ import annotations

import functools
import inspect
import sys
import typing
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from typing import Any, Final, TypeVar

from tooltel import outcome as outcomes
from tooltel.awaiting import keep_open
from tooltel.call import Binding, Call, Stream

F = TypeVar("F", bound=Callable[..., Any])

_NO_AWAITABLE: Final = outcomes.PLAIN | {dict}


def wrap(fn: Callable[..., Any], binding: Binding) -> Callable[..., Any]:
    """
    Give *fn* in a shell of the same kind: function, coroutine function, generator or async generator.

    Partials and callable objects are looked through for their kind. Signature, name, docstring and attributes are
    those of *fn*; exceptions, results and items pass untouched.
    """
    kind = _plain_function(fn)
    if inspect.isasyncgenfunction(kind):
        shell = _async_generator(fn, binding)
    elif _is_coroutine_function(fn, kind):
        shell = _coroutine(fn, binding)
    elif inspect.isgeneratorfunction(kind):
        shell = _generator(fn, binding)
    else:
        shell = _function(fn, binding)
    return _dressed(shell, fn, binding)


def _plain_function(fn: Callable[..., Any]) -> Callable[..., Any]:
    while isinstance(fn, functools.partial):
        fn = fn.func
    if inspect.isroutine(fn) or inspect.isclass(fn):
        return fn
    return type(fn).__call__


def _is_coroutine_function(fn: Callable[..., Any], kind: Callable[..., Any]) -> bool:
    if inspect.iscoroutinefunction(kind) or inspect.iscoroutinefunction(fn):
        return True
    # What types.coroutine has marked is written as a generator, and awaited all the same.
    return bool(getattr(getattr(kind, "__code__", None), "co_flags", 0) & inspect.CO_ITERABLE_COROUTINE)


def _dressed(shell: Callable[..., Any], fn: Callable[..., Any], binding: Binding) -> Callable[..., Any]:
    shell.__annotations__ = {}  # the shell's own say nothing of the tool
    if inspect.isroutine(fn):
        functools.update_wrapper(shell, fn)
        if sys.version_info >= (3, 14) and getattr(fn, "__annotate__", None) is None:
            shell.__annotations__ = getattr(fn, "__annotations__", {})  # written as strings, they are not copied there
    else:
        _dress_as_object(shell, fn, binding.tool.name)
    if binding.alias:
        shell.__name__ = shell.__qualname__ = binding.alias
    return shell


def _dress_as_object(shell: Callable[..., Any], fn: Callable[..., Any], name: str) -> None:
    """Objects and partials say little of themselves, and a stub answers to every name: ask what they call, too."""
    functools.update_wrapper(shell, fn, assigned=())
    inner = _plain_function(fn)
    own = getattr(fn, "__dict__", {})
    said: Callable[..., Any] = own.get if isinstance(fn, functools.partial) else functools.partial(getattr, fn)
    fallbacks = {
        "__name__": name,
        "__qualname__": name,
        "__module__": getattr(inner, "__module__", None),
        "__doc__": inner.__doc__,
    }
    for attribute, fallback in fallbacks.items():
        value = said(attribute, None)
        setattr(shell, attribute, value if isinstance(value, str) else fallback)
    annotations = own.get("__annotations__")
    shell.__annotations__ = annotations if isinstance(annotations, dict) else _hints(inner)


def _hints(inner: Callable[..., Any]) -> dict[str, Any]:
    # Evaluated here: the names in them mean something in the module of the function, not in that of the object.
    try:
        return typing.get_type_hints(inner, include_extras=True)
    except Exception:  # noqa: BLE001 - names that exist for type checkers only
        return dict(getattr(inner, "__annotations__", {}))


def _function(fn: Callable[..., Any], binding: Binding) -> Callable[..., Any]:
    def shell(*args: Any, **kwargs: Any) -> Any:
        call = Call()
        call.begin(binding, args, kwargs)
        try:
            result = fn(*args, **kwargs)
        except BaseException as error:
            call.fail(error, args, kwargs)
            raise
        try:
            is_final = type(result) in _NO_AWAITABLE or not hasattr(type(result), "__await__")
        except Exception:  # noqa: BLE001 - a class may be unhashable, or of a metaclass that answers with an error
            is_final = True
        if is_final:
            return call.finish(result)
        call.leave()
        return keep_open(result, call)

    return shell


def _coroutine(fn: Callable[..., Any], binding: Binding) -> Callable[..., Any]:
    async def shell(*args: Any, **kwargs: Any) -> Any:
        call = Call()
        call.begin(binding, args, kwargs)
        try:
            result = await fn(*args, **kwargs)
        except BaseException as error:
            call.fail(error, args, kwargs)
            raise
        return call.finish(result)

    return shell


def _generator(fn: Callable[..., Any], binding: Binding) -> Callable[..., Any]:
    def shell(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        stream = Stream()
        stream.begin(binding, args, kwargs)
        try:
            try:
                inner = fn(*args, **kwargs)
            finally:
                stream.leave()
            result = yield from _Stepped(inner, stream)
        except BaseException as error:
            stream.settle(error, args, kwargs)
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
        stream = Stream()
        stream.begin(binding, args, kwargs)
        try:
            try:
                inner = fn(*args, **kwargs)
            finally:
                stream.leave()
            resume: Callable[[], Awaitable[Any]] = functools.partial(_first_step, inner)
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
            stream.settle(error, args, kwargs)
            raise
        stream.settle()

    return shell


def _first_step(inner: AsyncGenerator[Any, Any]) -> Awaitable[Any]:
    # An event loop takes note of a generator at its first step, and closes what it knows of when it shuts down. The
    # shell closes this one: the loop would do it out of the call's context, and both at once is an error.
    hooks = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(None, _let_go)
    try:
        return inner.__anext__()
    finally:
        sys.set_asyncgen_hooks(*hooks)


def _let_go(inner: AsyncGenerator[Any, Any]) -> None:
    """Without its loop a generator cannot be closed; with this hook Python doesn't try."""
