"""What a result says about its call: only an unmistakable shape speaks, everything else is business data."""

from __future__ import annotations

import json
import time
from collections import ChainMap, OrderedDict, UserDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import MagicMock, Mock

import pytest

from tooltel.outcome import MAX_FAULTS, OK, Fault, judge_result
from tooltel.signals import RejectionKind, RejectionSource, Status

INVALID = {
    "status": "invalid_arguments",
    "errors": [{"field": "limit", "problem": "too large", "expected": "1-100"}],
}
PARTIAL = {"status": "partial", "results": [{"id": 1, "status": "ok"}, {"id": 2, "status": "failed"}]}
REFUSED = {"status": "refused", "policy": "refunds"}
REPLAYED = {"replayed": True, "id": 7}
MCP = {"content": [{"type": "text", "text": "no such file"}], "isError": True}


@dataclass
class CallToolResult:
    content: list[Any] = field(default_factory=list)
    isError: bool = False  # noqa: N815 - the protocol's name


@dataclass
class Later(CallToolResult):
    more: int = 0


class Snake:
    content: list[Any]
    is_error: bool

    def __init__(self, *, is_error: bool) -> None:
        self.content, self.is_error = [], is_error


class Row(NamedTuple):
    content: list[Any]
    isError: bool  # noqa: N815 - the protocol's name


@pytest.mark.parametrize(
    ("result", "status"),
    [
        (INVALID, Status.INVALID_ARGUMENTS),
        (PARTIAL, Status.PARTIAL),
        (REFUSED, Status.REFUSED),
        (REPLAYED, Status.REPLAYED),
        (MCP, Status.ERROR),
        ({"content": [], "is_error": True}, Status.ERROR),
        (CallToolResult(isError=True), Status.ERROR),
        (Later(isError=True), Status.ERROR),
        (Snake(is_error=True), Status.ERROR),
        (Row([], isError=True), Status.ERROR),
        (OrderedDict(REFUSED), Status.REFUSED),
        (UserDict(REFUSED), Status.REFUSED),
        (ChainMap({}, REFUSED), Status.REFUSED),
        (MappingProxyType(REPLAYED), Status.REPLAYED),
    ],
)
def test_an_unmistakable_shape_settles_the_call(result: object, status: Status) -> None:
    assert judge_result(result).status is status


@pytest.mark.parametrize(
    "result",
    [
        None, "", "invalid_arguments", 0, True, [], (), {},
        {"status": "ok"}, {"status": "error"}, {"status": "timeout"}, {"status": "cancelled"},
        {"status": "invalid_arguments"}, {"status": "invalid_arguments", "errors": []},
        {"status": "invalid_arguments", "errors": "x"}, {"status": "invalid_arguments", "errors": {"a": 1}},
        {"errors": [{"field": "a"}]},
        {"status": "partial"}, {"status": "partial", "results": 3}, {"status": "partial", "results": {}},
        {"status": "partial", "results": []},
        {"status": "partial", "results": [{"title": "A page of hits"}, {"title": "Another"}]},
        {"results": [{"status": "failed"}]},
        {"status": "refused"},
        {"status": "refused", "policy": None}, {"status": "refused", "policy": {"id": 3}},
        {"policy": "refunds"},
        {"replayed": "True"}, {"replayed": 1}, {"replayed": False}, {"status": "replayed"},
        {"isError": True}, {"content": [], "isError": "true"}, {"content": [], "isError": False},
        {"status": 404}, {"status": None}, {"status": ["partial"], "results": [{"status": "ok"}]},
        {"status": {"status": "refused"}, "policy": "p"},
        CallToolResult(), Snake(is_error=False), SimpleNamespace(content=[], isError=True),
        [PARTIAL], (REFUSED,), json.dumps(INVALID),
    ],
)  # fmt: skip
def test_anything_less_is_business_data(result: object) -> None:
    assert judge_result(result) == OK


def test_a_rejection_by_result_is_one_of_the_domain_with_every_fault() -> None:
    errors = [
        {"field": "limit", "problem": "too large", "expected": "1-100"},
        {"field": "page"},
        "bad query",
        7,
    ]
    (rejection,) = judge_result({"status": "invalid_arguments", "errors": errors}).rejections
    assert (rejection.kind, rejection.source) == (RejectionKind.DOMAIN, RejectionSource.TOOL)
    assert rejection.faults == (
        Fault("limit", "too large", "1-100"),
        Fault("page", "not acceptable", None),
        Fault("", "bad query", None),
        Fault("", "7", None),
    )


def test_faults_are_cleaned_and_their_number_is_bounded() -> None:
    errors = [{"field": "a\nb" * 200, "problem": "\x1b[2J", "expected": b"\xff"}] * 100_000
    (rejection,) = judge_result({"status": "invalid_arguments", "errors": errors}).rejections
    assert len(rejection.faults) == MAX_FAULTS
    for text in rejection.faults[0]:
        assert text is not None
        assert text.isprintable()
        assert len(text) <= 128


def test_items_of_a_partial_result_are_counted_by_what_became_of_them() -> None:
    items: list[Any] = [{"status": "ok"}] * 3 + [
        {"status": "failed"},
        {"status": "compensated"},
        {"status": "outstanding"},
    ]
    unreadable: list[Any] = [{"status": "done-ish"}, {}, None, {"status": ["ok"]}, {"status": 1}]
    verdict = judge_result({"status": "partial", "results": items + unreadable})
    assert verdict.items == {"ok": 3, "failed": 1, "compensated": 1, "outstanding": 1 + len(unreadable)}
    assert judge_result({"status": "partial", "results": ("ok", "failed", "?")}).items == {
        "ok": 1,
        "failed": 1,
        "outstanding": 1,
    }


def test_a_refusal_by_result_names_its_policy_cleaned() -> None:
    assert judge_result({"status": "refused", "policy": "a\nb" + "x" * 500}).policy == ("a\\nb" + "x" * 123 + "…")


def test_a_status_that_answers_comparison_with_something_else_is_business_data() -> None:
    """An array compares with a word element by element, and refuses to be true or false."""

    class Column:
        def __eq__(self, other: object) -> Any:
            return [False, False]

        def __hash__(self) -> int:
            return 0

    class Ambiguous(Column):
        def __eq__(self, other: object) -> Any:
            return Array()

        __hash__ = Column.__hash__

    class Array:
        def __bool__(self) -> bool:
            raise ValueError("the truth value of an array is ambiguous")

    for status in (Column(), Ambiguous()):
        assert judge_result({"status": status, "errors": ["x"], "policy": "p", "results": [{"status": "ok"}]}) == OK


@pytest.mark.parametrize("result", [MagicMock(), Mock(), MagicMock(spec=dict), MagicMock(isError=True, content=[])])
def test_a_mock_answers_everything_and_says_nothing(result: object) -> None:
    assert judge_result(result) == OK


def test_a_class_that_declares_no_error_flag_is_not_asked_for_one() -> None:
    """A lazy proxy may open a connection when it is asked for an attribute."""

    class Lazy:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError(f"asked for {name}")

    assert judge_result(Lazy()) == OK


def test_a_mapping_without_the_three_keys_is_asked_for_nothing_else() -> None:
    class Remote(Mapping[str, Any]):
        def __contains__(self, key: object) -> bool:
            return False

        def __getitem__(self, key: str) -> Any:
            raise AssertionError(f"fetched {key}")

        def __iter__(self) -> Iterator[str]:
            raise AssertionError("walked")

        def __len__(self) -> int:
            raise AssertionError("counted")

    assert judge_result(Remote()) == OK


def test_a_huge_result_takes_no_longer_than_a_small_one() -> None:
    huge = {f"key_{n}": [n] * 10 for n in range(100_000)} | {
        "status": "ok",
        "results": [{"status": "ok"}] * 1_000_000,
    }
    begun = time.perf_counter()
    for _ in range(1000):
        judge_result(huge)
    assert time.perf_counter() - begun < 0.5, "half a millisecond for each is a hundred times too long"
