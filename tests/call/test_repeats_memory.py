"""What a repeat is told by: fingerprints of any arguments, and a memory with bounds."""

from __future__ import annotations

import inspect
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest

from tooltel.repeats import Repeats, fingerprint
from tooltel.signals import Status
from tooltel.testing import FakeClock

if TYPE_CHECKING:
    from tooltel import Tooltel
    from tooltel.testing import Captured

Refund = Callable[..., Any]


def repeats(seen: Captured) -> list[bool]:
    return [outcome.repeated is not None for outcome in seen.outcomes]


# --- arguments of any kind ---


@dataclass
class Money:
    amount: int
    notes: list[str] = field(default_factory=list)


class Uncopyable:
    def __deepcopy__(self, memo: Any) -> Any:
        raise AssertionError("copied")


@dataclass
class Context:
    client: Any
    lock: Any = field(default_factory=threading.Lock)


SIGNATURE = inspect.signature(lambda value: value)


def of(value: Any) -> bytes | None:
    return fingerprint(SIGNATURE, (value,), {})


@pytest.mark.parametrize(
    ("one", "same"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": 1}, OrderedDict(a=1)),
        ({"a": 1}, MappingProxyType({"a": 1})),
        ([1, 2], (1, 2)),
        ({1, 2, 3}, {3, 2, 1}),
        (Money(1, ["x"]), Money(1, ["x"])),
        (b"x", b"x"),
        ("\ud800", "\ud800"),
        (float("nan"), float("nan")),
    ],
)
def test_equal_values_have_one_fingerprint(one: Any, same: Any) -> None:
    assert of(one) == of(same) is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, "1"),
        (1, True),
        (None, "None"),
        (Money(1), Money(2)),
        ({1, 2}, {1, 3}),
        ("a", "b"),
        ([1], [[1]]),
        (b"x", "x"),
    ],
)
def test_different_values_have_different_fingerprints(one: Any, other: Any) -> None:
    assert of(one) != of(other)


def test_values_without_a_canonical_form_have_none_and_harm_nothing(tel: Tooltel, seen: Captured) -> None:
    circular: list[Any] = []
    circular.append(circular)
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]

    class Hostile:
        def __repr__(self) -> str:
            raise RuntimeError

    @tel.tool(owner="desk", risk="write")
    def order_touch(value: Any) -> Any:
        return type(value)

    with tel.session(id="s-1"):
        for value in (circular, deep, Hostile(), {1: 1, "a": 2}, 10**5000):
            assert of(value) is None
            assert order_touch(value) is order_touch(value) is type(value)
    assert repeats(seen) == [False] * 10


def test_nothing_is_copied_consumed_or_fetched() -> None:
    """A dataclass may hold the client of a database, an iterator has but one reading, and a mapping may be remote."""

    class Remote(Mapping[str, Any]):
        def __getitem__(self, key: str) -> Any:
            raise AssertionError("fetched")

        def __iter__(self) -> Iterator[str]:
            raise AssertionError("listed")

        def __len__(self) -> int:
            raise AssertionError("counted")

        def __repr__(self) -> str:
            return "Remote()"

    iterator = iter([1, 2, 3])
    context = Context(Uncopyable())
    assert of(context) == of(context) is not None
    assert of(iterator) is None, "it says only where it is, and nothing tells when another is there"
    assert list(iterator) == [1, 2, 3]
    assert of(Remote()) == of(Remote()) is not None


def test_a_function_without_a_signature_is_known_by_its_arguments_as_they_came() -> None:
    assert fingerprint(None, (1,), {"a": 2}) != fingerprint(None, (2,), {"a": 2})
    assert fingerprint(None, (1,), {"a": 2}) == fingerprint(None, (1,), {"a": 2}) is not None


# --- the memory ---


def note(memory: Repeats, session: Any, print_: bytes, status: Status = Status.OK) -> float | None:
    return memory.note(session, "order_refund", print_, status)


def test_a_repeat_tells_how_long_ago_the_first_one_was() -> None:
    clock = FakeClock()
    memory = Repeats(clock=clock)
    assert note(memory, "s-1", b"a") is None
    clock.advance(30.0)
    assert note(memory, "s-1", b"a") == 30.0
    clock.advance(10.0)
    assert note(memory, "s-1", b"a") == 40.0, "the first one, not the last"


def test_a_call_is_forgotten_after_the_window() -> None:
    clock = FakeClock()
    memory = Repeats(window=60.0, clock=clock)
    note(memory, "s-1", b"a")
    clock.advance(60.0)
    assert note(memory, "s-1", b"a") == 60.0
    clock.advance(0.5)
    assert note(memory, "s-1", b"a") is None
    clock.advance(1.0)
    assert note(memory, "s-1", b"a") == 1.0


def test_one_tools_arguments_are_not_anothers() -> None:
    memory = Repeats()
    assert memory.note("s-1", "order_refund", b"a", Status.OK) is None
    assert memory.note("s-1", "order_cancel", b"a", Status.OK) is None


def test_the_oldest_calls_and_the_sessions_unused_for_longest_are_forgotten_first() -> None:
    memory = Repeats(sessions=2, calls=2)
    for print_ in (b"a", b"b", b"c"):
        note(memory, "s-1", print_)
    assert note(memory, "s-1", b"c") is not None
    assert note(memory, "s-1", b"a") is None, "the oldest of three"
    note(memory, "s-2", b"a")
    note(memory, "s-1", b"a")
    note(memory, "s-3", b"a")
    assert note(memory, "s-1", b"a") is not None
    assert note(memory, "s-2", b"a") is None, "unused for longest"


def test_a_session_that_did_nothing_takes_no_place() -> None:
    memory = Repeats(sessions=1)
    note(memory, "s-1", b"a")
    for status in (Status.ERROR, Status.REFUSED, Status.CANCELLED):
        note(memory, "s-2", b"a", status)
    assert note(memory, "s-1", b"a") is not None


def test_a_hundred_thousand_sessions_take_no_more_memory_than_the_bound() -> None:
    memory = Repeats(sessions=100, calls=10)
    for number in range(100_000):
        note(memory, f"s-{number}", str(number).encode())
    assert len(memory._sessions) == 100
    for number in range(1000):
        note(memory, "s-one", str(number).encode())
    assert len(memory._sessions["s-one"]) == 10


def test_a_call_made_while_another_is_noted_does_not_lock_up() -> None:
    """Garbage collection comes at any moment, and the finalizers that it runs may call tools."""
    memory = Repeats()

    class Finalized:
        def __hash__(self) -> int:
            note(memory, "s-of-the-finalizer", b"a")
            return 1

        def __eq__(self, other: object) -> bool:
            return self is other

    thread = threading.Thread(target=note, args=(memory, Finalized(), b"a"), daemon=True)
    thread.start()
    thread.join(timeout=30)
    assert not thread.is_alive(), "locked up"
    assert note(memory, "s-of-the-finalizer", b"a") is not None
