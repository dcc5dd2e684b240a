"""The conversation at the hotel's desk: every moment that there is, and what must be recorded of each."""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.integrations.counting import lines
from tests.integrations.hotel import CLEANED, NO_BILL, NO_TOOLS, OLD_NAME, TABLE_FOR_NINE, booking, rejected
from tests.integrations.openai_agents.kit import Ask, Step
from tooltel.integrations.compatibility import Moment


class Turn(NamedTuple):
    """What the guest's model does in one turn, and what must be recorded of it; `called_off` while the tool runs."""

    moment: Moment
    steps: tuple[Step, ...]
    recorded: tuple[str, ...]
    called_off: bool = False


def turn(moment: Moment, *asks: Ask, recorded: str = "", called_off: bool = False) -> Turn:
    """One step with *asks* in parallel, then some text; *recorded* is a line for each thing."""
    return Turn(moment, (list(asks), "All done."), lines(recorded), called_off)


def unknown(moment: Moment, name: str, recorded: str = "drop unknown other") -> Turn:
    return turn(moment, Ask(name, {"nights": 1}), recorded=recorded)


def book(moment: Moment, recorded: str = "call book_room ok", **changed: Any) -> Turn:
    return turn(moment, Ask("book_room", booking(**{"note": None, **changed})), recorded=recorded)


CURFEW = "call send_bill refused\nrefused send_bill curfew"
CONVERSATION: tuple[Turn, ...] = (
    book(Moment.CALL),
    book(Moment.CALL, note=...),
    turn(Moment.CALL, Ask("find_rooms", {"kind": "single"}), recorded="call find_rooms ok"),
    turn(Moment.CALL, Ask("call_taxi"), recorded="call call_taxi ok"),
    turn(Moment.CALL, Ask("send_bill", {"room": "12"}), recorded="call send_bill ok"),
    turn(Moment.CALL, Ask("send_bill", {"room": "12"}), recorded="call send_bill ok\nrepeated send_bill"),
    turn(Moment.CALL, Ask("send_bill", {"room": "14", "how": "replayed"}), recorded="call send_bill replayed"),
    turn(Moment.CALL, Ask("clean_rooms", {"rooms": ["12", "14", "16"]}), recorded=CLEANED),
    Turn(
        Moment.CALL,
        ([Ask("find_rooms", {"kind": "single"})], [Ask("book_table", {"size": 2})], "All done."),
        lines("call find_rooms ok\ncall book_table ok"),
    ),
    *(unknown(*each) for each in NO_TOOLS),
    turn(Moment.UNKNOWN, Ask("drill"), Ask("drill"), recorded="drop unknown other\ndrop unknown other"),
    unknown(Moment.HOSTILE, "Tool book_room not found in agent desk"),
    book(Moment.COERCED, nights="10"),
    book(Moment.MISTYPED, rejected("nights"), nights="ten"),
    turn(Moment.MISTYPED, Ask("book_room", ["single", 2]), recorded=rejected("other")),
    book(Moment.MISSING, rejected("nights"), nights=...),
    book(Moment.MISSING, rejected("nights", "kind"), nights=..., kind=...),
    book(Moment.EXTRA, colour="red"),
    book(Moment.WRONG_CASE, rejected("kind"), kind="Single"),
    book(Moment.NULL, rejected("nights"), nights=None),
    turn(Moment.MALFORMED, Ask("book_room", '{"nights": 2,,'), recorded=rejected("other")),
    turn(Moment.DOMAIN, Ask("book_table", {"size": 9, "how": "raise"}), recorded=TABLE_FOR_NINE),
    turn(Moment.DOMAIN, Ask("book_table", {"size": 9, "how": "shape"}), recorded=TABLE_FOR_NINE),
    turn(Moment.REFUSED, Ask("send_bill", {"room": "16", "how": "raise"}), recorded=NO_BILL),
    turn(Moment.REFUSED, Ask("send_bill", {"room": "16", "how": "shape"}), recorded=NO_BILL),
    turn(Moment.REFUSED, Ask("send_bill", {"room": "13"}), recorded=CURFEW),
    turn(Moment.REFUSED, Ask("send_bill", {"room": "666"}), recorded=CURFEW),  # which ends the run
    turn(Moment.CRASH, Ask("call_taxi", {"how": "crash"}), recorded="call call_taxi error"),
    turn(Moment.CRASH, Ask("call_taxi", {"how": "odd"}), recorded="call call_taxi error"),
    turn(Moment.CRASH, Ask("open_safe", {"how": "crash"}), recorded="call open_safe error"),  # which ends the run
    turn(Moment.TIMEOUT, Ask("ring_bell", {"how": "late"}), recorded="call ring_bell timeout"),
    turn(Moment.TIMEOUT, Ask("wake_guest", {"how": "slow"}), recorded="call wake_guest timeout"),
    turn(
        Moment.CANCELLED,
        Ask("ring_bell", {"how": "forever"}),
        recorded="call ring_bell cancelled",
        called_off=True,
    ),
    turn(
        Moment.CANCELLED,
        Ask("find_rooms", {"kind": "single"}),
        Ask("ring_bell", {"how": "gives up"}),
        recorded="call find_rooms ok\ncall ring_bell cancelled",
    ),
    turn(
        Moment.PARALLEL,
        Ask("find_rooms", {"kind": "double"}),
        Ask("find_rooms", {"kind": "double"}),
        Ask("book_room", {"kind": "single", "note": None}),
        Ask("book_table", {"size": 9, "how": "raise"}),
        Ask("send_bill", {"room": "13"}),
        Ask("call_taxi", {"how": "crash"}),
        Ask("ring_bell"),
        recorded=f"""
        call find_rooms ok
        call find_rooms ok
        {rejected("nights")}
        {TABLE_FOR_NINE}
        {CURFEW}
        call call_taxi error
        call ring_bell ok
        """,
    ),
    turn(Moment.ALIAS, Ask("search_rooms", {"kind": "single"}), recorded=OLD_NAME),
    turn(Moment.CALL, Ask("ring_bell"), recorded="call ring_bell ok"),
)
