"""The settings of the catalog itself, and the levels of its house rules."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tooltel.catalog.hints import Hints
from tooltel.catalog.nouns import HOUSE_RULES
from tooltel.catalog.paths import key_path, shown
from tooltel.errors import Level, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tooltel.catalog.catalog import Catalog

_LEVELS: Final = tuple(level.value for level in Level)


def level_of(catalog: Catalog, rule: str) -> Level:
    """The level of a house rule; an error where the catalog's own word for it cannot be read."""
    try:
        return catalog.house.level(rule)
    except ValueError:
        return Level.ERROR  # the unreadable level is a problem of its own


def find_setting_problems(catalog: Catalog) -> Iterator[Problem]:
    """What is wrong in `[catalog]`."""
    house = catalog.house
    yield from _bad_pattern(house.name_pattern)
    for name in ("budget_chars", "description_min_chars"):
        number = getattr(house, name)
        if number is not None and number < 0:
            yield Problem("range", key_path("catalog", name), f"is {number}", "write 0 or more")
    retention = catalog.session_retention
    if not retention > 0:
        path = key_path("catalog", "session_retention")
        yield Problem("range", path, f"is {retention} seconds", 'write a time above zero, as "30d"')
    yield from _bad_levels(house.levels)


def _bad_pattern(pattern: str) -> Iterator[Problem]:
    if error := pattern_error(pattern):
        yield Problem(
            "bad_pattern",
            key_path("catalog", "name_pattern"),
            f"{shown(pattern)} is no regular expression: {error}",
            "write one of Python's re module, in single quotes: '^[a-z][a-z0-9_]+$'",
        )


def pattern_error(pattern: str) -> str | None:
    """Why *pattern* does not compile, or None when it does."""
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return str(error)
    return None


def _bad_levels(levels: Mapping[str, str]) -> Iterator[Problem]:
    rules, words = Hints(HOUSE_RULES), Hints(_LEVELS)
    for rule, level in levels.items():
        path = key_path("catalog", "levels", str(rule))
        if rule not in HOUSE_RULES:
            yield Problem("unknown_key", path, "is no house rule", rules.fix(str(rule)))
        elif level not in _LEVELS:
            yield Problem("unknown_level", path, f"{shown(level)} is no level", words.fix(str(level)))
