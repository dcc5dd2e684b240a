"""Unit tests of every rule, as promtool reads them; made from the same settings as the rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from tooltel.artifacts.rules.scenarios import arguments, budgets, contract, lifecycle, platform, reliability, security

if TYPE_CHECKING:
    from tooltel.artifacts.rules.book import Alert, Book
    from tooltel.artifacts.rules.scenarios.stage import Stage

SCENARIOS: Final = MappingProxyType(
    {
        **budgets.SCENARIOS,
        **reliability.SCENARIOS,
        **arguments.SCENARIOS,
        **contract.SCENARIOS,
        **security.SCENARIOS,
        **lifecycle.SCENARIOS,
        **platform.SCENARIOS,
    }
)
# Tests of rules that look back for days are evaluated seldom, in files of their own.
SUFFIXES: Final[Mapping[int, str]] = MappingProxyType({60: "", 300: "_long", 3600: "_days"})


def stages(book: Book, alert: Alert) -> Iterator[Stage]:
    """The unit tests of one rule; every alert has some."""
    yield from SCENARIOS[alert.key](book, alert)
