"""TOOLTEL_DISABLED=1: tools are the bare functions, and nothing is recorded."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client import CollectorRegistry

from tooltel import Outcome, Tooltel
from tooltel.settings import Settings
from tooltel.testing import parse_samples

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def recorded() -> list[Outcome]:
    return []


@pytest.fixture(params=["environment", "setting"])
def tel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, recorded: list[Outcome]) -> Tooltel:
    settings = None
    if request.param == "environment":
        monkeypatch.setenv("TOOLTEL_DISABLED", "1")
    else:
        settings = Settings(disabled=True)
    return Tooltel(registry=CollectorRegistry(), settings=settings, recorders=[recorded.append])


def order_lookup(order_id: str) -> str:
    return order_id


async def slowly() -> str:
    return "done"


def rows() -> Iterator[int]:
    yield 1


class Called:
    def __call__(self) -> str:
        return "done"


@pytest.mark.parametrize("fn", [order_lookup, slowly, rows, Called(), len])
def test_a_tool_is_the_bare_function(tel: Tooltel, fn: Any) -> None:
    assert tel.tool(fn) is fn
    assert tel.tool(owner="desk")(fn) is fn
    assert tel.alias("any_name", fn) is fn


def test_methods_are_bare_too(tel: Tooltel) -> None:
    class Desk:
        @tel.tool(owner="desk")
        @staticmethod
        def static(order_id: str) -> str:
            return order_id

        @tel.tool(owner="desk")
        @classmethod
        def made(cls, order_id: str) -> tuple[type, str]:
            return cls, order_id

        old = tel.alias("old", static)

    assert Desk.static("o-1") == Desk.old("o-2").replace("2", "1") == "o-1"
    assert Desk.made("o-1") == (Desk, "o-1")
    assert not hasattr(Desk.static, "__wrapped__")


def test_what_is_misused_is_still_refused(tel: Tooltel) -> None:
    with pytest.raises(TypeError):
        tel.tool(Called)


def test_sessions_blocks_drops_and_declarations_do_their_part_and_record_nothing(
    tel: Tooltel, recorded: list[Outcome]
) -> None:
    before = parse_samples(tel.view)
    with tel.session(profile="support", id="s-1"), tel.call("order_lookup") as call:
        assert call.returned("done") == "done"
    with pytest.raises(ValueError, match="its own"), tel.call("order_lookup"):
        raise ValueError("its own")
    assert tel.not_found("zork").missing is not None
    tel.declared("support", [{"name": "order_lookup"}])
    tel.tool(order_lookup)("o-1")
    asyncio.run(tel.tool(slowly)())
    assert recorded == []
    assert parse_samples(tel.view) == before
