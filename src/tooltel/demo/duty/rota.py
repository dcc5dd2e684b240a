"""What is known of who was told: the latest word on each alert and receiver, bounded, every text cleaned and cut."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import urlsplit

from tooltel.artifacts.routes.config import ALERTNAME, OWNER, RESOLVED, SEVERITY
from tooltel.text import clean

MOST_NOTICES: Final = 500  # kept; the oldest word is forgotten first
MOST_ALERTS: Final = 200  # of one notification that are looked at: Alertmanager groups far fewer
LINE: Final = 200  # characters of a name
PARAGRAPH: Final = 1000  # characters of a description
URL: Final = 2000  # characters of an address; a longer one is none

# Shown in places of their own, or by everything around them.
_ELSEWHERE: Final = frozenset({ALERTNAME, OWNER, SEVERITY})
_MOST_LABELS: Final = 12


@dataclass(frozen=True, slots=True)
class Notice:
    """
    The latest word on one alert to one receiver.

    `at` is Unix time of its arrival, `times` how often it was said so far; links are http(s) addresses or empty.
    """

    receiver: str
    alert: str
    owner: str
    severity: str
    is_firing: bool
    summary: str
    description: str
    labels: Mapping[str, str]
    dashboard: str
    runbook: str
    since: str
    at: float
    times: int = 1


class Rota:
    """Takes notifications in any thread, and tells of them; holds at most `MOST_NOTICES` alerts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._notices: OrderedDict[tuple[str, str], Notice] = OrderedDict()

    def take(self, receiver: str, message: Mapping[str, Any], at: float) -> int:
        """
        Note a webhook's *message* to *receiver*, and give the number of alerts in it.

        Raises ValueError for what is no notification of Alertmanager's, of which nothing is kept.
        """
        alerts = message.get("alerts")
        if not isinstance(alerts, list) or not all(isinstance(each, Mapping) for each in alerts):
            raise ValueError("a notification has a list of alerts")
        name = clean(receiver, limit=LINE)
        found = [(_identity(each), _notice(name, each, at)) for each in alerts[:MOST_ALERTS]]
        with self._lock:
            for identity, notice in found:
                self._note((name, identity), notice)
        return len(found)

    def notices(self) -> list[Notice]:
        """Everything that is kept, the latest word first."""
        with self._lock:
            return list(reversed(self._notices.values()))

    def _note(self, key: tuple[str, str], notice: Notice) -> None:
        before = self._notices.pop(key, None)
        if before is not None:
            notice = replace(notice, times=before.times + 1)
        self._notices[key] = notice
        while len(self._notices) > MOST_NOTICES:
            self._notices.popitem(last=False)


def _identity(alert: Mapping[str, Any]) -> str:
    """Alertmanager's own fingerprint; where there is none, what the labels say."""
    given = alert.get("fingerprint")
    if isinstance(given, str) and given:
        return given[:64]
    labels = alert.get("labels")
    return clean(sorted(labels.items()) if isinstance(labels, Mapping) else "", limit=PARAGRAPH)


def _notice(receiver: str, alert: Mapping[str, Any], at: float) -> Notice:
    labels, notes = _texts(alert.get("labels")), _texts(alert.get("annotations"))
    rest = {
        clean(key, limit=LINE): clean(value, limit=LINE)
        for key, value in sorted(labels.items())
        if key not in _ELSEWHERE and value
    }
    return Notice(
        receiver=receiver,
        alert=clean(labels.get(ALERTNAME, ""), limit=LINE),
        owner=clean(labels.get(OWNER, ""), limit=LINE),
        severity=clean(labels.get(SEVERITY, ""), limit=LINE),
        is_firing=alert.get("status") != RESOLVED,
        summary=clean(notes.get("summary", ""), limit=LINE),
        description=clean(notes.get("description", ""), limit=PARAGRAPH),
        labels=MappingProxyType(dict(list(rest.items())[:_MOST_LABELS])),
        dashboard=_link(notes.get("dashboard_url", "")),
        runbook=_link(notes.get("runbook_url", "")),
        since=clean(alert.get("startsAt", ""), limit=LINE),
        at=at,
    )


def _texts(table: object) -> dict[str, str]:
    if not isinstance(table, Mapping):
        return {}
    return {str(key): value for key, value in table.items() if isinstance(value, str)}


def _link(address: str) -> str:
    """The address where it is one of the web's, else nothing: a link is clicked on."""
    if len(address) > URL or not address.isprintable():
        return ""
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    return address if parts.scheme in ("http", "https") and parts.netloc else ""
