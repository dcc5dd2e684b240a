"""The summary that a person reads: what each team's tools did, who is paged, and what nobody found."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from rich.console import Group
from rich.progress_bar import ProgressBar
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from tooltel import signals
from tooltel.demo.readback import troubles
from tooltel.readings import error_ratio
from tooltel.signals import Reason, Risk, Status

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import RenderableType

    from tooltel.catalog import Owner, Tool
    from tooltel.demo.delivery import Delivery
    from tooltel.demo.judgment import Notice
    from tooltel.demo.report import Played, Report

WIDTH: Final = 80  # columns that everything fits into
SHOWN_NAME: Final = 30  # characters of an invented name
MOST_NAMES: Final = 8  # invented names that are shown; the log has all

QUIET, BAD, GOOD, LOUD = "dim", "red", "green", "bold"
_RISKS: Final = {Risk.READ: "read", Risk.WRITE: "write", Risk.IRREVERSIBLE: "irrev."}
_WRONG: Final[dict[str, str]] = {
    Status.ERROR: "failed",
    Status.TIMEOUT: "timed out",
    Status.INVALID_ARGUMENTS: "rejected",
}  # other outcomes are called by their names
_LIMIT_OF_CALM: Final = 0.02  # an error ratio from which on it is shown in red


def summarize(report: Report) -> RenderableType:
    """Everything worth knowing about a shift, for a terminal of 80 columns or more."""
    owners = [owner for owner in report.catalog.owners.values() if _tools_of(report, owner)]
    return Group(
        _headline(report),
        _who_is_told(report),
        *(part for owner in owners for part in _owner(report, owner)),
        *(_section("What really arrived", _delivered(report.delivered)) if report.delivered is not None else ()),
        *_section("Names that are no tool", _names(report)),
        *_section("What the models are shown", _declarations(report)),
    )


def _headline(report: Report) -> Text:
    ledger = report.ledger
    played = report.played
    said = f"{played.sessions:,} sessions, {ledger.calls:,} calls, {ledger.drops:,} to names that are no tool"
    return Text.assemble(
        (said, LOUD),
        (f"  (seed {played.seed}, {_time_of(played)})", QUIET),
    )


def _time_of(played: Played) -> str:
    return "simulated time" if played.simulated else f"{played.seconds:.1f} s"


def _section(title: str, body: RenderableType) -> tuple[RenderableType, ...]:
    return (Text(), Rule(Text(title, LOUD), align="left", style=QUIET), body)


# --- tools, by owner -----------------------------------------------------------------------------------


def _tools_of(report: Report, owner: Owner) -> list[Tool]:
    return [tool for tool in report.catalog.tools.values() if tool.owner == owner.name]


def _owner(report: Report, owner: Owner) -> tuple[RenderableType, ...]:
    mine = [notice for notice in report.notices if notice.owner == owner.name]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style=QUIET, width=WIDTH)
    table.add_column("tool", width=20, no_wrap=True)
    table.add_column("risk", width=6)
    for heading, width in (("calls", 5), ("errors", 6), ("p95", 6)):
        table.add_column(heading, width=width, justify="right")
    table.add_column("what went wrong", ratio=1)
    for tool in _tools_of(report, owner):
        table.add_row(*_row(report, tool))
    return (*_section(owner.name, table), *_notices(mine))


def _row(report: Report, tool: Tool) -> tuple[Text, ...]:
    outcomes = report.scrape.by(signals.TOOL_CALLS, "outcome", tool=tool.name)
    p95 = report.scrape.quantile(0.95, tool.name)
    ratio = error_ratio(outcomes)
    wrong = ", ".join(f"{count} {_WRONG.get(status, status)}" for status, count in troubles(outcomes))
    return (
        Text(tool.name),
        Text(_RISKS.get(Risk(tool.risk), tool.risk), BAD if tool.risk == Risk.IRREVERSIBLE else QUIET),
        Text(f"{outcomes.total():,}"),
        Text("-" if ratio is None else f"{ratio:.1%}", BAD if ratio and ratio > _LIMIT_OF_CALM else ""),
        Text("-" if p95 is None else duration(p95)),
        Text(wrong, QUIET),
    )


def duration(seconds: float) -> str:
    """A short time, for people: milliseconds below one second."""
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _notices(notices: list[Notice]) -> list[RenderableType]:
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(width=8, justify="right")
    table.add_column(width=WIDTH - 10)
    for notice in notices:
        said = Text.assemble((f"{notice.alert} {notice.tool or ''}".rstrip(), LOUD), f": {notice.why}")
        table.add_row(Text(notice.severity, BAD if notice.is_page else "yellow"), said)
    return [table] if notices else []


def _who_is_told(report: Report) -> Text:
    paged = sorted({notice.owner for notice in report.notices if notice.is_page})
    tickets = Counter(notice.owner for notice in report.notices if not notice.is_page)
    told = ", ".join(f"{owner} {count}" for owner, count in sorted(tickets.items()))
    return Text.assemble(("paged ", BAD), f"{', '.join(paged) or 'nobody'}   ", ("tickets ", "yellow"), told or "none")


# --- deliveries --------------------------------------------------------------------------------------


def about(delivery: Delivery) -> str:
    """What an alert is about, in two words."""
    return f"{delivery.told.alert} {delivery.told.tool}".rstrip()


def _delivered(delivered: Iterable[Delivery]) -> RenderableType:
    """Each page and how soon it came; of tickets, only how many reached whom."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False, width=WIDTH)
    table.add_column(width=16, style=LOUD)
    table.add_column(ratio=1)
    tickets: Counter[str] = Counter()
    for each in delivered:
        if each.is_page:
            after = "" if each.seconds is None else f", {each.seconds:.1f} s after its first cause"
            table.add_row(Text(each.told.receiver, BAD), Text.assemble(about(each), (after, QUIET)))
        elif each.is_ticket:
            tickets[each.told.receiver] += 1
    for receiver, count in sorted(tickets.items()):
        table.add_row(Text(receiver), Text("1 ticket" if count == 1 else f"{count} tickets", QUIET))
    return table


# --- names -----------------------------------------------------------------------------------------------


_EXPLAINED: Final = {
    Reason.RENAMED: ("renamed", "an old name: a prompt or an example still teaches it"),
    Reason.NOT_IN_PROFILE: ("elsewhere", "a tool of another profile: the model has heard of it"),
    Reason.UNKNOWN: ("made up", "invented by a model, or by somebody behind it; shown as logged"),
    Reason.EMPTY: ("empty", "no name at all"),
}


def _names(report: Report) -> RenderableType:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False, width=WIDTH)
    table.add_column(width=9, style=LOUD)
    table.add_column(width=4, justify="right")
    table.add_column(ratio=1)
    for reason, (short, why) in _EXPLAINED.items():
        found = Counter({wish: count for wish, count in report.wishes.items() if wish.reason is reason})
        if not found:
            continue
        table.add_row(Text(short), Text(f"{found.total():,}"), Text(why, QUIET))
        shown = [] if reason is Reason.EMPTY else found.most_common(MOST_NAMES)
        for wish, count in shown:
            meant = f"  ({wish.nearest}?)" if wish.nearest and wish.nearest != wish.requested else ""
            table.add_row(Text(), Text(f"{count:,}", QUIET), Text.assemble(_cut(wish.requested), (meant, QUIET)))
        if shown and len(found) > len(shown):
            table.add_row(Text(), Text(), Text(f"and {len(found) - len(shown)} more names, in the log", QUIET))
    return table


def _cut(name: str) -> str:
    return name if len(name) <= SHOWN_NAME else f"{name[: SHOWN_NAME - 3]}..."


# --- declarations --------------------------------------------------------------------------------------


def _declarations(report: Report) -> RenderableType:
    table = Table.grid(padding=(0, 2, 0, 0))
    for profile in report.catalog.profiles.values():
        of_profile = {"profile": profile.name}
        chars = report.scrape.total(signals.DECLARATION_CHARS, **of_profile)
        tokens = report.scrape.total(signals.DECLARATION_TOKENS, **of_profile)
        tools = report.scrape.total(signals.PROFILE_TOOLS, **of_profile)
        budget = profile.budget_chars or 0
        style = BAD if budget and chars > budget else GOOD
        table.add_row(
            Text(profile.name, LOUD),
            Text(f"{tools:.0f} tools"),
            Text(f"{chars:,.0f} of {budget:,} characters"),
            ProgressBar(total=budget or 1, completed=chars, width=12, complete_style=style, finished_style=style),
            Text(f"~{tokens:,.0f} tokens", QUIET),
        )
    return table
