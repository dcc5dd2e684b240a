"""Recording and alerting rules for a catalog, one file per theme, and the unit tests that go with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from tooltel.artifacts.documents import yaml_text
from tooltel.artifacts.rules import contract, lifecycle, platform, reliability, security
from tooltel.artifacts.rules.book import Alert, Book, Group, is_ready
from tooltel.artifacts.rules.finish import finished, runbook_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from tooltel.artifacts.options import RenderOptions
    from tooltel.catalog import Catalog

THEMES: Final[Mapping[str, Callable[[Book], Iterator[Group]]]] = MappingProxyType({
    "reliability": reliability.groups,
    "contract": contract.groups,
    "security": security.groups,
    "lifecycle": lifecycle.groups,
    "platform": platform.groups,
})  # fmt: skip
FOLDER: Final = "alerts/rules"

__all__ = ["Alert", "Book", "Group", "every_alert", "render_rules", "runbook_name"]


def render_rules(catalog: Catalog, options: RenderOptions) -> dict[str, str]:
    """Write the rule files of *catalog*: text by path, one file per theme that has a rule."""
    book = Book(catalog, options)
    files = {}
    for theme, groups in THEMES.items():
        if ready := [done for group in groups(book) if (done := finished(book, group))]:
            files[f"{FOLDER}/{theme}.yml"] = yaml_text({"groups": ready}, catalog)
    return files


def every_alert(catalog: Catalog, options: RenderOptions, *, waiting: bool = False) -> list[Alert]:
    """All alerts of *catalog*; with *waiting* also those that read series which nothing emits yet."""
    book = Book(catalog, options)
    alerts = (alert for groups in THEMES.values() for group in groups(book) for alert in group.alerts)
    return [alert for alert in alerts if waiting or is_ready(alert.expr)]
