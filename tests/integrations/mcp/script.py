"""
The conversation at the hotel's desk: every moment that there is, and what must be recorded of each.

A server tells causes apart that an answer no longer tells; so a turn may say what the client alone must record.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from tests.integrations.counting import counter
from tests.integrations.hotel import CLEANED, NO_BILL, NO_TOOLS, OLD_NAME, TABLE_FOR_NINE, booking, rejected
from tooltel.integrations.compatibility import Moment


class Ask(NamedTuple):
    """A call that the model makes: any name, with any arguments; the client waits *timeout* seconds at most."""

    name: Any
    arguments: Any = None
    timeout: float | None = None


class Turn(NamedTuple):
    """
    What the model asks for in one turn, and what must be recorded of it.

    `at_client` is what the client alone records, where its server is not watched. `called_off`: the host gives the turn
    up while the tool runs.
    """

    moment: Moment
    asks: tuple[Ask, ...]
    recorded: Counter[str]
    at_client: Counter[str]
    called_off: bool = False


def turn(moment: Moment, *asks: Ask, recorded: str, at_client: str | None = None, called_off: bool = False) -> Turn:
    """A turn with *asks* in parallel; *recorded* is a line for each thing."""
    return Turn(moment, asks, counter(recorded), counter(recorded if at_client is None else at_client), called_off)


def unknown(moment: Moment, name: Any, recorded: str = "drop unknown other") -> Turn:
    return turn(moment, Ask(name, {"nights": 1}), recorded=recorded)


def book(moment: Moment, recorded: str = "call book_room ok", at_client: str | None = None, **changed: Any) -> Turn:
    return turn(moment, Ask("book_room", booking(**changed)), recorded=recorded, at_client=at_client)


def conversation(*, rejects_extra: bool) -> tuple[Turn, ...]:
    """The script; *rejects_extra*: the framework takes no argument that the tool does not have."""
    return (
        book(Moment.CALL),
        turn(Moment.CALL, Ask("find_rooms", {"kind": "single"}), recorded="call find_rooms ok"),
        turn(Moment.CALL, Ask("call_taxi"), recorded="call call_taxi ok"),
        turn(Moment.CALL, Ask("send_bill", {"room": "12"}), recorded="call send_bill ok"),
        turn(Moment.CALL, Ask("send_bill", {"room": "14", "how": "replayed"}), recorded="call send_bill replayed"),
        turn(Moment.CALL, Ask("clean_rooms", {"rooms": ["12", "14", "16"]}), recorded=CLEANED),
        *(unknown(*each) for each in NO_TOOLS),
        unknown(Moment.HOSTILE, "{}'\"Unknown tool: %s"),
        book(Moment.COERCED, nights="10"),
        book(Moment.MISTYPED, rejected("nights"), nights="ten"),
        book(Moment.MISSING, rejected("nights"), nights=...),
        book(Moment.MISSING, rejected("nights", "kind"), nights=..., kind=...),
        book(Moment.EXTRA, rejected("other") if rejects_extra else "call book_room ok", colour="red"),
        book(Moment.WRONG_CASE, rejected("kind"), kind="Single"),
        book(Moment.NULL, rejected("nights"), nights=None),
        book(Moment.CALL, note=None),
        turn(
            Moment.DOMAIN,
            Ask("book_table", {"size": 9, "how": "raise"}),
            recorded=TABLE_FOR_NINE,
            at_client="call book_table error",
        ),
        turn(
            Moment.DOMAIN,
            Ask("book_table", {"size": 9, "how": "say"}),
            recorded=rejected(tool="book_table", kind="domain tool"),
            at_client="call book_table error",
        ),
        turn(Moment.DOMAIN, Ask("book_table", {"size": 9, "how": "shape"}), recorded=TABLE_FOR_NINE),
        turn(
            Moment.REFUSED,
            Ask("send_bill", {"room": "16", "how": "raise"}),
            recorded=NO_BILL,
            at_client="call send_bill error",
        ),
        turn(Moment.REFUSED, Ask("send_bill", {"room": "16", "how": "shape"}), recorded=NO_BILL),
        turn(Moment.CRASH, Ask("call_taxi", {"how": "crash"}), recorded="call call_taxi error"),
        turn(Moment.CRASH, Ask("clean_rooms", {"rooms": []}), recorded="call clean_rooms error"),
        turn(
            Moment.TIMEOUT,
            Ask("ring_bell", {"how": "late"}),
            recorded="call ring_bell timeout",
            at_client="call ring_bell error",
        ),
        turn(
            Moment.PARALLEL,
            Ask("find_rooms", {"kind": "double"}),
            Ask("find_rooms", {"kind": "single"}),
            Ask("book_room", {"kind": "single"}),
            Ask("get_wether"),
            Ask("call_taxi"),
            recorded=f"""
                call find_rooms ok
                call find_rooms ok
                drop unknown other
                call call_taxi ok
                {rejected("nights")}
            """,
        ),
        turn(
            Moment.PARALLEL,
            Ask("ring_bell", {}),
            Ask("ring_bell", {}),
            recorded="call ring_bell ok\ncall ring_bell ok",
        ),
        turn(Moment.ALIAS, Ask("search_rooms", {"kind": "single"}), recorded=OLD_NAME),
        turn(Moment.CALL, Ask("ring_bell"), recorded="call ring_bell ok"),
        turn(  # the last: a connection of mcp 1.10 does not survive it
            Moment.CANCELLED,
            Ask("ring_bell", {"how": "forever"}),
            recorded="call ring_bell cancelled",
            called_off=True,
        ),
    )
