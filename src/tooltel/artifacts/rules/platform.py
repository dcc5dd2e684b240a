"""Alerts for whoever runs tooltel: scraping, the catalog, contained failures, the sidecar, the rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from tooltel import signals
from tooltel.artifacts.dashboards import links
from tooltel.artifacts.rules.book import Alert, Book, Group, Panel, Recipient
from tooltel.artifacts.rules.texts import COUNT, NUMBER, PERCENT, moved, said
from tooltel.promql import Expr, Scope, call, compare, either, over, regex

if TYPE_CHECKING:
    from tooltel.signals import Metric

ITSELF: Final = Panel(links.ITSELF)
JOB, INSTANCE = signals.TARGET_LABELS


def groups(book: Book) -> Iterator[Group]:
    """The groups of this theme."""
    interval = book.options.group_interval
    scraping = (*_target_down(book), *_fleet_down(book), *_rules_failing(book), *_watchdog(book))
    yield Group("tooltel-platform", interval, alerts=scraping)
    yield Group("tooltel-platform-catalog", interval, alerts=(*_reload_failed(book), *_skew(book)))
    contained = (*_internal_errors(book), *_overflow(book))
    yield Group("tooltel-platform-itself", interval, alerts=contained)
    sidecar = (*_lagging(book), *_skipped(book), *_checkpoint(book))
    yield Group("tooltel-platform-sidecar", interval, alerts=sidecar)


# --- scraping --------------------------------------------------------------------------------------------


def _target_down(book: Book) -> Iterator[Alert]:
    up = book.scope.total(book.scope.series(signals.UP, job=book.options.job), JOB, INSTANCE, function="max")
    for each in book.variants("TargetDown"):
        yield Alert(
            "TargetDown", each, compare(up, "==", 0),
            f"No metrics from {said(INSTANCE)}",
            f"Prometheus cannot scrape {said(INSTANCE)} of job {said(JOB)} for {each.settings.for_}: what "
            "its tools do is counted there, and seen by nobody.",
            ITSELF, Recipient.PLATFORM,
        )  # fmt: skip


def _fleet_down(book: Book) -> Iterator[Alert]:
    scope = book.scope
    up = scope.series(signals.UP, job=book.options.job)
    for each in book.variants("FleetDown"):
        average = scope.total(up, JOB, function="avg")
        down = Expr(f"1 - {average.operand}", average.labels, loose=True, reads=average.reads)
        arms = [compare(down, ">", each.settings.ratio or 0), call("absent", up)]
        if book.options.cluster_label:
            arms.append(_vanished(scope, up))
        yield Alert(
            "FleetDown", each, either(*arms),
            "Most tooltel targets are down",
            f"{PERCENT} of the targets of job {said(JOB)} cannot be scraped. Alerts about their tools are "
            "blind, and those about silent tools say nothing.",
            ITSELF, Recipient.PLATFORM,
        )  # fmt: skip


def _vanished(scope: Scope, up: Expr) -> Expr:
    """Clusters that lost all targets within an hour: `absent()` only sees that none is left anywhere."""
    before = scope.total(moved(up, "1h"), JOB, function="group")
    return scope.join(before, "unless", up, JOB)


def _rules_failing(book: Book) -> Iterator[Alert]:
    for each in book.variants("RuleEvaluationFailing"):
        # Prometheus' own series: the fleet's static matchers say nothing about it.
        failed = over(
            "increase",
            Scope().series(signals.RULE_FAILURES, rule_group=regex(".*tooltel.*")),
            each.settings.window or "",
        )
        yield Alert(
            "RuleEvaluationFailing", each, compare(book.scope.total(failed, "rule_group"), ">", 0),
            f"Rule group {said('rule_group')} fails",
            f"Evaluations of {said('rule_group')} that failed within {each.settings.window}: {COUNT}. Its "
            "alerts do not fire, whatever happens.",
            ITSELF, Recipient.PLATFORM,
        )  # fmt: skip


def _watchdog(book: Book) -> Iterator[Alert]:
    for each in book.variants("Watchdog"):
        yield Alert(
            "Watchdog", each, Expr("vector(1)", frozenset()),
            "Alerting works",
            "Always firing. Its receiver raises the alarm when this alert stops arriving: then no other can "
            "arrive either.",
            ITSELF, Recipient.NOBODY,
        )  # fmt: skip


# --- the catalog in use ------------------------------------------------------------------------------------


def _reload_failed(book: Book) -> Iterator[Alert]:
    for each in book.variants("CatalogReloadFailed"):
        failed = book.gained(signals.CATALOG_RELOAD_FAILURES, (JOB,), each.settings.window or "")
        yield Alert(
            "CatalogReloadFailed", each, compare(failed, ">", 0),
            "A new catalog was refused",
            f"Reloads in job {said(JOB)} that kept the old catalog within {each.settings.window}, because "
            f"the new file has problems: {COUNT}. Log events {signals.Event.CATALOG_RELOAD_FAILED} list them "
            "with file and line.",
            ITSELF, Recipient.PLATFORM,
        )  # fmt: skip


def _skew(book: Book) -> Iterator[Alert]:
    scope = book.scope
    shas = scope.total(scope.series(signals.CATALOG_INFO), "sha", function="count")
    for each in book.variants("CatalogSkew"):
        yield Alert(
            "CatalogSkew", each, compare(scope.total(shas, function="count"), ">", 1),
            "Processes disagree about the catalog",
            f"{NUMBER} different catalogs have been in use for {each.settings.for_}: owners, risks and "
            "profiles of the same tool may differ from process to process.",
            ITSELF, Recipient.PLATFORM,
        )  # fmt: skip


# --- what tooltel contained --------------------------------------------------------------------------------


def _internal_errors(book: Book) -> Iterator[Alert]:
    yield from _any_of(
        book, "InternalErrors", signals.INTERNAL_ERRORS, "component",
        f"tooltel failed in its part {said('component')}",
        f"Failures inside tooltel ({said('component')}) that were kept away from the tools: {COUNT}. The "
        "tools work, but something was not recorded. Log events "
        f"{signals.Event.TELEMETRY_ERROR} have the traceback.",
    )  # fmt: skip


def _overflow(book: Book) -> Iterator[Alert]:
    yield from _any_of(
        book, "LabelOverflow", signals.LABEL_OVERFLOW, "metric",
        f"{said('metric')} ran out of label values",
        f"Values of {said('metric')} that were folded into {signals.OTHER}: {COUNT}. Something that should "
        "be bounded, such as error types or policy names, is not.",
    )  # fmt: skip


def _any_of(book: Book, key: str, row: Metric, label: str, summary: str, description: str) -> Iterator[Alert]:
    for each in book.variants(key):
        gained = book.gained(row, (label,), each.settings.window or "")
        yield Alert(key, each, compare(gained, ">", 0), summary, description, ITSELF, Recipient.PLATFORM)


# --- the sidecar -------------------------------------------------------------------------------------------


def _lagging(book: Book) -> Iterator[Alert]:
    for each in book.variants("SidecarLagging"):
        lag = book.scope.total(book.scope.series(signals.SIDECAR_LAG), INSTANCE, "source", function="max")
        yield Alert(
            "SidecarLagging", each, compare(lag, ">", each.settings.threshold or 0),
            f"The sidecar lags behind {said('source')}",
            f"{NUMBER}B of source {said('source')} on {said(INSTANCE)} are written and not yet counted: what "
            "is seen of its tools is late.",
            ITSELF, Recipient.PLATFORM,
        )  # fmt: skip


def _skipped(book: Book) -> Iterator[Alert]:
    yield from _any_of(
        book, "SidecarSkippedBytes", signals.SIDECAR_SKIPPED_BYTES, "source",
        f"The sidecar skips parts of {said('source')}",
        f"{NUMBER}B of source {said('source')} could not be judged: calls in them are not counted.",
    )  # fmt: skip


def _checkpoint(book: Book) -> Iterator[Alert]:
    yield from _any_of(
        book, "SidecarCheckpointFailing", signals.SIDECAR_CHECKPOINT_FAILURES, "source",
        f"The sidecar cannot save how far it read {said('source')}",
        f"Commits of source {said('source')} that failed: {COUNT}. After a restart its lines would be "
        "counted again.",
    )  # fmt: skip
