"""What a tool returns reaches its caller untouched, whatever it is and whatever is read from it."""

from __future__ import annotations

import asyncio
import time
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from unittest.mock import MagicMock

import pytest
from prometheus_client import CollectorRegistry

from tooltel import Catalog, HouseRules, Tooltel
from tooltel.errors import Level
from tooltel.signals import Status
from tooltel.testing import capture, parse_samples

if TYPE_CHECKING:
    from tooltel.testing import Captured


class Hostile:
    """Fights every question."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(f"asked for {name}")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("compared")

    def __hash__(self) -> int:
        raise RuntimeError("hashed")

    def __bool__(self) -> bool:
        raise RuntimeError("is it true?")

    def __len__(self) -> int:
        raise RuntimeError("measured")

    def __repr__(self) -> str:
        raise RuntimeError("shown")


class HostileDict(dict[str, Any]):
    def get(self, *args: Any) -> Any:
        raise RuntimeError(f"asked for {args}")

    def __contains__(self, key: object) -> bool:
        raise RuntimeError(f"asked for {key}")


class Disguised:
    @property  # type: ignore[misc]  # mypy knows it as an attribute
    def __class__(self) -> Any:
        raise RuntimeError("asked for its class")


class HostileMeta(type):
    def __hash__(cls) -> int:
        raise RuntimeError("its class was hashed")


class OfHostileClass(metaclass=HostileMeta):
    content: str
    isError: bool  # noqa: N815 - the protocol's name


class EqualMeta(type):
    def __eq__(cls, other: object) -> bool:
        raise RuntimeError("its class was compared")

    __hash__ = None  # type: ignore[assignment]  # as of every class that only defines equality


class OfUnhashableClass(metaclass=EqualMeta):
    pass


class Key:
    """Sits in a dictionary where "status" would."""

    def __hash__(self) -> int:
        return hash("status")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("a key was compared")


@dataclass
class ToolResult:
    content: list[str] = field(default_factory=list)
    isError: bool = True  # noqa: N815 - the protocol's name


RESULTS: list[Any] = [
    None, "", "text", 0, True, b"x", [], {}, (), set(), object(), Hostile(), HostileDict(a=1), Disguised(),
    OfHostileClass(), OfUnhashableClass(), {Key(): 1}, MagicMock(),
    NotImplemented, ..., ValueError("returned, not raised"), type, len,
    {"status": Hostile()}, {"status": "partial", "results": [Hostile()]}, {Hostile: Hostile()},
    {"status": "invalid_arguments", "errors": [Hostile()]}, {"content": Hostile(), "isError": Hostile()},
]  # fmt: skip


def make_tooltel() -> Tooltel:
    catalog = Catalog(house=HouseRules(levels={"description": Level.OFF}), open=True)
    return Tooltel(catalog, registry=CollectorRegistry())


@pytest.mark.parametrize("number", range(len(RESULTS)))
def test_the_very_object_is_returned(number: int) -> None:
    result = RESULTS[number]
    tel = make_tooltel()

    @tel.tool(owner="desk")
    def order_lookup() -> Any:
        return result

    @tel.tool(owner="desk")
    async def order_lookup_slowly() -> Any:
        await asyncio.sleep(0)
        return result

    async def main() -> bool:
        return (await order_lookup_slowly()) is result  # not given to asyncio, which would want to show it

    assert order_lookup() is result
    assert asyncio.run(main())
    calls = [
        (dict(labels)["outcome"], value)
        for (name, labels), value in parse_samples(tel.view).items()
        if name == "tooltel_tool_calls_total" and value
    ]
    assert sum(value for _, value in calls) == 2
    assert {outcome for outcome, _ in calls} <= {"ok", "partial", "invalid_arguments"}


def test_a_result_that_fights_being_read_is_counted_inside_and_raised_under_the_test_kit() -> None:
    tel = make_tooltel()

    @tel.tool(owner="desk")
    def order_lookup() -> Any:
        return HostileDict()

    order_lookup()
    with capture(tel) as seen, pytest.raises(RuntimeError, match="asked for status"):
        order_lookup()
    assert seen.increase("tooltel_internal_errors_total", component="call") == 1
    failures = parse_samples(tel.view)["tooltel_internal_errors_total", frozenset({("component", "call")})]
    assert failures == 2


@pytest.mark.parametrize(
    ("result", "status"),
    [
        ({"status": "invalid_arguments", "errors": [{"field": "limit"}]}, Status.INVALID_ARGUMENTS),
        ({"status": "refused", "policy": "refunds"}, Status.REFUSED),
        ({"status": "partial", "results": [{"status": "failed"}]}, Status.PARTIAL),
        ({"replayed": True}, Status.REPLAYED),
        ({"content": [], "isError": True}, Status.ERROR),
        (ToolResult(), Status.ERROR),
        ({"status": "error", "message": "business data"}, Status.OK),
    ],
)
def test_an_unmistakable_shape_counts_as_what_it_says_and_can_be_switched_off(
    tel: Tooltel, seen: Captured, result: Any, status: Status
) -> None:
    @tel.tool(owner="desk")
    def order_lookup() -> Any:
        return result

    @tel.tool(owner="desk", result_shape=False)
    def order_lookup_plain() -> Any:
        return result

    assert order_lookup() is order_lookup_plain() is result
    assert [outcome.status for outcome in seen.outcomes] == [status, Status.OK]
    assert [outcome.error_type for outcome in seen.outcomes][1] == ""


def test_a_huge_result_costs_a_call_nothing(tel: Tooltel, seen: Captured) -> None:
    huge = {"rows": list(range(1_000_000)), "status": "done", "text": "x" * 10_000_000}

    @tel.tool(owner="desk")
    def order_export() -> Any:
        return huge

    begun = time.perf_counter()
    for _ in range(100):
        assert order_export() is huge
    assert time.perf_counter() - begun < 2.0
    assert len(seen.outcomes) == 100


def test_what_a_tool_returns_is_not_kept_alive(tel: Tooltel) -> None:
    class Row:
        pass

    @tel.tool(owner="desk")
    def order_lookup() -> Row:
        return Row()

    with capture(tel) as seen:
        row = order_lookup()
        kept = weakref.ref(row)
        del row
        assert kept() is None
        assert len(seen.outcomes) == 1


def test_arguments_are_passed_as_they_are_and_not_kept_alive(tel: Tooltel) -> None:
    class Basket:
        pass

    got: list[Any] = []

    @tel.tool(owner="desk", risk="write")
    def order_place(basket: Basket, *more: Basket, note: Basket) -> None:
        got.append([id(each) for each in (basket, *more, note)])

    baskets = [Basket() for _ in range(3)]
    ids, kept = [id(each) for each in baskets], [weakref.ref(each) for each in baskets]
    with tel.session(id="s-1"):
        order_place(baskets[0], baskets[1], note=baskets[2])
    baskets.clear()
    assert got == [ids]
    assert [each() for each in kept] == [None] * 3
