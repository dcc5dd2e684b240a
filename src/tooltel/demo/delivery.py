"""The pages that really arrived: read from a pager's notifications, timed from the trouble that caused them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from tooltel.artifacts.defaults import PAGE, TICKET
from tooltel.artifacts.routes.config import ALERTNAME, FIRING, OWNER, SEVERITY, TOOL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tooltel.artifacts.options import RenderOptions
    from tooltel.demo.stack import Notification


class Told(NamedTuple):
    """Who was told of what: the identity of one delivered alert."""

    receiver: str
    alert: str
    owner: str
    tool: str


@dataclass(frozen=True, slots=True)
class Delivery:
    """
    One alert that reached a receiver.

    `seconds` passed since its first cause, None where the shift knows of none; `lasted` is how many seconds
    after its arrival it was over, None while it lasts.
    """

    told: Told
    severity: str
    seconds: float | None
    lasted: float | None

    @property
    def is_page(self) -> bool:
        """Whether somebody was woken up."""
        return self.severity == PAGE

    @property
    def is_ticket(self) -> bool:
        """Whether somebody has something to look at in the morning."""
        return self.severity == TICKET


def deliveries(
    notifications: Iterable[Notification],
    causes: Mapping[tuple[str, str], float],
    options: RenderOptions,
) -> list[Delivery]:
    """
    Every alert that was delivered, in the order of arrival; one that was sent again is one delivery.

    *causes* has the `time.monotonic()` of the first cause, by tool and alert.
    """
    arrived: dict[Told, tuple[float, str]] = {}
    ended: dict[Told, float] = {}
    for at, told, alert in _alerts(notifications):
        if alert["status"] == FIRING:
            arrived.setdefault(told, (at, alert["labels"].get(SEVERITY, "")))
            ended.pop(told, None)
        else:
            ended.setdefault(told, at)
    named = {(tool, options.alert_name(alert)): at for (tool, alert), at in causes.items()}
    found = []
    for told, (at, severity) in arrived.items():
        began = named.get((told.tool, told.alert))
        since = None if began is None else at - began
        lasted = ended[told] - at if told in ended else None
        found.append(Delivery(told, severity, since, lasted))
    return found


def find_told(
    notifications: Sequence[Notification], *, receiver: str, alert: str, tool: str, status: str
) -> Notification | None:
    """The first notification that told *receiver* that *alert* about *tool* is firing, or resolved."""
    for each in notifications:
        for _, told, found in _alerts([each]):
            if (told.receiver, told.alert, told.tool, found["status"]) == (receiver, alert, tool, status):
                return each
    return None


def _alerts(notifications: Iterable[Notification]) -> Iterator[tuple[float, Told, Mapping[str, Any]]]:
    for each in notifications:
        for alert in each.alerts:
            labels = alert["labels"]
            told = Told(each.receiver, labels.get(ALERTNAME, ""), labels.get(OWNER, ""), labels.get(TOOL, ""))
            yield each.at, told, alert
