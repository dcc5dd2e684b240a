"""
What each framework's plug-in sees, what it cannot see, and why: one row per framework and moment.

The tests of a plug-in read their expectations here, and the table in the README is made from it, so that it says what
was proven. Each framework's rows stand together and name every moment.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping


class Moment(StrEnum):
    """Something that happens between a model and its tools."""

    CALL = "a call that succeeds"
    UNKNOWN = "a name that the model made up"
    EMPTY = "an empty name"
    NEAR_MISS = "a name that is nearly right"
    HOSTILE = "a name with newlines, control characters or thousands of characters"
    COERCED = 'a string where a number belongs ("10")'
    MISTYPED = 'a value that cannot be coerced ("ten")'
    MISSING = "a required argument left out"
    EXTRA = "an argument that the tool does not have"
    WRONG_CASE = "an enum value in the wrong case"
    NULL = "an explicit null"
    MALFORMED = "arguments that are not JSON"
    DOMAIN = "a rejection by the tool itself"
    REFUSED = "a refusal by a policy"
    CRASH = "a crash of the tool"
    TIMEOUT = "a time-out"
    CANCELLED = "a cancelled call"
    PARALLEL = "parallel calls"
    ALIAS = "an old name that still works"
    STREAM = "calls of a streaming run"
    DECLARATIONS = "the declarations that the model was sent"
    SESSION = "the conversation's id"
    AGENT = "the agent's name"
    CALL_ID = "the call's id"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """
    One moment in one framework.

    `seen` promises that it is counted as what it is. `how` says in a sentence where the plug-in sees it, and what it
    is recorded as; `why_not` why it is not seen, where it is not. `versions` are those that the tests ran with.
    """

    framework: str
    moment: Moment
    seen: bool
    how: str
    why_not: str
    versions: tuple[str, ...]


class Unseen(str):
    """Why a moment is not seen."""

    __slots__ = ()


def _rows(framework: str, versions: tuple[str, ...], moments: Mapping[Moment, str]) -> tuple[Row, ...]:
    return tuple(
        Row(
            framework=framework,
            moment=moment,
            seen=not isinstance(sentence, Unseen),
            how="" if isinstance(sentence, Unseen) else sentence,
            why_not=str(sentence) if isinstance(sentence, Unseen) else "",
            versions=versions,
        )
        for moment, sentence in moments.items()
    )


ROWS: Final[tuple[Row, ...]] = ()


def rows_of(framework: str) -> dict[Moment, Row]:
    """The rows of *framework*, by moment."""
    return {row.moment: row for row in ROWS if row.framework == framework}
