"""The conversation at the hotel's desk: every moment that there is, and what must be recorded of each."""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.integrations.pydantic_ai.kit import Ask, Step
from tooltel.integrations.compatibility import Moment


class Turn(NamedTuple):
    """What the guest's model does in one turn, and what must be recorded of it; `called_off` while the tool runs."""

    moment: Moment
    steps: tuple[Step, ...]
    recorded: tuple[str, ...]
    called_off: bool = False


def lines(recorded: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in recorded.splitlines() if line.strip())


def turn(moment: Moment, *asks: Ask, recorded: str, called_off: bool = False) -> Turn:
    """One step with *asks* in parallel, then some text; *recorded* is a line for each thing."""
    return Turn(moment, (list(asks), "All done."), lines(recorded), called_off)


def again(moment: Moment, ask: Ask, recorded: str) -> Turn:
    """The model asks the same twice, one after the other."""
    return Turn(moment, ([ask], [ask], "All done."), lines(recorded))


def unknown(moment: Moment, name: str, recorded: str = "drop unknown other") -> Turn:
    return turn(moment, Ask(name, {"nights": 1}), recorded=recorded)


def book(moment: Moment, recorded: str = "call book_room ok", **changed: Any) -> Turn:
    args = {"nights": 2, "kind": "single", **changed}
    return turn(moment, Ask("book_room", {k: v for k, v in args.items() if v is not ...}), recorded=recorded)


def rejected(*fields: str) -> str:
    told = "\n".join(f"field book_room structural {field}" for field in fields)
    return f"call book_room invalid_arguments\nrejected book_room structural framework\n{told}"


NO_TABLE = """
    call book_table invalid_arguments
    rejected book_table domain tool
    field book_table domain other
"""
TABLE_FOR_NINE = NO_TABLE.replace("other", "size")
NO_BILL = """
    call send_bill refused
    refused send_bill bills
"""
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
    turn(
        Moment.CALL,
        Ask("clean_rooms", {"rooms": ["12", "14", "16"]}),
        recorded="call clean_rooms partial\nitems clean_rooms ok\nitems clean_rooms ok\nitems clean_rooms failed",
    ),
    unknown(Moment.UNKNOWN, "get_wether"),
    unknown(Moment.UNKNOWN, "drill"),
    unknown(Moment.UNKNOWN, "reserve_room", "drop renamed reserve_room"),
    unknown(Moment.UNKNOWN, "pay_refund", "drop not_in_profile pay_refund"),
    again(Moment.UNKNOWN, Ask("drill"), "drop unknown other\ndrop unknown other"),  # which ends the run
    unknown(Moment.EMPTY, "", "drop empty other"),
    unknown(Moment.EMPTY, "  ", "drop empty other"),
    unknown(Moment.NEAR_MISS, "book_rooms"),
    unknown(Moment.NEAR_MISS, "Book_Room"),
    unknown(Moment.NEAR_MISS, "book_room "),
    unknown(Moment.NEAR_MISS, "functions.book_room"),
    unknown(Moment.HOSTILE, "x" * 3_000),
    unknown(Moment.HOSTILE, "a\n2030-01-01 ERROR root: forged"),
    unknown(Moment.HOSTILE, "\x1b[31mred\x00\u202e"),
    unknown(Moment.HOSTILE, "book_room<|channel|>commentary"),
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
    again(Moment.DOMAIN, Ask("book_table", {"size": 9, "how": "retry"}), NO_TABLE + NO_TABLE),  # which ends the run
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
    turn(
        Moment.ALIAS,
        Ask("search_rooms", {"kind": "single"}),
        recorded="call find_rooms ok\nalias search_rooms find_rooms",
    ),
    turn(Moment.CALL, Ask("ring_bell"), recorded="call ring_bell ok"),
)
