"""A hotel's tools, and what they did; no framework is needed for either."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, get_type_hints

from prometheus_client import CollectorRegistry

from tooltel import Catalog, HouseRules, Profile, Refused, Rejected, Tool, Tooltel
from tooltel.errors import Level

CATALOG = Catalog(
    tools=[
        Tool("book_room", "rooms", "write", profiles=["desk"], retired=["reserve_room"], repeatable=True),
        Tool("find_rooms", "rooms", profiles=["desk"], aliases=["search_rooms"]),
        Tool("book_table", "kitchen", profiles=["desk"]),
        Tool("send_bill", "money", "irreversible", profiles=["desk"]),
        Tool("ring_bell", "porters", profiles=["desk"]),
        Tool("call_taxi", "porters", profiles=["desk"]),
        Tool("clean_rooms", "porters", profiles=["desk"]),
        Tool("pay_refund", "money", "irreversible", profiles=["back_office"]),
    ],
    profiles=[Profile("desk", "hotel"), Profile("back_office", "money")],
    house=HouseRules(levels={"description": Level.OFF}),
    open=True,
)


NAMES = ("book_room", "find_rooms", "book_table", "send_bill", "ring_bell", "call_taxi", "clean_rooms")


class Hotel:
    """Tools that do as they are asked, by their argument `how`; *tool_error* is what a framework has for refusals."""

    def __init__(self, tool_error: type[Exception] = ValueError) -> None:
        self.log: list[tuple[Any, ...]] = []
        self.rung = asyncio.Event()
        self.hung_up = asyncio.Event()
        self.tool_error = tool_error

    def _note(self, *what: Any) -> None:
        self.log.append(copy.deepcopy(what))

    def book_room(self, nights: int, kind: Literal["single", "double"], note: str | None = None) -> dict[str, Any]:
        """Book a room for some nights."""
        self._note("book_room", nights, kind, note)
        return {"nights": nights, "kind": kind}

    async def find_rooms(self, kind: str) -> list[str]:
        """Find the rooms of one kind that are free tonight."""
        self._note("find_rooms", kind)
        await asyncio.sleep(0)
        return ["12", "14"]

    def book_table(self, size: int, how: str = "fine") -> dict[str, Any]:
        """Book a table in the restaurant, for some people."""
        self._note("book_table", size, how)
        if how == "raise":
            raise Rejected("size", problem=f"{size} is too many", expected="integer from 1 to 8")
        if how == "say":
            raise self.tool_error(f"{size} is too many")
        if how == "shape":
            return {"status": "invalid_arguments", "errors": [{"field": "size", "problem": "too many"}]}
        return {"table": 7}

    async def send_bill(self, room: str, how: str = "fine") -> dict[str, Any]:
        """Send the bill of a room to the guest, once and for all."""
        self._note("send_bill", room, how)
        if how == "raise":
            raise Refused("bills need a manager", policy="bills")
        if how == "shape":
            return {"status": "refused", "policy": "bills", "error": "bills need a manager"}
        if how == "replayed":
            return {"replayed": True, "bill": 3}
        return {"bill": 3}

    async def ring_bell(self, how: str = "fine") -> str:
        """Ring the bell, so that somebody comes to the desk."""
        self._note("ring_bell", how)
        if how == "late":
            async with asyncio.timeout(0):
                await asyncio.Event().wait()
        if how == "forever":
            self.rung.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.hung_up.set()
        return "somebody comes"

    def call_taxi(self, how: str = "fine") -> str:
        """Call a taxi to the front door, for a guest."""
        self._note("call_taxi", how)
        if how == "crash":
            raise KeyError("no such taxi")
        return "in five minutes"

    async def clean_rooms(self, rooms: list[str]) -> dict[str, Any]:
        """Have some rooms cleaned, as soon as possible."""
        self._note("clean_rooms", rooms)
        if not rooms:
            raise ConnectionError("nobody is there")
        return {"status": "partial", "results": [{"status": "ok"} for _ in rooms[1:]] + [{"status": "failed"}]}

    def tools(self, tel: Tooltel | None = None) -> dict[str, Callable[..., Any]]:
        """By name, wrapped by *tel* when it is given; one is there under its old name too."""
        functions: dict[str, Callable[..., Any]] = {name: getattr(self, name) for name in NAMES}
        if tel is None:
            return {**functions, "search_rooms": self.find_rooms}
        wrapped = {name: tel.tool(function) for name, function in functions.items()}
        return {**wrapped, "search_rooms": tel.alias("search_rooms", wrapped["find_rooms"])}


for function in (getattr(Hotel, name) for name in NAMES):  # as mcp 1.10 looks for types in a decorator's module
    function.__annotations__ = get_type_hints(function)


@contextmanager
def telemetry(**options: Any) -> Iterator[Tooltel]:
    """A Tooltel of the hotel's catalog, on a registry of its own."""
    with Tooltel(CATALOG, registry=CollectorRegistry(), **options) as tel:
        yield tel
