"""The last lines of a demo: whether both books agree, and where to look further."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from tooltel.demo.summary import BAD, GOOD, LOUD, QUIET

if TYPE_CHECKING:
    from tooltel.demo.report import Report

MOST_DIFFERENCES: Final = 20


def close(report: Report, *, url: str | None) -> Text:
    """Say whether what was recorded is what was done, and where it lies; *url* while /metrics is served."""
    return Text("\n").join([Text(), _verdict(report), Text(), *_places(report, url)])


def _verdict(report: Report) -> Text:
    if report.is_equal:
        numbers = len(report.ledger.tally)
        agreed = f"{numbers} numbers from /metrics, {report.spans:,} spans and the log are what was done."
        return Text.assemble(("checked ", GOOD), agreed)
    shown = report.differences[:MOST_DIFFERENCES]
    lines = [f"\n  {each}" for each in shown]
    if len(report.differences) > len(shown):
        lines.append(f"\n  and {len(report.differences) - len(shown)} more")
    return Text.assemble(("WRONG ", BAD), f"{len(report.differences)} numbers are not what was done:", *lines)


def _places(report: Report, url: str | None) -> list[Text]:
    folder = report.folder
    return [
        Text.assemble((f"{what:<10}", LOUD), (where, QUIET))
        for what, where in (
            ("spans", str(folder.spans)),
            ("logs", str(folder.logs)),
            ("metrics", str(folder.metrics)),
            ("/metrics", url or "closed with the demo; keep it open with --serve"),
        )
    ]
