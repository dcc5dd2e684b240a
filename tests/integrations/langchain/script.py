"""The conversation at the hotel's desk: every moment that there is, and what must be recorded of each."""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.integrations.counting import lines
from tests.integrations.hotel import CLEANED, NO_BILL, NO_TOOLS, OLD_NAME, TABLE_FOR_NINE, booking, rejected
from tests.integrations.langchain.kit import Ask, Step, ask
from tooltel.integrations.compatibility import Moment


class Turn(NamedTuple):
    """What the guest's model does in one turn, and what must be recorded of it; `called_off` while the tool runs."""

    moment: Moment
    steps: tuple[Step, ...]
    recorded: tuple[str, ...]
    called_off: bool = False


def turn(moment: Moment, *asks: Ask, recorded: str = "", called_off: bool = False) -> Turn:
    """One step with *asks* in parallel, then some text; *recorded* is a line for each thing."""
    return Turn(moment, (list(asks), "Done."), lines(recorded), called_off)


def unknown(moment: Moment, name: str, recorded: str = "drop unknown other") -> Turn:
    return turn(moment, ask(name, {"nights": 1}), recorded=recorded)


def book(moment: Moment, recorded: str = "call book_room ok", **changed: Any) -> Turn:
    return turn(moment, ask("book_room", booking(**changed)), recorded=recorded)


CONVERSATION: tuple[Turn, ...] = (
    book(Moment.CALL),
    turn(Moment.CALL, ask("find_rooms", {"kind": "single"}), recorded="call find_rooms ok"),
    turn(Moment.CALL, ask("call_taxi"), recorded="call call_taxi ok"),
    turn(Moment.CALL, ask("send_bill", {"room": "12"}), recorded="call send_bill ok"),
    turn(Moment.CALL, ask("send_bill", {"room": "12"}), recorded="call send_bill ok\nrepeated send_bill"),
    turn(Moment.CALL, ask("send_bill", {"room": "14", "how": "replayed"}), recorded="call send_bill replayed"),
    turn(Moment.CALL, ask("clean_rooms", {"rooms": ["12", "14", "16"]}), recorded=CLEANED),
    *(unknown(*each) for each in NO_TOOLS),
    unknown(Moment.HOSTILE, "invalid_tool"),
    book(Moment.COERCED, nights="10"),
    book(Moment.MISTYPED, rejected("nights"), nights="ten"),
    book(Moment.MISTYPED, rejected("nights", "kind"), nights=[2], kind=1),
    book(Moment.MISSING, rejected("nights"), nights=...),
    book(Moment.MISSING, rejected("nights", "kind"), nights=..., kind=...),
    turn(Moment.MISSING, ask("book_sauna"), recorded=rejected("persons", tool="book_sauna")),
    book(Moment.EXTRA, colour="red"),
    book(Moment.WRONG_CASE, rejected("kind"), kind="Single"),
    book(Moment.NULL, rejected("nights"), nights=None),
    book(Moment.NULL, note=None),
    turn(Moment.MALFORMED, ask("book_room", "nights=2, kind=single"), recorded=rejected("other")),
    turn(Moment.MALFORMED, ask("book_cabin", "nights=2"), recorded="drop unknown other"),
    turn(Moment.DOMAIN, ask("book_table", {"size": 9, "how": "raise"}), recorded=TABLE_FOR_NINE),
    turn(Moment.DOMAIN, ask("book_table", {"size": 9, "how": "shape"}), recorded=TABLE_FOR_NINE),
    turn(
        Moment.DOMAIN,
        ask("book_table", {"size": 9, "how": "exception"}),
        recorded=rejected(tool="book_table", kind="domain tool"),
    ),
    turn(
        Moment.DOMAIN,
        ask("book_sauna", {"persons": 9}),
        recorded=rejected(tool="book_sauna", kind="domain tool"),
    ),
    turn(Moment.REFUSED, ask("send_bill", {"room": "16", "how": "raise"}), recorded=NO_BILL),
    turn(Moment.REFUSED, ask("send_bill", {"room": "16", "how": "shape"}), recorded=NO_BILL),
    turn(
        Moment.REFUSED,
        ask("open_safe", {"room": "16"}),
        recorded="call open_safe refused\nrefused open_safe middleware",
    ),
    turn(Moment.CRASH, ask("call_taxi", {"how": "crash"}), recorded="call call_taxi error"),
    turn(Moment.CRASH, ask("call_taxi", {"how": "type"}), recorded="call call_taxi error"),
    turn(Moment.CRASH, ask("call_taxi", {"how": "validation"}), recorded="call call_taxi error"),
    turn(Moment.CRASH, ask("clean_rooms", {"rooms": []}), recorded="call clean_rooms error"),
    turn(
        Moment.CRASH,
        ask("book_table", {"size": 2, "how": "oven"}, "oven"),
        recorded="call book_table error",
    ),
    turn(Moment.TIMEOUT, ask("ring_bell", {"how": "late"}), recorded="call ring_bell timeout"),
    turn(
        Moment.CANCELLED,
        ask("ring_bell", {"how": "forever"}),
        recorded="call ring_bell cancelled",
        called_off=True,
    ),
    turn(
        Moment.PARALLEL,
        ask("find_rooms", {"kind": "double"}),
        ask("find_rooms", {"kind": "single"}),
        ask("book_room", {"kind": "single"}),
        ask("call_taxi"),
        ask("drill"),
        recorded=f"""
        call find_rooms ok
        call find_rooms ok
        {rejected("nights")}
        call call_taxi ok
        drop unknown other
        """,
    ),
    turn(
        Moment.PARALLEL,
        ask("ring_bell", {}, "the-same-id"),
        ask("ring_bell", {}, "the-same-id"),
        recorded="call ring_bell ok\ncall ring_bell ok",
    ),
    turn(Moment.ALIAS, ask("search_rooms", {"kind": "single"}), recorded=OLD_NAME),
    turn(Moment.ALIAS, ask("rooms_free", {"kind": "single"}), recorded="drop renamed rooms_free"),
    turn(Moment.CALL, ask("ring_bell"), recorded="call ring_bell ok"),
)
