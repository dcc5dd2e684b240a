"""What is known of a shift when it is over: both books, and where everything lies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from tooltel.artifacts.defaults import PAGE
from tooltel.demo.entries import Difference, differences
from tooltel.demo.files import settled_in_logs, settled_in_spans, wishes
from tooltel.demo.judgment import judge
from tooltel.demo.readback import Scrape

if TYPE_CHECKING:
    from collections import Counter
    from pathlib import Path

    from tooltel.catalog import Catalog
    from tooltel.demo.delivery import Delivery
    from tooltel.demo.files import Wish
    from tooltel.demo.judgment import Notice
    from tooltel.demo.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Folder:
    """Where a shift leaves its traces."""

    path: Path

    @property
    def spans(self) -> Path:
        """Spans, as JSON Lines."""
        return self.path / "spans.jsonl"

    @property
    def logs(self) -> Path:
        """Log events, as JSON Lines."""
        return self.path / "logs.jsonl"

    @property
    def metrics(self) -> Path:
        """The last scrape, in Prometheus' text format."""
        return self.path / "metrics.prom"


class Played(NamedTuple):
    """
    Which shift was played: its seed, its sessions and how many seconds it took.

    `simulated` says that the waits of its tools were only added up.
    """

    seed: int
    sessions: int
    seconds: float
    simulated: bool


@dataclass(frozen=True)
class Report:
    """
    One shift, played and read back.

    `differences` are numbers on which metrics, spans or logs disagree with the ledger: there must be none.
    `notices` are the alerts that its counts call for; `delivered` those that real servers delivered, None where
    there were no servers.
    """

    played: Played
    catalog: Catalog
    ledger: Ledger
    scrape: Scrape
    folder: Folder
    differences: tuple[Difference, ...]
    spans: int
    notices: tuple[Notice, ...]
    delivered: tuple[Delivery, ...] | None
    wishes: Counter[Wish] = field(repr=False)

    @property
    def is_equal(self) -> bool:
        """Whether everything that was done was recorded, and nothing else."""
        return not self.differences

    @property
    def misdirected(self) -> list[str]:
        """
        What is wrong with the pages that were delivered, a sentence each: one to the wrong team, or none at all.

        Nothing where no servers ran. The counts say who is to be paged, whatever routes and rules say.
        """
        if self.delivered is None:
            return []
        due = {notice.owner for notice in self.notices if notice.is_page}
        paged = {page.told.receiver: page for page in self.delivered if page.is_page}
        right = {f"{owner}-{PAGE}" for owner in due}
        return [
            *(f"{receiver} was paged by {paged[receiver].told.alert}" for receiver in sorted(paged.keys() - right)),
            *(f"{receiver} was not paged" for receiver in sorted(right - paged.keys())),
        ]

    def as_json(self) -> dict[str, Any]:
        """The figures, for a program."""
        return {
            "seed": self.played.seed,
            "sessions": self.played.sessions,
            "seconds": round(self.played.seconds, 3),
            "simulated": self.played.simulated,
            "calls": self.ledger.calls,
            "not_found": self.ledger.drops,
            "expected": _plain(self.ledger.tally),
            "recorded": _plain(self.scrape.tally()),
            "equal": self.is_equal,
            "differences": [str(each) for each in self.differences],
            "spans": self.spans,
            "pages": self._pages(),
            "delivered": self.delivered is not None,
            "misdirected": self.misdirected,
            "folder": str(self.folder.path),
        }

    def _pages(self) -> list[dict[str, Any]]:
        if self.delivered is None:
            return [
                {"owner": page.owner, "alert": page.alert, "tool": page.tool, "why": page.why}
                for page in self.notices
                if page.is_page
            ]
        return [
            {**page.told._asdict(), "seconds": _rounded(page.seconds), "lasted": _rounded(page.lasted)}
            for page in self.delivered
            if page.is_page
        ]


def _plain(tally: Counter[Any]) -> dict[str, int]:
    return {str(key): count for key, count in sorted(tally.items())}


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 2)


def write_report(
    ledger: Ledger,
    catalog: Catalog,
    folder: Folder,
    *,
    played: Played,
    delivered: tuple[Delivery, ...] | None = None,
) -> Report:
    """Read back what *folder* holds and compare it with *ledger*; ValueError for unreadable files."""
    scrape = Scrape(folder.metrics.read_text("utf-8"))
    spans = settled_in_spans(folder.spans)
    found = (
        *differences("metrics", ledger.tally, scrape.tally()),
        *differences("spans", ledger.settled, spans),
        *differences("logs", ledger.settled, settled_in_logs(folder.logs)),
    )
    return Report(
        played=played,
        catalog=catalog,
        ledger=ledger,
        scrape=scrape,
        folder=folder,
        differences=found,
        spans=spans.total(),
        notices=tuple(judge(catalog, scrape)),
        delivered=delivered,
        wishes=wishes(folder.logs),
    )
