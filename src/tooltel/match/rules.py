"""A Rule: what one framework writes at one moment, and what must be known beside the text for it to count."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tooltel.match.patterns import Pattern
    from tooltel.signals import Status

SIGNATURE_LIMIT: Final = 2048  # characters of a record that a user's own pattern is tried on
LITERAL: Final = re.compile(rb"[A-Za-z _.:-]{4,}")  # characters that no JSON encoder escapes


class Needs(StrEnum):
    """What a record must show beside its text."""

    NOTHING = "nothing"  # the text alone decides; a logger, where one is known, must still be the rule's
    LEVEL = "level"  # where the logger is not known, the level; unless the reader was told whose log it is
    LOGGER = "logger"
    FRAMEWORK = "framework"  # the reader was told whose log it is
    BARE = "bare"  # a line without logger and level: the one of a stack trace that names the exception


@dataclass(frozen=True, slots=True)
class Rule:
    """
    One entry of the signature table.

    `loggers` are exact names or prefixes (`google_adk.*`), empty for any; Java ones match abbreviated, too. `levels`
    are the levels that count, empty for all. Every line that matches holds `literal`, in its message or, where it is
    the logger's name, before it. `pattern` is tried at the start
    of the message; its group `name` is the tool's or the requested name, and `fields` are argument names. `second` is
    tried at the start of the line after. `is_partial` says that the name lacks its beginning, and `is_unlisted` that
    the line is also written for tools that are there: then it counts only for names that the profile does not hold.
    `times` is how often the framework writes the line for one call.
    """

    id: str
    framework: str
    moment: Status
    literal: bytes
    pattern: Pattern | re.Pattern[str]
    loggers: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    second: Pattern | re.Pattern[str] | None = None
    needs: Needs = Needs.NOTHING
    is_partial: bool = False
    is_unlisted: bool = False
    times: int = 1

    @property
    def sign(self) -> str:
        """What the message of every record that matches holds; may be empty."""
        literal = self.literal.decode("ascii")
        return "" if literal in self.loggers else literal

    @property
    def decides(self) -> bool:
        """Whether the text alone decides."""
        return self.needs is Needs.NOTHING

    def counts_for(self, framework: str | None) -> bool:
        """Whether the rule can count in a log of *framework* (None: of whatever there is)."""
        if framework is None:
            return self.needs is not Needs.FRAMEWORK
        return self.framework in ("", framework)

    def takes_logger(self, logger: str | None, level: str | None = None, *, framework: str | None = None) -> bool:
        """Whether a record of *logger* and *level* (None: not known) can be this rule's, whatever its text."""
        if self.needs is Needs.FRAMEWORK and framework != self.framework:
            return False
        if level is not None and self.levels and level not in self.levels:
            return False
        if self.needs is Needs.BARE:
            return logger is None and level is None
        if logger is not None:
            if not self.loggers or any(is_logger(logger, wanted) for wanted in self.loggers):
                return True
            # A file's name, as some formats have it, is no logger: then the text must decide.
            is_file = logger.endswith(".py") and not any(wanted.endswith(".py") for wanted in self.loggers)
            return is_file and self.needs is Needs.NOTHING
        if self.needs is Needs.LOGGER:
            return False
        return self.needs is not Needs.LEVEL or level is not None or framework == self.framework


def is_logger(seen: str, wanted: str) -> bool:
    """
    Whether *seen* is the logger *wanted*, or below the prefix `wanted.*`.

    A Java class may be shortened: from the left to first letters (logback), or to its last parts (log4j).
    """
    if wanted.endswith(".*"):
        return seen.startswith(wanted[:-1]) or seen == wanted[:-2]
    if seen == wanted:
        return True
    full, parts = wanted.split("."), seen.split(".")
    if full[-1] != parts[-1] or not full[-1][:1].isupper():
        return False
    if len(parts) < len(full):
        return parts == full[-len(parts) :]
    return len(parts) == len(full) and all(
        part and whole.startswith(part) for whole, part in zip(full, parts, strict=True)
    )
