"""What a tool raises reaches its caller as it was raised: the object, its cause and notes, and its traceback."""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

import tooltel
from tooltel.signals import Status
from tooltel.testing import parse_samples

if TYPE_CHECKING:
    from tooltel import Tooltel
    from tooltel.testing import Captured

Run = Callable[[BaseException], Any]


def runners(tel: Tooltel) -> dict[str, Run]:
    """One way to raise through each of the four shells."""

    @tel.tool(owner="desk")
    def plain(error: BaseException) -> None:
        raise error

    @tel.tool(owner="desk")
    async def coroutine(error: BaseException) -> None:
        await asyncio.sleep(0)
        raise error

    @tel.tool(owner="desk")
    def generator(error: BaseException) -> Iterator[int]:
        yield 1
        raise error

    @tel.tool(owner="desk")
    async def async_generator(error: BaseException) -> AsyncIterator[int]:
        yield 1
        await asyncio.sleep(0)
        raise error

    async def drain(error: BaseException) -> None:
        async for _ in async_generator(error):
            pass

    return {
        "plain": plain,
        "coroutine": lambda error: asyncio.run(coroutine(error)),
        "generator": lambda error: list(generator(error)),
        "async_generator": lambda error: asyncio.run(drain(error)),
    }


KINDS = ("plain", "coroutine", "generator", "async_generator")


class Custom(BaseException):
    pass


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ValueError("no such order"), Status.ERROR),
        (ExceptionGroup("many", [ValueError(), TimeoutError()]), Status.ERROR),
        (Custom(), Status.ERROR),
        (TimeoutError(), Status.TIMEOUT),
        (tooltel.Rejected("limit"), Status.INVALID_ARGUMENTS),
        (tooltel.Refused("no", policy="refunds"), Status.REFUSED),
    ],
)
def test_the_very_exception_is_raised_with_all_that_hangs_on_it(
    tel: Tooltel, seen: Captured, kind: str, error: BaseException, status: Status
) -> None:
    cause = RuntimeError("before")
    error.__cause__, error.__suppress_context__ = cause, True
    error.add_note("said by the tool")
    noted = list(error.__notes__)
    with pytest.raises(type(error)) as raised:
        runners(tel)[kind](error)
    assert raised.value is error
    assert error.__cause__ is cause
    assert error.__context__ is None
    assert error.__notes__ == noted
    (outcome,) = seen.outcomes
    assert (outcome.status, outcome.error) == (status, error)
    error.__traceback__ = None


@pytest.mark.parametrize("kind", KINDS)
def test_a_traceback_ends_in_the_tool_and_has_two_frames_of_ours_at_most(
    tel: Tooltel, seen: Captured, kind: str
) -> None:
    with pytest.raises(ValueError, match="deep") as raised:
        runners(tel)[kind](ValueError("deep"))
    frames = traceback.extract_tb(raised.value.__traceback__)
    assert (frames[-1].name, frames[-1].filename) == (kind, __file__)
    ours = [frame for frame in frames if "/tooltel/" in frame.filename]
    assert 1 <= len(ours) <= 2
    assert {frame.filename.rpartition("/")[2] for frame in ours} == {"wrap.py"}, "no frame of a recorder"
    assert len(seen.outcomes) == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
def test_an_interrupt_or_an_exit_passes_and_the_call_is_settled(
    tel: Tooltel, seen: Captured, error: BaseException
) -> None:
    for kind in ("plain", "generator"):  # an event loop has its own ideas of these two
        with pytest.raises(type(error)) as raised:
            runners(tel)[kind](error)
        assert raised.value is error
    assert [outcome.status for outcome in seen.outcomes] == [Status.ERROR] * 2
    assert {outcome.error_type for outcome in seen.outcomes} == {type(error).__name__}
    assert all(span.end_time for span in seen.spans)
    error.__traceback__ = None


@pytest.mark.parametrize("error", [StopIteration(5), StopAsyncIteration(), GeneratorExit()])
def test_exceptions_that_steer_iteration_do_what_they_do_in_a_bare_function(tel: Tooltel, error: BaseException) -> None:
    def bare_plain() -> None:
        raise error

    def bare_generator() -> Iterator[int]:
        yield 1
        raise error

    async def bare_coroutine() -> None:
        raise error

    async def bare_async_generator() -> AsyncIterator[int]:
        yield 1
        raise error

    async def drain(stream: AsyncIterator[int]) -> list[int]:
        return [item async for item in stream]

    def happens(run: Callable[[], Any]) -> tuple[Any, ...]:
        try:
            return ("returned", run())
        except BaseException as raised:  # noqa: BLE001 - whatever it is, it is to be the same
            return (type(raised), str(raised), type(raised.__cause__))

    def wrap(fn: Any) -> Any:
        return tel.tool(fn, owner="desk")

    def hand_driven(coroutine: Any) -> Any:
        return coroutine.send(None)

    assert happens(wrap(bare_plain)) == happens(bare_plain)
    assert happens(lambda: list(wrap(bare_generator)())) == happens(lambda: list(bare_generator()))
    assert happens(lambda: hand_driven(wrap(bare_coroutine)())) == happens(lambda: hand_driven(bare_coroutine()))
    wrapped, bare = wrap(bare_async_generator), bare_async_generator
    assert happens(lambda: asyncio.run(drain(wrapped()))) == happens(lambda: asyncio.run(drain(bare())))


def test_what_is_being_handled_around_the_tool_is_not_seen_inside_and_comes_back(tel: Tooltel) -> None:
    @tel.tool(owner="desk")
    def order_lookup() -> Any:
        try:
            raise KeyError("inner")
        except KeyError:
            return sys.exc_info()[0]

    try:
        raise ValueError("outer")
    except ValueError:
        assert order_lookup() is KeyError
        assert sys.exc_info()[0] is ValueError
        with pytest.raises(KeyError) as raised:
            tel.tool(dict[str, int]().__getitem__, name="dict_lookup", owner="desk")("a")
        assert isinstance(raised.value.__context__, ValueError), "as Python itself does it"


def test_an_exception_that_the_tool_handles_is_no_failure(tel: Tooltel, seen: Captured) -> None:
    @tel.tool(owner="desk")
    def order_lookup() -> str:
        try:
            raise ValueError
        except ValueError:
            return "handled"

    assert order_lookup() == "handled"
    assert seen.outcomes[0].status is Status.OK


def test_an_exception_that_cannot_be_told_apart_is_an_error_and_counted_inside(tel: Tooltel) -> None:
    class Hostile(Exception):
        @property  # type: ignore[misc]  # mypy knows it as an attribute
        def __class__(self) -> Any:
            raise RuntimeError("no class for you")

        def __str__(self) -> str:
            raise RuntimeError("no text for you")

    error = Hostile()

    @tel.tool(owner="desk")
    def order_lookup() -> None:
        raise error

    before = parse_samples(tel.view)
    try:
        order_lookup()
    except BaseException as raised:  # noqa: BLE001 - pytest.raises would ask for its class
        assert raised is error  # noqa: PT017 - see above
    after = parse_samples(tel.view)
    changed = {
        (name, dict(labels).get("outcome")) for (name, labels), v in after.items() if v != before.get((name, labels))
    }
    assert ("tooltel_tool_calls_total", "error") in changed


def test_a_message_with_a_users_data_is_on_no_span_and_no_label(tel: Tooltel, seen: Captured) -> None:
    @tel.tool(owner="desk")
    def order_lookup() -> None:
        raise ValueError("card 4111-1111")

    with pytest.raises(ValueError, match="4111"):
        order_lookup()
    (span,) = seen.spans
    assert "4111" not in span.to_json()
    assert "4111" not in str(seen.increases())
    assert "4111" not in str(seen.events)
