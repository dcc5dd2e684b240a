"""What a person reads after a replay: per owner the calls by outcome, and what stood out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from examples.replay.accounts import own_errors, recorded
from tooltel import signals

if TYPE_CHECKING:
    from examples.replay.playing import Played
    from tooltel import Tooltel

Row = Sequence[str]


def print_summary(tel: Tooltel, played: Sequence[Played]) -> None:
    """Print the table and the sentences; with rich where it is installed."""
    header, rows = _table(tel)
    if find_spec("rich") is None:
        _print_plain(header, rows)
    else:
        _print_rich(header, rows)
    for sentence in _sentences(tel, played):
        print(sentence)


def _table(tel: Tooltel) -> tuple[Row, list[Row]]:
    calls = recorded(tel, signals.TOOL_CALLS, "owner", "outcome")
    tools = recorded(tel, signals.TOOL_CALLS, "owner", "tool")
    risks = recorded(tel, signals.TOOL_CALLS, "owner", "risk")
    outcomes = [status.value for status in signals.Status if any(outcome == status for _, outcome in calls)]
    header = ["owner", "tools", "calls", *(risk.value for risk in signals.Risk), *outcomes]
    rows: list[Row] = []
    for owner in sorted({owner for owner, _ in calls}):
        figures = [
            sum(1 for whose, _ in tools if whose == owner),
            sum(count for (whose, _), count in calls.items() if whose == owner),
            *(risks[owner, risk.value] for risk in signals.Risk),
            *(calls[owner, outcome] for outcome in outcomes),
        ]
        rows.append([owner, *(f"{figure:,}" if figure else "-" for figure in figures)])
    return header, rows


def _sentences(tel: Tooltel, played: Sequence[Played]) -> Iterator[str]:
    calls = recorded(tel, signals.TOOL_CALLS, "tool")
    sizes = recorded(tel, signals.DECLARATION_CHARS, "profile")
    missing = recorded(tel, signals.NOT_FOUND, "reason")
    repeated = recorded(tel, signals.REPEATED_CALLS, "risk")
    yield (
        f"{len(played)} conversations: {calls.total():,} calls of {len(calls)} tools "
        f"({len(tel.catalog.tools)} in the catalog), by agents of {len(sizes)} profiles"
    )
    (largest,), chars = sizes.most_common(1)[0]
    yield f"largest declaration: {chars:,} characters, in every model call of profile {largest}"
    if missing:
        yield f"not found: {_listed(missing)}"
    if repeated:
        yield f"made again with equal arguments: {_listed(repeated)}"
    if errors := own_errors(played):
        yield f'{errors} calls answered {{"error": ...}}: the tool\'s own business, recorded as ok'


def _listed(counts: Mapping[tuple[str, ...], int]) -> str:
    return ", ".join(f"{count} {name}" for (name,), count in sorted(counts.items()))


def _print_plain(header: Row, rows: Sequence[Row]) -> None:
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    for row in (header, *rows):
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        print("  ".join([row[0].ljust(widths[0]), *cells[1:]]))


def _print_rich(header: Row, rows: Sequence[Row]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(header[0])
    for name in header[1:]:
        table.add_column(name.replace("_", " "), justify="right")
    for row in rows:
        table.add_row(*row)
    Console().print(table)
