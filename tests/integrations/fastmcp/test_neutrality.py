"""Watched or not, everything is the same: answers, exceptions, what tools are asked, what fastmcp says in its log."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from fastmcp.exceptions import ToolError
from fastmcp.server.middleware import Middleware

from tests.integrations.fastmcp.kit import WAYS, connect, serve
from tests.integrations.hotel import telemetry
from tests.integrations.mcp.hotel import Hotel
from tests.integrations.mcp.kit import Desk, Log, warnings_said
from tests.integrations.mcp.script import conversation
from tests.integrations.mcp.test_neutrality import break_all, break_verbs
from tooltel.integrations.fastmcp import TooltelMiddleware, watch_client

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tooltel import Tooltel

CONVERSATION = conversation(rejects_extra=True)

# What fastmcp's hooks force on a conversation, by moment. There is nothing; what changes this must say so here.
DEVIATIONS: dict[str, str] = {}


class Other(Middleware):
    """Notes what a middleware sees."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def on_message(self, context: Any, call_next: Any) -> Any:
        asked = [getattr(context.message, name, None) for name in ("name", "arguments")]
        try:
            result = await call_next(context)
        except Exception as error:
            self.seen.append(f"{context.method} {asked} {error!r}")
            raise
        self.seen.append(f"{context.method} {asked} {type(result)} {getattr(result, 'structured_content', None)}")
        return result


def everything(
    way: str, middleware: Sequence[Any] = (), watch: Callable[[Any], Any] = lambda client: None
) -> dict[str, Any]:
    """All that can be seen from outside of a conversation; *watch* is given the client."""

    async def converse() -> dict[str, Any]:
        hotel = Hotel(ToolError)
        async with connect(serve(hotel, middleware=list(middleware)), way) as caller:
            watch(caller.client)
            desk = Desk(caller, hotel)
            listed = await caller.list_tools()
            for turn in CONVERSATION:
                await desk.play(turn)
        return {"answers": desk.transcript, "calls": hotel.log, "listed": repr(listed)}

    serve(Hotel(ToolError))  # what Python warns of once, when the first is made
    with Log("fastmcp") as log, Log("mcp") as sdks, warnings_said() as warned:
        seen = asyncio.run(converse())
    return {**seen, "log": sorted(log.said), "sdk's log": sorted(sdks.said), "warnings": warned}


@cache
def without(way: str) -> dict[str, Any]:
    return everything(way)


@pytest.mark.parametrize("ends", ["server", "client", "server and client"])
@pytest.mark.parametrize("way", WAYS)
def test_a_watched_conversation_is_the_one_that_nobody_watches(way: str, ends: str) -> None:
    with telemetry() as tel:
        middleware = [TooltelMiddleware(tel, profile="desk")] if "server" in ends else []
        watched = everything(way, middleware, lambda client: watch_client(tel, client) if "client" in ends else None)
    assert watched == without(way)
    assert len(watched["calls"]) > 20
    assert not DEVIATIONS


def test_to_redirect_aliases_changes_nothing_where_the_server_knows_every_name() -> None:
    with telemetry() as tel:
        middleware = [TooltelMiddleware(tel, redirect_aliases=True)]
        watched = everything("legacy", middleware, lambda client: watch_client(tel, client, redirect_aliases=True))
        assert watched == without("legacy")


@pytest.mark.parametrize("ours_first", [True, False])
def test_the_order_of_middleware_changes_nothing(*, ours_first: bool) -> None:
    def run(tel: Tooltel | None) -> tuple[dict[str, Any], list[str]]:
        other = Other()
        ours = [TooltelMiddleware(tel)] if tel is not None else []
        return everything("legacy", [*ours, other] if ours_first else [other, *ours]), other.seen

    with telemetry() as tel:
        with_it, seen = run(tel)
    without_it, seen_without = run(None)
    assert with_it == without_it == without("legacy")
    assert sorted(seen) == sorted(seen_without)
    assert len(seen) > len(CONVERSATION)


@pytest.mark.parametrize("breaks", [break_all, break_verbs])
def test_a_tooltel_that_raises_in_every_hook_changes_nothing(
    breaks: Callable[[Tooltel, pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = without("legacy")
    with telemetry() as tel:
        contained: list[BaseException] = []
        monkeypatch.setattr(tel.guard, "contain", lambda component, error: contained.append(error))
        middleware = TooltelMiddleware(tel, profile="desk", redirect_aliases=True)
        breaks(tel, monkeypatch)
        watched = everything("legacy", [middleware], lambda client: watch_client(tel, client))
        assert watched == expected
        monkeypatch.undo()
    assert len(contained) > len(CONVERSATION)
    assert {type(error) for error in contained} == {ZeroDivisionError}
