"""What the log processors of one Tooltel share: the signatures, and the counting of a drop that only a log shows."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

from tooltel import signals
from tooltel.call import current_call, current_session
from tooltel.drops import Drops, Teller
from tooltel.errors import CatalogError
from tooltel.match import Judge, Match, Needs, Record, Rule, known_writers, rules_of_catalog
from tooltel.processors.structlog import call_keys
from tooltel.signals import Component, Status
from tooltel.text import clean

if TYPE_CHECKING:
    from tooltel.call import Services, Session
    from tooltel.catalog import Catalog
    from tooltel.outcome import Outcome
    from tooltel.recording import Guard

_REMEMBERED: Final = 1024  # loggers with their levels
OTHERS: Final = frozenset({Needs.FRAMEWORK, Needs.BARE})  # of other processes: a stack trace as lines of text
LEVELS: Final[Mapping[str, str]] = {"WARN": "WARNING", "FATAL": "CRITICAL", "EXCEPTION": "ERROR"}


class Watched(Protocol):
    """What is asked of a Tooltel here."""

    guard: Guard
    services: Services

    @property
    def catalog(self) -> Catalog:
        """The catalog in use."""


class LogWatch:
    """
    Counts what only a log of this process shows: calls to no tool, and whatever a user's own signatures tell of.

    Rejections and errors that a framework logs are left to the wrappers and plug-ins, which see them, too. Raises
    CatalogError where the catalog holds a signature that cannot be used.
    """

    def __init__(self, tel: Watched) -> None:
        self._tel = weakref.ref(tel)
        self._busy = threading.local()
        self._follow(tel.catalog, rules_of_catalog(tel.catalog))
        if tel.services.drops is None:
            tel.services.drops = Drops(tel.services.clock)

    def _follow(self, catalog: Catalog, all_rules: tuple[Rule, ...]) -> None:
        self._judge = Judge((rule for rule in all_rules if _is_ours(rule)), catalog)
        self._judges: dict[str | None, Judge] = {None: self._judge}
        self._catalog = catalog
        self._signs: dict[tuple[str | None, str | None], tuple[str, ...]] = {}

    def _reload(self, tel: Watched) -> None:
        """Go on with another catalog; with the rules of before, where it holds a signature that cannot be used."""
        catalog, rules = tel.catalog, self._judge.rules
        try:
            rules = rules_of_catalog(catalog)
        except CatalogError as error:
            tel.guard.contain(Component.LOGS, error)
        finally:
            self._follow(catalog, rules)

    @property
    def writers(self) -> tuple[str, ...]:
        """The names of the loggers that are known to write lines that count."""
        own = {logger for rule in self._judge.rules if not rule.framework for logger in rule.loggers}
        return tuple(sorted({*known_writers(), *(name.removesuffix(".*") for name in own)}))

    def signs(self, logger: str | None, level: str | None) -> tuple[str, ...]:
        """
        Strings of which a record of *logger* and *level* holds one where it counts; empty for most records.

        Asked of every record, with what its pipeline calls them, before its message is even made.
        """
        tel = self._tel()
        if tel is not None and tel.catalog is not self._catalog:  # reloaded, or a tool was declared in code
            self._reload(tel)
        found = self._signs.get((logger, level))
        if found is None:
            rules = self._judge.candidates(logger, level_named(level))
            found = tuple({rule.sign for rule in rules})
            if len(self._signs) >= _REMEMBERED:
                self._signs.clear()
            self._signs[logger, level] = found
        return found

    def see(self, record: Record, teller: Teller) -> bool:
        """Judge *record*, and count what it tells of; whether it tells of anything. Never raises."""
        tel = self._tel()
        if tel is None or getattr(self._busy, "now", False) or record.logger == signals.LOGGER:
            return False
        self._busy.now = True  # what we log of it comes back to us
        try:
            return self._see(tel, record, teller)
        except Exception as error:  # noqa: BLE001 - inside the host's logging
            tel.guard.contain(Component.LOGS, error)
            return False
        finally:
            self._busy.now = False

    def _see(self, tel: Watched, record: Record, teller: Teller) -> bool:
        session = current_session() or tel.services.session
        match = self._judge_of(session.asked_profile).judge(record)
        if match is None:
            return False
        self._count(tel, match, session, teller)
        return True

    def _judge_of(self, profile: str | None) -> Judge:
        found = self._judges.get(profile)
        if found is None:
            found = Judge(self._judge.rules, self._catalog, profile)
            if profile in self._catalog.profiles:  # others are any number
                self._judges[profile] = found
        return found

    def _count(self, tel: Watched, match: Match, session: Session, teller: Teller) -> None:
        missing, drops = match.outcome.missing, tel.services.drops
        if missing is None or drops is None or drops.is_new(missing.requested, teller, times=match.rule.times):
            tel.services.publish(_placed(match.outcome, session))


def _placed(outcome: Outcome, session: Session) -> Outcome:
    call = current_call()
    parent = call.tool.name if call is not None else None
    return outcome._replace(origin=session.origin, parent=parent)


def _is_ours(rule: Rule) -> bool:
    if not rule.framework:
        return True
    return rule.moment is Status.NOT_FOUND and bool(rule.loggers) and rule.needs not in OTHERS


_watches: Final[weakref.WeakKeyDictionary[Any, LogWatch]] = weakref.WeakKeyDictionary()
_lock: Final = threading.Lock()


def watch_of(tel: Watched) -> LogWatch:
    """The watch of *tel*, made when first asked for."""
    with _lock:
        found = _watches.get(tel)
        if found is None:
            found = _watches[tel] = LogWatch(tel)
        return found


def context_keys() -> Mapping[str, str]:
    """The keys that tell of the running call, or in a session outside any call of its profile; empty elsewhere."""
    call = current_call()
    if call is not None:
        return call_keys(call)
    session = current_session()
    return {session.profile_key: session.origin.profile} if session is not None else {}


def level_named(level: str | None) -> str | None:
    """The name of a level in upper case, as signatures write it."""
    if level is None:
        return None
    upper = clean(level, limit=16).upper()
    return LEVELS.get(upper, upper)
