"""The judge: tells what a log record says about a tool call, as the same Outcome that a call ends in."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from tooltel import signals
from tooltel.catalog import Missing, Tool
from tooltel.match.patterns import Pattern
from tooltel.match.rules import SIGNATURE_LIMIT
from tooltel.outcome import MAX_FAULTS, Fault, Origin, Outcome, Rejection
from tooltel.signals import Reason, RejectionKind, RejectionSource, Status
from tooltel.text import ELLIPSIS, clean

if TYPE_CHECKING:
    from tooltel.catalog import Catalog
    from tooltel.match.records import Record
    from tooltel.match.rules import Rule

# Characters of a record that are looked at, half of them from its end: what a name's end is followed by stands there.
TEXT_LIMIT: Final = 32 * 1024
_LOGGERS: Final = 1024  # remembered; a file may hold any number of made-up ones

# A formatter's header inside the message: only looked for where the logger is known to be the framework's own.
_LEVEL: Final = r"\b(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|SEVERE|CRITICAL|FATAL)\b"
_HEADERS: Final = (
    Pattern(rf"[^\n]{{0,120}}?{_LEVEL}\W{{1,12}}"),  # 12:00:00 ERROR   message
    Pattern(rf"[^\n]{{0,200}}\n{_LEVEL}: "),  # java.util.logging: the level stands on a line of its own
    Pattern(rf"[^\n]{{0,120}}?{_LEVEL}[^\n']{{1,160}}?(?: - |: )"),  # 12:00:00 ERROR [thread] logger - message
)
_QUOTED: Final = re.compile(r"['\"]([^'\"]{1,128})['\"]")
_ERROR_TYPES: Final = {
    Status.NOT_FOUND: signals.ERROR_NOT_FOUND,
    Status.INVALID_ARGUMENTS: signals.ERROR_INVALID,
    Status.REFUSED: signals.ERROR_REFUSED,
    Status.ERROR: signals.ERROR_TOOL,
    Status.TIMEOUT: signals.ERROR_TIMEOUT,
    Status.CANCELLED: signals.ERROR_CANCELLED,
    Status.ABANDONED: signals.ERROR_ABANDONED,
}


class Match(NamedTuple):
    """A record that a rule knows, and what became of the call it tells of."""

    rule: Rule
    outcome: Outcome


class Judge:
    """
    Judges records by *rules*, in their order, against one *catalog*.

    *profile* is whose sessions the log is about; without it only renamed, unknown and empty names can be told apart.
    Without *suggest* nobody wants to know which name was meant, which takes the longest of all to find out.
    *framework* says whose log it is: then only its rules count, and a user's own.
    """

    def __init__(
        self,
        rules: Iterable[Rule],
        catalog: Catalog,
        profile: str | None = None,
        framework: str | None = None,
        *,
        suggest: bool = True,
    ) -> None:
        self.rules = tuple(rule for rule in rules if rule.counts_for(framework))
        self.catalog = catalog
        self.profile = profile
        self._framework = framework
        self._suggest = suggest
        self._origin = Origin(catalog.profile_label(profile))
        self._texts = {rule.id: rule.sign for rule in self.rules}
        self._known: dict[tuple[str | None, str | None], tuple[Rule, ...]] = {}

    @property
    def literals(self) -> tuple[bytes, ...]:
        """Strings of which every line that counts holds one."""
        return tuple(sorted({rule.literal for rule in self.rules}))

    def candidates(self, logger: str | None, level: str | None) -> tuple[Rule, ...]:
        """The rules that a record of *logger* and *level* can be of, whatever its text. Remembered."""
        key = (logger, level)
        found = self._known.get(key)
        if found is None:
            found = tuple(rule for rule in self.rules if rule.takes_logger(logger, level, framework=self._framework))
            if len(self._known) >= _LOGGERS:
                self._known = {}
            self._known[key] = found
        return found

    def judge(self, record: Record, /) -> Match | None:
        """What *record* says; None where it tells of no call. Time is linear in its length, and bounded."""
        rules = self.candidates(record.logger, record.level)
        if not rules:
            return None
        text = "\n".join((record.message, *record.following)) if record.following else record.message
        if len(text) > TEXT_LIMIT:
            text = text[: TEXT_LIMIT // 2] + text[-TEXT_LIMIT // 2 :]
        for rule in rules:
            if self._texts[rule.id] not in text:
                continue
            if not rule.framework:
                found = rule.pattern.match(text, 0, SIGNATURE_LIMIT)
            else:
                found = _find(rule, text, is_own=record.logger is not None and bool(rule.loggers))
            if found is not None and (outcome := self._outcome(rule, found)) is not None:
                return Match(rule, outcome)
        return None

    # --- what it means ---

    def _outcome(self, rule: Rule, found: re.Match[str]) -> Outcome | None:
        groups = found.groupdict()
        name = groups.get("name")
        if name is not None and rule.is_partial:
            name = ELLIPSIS + name  # can be no tool's: what it began with is not known
        if rule.is_unlisted and self._is_offered(name):
            return None
        error_type = _ERROR_TYPES.get(rule.moment, "")
        if rule.moment is Status.NOT_FOUND:
            return Outcome(Status.NOT_FOUND, None, self._origin, error_type=error_type, missing=self._missing(name))
        alias = self.catalog.aliases.get(name or "")
        tool = self.catalog.tools.get(alias.tool if alias else name or "")
        if tool is None:
            tool = Tool(clean(name or ""), signals.UNOWNED, signals.UNKNOWN_RISK, "")
        rejections: tuple[Rejection, ...] = ()
        if rule.moment is Status.INVALID_ARGUMENTS:
            faults = tuple(Fault(clean(field), "rejected") for field in _fields(groups.get("fields")))
            rejections = (Rejection(RejectionKind.STRUCTURAL, RejectionSource.FRAMEWORK, faults),)
        return Outcome(
            rule.moment,
            tool,
            self._origin,
            error_type=error_type,
            alias=alias.name if alias else None,
            rejections=rejections,
            policy=signals.POLICY_FILTER if rule.moment is Status.REFUSED else None,
        )

    def _missing(self, name: str | None) -> Missing:
        if name is None:  # the line does not say which: not the same as an empty name
            return Missing("", Reason.UNKNOWN, known=False, owner=self.catalog.profile_owner(self.profile))
        return self.catalog.explain(name, self.profile, suggest=self._suggest)

    def _is_offered(self, name: str | None) -> bool:
        alias = self.catalog.aliases.get(name or "")
        tool = self.catalog.tools.get(alias.tool if alias else name or "")
        return tool is not None and (self.profile is None or self.profile in tool.profiles)


def _find(rule: Rule, text: str, *, is_own: bool) -> re.Match[str] | None:
    found = _find_at(rule, text, 0)
    if found is not None or not is_own:
        return found
    headers = (header for pattern in _HEADERS if (header := pattern.match(text)) is not None)
    return next((found for header in headers if (found := _find_at(rule, text, header.end())) is not None), None)


def _find_at(rule: Rule, text: str, at: int) -> re.Match[str] | None:
    found = rule.pattern.match(text, at)
    if found is None or rule.second is None:
        return found
    end = found.end()
    return found if text[end : end + 1] == "\n" and rule.second.match(text, end + 1) else None


def _fields(text: str | None) -> list[str]:
    return list(dict.fromkeys(_QUOTED.findall(text or "")))[:MAX_FAULTS]
