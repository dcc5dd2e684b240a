"""Unit tests of the routes: which receiver each owner's alerts reach, and which alert mutes which."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tooltel import signals
from tooltel.artifacts.defaults import PAGE, TICKET
from tooltel.artifacts.routes.config import ALERTNAME, OWNER, SEVERITY, TOOL, scope_labels
from tooltel.artifacts.routes.receivers import KIND_OF, WATCHDOG, Receivers

if TYPE_CHECKING:
    from tooltel.artifacts.options import RenderOptions
    from tooltel.catalog import Catalog

Case = dict[str, Any]
Labels = dict[str, str]

STRANGER = "a team that the catalog does not know"


def build_cases(catalog: Catalog, options: RenderOptions) -> list[Case]:
    """
    Every case, in the format of `amlint test`.

    `labels` are an alert's; `receivers` whom it reaches; `firing` are other alerts, and `inhibited` says
    whether one of them mutes it.
    """
    return [*_route_cases(catalog, options), *_inhibit_cases(options)]


def _route_cases(catalog: Catalog, options: RenderOptions) -> Iterator[Case]:
    receivers = Receivers.of(catalog, options)
    alert = options.alert_name("ToolErrorBudgetBurn")
    for name, owner in sorted(catalog.owners.items()):
        for severity, kind in KIND_OF.items():
            labels = {ALERTNAME: alert, SEVERITY: severity, OWNER: name, TOOL: "a_tool"}
            yield _reaches(f"{severity} of {name}", labels, receivers.named(owner, kind))
    for name in (signals.UNOWNED, STRANGER):
        if name not in catalog.owners:
            for severity, kind in KIND_OF.items():
                labels = {ALERTNAME: alert, SEVERITY: severity, OWNER: name}
                yield _reaches(f"{severity} of {name}", labels, receivers.named(receivers.platform, kind))
    for severity, kind in KIND_OF.items():
        labels = {ALERTNAME: options.alert_name("FleetDown"), SEVERITY: severity}
        yield _reaches(f"{severity} of nobody", labels, receivers.named(receivers.platform, kind))
    lost = {ALERTNAME: "SomebodyElsesAlert", SEVERITY: "critical"}
    yield _reaches("an unknown severity of nobody", lost, receivers.named(receivers.platform, TICKET))
    yield _reaches("the dead-man's switch", {ALERTNAME: options.alert_name("Watchdog")}, WATCHDOG)


def _inhibit_cases(options: RenderOptions) -> Iterator[Case]:
    scope = dict.fromkeys(scope_labels(options), "one")
    yield from _page_cases({OWNER: "o", TOOL: "t", **scope}, options)
    yield from _fleet_cases(scope, options)


def _page_cases(same: Labels, options: RenderOptions) -> Iterator[Case]:
    burn = {ALERTNAME: options.alert_name("ToolErrorBudgetBurn"), **same}
    page, ticket = {**burn, SEVERITY: PAGE}, {**burn, SEVERITY: TICKET}
    yield _muted("a page mutes the ticket of the same trouble", ticket, page)
    yield _heard("a ticket mutes no page", page, ticket)
    for label in (ALERTNAME, *same):
        yield _heard(f"a page mutes no ticket of another {label}", ticket, {**page, label: "another"})
    theirs = [{**alert, ALERTNAME: "SomebodyElses"} for alert in (ticket, page)]
    yield _heard("nobody else's page mutes anything", *theirs)
    for label in same:
        yield _heard(f"a page mutes no ticket where both lack {label}", *_both_without(label, ticket, page))


def _fleet_cases(scope: Labels, options: RenderOptions) -> Iterator[Case]:
    down = {ALERTNAME: options.alert_name("FleetDown"), SEVERITY: PAGE, OWNER: "p", **scope}
    ticket = {SEVERITY: TICKET, OWNER: "o", **scope}
    silent = {ALERTNAME: options.alert_name("ToolSilent"), TOOL: "t", **ticket}
    target = {ALERTNAME: options.alert_name("TargetDown"), "instance": "i", **ticket}
    yield _muted("a fleet that is down mutes the silence of a tool", silent, down)
    yield _muted("a fleet that is down mutes a target that is down", target, down)
    yield _heard("a target that is down mutes no silence of a tool", silent, target)
    yield _heard("a fleet that is down mutes nothing else", {**silent, ALERTNAME: "SomethingElse"}, down)
    for label in scope:
        yield _heard(f"a fleet that is down mutes nothing of another {label}", silent, {**down, label: "another"})
        yield _heard(f"a fleet down mutes nothing where both lack {label}", *_both_without(label, silent, down))


def _reaches(name: str, labels: Labels, receiver: str) -> Case:
    return {"name": name, "labels": labels, "receivers": [receiver]}


def _muted(name: str, labels: Labels, firing: Labels) -> Case:
    return {"name": name, "labels": labels, "firing": [firing], "inhibited": True}


def _heard(name: str, labels: Labels, firing: Labels) -> Case:
    return {"name": name, "labels": labels, "firing": [firing], "inhibited": False}


def _both_without(label: str, *alerts: Labels) -> list[Labels]:
    return [{name: value for name, value in alert.items() if name != label} for alert in alerts]
