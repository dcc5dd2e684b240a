"""What is known of a shift when it is over: both books, and where everything lies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tooltel.demo.entries import Difference, differences
from tooltel.demo.files import settled_in_logs, settled_in_spans, wishes
from tooltel.demo.judgment import judge
from tooltel.demo.readback import Scrape

if TYPE_CHECKING:
    from collections import Counter
    from pathlib import Path

    from tooltel.catalog import Catalog
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


@dataclass(frozen=True)
class Report:
    """
    One shift, played and read back. `seconds` is how long it took.

    `differences` are numbers on which metrics, spans or logs disagree with the ledger: must be none.
    """

    seed: int
    sessions: int
    seconds: float
    catalog: Catalog
    ledger: Ledger
    scrape: Scrape
    folder: Folder
    differences: tuple[Difference, ...]
    spans: int
    notices: tuple[Notice, ...]
    wishes: Counter[Wish] = field(repr=False)

    @property
    def is_equal(self) -> bool:
        """Whether everything that was done was recorded, and nothing else."""
        return not self.differences

    def as_json(self) -> dict[str, Any]:
        """The figures, for a program."""
        return {
            "seed": self.seed,
            "sessions": self.sessions,
            "calls": self.ledger.calls,
            "not_found": self.ledger.drops,
            "seconds": round(self.seconds, 3),
            "expected": _plain(self.ledger.tally),
            "recorded": _plain(self.scrape.tally()),
            "equal": self.is_equal,
            "differences": [str(each) for each in self.differences],
            "spans": self.spans,
            "folder": str(self.folder.path),
        }


def _plain(tally: Counter[Any]) -> dict[str, int]:
    return {str(key): count for key, count in sorted(tally.items())}


def write_report(
    ledger: Ledger, catalog: Catalog, folder: Folder, *, seed: int, sessions: int, seconds: float
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
        seed=seed,
        sessions=sessions,
        seconds=seconds,
        catalog=catalog,
        ledger=ledger,
        scrape=scrape,
        folder=folder,
        differences=found,
        spans=spans.total(),
        notices=tuple(judge(catalog, scrape)),
        wishes=wishes(folder.logs),
    )
