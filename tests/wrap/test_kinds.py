"""A wrapped tool is still what it was: frameworks ask `inspect`, and must get the truth."""

from __future__ import annotations

import asyncio
import functools
import inspect
import operator
import pickle
import sys
import typing
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any
from unittest.mock import AsyncMock

import pytest

if TYPE_CHECKING:
    from tooltel import Tooltel

Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]


def plain(order_id: str, limit: int = 10, /, *rest: str, deep: bool = False, **more: Any) -> dict[str, Any]:
    """Look up one order."""
    return {"id": order_id, "limit": limit, "rest": rest, "deep": deep, "more": more}


async def coroutine(order_id: str, limit: int = 10) -> str:
    """Look up one order, slowly."""
    await asyncio.sleep(0)
    return f"{order_id}:{limit}"


def generator(order_id: str, limit: int = 2) -> Iterator[str]:
    """Yield the lines of one order."""
    yield from (f"{order_id}:{line}" for line in range(limit))


async def async_generator(order_id: str, limit: int = 2) -> AsyncIterator[str]:
    """Yield the lines of one order, slowly."""
    for line in range(limit):
        await asyncio.sleep(0)
        yield f"{order_id}:{line}"


class Desk:
    """Every kind of callable, as an object's own."""

    def plain(self, order_id: str) -> str:
        return order_id

    @staticmethod
    def static(order_id: str) -> str:
        return order_id

    @classmethod
    def made(cls, order_id: str) -> str:
        return f"{cls.__name__}:{order_id}"


class Calls:
    """Look up one order, as an object."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, order_id: str) -> str:
        self.times += 1
        return order_id


class CallsCoroutine:
    async def __call__(self, order_id: str) -> str:
        await asyncio.sleep(0)
        return order_id


class CallsGenerator:
    def __call__(self, order_id: str) -> Iterator[str]:
        yield order_id


class CallsAsyncGenerator:
    async def __call__(self, order_id: str) -> AsyncIterator[str]:
        yield order_id


@pytest.fixture
def wrap(tel: Tooltel) -> Wrap:
    return tel.tool(owner="desk", name="order_lookup")


QUESTIONS = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction, inspect.isfunction)


@pytest.mark.parametrize("fn", [plain, coroutine, generator, async_generator])
def test_a_function_stays_of_its_kind_and_keeps_what_it_says_of_itself(wrap: Wrap, fn: Callable[..., Any]) -> None:
    fn.marked = {"by": "a framework"}  # type: ignore[attr-defined]  # as a framework would
    wrapped = wrap(fn)
    assert wrapped is not fn
    assert [ask(wrapped) for ask in QUESTIONS] == [ask(fn) for ask in QUESTIONS]
    assert asyncio.iscoroutinefunction(wrapped) == asyncio.iscoroutinefunction(fn)
    assert inspect.signature(wrapped) == inspect.signature(fn)
    assert inspect.signature(wrapped, eval_str=True) == inspect.signature(fn, eval_str=True)
    assert typing.get_type_hints(wrapped) == typing.get_type_hints(fn)
    for name in ("__name__", "__qualname__", "__module__", "__doc__", "__annotations__"):
        assert getattr(wrapped, name) == getattr(fn, name)
    assert wrapped.__wrapped__ is fn  # type: ignore[attr-defined]
    assert wrapped.marked is fn.marked  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("fn", "ask"),
    [
        (Calls(), None),
        (CallsCoroutine(), inspect.iscoroutinefunction),
        (CallsGenerator(), inspect.isgeneratorfunction),
        (CallsAsyncGenerator(), inspect.isasyncgenfunction),
        (functools.partial(plain, "o-1"), None),
        (functools.partial(coroutine, limit=3), inspect.iscoroutinefunction),
        (functools.partial(functools.partial(generator, limit=3), "o-1"), inspect.isgeneratorfunction),
        (functools.partial(async_generator, "o-1"), inspect.isasyncgenfunction),
        (functools.partial(CallsCoroutine(), "o-1"), inspect.iscoroutinefunction),
        (Desk().plain, None),
    ],
)
def test_partials_objects_and_bound_methods_become_functions_of_the_kind_they_are_called_as(
    wrap: Wrap, fn: Callable[..., Any], ask: Callable[[object], bool] | None
) -> None:
    wrapped = wrap(fn)
    kinds = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
    assert [kind for kind in kinds if kind(wrapped)] == ([ask] if ask else [])
    assert inspect.signature(wrapped) == inspect.signature(fn)
    assert isinstance(wrapped.__name__, str)
    assert wrapped.__module__ == __name__


def test_what_has_no_name_is_named_after_its_tool_and_described_by_what_it_calls(wrap: Wrap) -> None:
    partial, called = wrap(functools.partial(plain, "o-1")), wrap(Calls())
    assert partial.__name__ == called.__name__ == "order_lookup"
    assert partial.__doc__ == plain.__doc__
    assert called.__doc__ == Calls.__doc__


@pytest.mark.parametrize("fn", [Calls(), functools.partial(plain), functools.partial(Calls())])
def test_type_hints_of_objects_and_partials_are_those_of_the_function_behind(
    wrap: Wrap, fn: Callable[..., Any]
) -> None:
    """A framework builds the declared schema from them; the shell's own `*args: Any` would be shown to a model."""
    hints = typing.get_type_hints(wrap(fn))
    assert hints["order_id"] is str
    assert "args" not in hints


@pytest.mark.parametrize(
    ("fn", "args", "result"),
    [
        (len, ("abc",), 3),
        (max, (1, 2), 2),  # has no signature
        (print, (), None),
        ("abc".upper, (), "ABC"),
        (str.upper, ("abc",), "ABC"),  # has no module
        (functools.partial(str.upper), ("abc",), "ABC"),
        (operator.itemgetter("id"), ({"id": 7},), 7),
        (functools.partial(operator.itemgetter("id")), ({"id": 7},), 7),
        (functools.lru_cache(maxsize=None)(abs), (-1,), 1),
        ([].append, (1,), None),
        (dict(a=1).get, ("a",), 1),  # noqa: C408 - any builtin method
    ],
)
def test_builtins_and_what_is_written_in_c_can_be_tools(
    wrap: Wrap, fn: Callable[..., Any], args: tuple[Any, ...], result: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    wrapped = wrap(fn)
    assert wrapped(*args) == result
    assert capsys.readouterr().out in ("", "\n")
    assert signature_of(wrapped) == signature_of(fn)
    assert "args" not in wrapped.__annotations__, "the shell's own say nothing of the tool"


def signature_of(fn: Callable[..., Any]) -> inspect.Signature | str:
    try:
        return inspect.signature(fn)
    except ValueError as error:  # C has functions that do not say
        return str(error)


def test_a_lambda_is_a_tool_under_the_name_that_is_given(wrap: Wrap, tel: Tooltel) -> None:
    assert wrap(lambda x: x + 1)(1) == 2
    assert tel.catalog.tools["order_lookup"].owner == "desk"


def test_a_stub_that_answers_every_attribute_can_be_a_tool(wrap: Wrap) -> None:
    """As those of xmlrpc do: asked for a name or for code, it makes one more stub."""

    class Stub:
        def __init__(self, path: str) -> None:
            self.path = path

        def __getattr__(self, name: str) -> Stub:
            if name.startswith("__") and name not in ("__name__", "__qualname__", "__wrapped__", "__doc__", "__code__"):
                raise AttributeError(name)
            return Stub(f"{self.path}.{name}")

        def __call__(self, *args: Any) -> str:
            return f"{self.path}{args}"

    wrapped = wrap(Stub("orders"))
    assert wrapped(1) == "orders(1,)"
    assert wrapped.__name__ == "order_lookup"


def test_a_tool_pickles_by_name_where_the_original_does(wrap: Wrap, monkeypatch: pytest.MonkeyPatch) -> None:
    wrapped = wrap(plain)
    monkeypatch.setattr(sys.modules[__name__], "plain", wrapped)  # as the decorator does
    assert pickle.loads(pickle.dumps(wrapped)) is wrapped  # noqa: S301 - our own bytes
    carried = pickle.loads(pickle.dumps(functools.partial(wrapped, "o-1")))  # noqa: S301 - our own bytes
    assert carried()["id"] == "o-1"


def test_an_abstract_method_stays_abstract(tel: Tooltel) -> None:
    import abc

    class Base(abc.ABC):
        @tel.tool(owner="desk")
        @abc.abstractmethod
        def order_lookup(self) -> str: ...

    class Real(Base):
        def order_lookup(self) -> str:
            return "done"

    with pytest.raises(TypeError, match="abstract"):
        Base()  # type: ignore[abstract]  # the point
    assert Real().order_lookup() == "done"


def test_an_old_style_coroutine_can_still_be_awaited(wrap: Wrap) -> None:
    import types

    @types.coroutine
    def old_style(value: int) -> Iterator[None]:
        yield None
        return value  # type: ignore[return-value]  # what awaiting it gives

    async def main() -> int:
        result: int = await wrap(old_style)(7)
        return result

    assert asyncio.run(main()) == 7


def test_a_mock_of_a_coroutine_function_is_one(wrap: Wrap) -> None:
    wrapped = wrap(AsyncMock(return_value=7))
    assert inspect.iscoroutinefunction(wrapped)
    assert asyncio.run(wrapped()) == 7


@pytest.mark.parametrize("thing", [Calls, int, type("Model", (), {}), property(len), 3, "order_lookup", [plain]])
def test_classes_and_what_cannot_be_called_are_refused_with_what_to_do_instead(wrap: Wrap, thing: Any) -> None:
    with pytest.raises(TypeError, match="wrap the method it calls"):
        wrap(thing)
