"""Unit tests of the alerts for whoever runs tooltel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from tooltel import signals
from tooltel.artifacts.rules.scenarios.events import play_events
from tooltel.artifacts.rules.scenarios.stage import Stage, absent, counter, flat
from tooltel.signals import UP, Metric

if TYPE_CHECKING:
    from tooltel.artifacts.rules.book import Alert, Book

JOB, INSTANCE = signals.TARGET_LABELS
LONG: Final = 500
TARGETS: Final = 23  # a prime: no share of them is a round number, and none is exactly a threshold


def _any_of(row: Metric, label: str) -> Callable[[Book, Alert], Iterator[Stage]]:
    def stages(book: Book, alert: Alert) -> Iterator[Stage]:
        stage = Stage(book, alert, "fires on any, also the first, not on a gap in scraping, and resolves")

        def labels(name: str) -> dict[str, str]:
            return {label: name}

        def play(name: str, values: str) -> None:
            stage.add(row, values, calm=flat(0, 10), **labels(name))

        play_events(stage, play, labels)
        yield stage

    return stages


def _target_down(book: Book, alert: Alert) -> Iterator[Stage]:
    stage = Stage(book, alert, "fires for the target that is down, and resolves")
    start, bad = 5, stage.wait + 10
    where = {JOB: book.options.job, INSTANCE: "a:9464"}
    stage.add(UP, f"{flat(1, start)} {flat(0, bad)} {flat(1, LONG)}", calm=flat(1, LONG), **where)
    stage.add(UP, flat(1, LONG), **{**where, INSTANCE: "b:9464"})
    stage.add(UP, flat(0, LONG), **{JOB: "somebody_else", INSTANCE: "a:9464"})
    stage.expect(start - 1)
    stage.expect_nothing_yet(start + stage.wait - 1)
    stage.expect(start + stage.wait + 2, where)
    stage.expect(start + bad + stage.keep + 2)
    yield stage


def _fleet_down(book: Book, alert: Alert) -> Iterator[Stage]:
    stage = Stage(book, alert, "fires above the share of targets, not just below, and resolves")
    start, bad = 5, stage.wait + 10
    job = {JOB: book.options.job}
    down = int(TARGETS * (alert.settings.ratio or 0)) + 1  # just over the share
    for number in range(TARGETS):
        more, fewer = number < down, number < down - 1
        values = f"{flat(1, start)} {flat(0 if fewer else 1, bad)} {flat(0 if more else 1, bad)} {flat(1, LONG)}"
        stage.add(UP, values, calm=flat(1, LONG), **job, **{INSTANCE: f"host{number}:9464"})
    stage.expect(start + bad - 1)
    stage.expect_nothing_yet(start + bad + stage.wait - 1)
    stage.expect(start + bad + stage.wait + 2, job)
    stage.expect(start + 2 * bad + stage.keep + 2)
    yield stage
    yield _all_gone(Stage(book, alert, "fires when no target is left, and resolves"))


def _all_gone(stage: Stage) -> Stage:
    start, bad = 70, stage.wait + 15
    job = {JOB: stage.book.options.job}
    values = f"{flat(1, start)} stale {absent(bad)} {flat(1, LONG)}"
    stage.add(UP, values, calm=flat(1, LONG), **job, **{INSTANCE: "a:9464"})
    stage.add(UP, flat(1, LONG), **{JOB: "somebody_else", INSTANCE: "a:9464"})
    stage.expect(start - 1)
    stage.expect_nothing_yet(start + stage.wait - 1)
    stage.expect(start + stage.wait + 2, job)
    stage.expect(start + bad + stage.keep + 4)
    return stage


def _rules_failing(book: Book, alert: Alert) -> Iterator[Stage]:
    stage = Stage(book, alert, "fires while our groups fail, not for others, and resolves")
    start, bad = 5, stage.wait + 10
    group = {"rule_group": "/etc/prometheus/rules/reliability.yml;tooltel-burn-rates"}
    other = {"rule_group": "/etc/prometheus/rules/other.yml;other"}
    stage.add(signals.RULE_FAILURES, counter((start, 0), (bad, 1), (LONG, 0)), **group)
    stage.add(signals.RULE_FAILURES, counter((LONG, 1)), **other)
    stage.expect(start)
    stage.expect_nothing_yet(start + stage.wait)
    stage.expect(start + stage.wait + 2, group)
    stage.expect(start + bad + stage.window + stage.keep + 2)
    yield stage


def _watchdog(book: Book, alert: Alert) -> Iterator[Stage]:
    stage = Stage(book, alert, "always fires")
    stage.add(UP, flat(0, 10), **{JOB: book.options.job, INSTANCE: "a:9464"})
    stage.expect(0, {})
    stage.expect(9, {})
    yield stage


def _skew(book: Book, alert: Alert) -> Iterator[Stage]:
    stage = Stage(book, alert, "fires while processes disagree for long, and resolves")
    start, bad = 5, stage.wait + 10
    row = signals.CATALOG_INFO
    stage.add(row, flat(1, LONG), **{INSTANCE: "a:9464"}, sha="aa")
    late = f"{flat(1, start + bad)} stale"
    stage.add(row, f"{absent(start)} {flat(1, bad)} stale", calm="_", **{INSTANCE: "b:9464"}, sha="bb")
    stage.add(row, late, **{INSTANCE: "c:9464"}, sha="aa")
    stage.expect(start - 1)
    stage.expect_nothing_yet(start + stage.wait - 1)
    stage.expect(start + stage.wait + 2, {})
    stage.expect(start + bad + stage.keep + 2)
    yield stage


def _lagging(book: Book, alert: Alert) -> Iterator[Stage]:
    stage = Stage(book, alert, "fires above the threshold, not at it, and resolves")
    start, bad = 5, stage.wait + 10
    most = int(alert.settings.threshold or 0)
    values = f"{flat(0, start)} {flat(most + 1, bad)} {flat(0, LONG)}"
    for source, played in (("late", values), ("full", flat(most, LONG))):
        stage.add(signals.SIDECAR_LAG, played, calm=flat(0, LONG), **{INSTANCE: "a:9464"}, source=source)
    firing = {INSTANCE: "a:9464", "source": "late"}
    stage.expect(start - 1)
    stage.expect_nothing_yet(start + stage.wait - 1)
    stage.expect(start + stage.wait + 2, firing)
    stage.expect(start + bad + stage.keep + 2)
    yield stage


SCENARIOS: Final[Mapping[str, Callable[[Book, Alert], Iterator[Stage]]]] = MappingProxyType(
    {
        "TargetDown": _target_down,
        "FleetDown": _fleet_down,
        "RuleEvaluationFailing": _rules_failing,
        "Watchdog": _watchdog,
        "CatalogReloadFailed": _any_of(signals.CATALOG_RELOAD_FAILURES, JOB),
        "CatalogSkew": _skew,
        "InternalErrors": _any_of(signals.INTERNAL_ERRORS, "component"),
        "LabelOverflow": _any_of(signals.LABEL_OVERFLOW, "metric"),
        "SidecarLagging": _lagging,
        "SidecarSkippedBytes": _any_of(signals.SIDECAR_SKIPPED_BYTES, "source"),
        "SidecarCheckpointFailing": _any_of(signals.SIDECAR_CHECKPOINT_FAILURES, "source"),
    }
)
