"""
The Alertmanager configuration: a tree of routes by owner and severity, and what mutes what.

Matchers are written in the one notation that Alertmanager's classic and its UTF-8 parser read alike: a quoted
string in which only backslash, double quote and newline are escaped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tooltel.artifacts.defaults import INFO, PAGE, TICKET
from tooltel.artifacts.routes.receivers import DIGEST, WATCHDOG, Receivers
from tooltel.signals import ALERTS

if TYPE_CHECKING:
    from tooltel.artifacts.options import RenderOptions
    from tooltel.catalog import Catalog, Owner

ALERTNAME, _, SEVERITY, OWNER, TOOL, PROFILE = ALERTS.labels
FIRING, RESOLVED = "firing", "resolved"  # what a notification says of each alert

Node = dict[str, Any]

# How long each kind waits for company, and when it is said again. Every repeat_interval is a multiple of its
# group_interval, because repeats happen only at its ticks, and stays below the five days for which
# Alertmanager remembers what it sent (--data.retention).
WAITS: Final = {
    PAGE: {"group_wait": "10s", "group_interval": "1m", "repeat_interval": "4h"},
    TICKET: {"group_wait": "1m", "group_interval": "10m", "repeat_interval": "1d"},
    DIGEST: {"group_wait": "10m", "group_interval": "12h", "repeat_interval": "4d"},
    WATCHDOG: {"group_wait": "0s", "group_interval": "1m", "repeat_interval": "5m"},
}
# A team's outage is one page that lists its tools; tickets are worked on one by one; a digest is one message.
GROUPS: Final = {
    PAGE: (ALERTNAME, OWNER),
    TICKET: (ALERTNAME, OWNER, TOOL, PROFILE),
    DIGEST: (OWNER,),
    WATCHDOG: (ALERTNAME,),
}
RESOLVE_TIMEOUT: Final = "5m"  # Alertmanager's default, said aloud; Prometheus' alerts bring their own end
# Alerts that say nothing of their own while most of the fleet cannot be scraped.
MUTED_BY_FLEET_DOWN: Final = ("ToolSilent", "TargetDown")


def matcher(label: str, value: str, operator: str = "=") -> str:
    """One matcher, its value quoted so that it means exactly *value* (or, for =~, that expression)."""
    escaped = value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return f'{label}{operator}"{escaped}"'


def build_config(catalog: Catalog, options: RenderOptions) -> Node:
    """The whole configuration as plain data, its sections in the order in which a person reads them."""
    receivers = Receivers.of(catalog, options)
    return {
        **options.alertmanager,
        "global": {"resolve_timeout": RESOLVE_TIMEOUT, **options.alertmanager.get("global", {})},
        "route": _root(catalog, options, receivers),
        "inhibit_rules": _inhibit(options),
        "receivers": [{"name": name, **body} for name, body in receivers.bodies.items()],
    }


def scope_labels(options: RenderOptions) -> tuple[str, ...]:
    """Labels that tell this fleet's alerts from another's: the cluster's, and the static ones."""
    kept = (options.cluster_label,) if options.cluster_label else ()
    return tuple(dict.fromkeys((*kept, *options.labels)))


def _root(catalog: Catalog, options: RenderOptions, receivers: Receivers) -> Node:
    platform = receivers.platform
    watchdog = matcher(ALERTNAME, options.alert_name("Watchdog"))
    routes: list[Node] = [{"matchers": [watchdog], **_leaf(WATCHDOG, WATCHDOG, options)}]
    for _, owner in sorted(catalog.owners.items()):
        # An owner without receivers of their own is reached through the platform's, by the routes at the end.
        if any((owner.page, owner.ticket, owner.digest)):
            routes.append(_owner_route(owner, options, receivers))
    # What is left has no owner, or one that this catalog does not know.
    routes += _by_severity(platform, options, receivers)
    return {**_leaf(receivers.named(platform, TICKET), TICKET, options), "routes": routes}


def _owner_route(owner: Owner, options: RenderOptions, receivers: Receivers) -> Node:
    return {
        "matchers": [matcher(OWNER, owner.name)],
        **_leaf(receivers.named(owner, TICKET), TICKET, options),
        "routes": _by_severity(owner, options, receivers),
    }


def _by_severity(owner: Owner, options: RenderOptions, receivers: Receivers) -> list[Node]:
    return [
        {"matchers": [matcher(SEVERITY, severity)], **_leaf(receivers.named(owner, kind), kind, options)}
        for severity, kind in ((PAGE, PAGE), (INFO, DIGEST))
    ]


def _leaf(receiver: str, kind: str, options: RenderOptions) -> Node:
    return {"receiver": receiver, "group_by": [*GROUPS[kind], *scope_labels(options)], **WAITS[kind]}


def _inhibit(options: RenderOptions) -> list[Node]:
    """
    What mutes what.

    A label that two alerts both lack counts as equal. So every label in `equal` is also demanded, non-empty,
    of source and target; without that a page about one thing would mute tickets about everything else.
    """
    ours = matcher(ALERTNAME, f"{options.alert_prefix}.+", "=~")
    page, ticket = matcher(SEVERITY, PAGE), matcher(SEVERITY, TICKET)
    fleet = matcher(ALERTNAME, options.alert_name("FleetDown"))
    parts = matcher(ALERTNAME, "|".join(map(options.alert_name, MUTED_BY_FLEET_DOWN)), "=~")
    scope = scope_labels(options)
    return [_rule([ours, page], [ours, ticket], (ALERTNAME, OWNER, TOOL, *scope)), _rule([fleet], [parts], scope)]


def _rule(source: list[str], target: list[str], equal: tuple[str, ...]) -> Node:
    present = [matcher(label, "", "!=") for label in equal if label != ALERTNAME]  # both sides match it already
    rule: Node = {"source_matchers": [*source, *present], "target_matchers": [*target, *present]}
    return {**rule, "equal": list(equal)} if equal else rule
