"""What ledger and metrics are compared by: one number per row of the table of signals and its labels."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tooltel import signals

if TYPE_CHECKING:
    from tooltel.signals import Metric

# Rows that count calls, or something about them: each has its place in the ledger.
COUNTED: Final = (
    signals.TOOL_CALLS,
    signals.DURATION,
    signals.FIRST_ITEM,
    signals.NOT_FOUND,
    signals.ALIAS_CALLS,
    signals.REJECTIONS,
    signals.REJECTED_FIELDS,
    signals.POLICY_REFUSALS,
    signals.REPEATED_CALLS,
    signals.BATCH_ITEMS,
)
SILENT: Final = (
    signals.ACTIVE,
    signals.INTERNAL_ERRORS,
    signals.LABEL_OVERFLOW,
)  # nothing may be left in these
# The class of an exception is the tool's business, and its version is the catalog's: no script knows them.
UNCOMPARED: Final = frozenset({"error_type", "version"})


class Entry(NamedTuple):
    """One line of the books: a row of the table, and the labels that are compared, in the row's order."""

    metric: str
    labels: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        inner = ",".join(f'{name}="{value}"' for name, value in self.labels)
        return f"{self.metric}{{{inner}}}"


Tally = Counter[Entry]


class Settled(NamedTuple):
    """One way for calls to end, as spans and log lines tell it, too. `tool` is empty for a drop."""

    tool: str
    profile: str
    outcome: str

    def __str__(self) -> str:
        return f"{self.tool or 'no tool'}, {self.profile}, {self.outcome}"


def compared(metric: Metric) -> tuple[str, ...]:
    """The labels of *metric* by which the two books are compared."""
    return tuple(label for label in metric.labels if label not in UNCOMPARED)


def entry(metric: Metric, *values: str) -> Entry:
    """An entry from label values in the row's order; raises ValueError when there are too few or too many."""
    return Entry(metric.name, tuple(zip(compared(metric), map(str, values), strict=True)))


class Difference(NamedTuple):
    """One number that a book does not agree on with the ledger; `book` is metrics, spans or logs."""

    book: str
    entry: str
    expected: int
    recorded: int

    def __str__(self) -> str:
        return f"{self.book}: {self.entry}: the script did {self.expected}, recorded are {self.recorded}"


def differences(book: str, expected: Counter[Any], recorded: Counter[Any]) -> list[Difference]:
    """Every entry on which *book* disagrees with the ledger, in order."""
    keys = sorted(expected.keys() | recorded.keys())
    found = ((key, expected[key], recorded[key]) for key in keys)
    return [Difference(book, str(key), did, said) for key, did, said in found if did != said]
