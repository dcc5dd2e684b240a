"""What a person or a script is shown of a look: a headline and a table, or one JSON object."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from tooltel.text import clean
from tooltel.top.cells import Laid, columns_of, join, lay_out, marked, seconds
from tooltel.top.rows import By, Row, Sort, filter_rows, make_rows, sort_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tooltel.top.looks import Firing, Look

PAGE: Final = "page"  # the severity that wakes somebody


@dataclass(frozen=True, slots=True)
class Order:
    """How rows are shown: about what, in which order, which of them, and at most how many (None: all)."""

    by: By = By.TOOL
    sort: Sort = Sort.CALLS
    reverse: bool = False
    wanted: str = ""
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Board:
    """The rows of a look in an order; `total` is how many tools or owners there were before filter and limit."""

    look: Look
    order: Order
    rows: tuple[Row, ...]
    total: int

    def lay_out(self, width: int | None, *, mark: bool = False) -> list[Laid]:
        """The columns in *width* cells, or as wide as they want; *mark* shows which one sorts."""
        look, order = self.look, self.order
        columns = columns_of(order.by, timed=look.seconds is not None, firing=look.firing is not None)
        if mark:
            columns = [marked(column, order.sort, reverse=order.reverse) for column in columns]
        return lay_out(columns, self.rows, width)

    def headline(self, title: str) -> str:
        """One line: how much is shown, over which time, what fires, and (last, as it may be cut) where from."""
        firing = [] if self.look.firing is None else [_firing(self.look.firing)]
        return " · ".join([self._shown(), self._stretch(), *firing, title])

    def heading(self, laid: Sequence[Laid]) -> str:
        """The line of headings."""
        return join((each.title() for each in laid), laid)

    def line(self, row: Row, laid: Sequence[Laid]) -> str:
        """The line of one *row*."""
        return join((each.text(row) for each in laid), laid)

    def as_json(self, title: str, *, at: float) -> dict[str, Any]:
        """All of it for a script: names as they are, numbers unrounded, null where nothing is known."""
        look, order = self.look, self.order
        return {
            "source": title,
            "at": datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds"),
            "by": order.by.value,
            "seconds": look.seconds,
            "since_start": look.since_start,
            "total": self.total,
            "rows": [_row_as_json(row, order.by, knows_firing=look.firing is not None) for row in self.rows],
            "firing": None if look.firing is None else [each._asdict() for each in look.firing],
        }

    def _stretch(self) -> str:
        if self.look.seconds is None:
            return "since its start"
        length = seconds(self.look.seconds)
        return f"since its start {length} ago" if self.look.since_start else f"last {length}"

    def _shown(self) -> str:
        shown = _number(self.rows, self.order.by)
        noun = f"{self.order.by}{'' if self.total == 1 else 's'}"
        return f"{self.total:,} {noun}" if shown == self.total else f"{shown:,} of {self.total:,} {noun}"


def make_board(look: Look, order: Order) -> Board:
    """The board of a *look*."""
    rows = make_rows(look, order.by)
    shown = sort_rows(filter_rows(rows, order.wanted), order.sort, reverse=order.reverse)
    return Board(look, order, tuple(shown[: order.limit]), _number(rows, order.by))


def _number(rows: Sequence[Row], by: By) -> int:
    """How many tools or owners have a row: a name that is no tool is none."""
    return len(rows) if by is By.OWNER else sum(row.tools > 0 for row in rows)


def tone(row: Row) -> str:
    """How a row is shown: `page` and `firing` stand out, `idle` steps back."""
    if row.firing:
        return "page" if any(each.severity == PAGE for each in row.firing) else "firing"
    return "idle" if row.is_idle else ""


def _firing(firing: tuple[Firing, ...]) -> str:
    if not firing:
        return "nothing fires"
    found = Counter(clean(each.severity or "alert", limit=16) for each in firing)
    return f"{len(firing)} firing: " + ", ".join(f"{number} {severity}" for severity, number in found.items())


def _row_as_json(row: Row, by: By, *, knows_firing: bool) -> dict[str, Any]:
    about: dict[str, Any] = {"tool": row.tool or None, "owner": row.owner} if by is By.TOOL else {"owner": row.owner}
    return {
        **about,
        "tools": row.tools,
        "calls": row.calls,
        "calls_per_second": row.per_second,
        "outcomes": dict(row.outcomes),
        "error_ratio": row.error_ratio,
        "p95_seconds": row.p95,
        "not_found": row.not_found,
        "rejected": row.rejected,
        "firing": [each._asdict() for each in row.firing] if knows_firing else None,
    }
