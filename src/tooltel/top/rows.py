"""Rows of the table, from a look: by tool or by owner, sorted, filtered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from tooltel import signals
from tooltel.readings import error_ratio, histogram_quantile
from tooltel.text import clean
from tooltel.top.gains import NO_TOOL, Key, Part, What

if TYPE_CHECKING:
    from tooltel.top.looks import Firing, Look

P95: Final = 0.95
_NAME: Final = 1000  # characters of a name that a filter looks at


class By(StrEnum):
    """What a row is about."""

    TOOL = "tool"
    OWNER = "owner"


class Sort(StrEnum):
    """What rows are sorted by, each with the row first that wants attention first."""

    CALLS = "calls"
    ERRORS = "errors"
    P95 = "p95"
    NOT_FOUND = "not-found"
    REJECTED = "rejected"
    FIRING = "firing"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class Row:
    """
    One line: of a tool, of an owner, or (`tool` empty) of calls and alerts that are about no tool of theirs.

    `calls`, `not_found` and `rejected` are counts in the look's stretch of time, `per_second` is calls by its length
    (None when nobody knows it). `error_ratio` is the share of calls that burn an error budget, `p95` in seconds; both
    are None without calls. `outcomes` are the calls by outcome. `tools` is how many tools the row adds up.
    """

    tool: str
    owner: str
    calls: float = 0.0
    per_second: float | None = None
    error_ratio: float | None = None
    p95: float | None = None
    not_found: float = 0.0
    rejected: float = 0.0
    firing: tuple[Firing, ...] = ()
    outcomes: Mapping[str, float] = field(default_factory=dict)
    tools: int = 0

    @property
    def key(self) -> Key:
        """What identifies the row from one look to the next."""
        return Key(self.tool, self.owner)

    @property
    def is_overflow(self) -> bool:
        """Whether it stands for tools beyond the bound on label values."""
        return self.tool == signals.OTHER

    @property
    def is_idle(self) -> bool:
        """Whether nothing happened, so that it may step back."""
        return not (self.calls or self.not_found or self.rejected or self.firing)


@dataclass(slots=True)
class _Sums:
    outcomes: dict[str, float] = field(default_factory=dict)
    buckets: dict[float, float] = field(default_factory=dict)
    rejections: dict[tuple[str, str, str], float] = field(default_factory=dict)  # by tool, kind and source
    not_found: float = 0.0
    tools: set[str] = field(default_factory=set)


def make_rows(look: Look, by: By = By.TOOL) -> list[Row]:
    """The rows of a *look*, in no order; one for whoever has numbers or an alert firing."""
    sums: dict[Key, _Sums] = {}
    for key in look.keys:
        found = sums.setdefault(_grouped(key, by), _Sums())
        if key.tool != NO_TOOL:
            found.tools.add(key.tool)
    for part, gain in look.gains.items():
        if part.what is What.NOT_FOUND and not gain:
            continue  # counted from 0 on: no reason for a row
        _add(sums.setdefault(_grouped(part.key, by), _Sums()), part, gain)
    alerts = _alerts_of(look.firing or (), by, sums)
    return [_row(key, each, look, alerts.get(key, ())) for key, each in sums.items()]


def sort_rows(rows: Iterable[Row], sort: Sort = Sort.CALLS, *, reverse: bool = False) -> list[Row]:
    """The *rows* in order; what is not known comes last, whichever way, and among equals what is idle."""
    by_name = sorted(rows, key=lambda row: (row.tool, row.owner), reverse=reverse and sort is Sort.NAME)
    if sort is Sort.NAME:
        return by_name
    by_name.sort(key=lambda row: row.is_idle)
    known = [row for row in by_name if _measure(row, sort) is not None]
    known.sort(key=lambda row: _measure(row, sort) or 0.0, reverse=not reverse)
    return known + [row for row in by_name if _measure(row, sort) is None]


def filter_rows(rows: Iterable[Row], text: str) -> list[Row]:
    """The *rows* whose tool, owner or alert contains *text*, in any case."""
    wanted = text.casefold().strip()
    return [row for row in rows if wanted in _searched(row)]


def _grouped(key: Key, by: By) -> Key:
    return key if by is By.TOOL else Key(NO_TOOL, key.owner)


def _add(sums: _Sums, part: Part, gain: float) -> None:
    if part.what is What.CALLS:
        sums.outcomes[part.detail] = sums.outcomes.get(part.detail, 0.0) + gain
    elif part.what is What.DURATION:
        sums.buckets[part.bound] = sums.buckets.get(part.bound, 0.0) + gain
    elif part.what is What.REJECTED:
        place = (part.key.tool, part.detail, part.source)
        sums.rejections[place] = sums.rejections.get(place, 0.0) + gain
    else:
        sums.not_found += gain


def _row(key: Key, sums: _Sums, look: Look, firing: tuple[Firing, ...]) -> Row:
    calls = sum(sums.outcomes.values())
    return Row(
        key.tool,
        key.owner,
        calls=calls,
        per_second=None if look.seconds is None else calls / look.seconds,
        error_ratio=error_ratio(sums.outcomes),
        p95=histogram_quantile(P95, sums.buckets),
        not_found=sums.not_found,
        rejected=_rejected(sums.rejections),
        firing=firing,
        outcomes=sums.outcomes,
        tools=len(sums.tools),
    )


def _rejected(rejections: Mapping[tuple[str, str, str], float]) -> float:
    """Rejected calls. A call counts once per source, so the source that saw the most tells the number of calls."""
    most: dict[tuple[str, str], float] = {}
    for (tool, kind, _), gain in rejections.items():
        most[tool, kind] = max(most.get((tool, kind), 0.0), gain)
    return sum(most.values())


def _alerts_of(firing: Sequence[Firing], by: By, sums: dict[Key, _Sums]) -> dict[Key, tuple[Firing, ...]]:
    """
    The alerts by row. One about a tool is on each row of that tool, whoever is routed its pages.

    An alert about something that has no row gets one, as a tool that lost its numbers is worth a line.
    """
    of_tool: dict[str, list[Key]] = {}
    for key in sums:
        of_tool.setdefault(key.tool, []).append(key)
    found: dict[Key, tuple[Firing, ...]] = {}
    for each in firing:
        own = Key(each.tool if by is By.TOOL else NO_TOOL, each.owner)
        for key in (of_tool.get(each.tool) if by is By.TOOL and each.tool else None) or [own]:
            sums.setdefault(key, _Sums())
            found[key] = (*found.get(key, ()), each)
    return found


def _measure(row: Row, sort: Sort) -> float | None:
    match sort:
        case Sort.CALLS:
            return row.calls
        case Sort.ERRORS:
            return row.error_ratio
        case Sort.P95:
            return row.p95
        case Sort.NOT_FOUND:
            return row.not_found
        case Sort.REJECTED:
            return row.rejected
        case _:
            return float(len(row.firing))


def _searched(row: Row) -> str:
    names = (row.tool, row.owner, *(each.alert for each in row.firing))
    return "\n".join(clean(name, limit=_NAME) for name in names).casefold()
