"""The conversation at the hotel's desk: every moment that there is, and what must be recorded of each."""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.integrations.anthropic.kit import WAYS, Ask, Step, ToolError, Way
from tests.integrations.counting import lines
from tests.integrations.hotel import NO_BILL, NO_TABLE, NO_TOOLS, OLD_NAME, TABLE_FOR_NINE, booking, rejected
from tooltel.integrations.compatibility import Moment

WHOLE: tuple[Way, ...] = ("sync", "async")
STREAMED: tuple[Way, ...] = ("sync-stream", "async-stream")
ASYNC: tuple[Way, ...] = ("async", "async-stream")


class Turn(NamedTuple):
    """
    What the guest's model does in one turn, and what must be recorded of it.

    `called_off` while the tool runs. `ways` are the kinds of runner in which it can happen.
    """

    moment: Moment
    steps: tuple[Step, ...]
    recorded: tuple[str, ...]
    called_off: bool = False
    ways: tuple[Way, ...] = WAYS


def turn(moment: Moment, *asks: Ask, recorded: str, **rest: Any) -> Turn:
    """One step with *asks*, then some text; *recorded* is a line for each thing."""
    return Turn(moment, (list(asks), "All done."), lines(recorded), **rest)


def unknown(moment: Moment, name: str, recorded: str = "drop unknown other") -> Turn:
    return turn(moment, Ask(name, {"nights": 1}), recorded=recorded)


def book(moment: Moment, recorded: str = "call book_room ok", **changed: Any) -> Turn:
    return turn(moment, Ask("book_room", booking(**changed)), recorded=recorded)


CONVERSATION: tuple[Turn, ...] = (
    book(Moment.CALL),
    turn(Moment.CALL, Ask("find_rooms", {"kind": "single"}), recorded="call find_rooms ok"),
    turn(Moment.CALL, Ask("call_taxi"), recorded="call call_taxi ok"),
    turn(Moment.CALL, Ask("send_bill", {"room": "12"}), recorded="call send_bill ok"),
    turn(Moment.CALL, Ask("send_bill", {"room": "12"}), recorded="call send_bill ok\nrepeated send_bill"),
    Turn(
        Moment.CALL,
        ([Ask("find_rooms", {"kind": "single"})], [Ask("book_table", {"size": 2})], "All done."),
        lines("call find_rooms ok\ncall book_table ok"),
    ),
    *(unknown(*each) for each in NO_TOOLS),
    Turn(Moment.UNKNOWN, ([Ask("drill")], [Ask("drill")], "Sorry."), lines("drop unknown other\ndrop unknown other")),
    Turn(Moment.UNKNOWN, ([Ask("drill")], "down"), lines("drop unknown other")),  # the next request fails
    unknown(Moment.HOSTILE, "Error: Tool 'book_room' not found"),
    book(Moment.COERCED, nights="10"),
    book(Moment.MISTYPED, rejected("nights"), nights="ten"),
    turn(Moment.MISTYPED, Ask("book_room", ["single", 2]), recorded=rejected("other")),
    book(Moment.MISSING, rejected("nights"), nights=...),
    book(Moment.MISSING, rejected("nights", "kind"), nights=..., kind=...),
    book(Moment.EXTRA, rejected("other"), colour="red"),
    book(Moment.WRONG_CASE, rejected("kind"), kind="Single"),
    book(Moment.NULL, rejected("nights"), nights=None),
    book(Moment.NULL, note=None),
    turn(Moment.MALFORMED, Ask("book_room", '{"nights": 2,,'), recorded="", ways=STREAMED),
    turn(Moment.DOMAIN, Ask("book_table", {"size": 9, "how": "raise"}), recorded=TABLE_FOR_NINE),
    *[
        turn(Moment.DOMAIN, Ask("book_table", {"size": 9, "how": "error"}), recorded=NO_TABLE)
        for _ in (ToolError,)
        if ToolError is not None
    ],
    turn(Moment.REFUSED, Ask("send_bill", {"room": "16", "how": "raise"}), recorded=NO_BILL),
    turn(Moment.CRASH, Ask("call_taxi", {"how": "crash"}), recorded="call call_taxi error"),
    turn(Moment.CRASH, Ask("call_taxi", {"how": "odd"}), recorded="call call_taxi error"),
    turn(Moment.TIMEOUT, Ask("ring_bell", {"how": "late"}), recorded="call ring_bell timeout"),
    turn(
        Moment.CANCELLED,
        Ask("find_rooms", {"kind": "single"}),
        Ask("ring_bell", {"how": "forever"}),
        recorded="call find_rooms ok\ncall ring_bell cancelled",
        called_off=True,
        ways=ASYNC,
    ),
    turn(
        Moment.PARALLEL,
        Ask("find_rooms", {"kind": "double"}),
        Ask("find_rooms", {"kind": "double"}),
        Ask("book_room", {"kind": "single"}),
        Ask("get_wether"),
        Ask("book_table", {"size": 9, "how": "raise"}),
        Ask("call_taxi", {"how": "crash"}),
        Ask("ring_bell"),
        recorded=f"""
        call find_rooms ok
        call find_rooms ok
        {rejected("nights")}
        drop unknown other
        {TABLE_FOR_NINE}
        call call_taxi error
        call ring_bell ok
        """,
    ),
    turn(Moment.ALIAS, Ask("search_rooms", {"kind": "single"}), recorded=OLD_NAME),
    turn(Moment.CALL, Ask("ring_bell"), recorded="call ring_bell ok"),
)


def script(way: Way) -> tuple[Turn, ...]:
    """The turns that can happen with a runner of this kind."""
    return tuple(each for each in CONVERSATION if way in each.ways)
