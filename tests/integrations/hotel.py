"""
The hotel at whose desk every framework's tests play their conversation; no framework is needed for it.

What is the same wherever it stands: its catalog, its tools, the names that are no tools, and what must be recorded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Literal, Optional

from prometheus_client import CollectorRegistry

from tooltel import Catalog, HouseRules, Profile, Refused, Rejected, Tool, Tooltel
from tooltel.errors import Level
from tooltel.integrations.compatibility import Moment

# --- the catalog ----------------------------------------------------------------------------------

TOOLS = (
    Tool("book_room", "rooms", "write", profiles=["desk"], retired=["reserve_room"], repeatable=True),
    Tool("find_rooms", "rooms", profiles=["desk"], aliases=["search_rooms"]),
    Tool("book_table", "kitchen", profiles=["desk"]),
    Tool("send_bill", "money", "irreversible", profiles=["desk"]),
    Tool("ring_bell", "porters", profiles=["desk"]),
    Tool("call_taxi", "porters", profiles=["desk"]),
    Tool("clean_rooms", "porters", profiles=["desk"]),
    Tool("pay_refund", "money", "irreversible", profiles=["back_office"]),
)


def catalog(*more: Tool) -> Catalog:
    """The hotel's catalog with *more* tools, each in the place of the hotel's own of that name, if there is one."""
    tools = {tool.name: tool for tool in (*TOOLS, *more)}
    return Catalog(
        tools=list(tools.values()),
        profiles=[Profile("desk", "hotel"), Profile("back_office", "money")],
        house=HouseRules(levels={"description": Level.OFF}),
        open=True,
    )


CATALOG = catalog()


@contextmanager
def telemetry(catalog: Catalog = CATALOG, **options: Any) -> Iterator[Tooltel]:
    """A Tooltel of the hotel's catalog, on a registry of its own."""
    with Tooltel(catalog, registry=CollectorRegistry(), **options) as tel:
        yield tel


# --- the tools ------------------------------------------------------------------------------------

NAMES = ("book_room", "find_rooms", "book_table", "send_bill", "ring_bell", "call_taxi", "clean_rooms")


class Hotel:
    """
    Tools that do as they are asked, by their argument `how`; `log` is what really ran.

    How a tool says no is each framework's own, and so is `book_table`, which is not here. A test can wait for the bell
    to be `rung`, and for whoever rang it for ever to have `hung_up`.
    """

    def __init__(self) -> None:
        self.log: list[str] = []
        self.rung = asyncio.Event()
        self.hung_up = asyncio.Event()

    def _note(self, name: str, *args: Any) -> None:
        self.log.append(f"{name}{args!r}")

    def functions(self) -> list[Callable[..., Any]]:
        """The tools without anything around them, named as the catalog names them."""
        return [getattr(self, name) for name in NAMES]

    def book_room(self, nights: int, kind: Literal["single", "double"], note: Optional[str] = None) -> dict[str, Any]:  # noqa: UP045 - what old versions read
        """Book one room for some nights, for a guest."""
        self._note("book_room", nights, kind, note)
        return {"booked": f"{nights} {kind}"}

    async def find_rooms(self, kind: str) -> list[str]:
        """Find the rooms of one kind that are free tonight."""
        self._note("find_rooms", kind)
        await asyncio.sleep(0)
        return ["12", "14"]

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


def table(size: int, how: str) -> dict[str, Any]:
    """What a `book_table` does that no framework has a word of its own for."""
    if how == "raise":
        raise Rejected("size", problem=f"{size} is too many", expected="integer from 1 to 8")
    if how == "shape":
        return {"status": "invalid_arguments", "errors": [{"field": "size", "problem": "too many"}]}
    return {"table": 7}


# --- the conversation -----------------------------------------------------------------------------

# Moments that no turn can show, whatever the model asks for.
SHOWN_ELSEWHERE = frozenset({Moment.DECLARATIONS, Moment.SESSION, Moment.AGENT, Moment.CALL_ID, Moment.STREAM})


async def call_off(turn: Coroutine[Any, Any, Any], *, when: asyncio.Event) -> None:
    """Let *turn* begin, and cancel it as soon as a tool of it sets *when*: the guest does not wait for its end."""
    when.clear()
    running = asyncio.create_task(turn)
    await when.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def booking(**changed: Any) -> dict[str, Any]:
    """Arguments for `book_room`, those of *changed* in place of good ones; one that is `...` is left out."""
    args = {"nights": 2, "kind": "single", **changed}
    return {name: value for name, value in args.items() if value is not ...}


def rejected(*fields: str, tool: str = "book_room", kind: str = "structural framework") -> str:
    """What is recorded of a call whose *fields* were rejected; *kind* says of what kind they were, and by whom."""
    each = (f"field {tool} {kind.partition(' ')[0]} {field}" for field in fields)
    return "\n".join([f"call {tool} invalid_arguments", f"rejected {tool} {kind}", *each])


TABLE_FOR_NINE = rejected("size", tool="book_table", kind="domain tool")
NO_TABLE = rejected("other", tool="book_table", kind="domain tool")  # and why is told in words alone
NO_BILL = "call send_bill refused\nrefused send_bill bills"
# Of three rooms, as `clean_rooms` tells; and of a tool that was asked for by the name that it had.
CLEANED = """
    call clean_rooms partial
    items clean_rooms ok
    items clean_rooms ok
    items clean_rooms failed
"""
OLD_NAME = "call find_rooms ok\nalias search_rooms find_rooms"

# Names that are no tools, each with its moment and with what is recorded of a call to it.
NO_TOOLS: tuple[tuple[Moment, str, str], ...] = (
    (Moment.UNKNOWN, "get_wether", "drop unknown other"),
    (Moment.UNKNOWN, "drill", "drop unknown other"),
    (Moment.UNKNOWN, "reserve_room", "drop renamed reserve_room"),
    (Moment.UNKNOWN, "pay_refund", "drop not_in_profile pay_refund"),
    (Moment.EMPTY, "", "drop empty other"),
    (Moment.EMPTY, "  ", "drop empty other"),
    (Moment.NEAR_MISS, "book_rooms", "drop unknown other"),
    (Moment.NEAR_MISS, "Book_Room", "drop unknown other"),
    (Moment.NEAR_MISS, "book_room ", "drop unknown other"),
    (Moment.NEAR_MISS, "functions.book_room", "drop unknown other"),
    (Moment.HOSTILE, "x" * 3_000, "drop unknown other"),
    (Moment.HOSTILE, "a\n2030-01-01 ERROR root: forged", "drop unknown other"),
    (Moment.HOSTILE, "\x1b[31mred\x00\u202e", "drop unknown other"),
    (Moment.HOSTILE, "book_room<|channel|>commentary", "drop unknown other"),
)
