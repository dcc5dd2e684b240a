"""The conversation at the hotel's desk: every moment that there is, and what must be recorded of each."""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.integrations.counting import lines
from tests.integrations.hotel import CLEANED, NO_BILL, NO_TABLE, NO_TOOLS, OLD_NAME, TABLE_FOR_NINE, booking, rejected
from tests.integrations.pydantic_ai.kit import Ask, Step
from tooltel.integrations.compatibility import Moment


class Turn(NamedTuple):
    """What the guest's model does in one turn, and what must be recorded of it; `called_off` while the tool runs."""

    moment: Moment
    steps: tuple[Step, ...]
    recorded: tuple[str, ...]
    called_off: bool = False


def turn(moment: Moment, *asks: Ask, recorded: str, called_off: bool = False) -> Turn:
    """One step with *asks* in parallel, then some text; *recorded* is a line for each thing."""
    return Turn(moment, (list(asks), "All done."), lines(recorded), called_off)


def again(moment: Moment, ask: Ask, recorded: str) -> Turn:
    """The model asks the same twice, one after the other."""
    return Turn(moment, ([ask], [ask], "All done."), lines(recorded))


def unknown(moment: Moment, name: str, recorded: str = "drop unknown other") -> Turn:
    return turn(moment, Ask(name, {"nights": 1}), recorded=recorded)


def book(moment: Moment, recorded: str = "call book_room ok", **changed: Any) -> Turn:
    return turn(moment, Ask("book_room", booking(**changed)), recorded=recorded)


CONVERSATION: tuple[Turn, ...] = (
    book(Moment.CALL),
    turn(Moment.CALL, Ask("find_rooms", {"kind": "single"}), recorded="call find_rooms ok"),
    turn(Moment.CALL, Ask("call_taxi"), recorded="call call_taxi ok"),
    turn(Moment.CALL, Ask("call_taxi", ""), recorded="call call_taxi ok"),
    turn(Moment.CALL, Ask("find_rooms", '{"kind": "double"}'), recorded="call find_rooms ok"),
    again(
        Moment.CALL,
        Ask("send_bill", {"room": "12"}),
        "call send_bill ok\ncall send_bill ok\nrepeated send_bill",
    ),
    turn(Moment.CALL, Ask("send_bill", {"room": "14", "how": "replayed"}), recorded="call send_bill replayed"),
    turn(Moment.CALL, Ask("clean_rooms", {"rooms": ["12", "14", "16"]}), recorded=CLEANED),
    *(unknown(*each) for each in NO_TOOLS),
    again(Moment.UNKNOWN, Ask("drill"), "drop unknown other\ndrop unknown other"),  # which ends the run
    unknown(Moment.HOSTILE, "Unknown tool name: 'book_room'"),
    book(Moment.COERCED, nights="10"),
    book(Moment.MISTYPED, rejected("nights"), nights="ten"),
    again(  # which ends the run
        Moment.MISTYPED, Ask("book_room", {"nights": [], "kind": "single"}), "\n".join([rejected("nights")] * 2)
    ),
    book(Moment.MISSING, rejected("nights"), nights=...),
    book(Moment.MISSING, rejected("nights", "kind"), nights=..., kind=...),
    book(Moment.EXTRA, rejected("other"), colour="red"),
    book(Moment.WRONG_CASE, rejected("kind"), kind="Single"),
    book(Moment.NULL, rejected("nights"), nights=None),
    book(Moment.NULL, note=None),
    turn(Moment.MALFORMED, Ask("book_room", '{"nights": 2,'), recorded=rejected("other")),
    turn(Moment.MALFORMED, Ask("book_room", '["single", 2]'), recorded=rejected("other")),
    turn(Moment.DOMAIN, Ask("book_table", {"size": 9, "how": "retry"}), recorded=NO_TABLE),
    again(  # which ends the run
        Moment.DOMAIN, Ask("book_table", {"size": 9, "how": "retry"}), f"{NO_TABLE}\n{NO_TABLE}"
    ),
    turn(Moment.DOMAIN, Ask("book_table", {"size": 9, "how": "raise"}), recorded=TABLE_FOR_NINE),
    turn(Moment.DOMAIN, Ask("book_table", {"size": 9, "how": "shape"}), recorded=TABLE_FOR_NINE),
    turn(Moment.REFUSED, Ask("send_bill", {"room": "16", "how": "raise"}), recorded=NO_BILL),
    turn(Moment.REFUSED, Ask("send_bill", {"room": "16", "how": "shape"}), recorded=NO_BILL),
    turn(Moment.CRASH, Ask("call_taxi", {"how": "crash"}), recorded="call call_taxi error"),
    turn(
        Moment.CRASH,
        Ask("ring_bell", {"how": "crash"}),
        Ask("ring_bell", {"how": "forever"}),
        recorded="call ring_bell error\ncall ring_bell cancelled",
    ),
    turn(Moment.TIMEOUT, Ask("ring_bell", {"how": "late"}), recorded="call ring_bell timeout"),
    turn(Moment.TIMEOUT, Ask("clean_rooms", {"rooms": []}), recorded="call clean_rooms timeout"),
    turn(
        Moment.CANCELLED,
        Ask("ring_bell", {"how": "forever"}),
        recorded="call ring_bell cancelled",
        called_off=True,
    ),
    turn(
        Moment.PARALLEL,
        Ask("find_rooms", {"kind": "double"}),
        Ask("find_rooms", {"kind": "single"}),
        Ask("book_room", {"kind": "single"}),
        Ask("get_wether"),
        Ask("book_table", {"size": 9, "how": "retry"}),
        Ask("ring_bell"),
        recorded=f"""
        call find_rooms ok
        call find_rooms ok
        {rejected("nights")}
        drop unknown other
        {NO_TABLE}
        call ring_bell ok
        """,
    ),
    turn(Moment.ALIAS, Ask("search_rooms", {"kind": "single"}), recorded=OLD_NAME),
    turn(Moment.CALL, Ask("ring_bell"), recorded="call ring_bell ok"),
)
