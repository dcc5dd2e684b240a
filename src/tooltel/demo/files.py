"""The spans and log lines that a shift left behind, read back from their files."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tooltel import signals
from tooltel.demo.entries import Settled
from tooltel.signals import Event, Reason, Status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_EVENT: Final = "event"  # structlog's own key


class Wish(NamedTuple):
    """A name that a model asked for in vain, as logged: why it is no tool, what was probably meant."""

    requested: str
    reason: Reason
    nearest: str | None


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Each line of a JSON Lines file; raises ValueError for a line that is no object."""
    # At newlines alone: splitlines() would also split inside a value, at separators of other kinds.
    for number, line in enumerate(path.read_text("utf-8").split("\n"), 1):
        if not line:
            continue
        if not line.startswith("{"):
            raise ValueError(f"{path}:{number}: not an object: {line[:80]!r}")
        yield json.loads(line)


def settled_in_spans(path: Path) -> Counter[Settled]:
    """How many tool spans of each kind a file of spans holds."""
    spans = (span["attributes"] for span in read_lines(path))
    return Counter(_settled(each) for each in spans if each.get(signals.OPERATION_NAME) == signals.EXECUTE_TOOL)


def settled_in_logs(path: Path) -> Counter[Settled]:
    """How many settled calls and drops of each kind a log tells of."""
    telling = (Event.TOOL_CALL, Event.TOOL_NOT_FOUND)
    return Counter(_settled(line) for line in read_lines(path) if line.get(_EVENT) in telling)


def wishes(path: Path) -> Counter[Wish]:
    """The names that models asked for in vain, from a log."""
    return Counter(
        Wish(line[signals.KEY_REQUESTED], Reason(line[signals.KEY_REASON]), line.get(signals.KEY_NEAREST))
        for line in read_lines(path)
        if line.get(_EVENT) == Event.TOOL_NOT_FOUND
    )


def _settled(facts: dict[str, Any]) -> Settled:
    outcome = facts.get(signals.OUTCOME, "")
    # The name of a drop is the model's invention: it says nothing that could be counted.
    tool = "" if outcome == Status.NOT_FOUND else facts.get(signals.TOOL_NAME, "")
    return Settled(tool, facts.get(signals.PROFILE, ""), outcome)
