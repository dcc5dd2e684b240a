"""The one pass over all rules: severity, owner, links, labels; so that none can be forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tooltel.artifacts.rules.book import OWNER, TOOL_OWNER, Alert, Book, Group, Recipient
from tooltel.artifacts.rules.texts import literal
from tooltel.errors import SignalError

if TYPE_CHECKING:
    from tooltel.promql import Recorded

RUNBOOK_SUFFIX: Final = ".md"  # as files are called, so that a link to a repository works as well

_VARIABLES: Final = {TOOL_OWNER: OWNER}  # labels that a dashboard's variable has another name for


def finished(book: Book, group: Group) -> dict[str, Any]:
    """The group as a rule file has it."""
    rules = [
        *(_record(book, each) for each in group.recorded),
        *(_alert(book, each) for each in group.alerts),
    ]
    return {"name": group.name, "interval": group.interval, "rules": rules}


def alert_labels(book: Book, alert: Alert) -> dict[str, str]:
    """The static labels of an alert as they are meant; without an owner where the series names one."""
    owner = recipient_of(book, alert.recipient)
    return {
        "severity": alert.settings.severity or "",
        **({} if owner is None else {"owner": owner}),
        **({"settings": alert.variant.mark} if alert.variant.mark else {}),
        **static_labels(book),
    }


def static_labels(book: Book) -> dict[str, str]:
    """The labels that every rule carries: the fleet's own, and those that its queries select."""
    return {**book.options.selector, **book.options.labels}


def recipient_of(book: Book, recipient: Recipient) -> str | None:
    """The owner that a static label names, or None where the series names one."""
    catalog = book.catalog
    match recipient:
        case Recipient.SERIES:
            return None
        case Recipient.SECURITY:
            return catalog.security_owner or catalog.fallback_owner
        case _:
            return catalog.fallback_owner


def runbook_name(key: str) -> str:
    """The file of alert *key*'s runbook; two alerts of one name share it, and a prefix does not change it."""
    return f"{key.removesuffix('Slow')}{RUNBOOK_SUFFIX}"


def _record(book: Book, recorded: Recorded) -> dict[str, Any]:
    labels = {name: literal(text) for name, text in static_labels(book).items()}
    return {"record": recorded.name, "expr": recorded.expr.text, **({"labels": labels} if labels else {})}


def _alert(book: Book, alert: Alert) -> dict[str, Any]:
    settings, options = alert.settings, book.options
    waits = {"for": settings.for_, "keep_firing_for": settings.keep_firing_for}
    return {
        "alert": options.alert_name(alert.key),
        "expr": alert.expr.text,
        **{name: wait for name, wait in waits.items() if wait not in (None, "0", "0s")},
        "labels": {name: literal(text) for name, text in alert_labels(book, alert).items()},
        "annotations": {
            "summary": alert.summary,
            "description": alert.description,
            "runbook_url": f"{options.runbooks_url}/{runbook_name(alert.key)}",
            "dashboard_url": _dashboard(book, alert),
        },
    }


def _dashboard(book: Book, alert: Alert) -> str:
    names = list(alert.panel.variables)
    if (cluster := book.options.cluster_label) in alert.expr.labels and cluster:
        names.append(cluster)
    if lost := sorted(set(names) - alert.expr.labels):
        raise SignalError(f"{alert.key}: its dashboard wants {', '.join(lost)}, which the alert has not")
    chosen = [f"var-{_VARIABLES.get(name, name)}={{{{ $labels.{name} | urlquery }}}}" for name in names]
    query = f"?{'&'.join(chosen)}" if chosen else ""
    return f"{book.options.dashboards_url}/d/{alert.panel.uid}{query}"
