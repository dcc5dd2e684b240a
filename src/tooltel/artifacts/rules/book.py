"""The nouns of the rules: an alert, a group, and the book that alerts are written from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from tooltel import signals
from tooltel.artifacts.defaults import ALERTS, OPTION_FIELDS, AlertOptions
from tooltel.promql import Expr, Match, Recorded, Scope, none_of, number, one_of
from tooltel.signals import State

if TYPE_CHECKING:
    from tooltel.artifacts.options import RenderOptions
    from tooltel.catalog import Catalog

TOOL, OWNER, VERSION, RISK, PROFILE, OUTCOME = signals.TOOL_CALLS.labels
OWNED: Final = (OWNER, TOOL)  # what tells one tool's series from another's
TOOL_OWNER: Final = "tool_owner"  # where an alert goes to somebody else, the owner of the tool is here


class Recipient(StrEnum):
    """Whom an alert is for: the owner named by the series, or one that the catalog names for all."""

    SERIES = "series"
    PLATFORM = "platform"
    SECURITY = "security"
    NOBODY = "nobody"  # the dead-man's switch, which has a route of its own


@dataclass(frozen=True, slots=True)
class Panel:
    """The dashboard that an alert leads to, and the labels that are handed over as its variables."""

    uid: str
    variables: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Variant:
    """
    One rule of an alert: its settings, and the tools that it is about.

    `tools` are the tools that share an override; the variant for everyone else has none, and leaves out the
    tools `without`. `bound` is the latency bound in seconds; `own` says what is overridden.
    """

    settings: AlertOptions
    tools: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    bound: float | None = None
    own: str = ""

    @property
    def mark(self) -> str:
        """What tells this rule from others of its alert, for people and for checks of duplicate rules."""
        bound = "" if self.bound is None else f"bound={number(self.bound)}s"
        return " ".join(part for part in (bound, self.own) if part)

    def matching(self, label: str = TOOL) -> dict[str, str | Match]:
        """Matchers that select these tools, for series that name the tool in *label*."""
        if len(self.tools) == 1:
            return {label: self.tools[0]}
        if self.tools:
            return {label: one_of(*self.tools)}
        return {label: none_of(*self.without)} if self.without else {}


@dataclass(frozen=True, slots=True)
class Alert:
    """
    One alert before the shared pass: what it is about and what it says, in Prometheus' templates.

    `key` is its name in the table of defaults.
    """

    key: str
    variant: Variant
    expr: Expr
    summary: str
    description: str
    panel: Panel
    recipient: Recipient = Recipient.SERIES

    @property
    def settings(self) -> AlertOptions:
        """The merged options of this rule."""
        return self.variant.settings


@dataclass(frozen=True, slots=True)
class Group:
    """Rules that are evaluated together, in order; `interval` is a duration."""

    name: str
    interval: str
    recorded: tuple[Recorded, ...] = ()
    alerts: tuple[Alert, ...] = field(default_factory=tuple)


@dataclass(frozen=True, slots=True)
class Book:
    """
    What every alert is written from: the catalog, the fleet's options, and the scope that they give.

    `waiting` lets in alerts whose series nothing emits yet.
    """

    catalog: Catalog
    options: RenderOptions
    waiting: bool = False

    @property
    def scope(self) -> Scope:
        """What the fleet adds to every query."""
        return self.options.scope

    def variants(self, key: str) -> Iterator[Variant]:
        """The rules that alert *key* needs: one for all tools, one for each set of overridden settings."""
        fleet = self.options.alert(key)
        special: dict[AlertOptions, list[str]] = {}
        if ALERTS[key].per_tool:
            for name, tool in sorted(self.catalog.tools.items()):
                settings = self.options.alert(key, tool.alerts.get(key))
                if settings != fleet:
                    special.setdefault(settings, []).append(name)
        without = tuple(sorted(name for names in special.values() for name in names))
        special_variants = (
            Variant(settings, tools=tuple(names), own=_difference(fleet, settings))
            for settings, names in special.items()
        )
        every = (Variant(fleet, without=without), *special_variants)
        yield from (variant for variant in every if variant.settings.enabled)

    def live(self, expr: Expr, /, *on: str) -> Expr:
        """Keep what is about a tool that the catalog in use holds, with its owner of today."""
        return self.scope.join(expr, "and", self.scope.series(signals.TOOL_INFO), *(on or OWNED))

    def gained(self, metric: signals.Metric, by: tuple[str, ...], window: str, /, **matchers: str | Match) -> Expr:
        """How much a counter gained within *window*, first events included, by the labels *by*."""
        return self.scope.total(self.scope.first_seen_or_increase(metric, window, **matchers), *by)

    def ready(self, group: Group) -> Group:
        """The group without what reads series that nothing emits yet."""
        recorded = tuple(each for each in group.recorded if self._is_ready(each.expr))
        alerts = tuple(each for each in group.alerts if self._is_ready(each.expr))
        return replace(group, recorded=recorded, alerts=alerts)

    def _is_ready(self, expr: Expr) -> bool:
        return self.waiting or all(metric.state is not State.WAITING for metric in expr.reads)


def _difference(fleet: AlertOptions, settings: AlertOptions) -> str:
    """What *settings* say differently, e.g. `minimum=50 window=12h`."""
    said = (
        (name.rstrip("_"), getattr(settings, name))
        for name in OPTION_FIELDS
        if getattr(settings, name) != getattr(fleet, name)
    )
    return " ".join(f"{name}={_plain(value)}" for name, value in said)


def _plain(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value).lower()
    return number(value)
