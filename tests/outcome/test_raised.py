"""The exceptions that a tool raises for tooltel: also builtins, with facts as attributes, and they travel."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from tooltel import (
    CatalogError,
    MissingExtraError,
    Problem,
    Refused,
    Rejected,
    SettingError,
    UnknownToolError,
)


class FourEyes(Refused):
    def __init__(self, amount: int) -> None:
        super().__init__(f"{amount} needs a second person", policy="four_eyes")
        self.amount = amount


REJECTED = Rejected("limit", problem="5000 is out of range", expected="integer from 1 to 100")
REFUSED = Refused("refunds need a human approver", policy="refunds")


def test_each_is_also_the_builtin_that_fits() -> None:
    assert isinstance(REJECTED, ValueError)
    assert isinstance(REFUSED, PermissionError)


def test_the_message_says_what_where_and_what_to_do_next() -> None:
    assert str(REJECTED) == "limit: 5000 is out of range (expected integer from 1 to 100)"
    assert str(Rejected("limit")) == "limit: not acceptable"
    assert str(REFUSED) == "refunds need a human approver"


def posted(error: Exception) -> Exception:
    sent: Exception = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    return sent


@pytest.mark.parametrize(
    "error",
    [
        REJECTED,
        REFUSED,
        FourEyes(5),
        CatalogError([Problem("a", "b", "c", "d")], source="tools.toml"),
        UnknownToolError("a", nearest="b", where="c"),
        SettingError("a", "b"),
        MissingExtraError("a", extra="b", purpose="c"),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("travel", [posted, copy.copy, copy.deepcopy])
def test_they_survive_a_copy_and_a_trip_to_another_process(
    error: Exception, travel: Callable[[Exception], Exception]
) -> None:
    arrived = travel(error)
    assert type(arrived) is type(error)
    assert str(arrived) == str(error)
    assert vars(arrived) == vars(error)


def refuse() -> None:
    raise FourEyes(7)


@pytest.mark.slow
def test_a_refusal_raised_in_a_pool_of_processes_reaches_the_caller_and_leaves_the_pool_alive() -> None:
    """An exception that cannot be unpickled would break the whole pool."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        with pytest.raises(FourEyes, match="7 needs a second person"):
            pool.submit(refuse).result()
        assert pool.submit(abs, -1).result() == 1
