"""
The standard library's logging: a filter that enriches records inside a call and counts what only a log shows.

    tooltel.processors.stdlib.install(tel)      # once logging is configured; or put LogFilter(tel) where you like

A filter, as some frameworks' loggers do not propagate (fastmcp, agno), and a handler at the root never sees them.
"""

from __future__ import annotations

import logging
import re
import threading
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Self

from tooltel import signals
from tooltel.call import _current
from tooltel.drops import Teller
from tooltel.match import Record
from tooltel.processors.watching import LogWatch, context_keys, level_named, watch_of
from tooltel.signals import Component

if TYPE_CHECKING:
    from types import TracebackType

    from tooltel.processors.watching import Watched

_WARNINGS_LOGGER: Final = "py.warnings"
# anthropic's tool runner tells of an unknown tool by a warning alone, and Python shows each distinct text once.
_TELLING: Final = "Tool '(?s:.*)' not found in tool runner"
_EXAMPLE: Final = "Tool 'x' not found in tool runner"
_SHOWN: Final = 1000  # distinct texts that are remembered as shown


class LogFilter(logging.Filter):
    """
    Lets every record pass: enriches those inside a call, and counts the drops that frameworks log.

    For a logger or a handler, any number of them: each record counts once. Inside a call a record gets the tool, its
    owner, version and risk, the profile and the trace id as attributes, under the names of the span attributes.
    """

    def __init__(self, tel: Watched) -> None:
        super().__init__()
        self._tel = tel
        self._watch = watch_of(tel)

    def filter(self, record: logging.LogRecord) -> bool:
        """Let *record* pass, enriched and counted. Never raises."""
        try:
            if _current.get() is not None:
                for key, value in context_keys().items():
                    record.__dict__.setdefault(key, value)
            if signs := self._watch.signs(record.name, record.levelname):
                see_record(self._watch, record, signs)
        except Exception as error:  # noqa: BLE001 - inside the host's logging
            self._tel.guard.contain(Component.LOGS, error)
        return True


def see_record(watch: LogWatch, record: logging.LogRecord, signs: Iterable[str]) -> None:
    """Count what *record* tells of, unless one of its filters did so before: it is marked then."""
    message = record.getMessage()  # the guard takes what a broken one raises
    for sign in signs:
        if sign in message:
            break
    else:
        return
    if signals.KEY_COUNTED in record.__dict__ or getattr(_passing_on, "now", False):
        return
    seen = watch.see(Record(message, record.name, level_named(record.levelname), (), record.created), Teller.LOGGING)
    if seen:
        record.__dict__[signals.KEY_COUNTED] = True


def install(tel: Watched, *, loggers: Iterable[str] = (), capture_warnings: bool = True) -> Installed:
    """
    Put a LogFilter wherever records pass, and give what takes it away again; call it once logging is configured.

    That is on every handler there is, also of loggers that do not propagate, on the loggers that frameworks are known
    to write through, whose handlers may come later, and on *loggers*. With *capture_warnings* the one warning that
    tells of a drop counts each time it is raised, and is still shown as often as before. A framework's logger must let
    the line through: mcp 2 writes its own at INFO.
    """
    installed = Installed(LogFilter(tel))
    for logger in (*_own_ends(), *map(logging.getLogger, (*watch_of(tel).writers, *loggers))):
        installed.put(logger)
    if capture_warnings:
        installed.warnings = _Warnings(watch_of(tel), tel)
    return installed


class Installed:
    """The filter, and where it was put. `remove()` takes it away; a `with` block does, too."""

    def __init__(self, added: LogFilter) -> None:
        self.filter = added
        self.warnings: _Warnings | None = None
        self._places: list[logging.Filterer] = []

    def put(self, place: logging.Filterer) -> None:
        """Put the filter on a logger or a handler, once."""
        if self.filter not in place.filters:
            place.addFilter(self.filter)
            self._places.append(place)

    def remove(self) -> None:
        """Take the filter away from everywhere."""
        for place in self._places:
            place.removeFilter(self.filter)
        self._places.clear()
        if self.warnings is not None:
            self.warnings.remove()
            self.warnings = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()


def _own_ends() -> Iterator[logging.Handler]:
    """Every handler of every logger, and the one that stands in where there is none."""
    if logging.lastResort is not None:
        yield logging.lastResort
    named = [logger for logger in logging.root.manager.loggerDict.values() if isinstance(logger, logging.Logger)]
    for logger in (logging.root, *named):
        yield from logger.handlers


_passing_on: Final = threading.local()  # `now`: a warning that was counted goes on to its end, which may be a log


class _Warnings:
    """
    Sees one kind of warning each time it is raised, and lets it be shown as often as it was before.

    What is shown goes on to whoever showed warnings: the console, or a log by `logging.captureWarnings`.
    """

    def __init__(self, watch: LogWatch, tel: Watched) -> None:
        self._watch = watch
        self._tel = tel
        self._shown: set[str] = set()
        self._is_removed = False
        self._action = _action_for(UserWarning, _EXAMPLE)
        self._entry: Any = None
        if self._action != "error":  # who wants an exception gets one
            warnings.filterwarnings("always", message=_TELLING, category=UserWarning)
            self._entry = warnings.filters[0]
        self._before = warnings.showwarning
        self._mine = self._show
        warnings.showwarning = self._mine

    def remove(self) -> None:
        """Let warnings be shown as before."""
        if warnings.showwarning == self._mine:
            warnings.showwarning = self._before
        self._is_removed = True  # somebody may have taken our place, and still call us
        if self._entry is not None:
            with suppress(ValueError):  # the host has reset its filters since
                warnings.filters.remove(self._entry)  # type: ignore[attr-defined]  # a list, whatever typeshed says

    def _show(self, message: Any, category: Any, filename: Any, lineno: Any, *rest: Any, **more: Any) -> None:
        is_counted = is_enough = False
        try:
            text = str(message)
            is_counted = not self._is_removed and self._watch.see(
                Record(text, _WARNINGS_LOGGER, "WARNING"), Teller.WARNINGS
            )
            is_enough = is_counted and not self._is_to_show(text)
        except Exception as error:  # noqa: BLE001 - inside the host's code that warns
            self._tel.guard.contain(Component.LOGS, error)
        if is_enough:
            return
        before = getattr(_passing_on, "now", False)
        _passing_on.now = before or is_counted
        try:
            self._before(message, category, filename, lineno, *rest, **more)
        finally:
            _passing_on.now = before

    def _is_to_show(self, text: str) -> bool:
        if self._action in ("ignore", "error"):
            return False
        if self._action == "always":
            return True
        if text in self._shown or len(self._shown) >= _SHOWN:
            return False
        self._shown.add(text)
        return True


def _action_for(category: type[Warning], text: str) -> str:
    """What the host's filters do with such a warning now."""
    for action, message, kind, module, line in warnings.filters:
        is_about = message is None or re.compile(message).match(text) is not None
        if is_about and issubclass(category, kind) and module is None and line == 0:
            return action
    return "default"
