"""Recording and alerting rules for a catalog, one file per theme, and the unit tests that go with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from tooltel.artifacts.documents import yaml_text
from tooltel.artifacts.rules import budgets, contract, lifecycle, platform, reliability, security
from tooltel.artifacts.rules.book import Alert, Book, Group
from tooltel.artifacts.rules.finish import finished, runbook_name
from tooltel.artifacts.rules.scenarios import SUFFIXES, stages

if TYPE_CHECKING:
    from collections.abc import Callable

    from tooltel.artifacts.options import RenderOptions
    from tooltel.catalog import Catalog

THEMES: Final[Mapping[str, Callable[[Book], Iterator[Group]]]] = MappingProxyType({
    "budgets": budgets.groups,
    "reliability": reliability.groups,
    "contract": contract.groups,
    "security": security.groups,
    "lifecycle": lifecycle.groups,
    "platform": platform.groups,
})  # fmt: skip
RULES: Final = "alerts/rules"
TESTS: Final = "alerts/tests"

__all__ = ["Alert", "Book", "Group", "every_alert", "render_rule_tests", "render_rules", "runbook_name"]


def render_rules(catalog: Catalog, options: RenderOptions, *, waiting: bool = False) -> dict[str, str]:
    """
    Write the rule files of *catalog*: text by path, one file per theme that has a rule.

    Rules that read series which nothing emits yet are left out, unless *waiting* asks for them.
    """
    book = Book(catalog, options, waiting)
    return {
        f"{RULES}/{theme}.yml": yaml_text({"groups": [finished(book, group) for group in groups]}, catalog)
        for theme, groups in _ready_groups(book).items()
    }


def render_rule_tests(catalog: Catalog, options: RenderOptions, *, waiting: bool = False) -> dict[str, str]:
    """Write the unit tests of the rules: text by path, for `promtool test rules`."""
    book = Book(catalog, options, waiting)
    files = {}
    for theme, groups in _ready_groups(book).items():
        alerts = [alert for group in groups for alert in group.alerts]
        order = [group.name for group in groups]
        played = [stage for alert in alerts for stage in stages(book, alert)]
        for pace, suffix in SUFFIXES.items():
            if tests := [stage.written() for stage in played if stage.pace == pace]:
                head = {"rule_files": [f"../rules/{theme}.yml"], "evaluation_interval": f"{pace}s"}
                document = {**head, "group_eval_order": order, "tests": tests}
                files[f"{TESTS}/{theme}{suffix}.yml"] = yaml_text(document, catalog)
    return files


def every_alert(catalog: Catalog, options: RenderOptions, *, waiting: bool = False) -> list[Alert]:
    """All alerts of *catalog*; with *waiting* also those that read series which nothing emits yet."""
    themes = _ready_groups(Book(catalog, options, waiting)).values()
    return [alert for groups in themes for group in groups for alert in group.alerts]


def _ready_groups(book: Book) -> dict[str, list[Group]]:
    """The groups by theme, without what cannot be read yet and without what is empty then."""
    themes = {theme: [book.ready(group) for group in groups(book)] for theme, groups in THEMES.items()}
    filled = {theme: [group for group in groups if group.recorded or group.alerts] for theme, groups in themes.items()}
    return {theme: groups for theme, groups in filled.items() if groups}
