"""Arguments that do not fit the tool's signature are a structural rejection; a tool's own TypeError is not."""

from __future__ import annotations

import asyncio
import functools
from typing import TYPE_CHECKING, Any

import pytest

from tooltel.signals import RejectionKind, RejectionSource, Status

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from tooltel import Tooltel
    from tooltel.outcome import Fault
    from tooltel.testing import Captured


def run(result: Any) -> Any:
    """What a caller does with whatever a tool of any kind gave."""
    if hasattr(result, "__anext__"):

        async def drain() -> list[Any]:
            return [item async for item in result]

        return asyncio.run(drain())
    if hasattr(result, "__await__"):

        async def wait() -> Any:
            return await result

        return asyncio.run(wait())
    return list(result) if hasattr(result, "__next__") else result


def plain(order_id: str, limit: int = 10, *, deep: bool = False) -> str:
    return f"{order_id}{limit}{deep}"


async def coroutine(order_id: str, limit: int = 10, *, deep: bool = False) -> str:
    return f"{order_id}{limit}{deep}"


def generator(order_id: str, limit: int = 10, *, deep: bool = False) -> Iterator[str]:
    yield f"{order_id}{limit}{deep}"


async def async_generator(order_id: str, limit: int = 10, *, deep: bool = False) -> AsyncIterator[str]:
    yield f"{order_id}{limit}{deep}"


class Called:
    def __call__(self, order_id: str, limit: int = 10, *, deep: bool = False) -> str:
        return f"{order_id}{limit}{deep}"

    def method(self, order_id: str, limit: int = 10, *, deep: bool = False) -> str:
        return f"{order_id}{limit}{deep}"


ALL: list[Callable[..., Any]] = [
    plain,
    coroutine,
    generator,
    async_generator,
    functools.partial(plain),
    Called(),
    Called().method,
]


def faults(seen: Captured) -> list[Fault]:
    (outcome,) = seen.outcomes
    assert (outcome.status, outcome.error_type) == (Status.INVALID_ARGUMENTS, "invalid_arguments")
    (rejection,) = outcome.rejections
    assert (rejection.kind, rejection.source) == (RejectionKind.STRUCTURAL, RejectionSource.FRAMEWORK)
    return list(rejection.faults)


@pytest.mark.parametrize("fn", ALL)
@pytest.mark.parametrize(
    ("args", "kwargs", "fields"),
    [
        ((), {}, ["order_id"]),
        ((), {"limit": 3}, ["order_id"]),
        (("o-1",), {"colour": "red"}, ["colour"]),
        ((), {"colour": "red"}, ["order_id", "colour"]),
        (("o-1", 2, 3), {}, [""]),
        (("o-1",), {"order_id": "o-1"}, ["order_id"]),
        (("o-1", 2), {"limit": 3, "deep": True}, ["limit"]),
    ],
)
def test_what_does_not_fit_is_named_and_the_tools_own_error_reaches_the_caller(
    tel: Tooltel, seen: Captured, fn: Callable[..., Any], args: Any, kwargs: Any, fields: list[str]
) -> None:
    with pytest.raises(TypeError) as bare:
        run(fn(*args, **kwargs))
    with pytest.raises(TypeError) as wrapped:
        run(tel.tool(fn, name="order_lookup", owner="desk")(*args, **kwargs))
    assert str(wrapped.value) == str(bare.value)
    assert [fault.field for fault in faults(seen)] == fields
    assert seen.increase("tooltel_rejections_total", kind="structural", source="framework") == 1
    assert seen.increase("tooltel_tool_calls_total", outcome="invalid_arguments") == 1


def test_the_people_who_read_it_are_told_what_is_wrong_and_what_would_be_right(tel: Tooltel, seen: Captured) -> None:
    def order_move(order_id: str, /, *, to: str) -> None:
        raise AssertionError(order_id, to)

    wrapped = tel.tool(order_move, owner="desk")
    told = []
    for args, kwargs in [
        ((), {}),
        (("o", "p", "q"), {}),
        (("o",), {"to": "x", "at": 1}),
        ((), {"order_id": 1, "to": 2}),
    ]:
        with pytest.raises(TypeError):
            wrapped(*args, **kwargs)  # type: ignore[arg-type]  # the point
        told.append([tuple(fault) for fault in seen.outcomes[-1].rejections[0].faults])
    assert told == [
        [("order_id", "missing", "a value"), ("to", "missing", "a value")],
        [("", "3 positional arguments", "at most 1"), ("to", "missing", "a value")],
        [("at", "unexpected", None)],
        [("order_id", "given by name", "by position only")],
    ]


def test_a_method_is_told_of_arguments_without_its_self(tel: Tooltel, seen: Captured) -> None:
    class Desk:
        @tel.tool(owner="desk")
        def order_lookup(self, order_id: str) -> None:
            raise AssertionError(order_id)

    with pytest.raises(TypeError):
        Desk().order_lookup("o-1", "o-2")  # type: ignore[call-arg]  # the point
    (fault,) = faults(seen)
    assert (fault.problem, fault.expected) == ("2 positional arguments", "at most 1")


def test_fields_count_by_name_only_where_the_signature_has_them(tel: Tooltel, seen: Captured) -> None:
    wrapped = tel.tool(plain, name="order_lookup", owner="desk")
    with pytest.raises(TypeError):
        wrapped(**{"made\nup": 1, "another": 2})  # type: ignore[arg-type]  # the point
    fields = {
        dict(labels)["field"]: value
        for (name, labels), value in seen.increases().items()
        if name == "tooltel_rejected_fields_total"
    }
    assert fields == {"order_id": 1, "other": 1}
    assert "made\\nup: unexpected" in seen.logged("tool_rejected")[0]["faults"]


def body_raises() -> None:
    raise TypeError("plain() missing 1 required positional argument: 'order_id'")


def body_calls_wrongly() -> None:
    plain()  # type: ignore[call-arg]  # the point


def body_calls_wrongly_deeper() -> None:
    body_calls_wrongly()


def body_adds() -> Any:
    return 1 + "1"  # type: ignore[operator]  # the point


async def awaits_wrongly() -> None:
    await coroutine()  # type: ignore[call-arg]  # the point


def iterates_wrongly() -> Iterator[str]:
    yield from generator()  # type: ignore[call-arg]  # the point


async def iterates_wrongly_slowly() -> AsyncIterator[str]:
    async for item in async_generator():  # type: ignore[call-arg]  # the point
        yield item


@pytest.mark.parametrize(
    "fn",
    [
        body_raises, body_calls_wrongly, body_calls_wrongly_deeper, body_adds, awaits_wrongly, iterates_wrongly,
        iterates_wrongly_slowly,
    ],
)  # fmt: skip
def test_a_type_error_from_inside_the_tool_is_an_error_of_the_tool(
    tel: Tooltel, seen: Captured, fn: Callable[..., Any]
) -> None:
    with pytest.raises(TypeError):
        run(tel.tool(fn, name="order_lookup", owner="desk")())
    (outcome,) = seen.outcomes
    assert (outcome.status, outcome.error_type, outcome.rejections) == (Status.ERROR, "TypeError", ())


def test_a_tool_called_wrongly_by_another_tool_is_rejected_and_the_other_failed(tel: Tooltel, seen: Captured) -> None:
    inner = tel.tool(plain, name="inner_tool", owner="desk")

    @tel.tool(owner="desk")
    def outer_tool() -> None:
        inner(colour="red")  # type: ignore[call-arg]  # the point

    with pytest.raises(TypeError):
        outer_tool()
    assert [(o.tool.name, o.status) for o in seen.outcomes if o.tool] == [
        ("inner_tool", Status.INVALID_ARGUMENTS),
        ("outer_tool", Status.ERROR),
    ]


def test_a_subclass_of_type_error_and_a_builtins_own_are_errors(tel: Tooltel, seen: Captured) -> None:
    class Odd(TypeError):
        pass

    def order_lookup(order_id: str) -> None:
        raise Odd(order_id)

    with pytest.raises(Odd):
        tel.tool(order_lookup, owner="desk")("o-1")
    with pytest.raises(TypeError, match="len"):
        tel.tool(len, name="count", owner="desk")(7)  # type: ignore[arg-type]  # fits the signature, not the function
    assert [outcome.status for outcome in seen.outcomes] == [Status.ERROR, Status.ERROR]


def test_a_builtin_called_with_too_few_arguments_is_rejected(tel: Tooltel, seen: Captured) -> None:
    with pytest.raises(TypeError):
        tel.tool(len, name="count", owner="desk")()  # type: ignore[call-arg]  # the point
    assert [fault.field for fault in faults(seen)] == ["obj"]


def retried(fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fn)
    def again(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return again


def retried_slowly(fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fn)
    async def again(*args: Any, **kwargs: Any) -> Any:
        return await fn(*args, **kwargs)

    return again


@pytest.mark.parametrize("fn", [retried(plain), retried(retried(plain)), retried_slowly(coroutine)])
def test_a_decorator_below_ours_does_not_turn_a_rejection_into_an_error(
    tel: Tooltel, seen: Captured, fn: Callable[..., Any]
) -> None:
    """Retries and caches pass arguments on: the tool itself was never entered."""
    with pytest.raises(TypeError, match="order_id"):
        run(tel.tool(fn, name="order_lookup", owner="desk")(limit=3))
    assert [fault.field for fault in faults(seen)] == ["order_id"]


def test_a_decorator_that_fills_in_arguments_leaves_the_tools_own_error_an_error(tel: Tooltel, seen: Captured) -> None:
    """Its signature shows an argument that no caller gives; the tool was entered all the same."""

    def with_session(fn: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(fn)
        def filled(*args: Any, **kwargs: Any) -> Any:
            return fn("session", *args, **kwargs)

        return filled

    @tel.tool(owner="desk")
    @with_session
    def order_lookup(session: str, order_id: str) -> Any:
        return session + order_id + 1  # type: ignore[operator]  # the tool's own mistake

    with pytest.raises(TypeError, match="concatenate"):
        order_lookup("o-1")
    assert seen.outcomes[0].status is Status.ERROR


def test_a_tool_that_calls_itself_wrongly_is_an_error_of_the_tool(tel: Tooltel, seen: Captured) -> None:
    """Python names the same function as for a wrong call from outside; but this time it had been entered."""

    def with_session(fn: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(fn)
        def filled(*args: Any) -> Any:
            return fn("session", *args)

        return filled

    def order_count(session: str, order_id: str) -> Any:
        assert session
        return order_count(order_id)  # type: ignore[call-arg]  # the tool's own mistake

    with pytest.raises(TypeError, match="order_count"):
        tel.tool(with_session(order_count), name="order_count", owner="desk")("o-1")
    assert seen.outcomes[0].status is Status.ERROR
