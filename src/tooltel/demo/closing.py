"""The last lines of a demo: who was paged, whether both books agree, and where to look further."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from rich.text import Text

from tooltel.demo.summary import BAD, GOOD, LOUD, QUIET, about

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tooltel.demo.delivery import Delivery
    from tooltel.demo.report import Report

MOST_DIFFERENCES: Final = 20


class Surroundings(NamedTuple):
    """What is around a shift: `note` says why no servers ran, `urls` are up as long as `stays` is true."""

    note: str
    urls: Mapping[str, str]
    stays: bool


def close(report: Report, around: Surroundings) -> Text:
    """Say whether what was recorded is what was done, and where everything lies."""
    lines = [Text(), _verdict(report), *_wrong_pages(report), Text(), *_places(report, around)]
    if around.note:
        lines += [Text(), Text(f"Pages and tickets are judged from the counts above; {around.note}.", QUIET)]
    return Text("\n").join(lines)


def tell_end(delivered: Iterable[Delivery]) -> Text:
    """Say of each page whether it is over: the last thing that the servers tell."""
    lines = [Text()]
    for page in (each for each in delivered if each.is_page):
        if page.lasted is None:
            lines.append(Text.assemble(("open      ", BAD), about(page)))
        else:
            lines.append(Text.assemble(("resolved  ", GOOD), f"{about(page)}, after {page.lasted:.1f} s"))
    return Text("\n").join(lines)


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


def _wrong_pages(report: Report) -> list[Text]:
    return [Text.assemble(("WRONG ", BAD), sentence) for sentence in report.misdirected]


def _places(report: Report, around: Surroundings) -> list[Text]:
    folder = report.folder
    places = {"spans": str(folder.spans), "logs": str(folder.logs), "metrics": str(folder.metrics)}
    if not around.stays:
        places["/metrics"] = "closed with the demo; keep it open with --serve"
    return [Text.assemble((f"{what:<10}", LOUD), (where, QUIET)) for what, where in places.items()]
