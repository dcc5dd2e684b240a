"""
Who would be told what: the alerts' own thresholds, held against the counts of one shift.

This is no rule engine. It takes the whole shift for one window, as if every call had been made within it, and
so stands in for Prometheus and Alertmanager where they are not installed. The numbers come from the table
that the rules are rendered from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tooltel import signals
from tooltel.artifacts.defaults import PAGE, AlertOptions
from tooltel.artifacts.options import RenderOptions
from tooltel.demo.readback import Scrape, failures
from tooltel.readings import error_ratio
from tooltel.signals import ItemStatus, Reason, RejectionKind, Risk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tooltel.catalog import Catalog, Tool

BURN, BURN_SLOWLY = "ToolErrorBudgetBurn", "ToolErrorBudgetBurnSlow"
REPEATED = "IrreversibleCallRepeated"


class Notice(NamedTuple):
    """One alert that the counts call for. `tool` is None where it is about a profile or a name."""

    alert: str
    severity: str
    owner: str
    tool: str | None
    why: str

    @property
    def is_page(self) -> bool:
        """Whether somebody is woken up."""
        return self.severity == PAGE


def judge(catalog: Catalog, scrape: Scrape) -> list[Notice]:
    """Every alert that a shift's *scrape* calls for, pages first. Raises CatalogError for bad options."""
    options = RenderOptions.from_catalog(catalog)
    notices = [*_names(catalog, options, scrape), *_declarations(options, scrape)]
    for tool in catalog.tools.values():
        notices += _Judge(catalog, options, scrape, tool).notices()
    return sorted(notices, key=lambda notice: (not notice.is_page, notice.owner))


class _Judge:
    """One tool before the alerts that are about tools."""

    def __init__(self, catalog: Catalog, options: RenderOptions, scrape: Scrape, tool: Tool) -> None:
        self._catalog, self._options, self._scrape, self._tool = catalog, options, scrape, tool
        self._outcomes = scrape.by(signals.TOOL_CALLS, "outcome", tool=tool.name)
        self._calls = sum(self._outcomes.values())

    def notices(self) -> Iterator[Notice]:
        for alert, why in (
            *self._burn(),
            ("ToolLatencyHigh", self._slow()),
            ("StructuralRejections", self._rejected("StructuralRejections", RejectionKind.STRUCTURAL)),
            ("DomainRejections", self._rejected("DomainRejections", RejectionKind.DOMAIN)),
            ("PolicyRefusals", self._refused()),
            ("IrreversibleCallRefused", self._irreversible(signals.POLICY_REFUSALS, "refused by a policy")),
            (
                REPEATED,
                self._irreversible(signals.REPEATED_CALLS, "made again with equal arguments"),
            ),
            ("PartialResultsOutstanding", self._outstanding()),
        ):
            options = self._alert(alert)
            if why and options.enabled:
                owner = self._tool.owner
                if alert == "IrreversibleCallRefused":
                    owner = self._catalog.security_owner or self._catalog.fallback_owner
                name = self._options.alert_name(alert)
                yield Notice(name, str(options.severity), owner, self._tool.name, why)

    def _alert(self, name: str) -> AlertOptions:
        return self._options.alert(name, self._tool.alerts.get(name))

    def _burn(self) -> Iterator[tuple[str, str]]:
        ratio, bad = error_ratio(self._outcomes), failures(self._outcomes)
        if self._tool.objective is None or not ratio:
            return
        rate = ratio / (1 - self._tool.objective)
        for name in (BURN, BURN_SLOWLY):
            options = self._alert(name)
            if rate > (options.threshold or 0) and bad >= (options.minimum or 0):
                allowed = f"{rate:.0f} times what an objective of {self._tool.objective} allows"
                yield name, f"{bad} failures, {ratio:.0%} of calls: {allowed}"
                return

    def _slow(self) -> str:
        bound, options = self._tool.latency_bound, self._alert("ToolLatencyHigh")
        if bound is None or self._calls < (options.minimum or 0):
            return ""
        slow = self._scrape.slower_than(bound, self._tool.name) / self._calls
        if slow <= (options.ratio or 0):
            return ""
        return f"{slow:.0%} of {self._calls} calls took longer than {bound} s"

    def _rejected(self, alert: str, kind: RejectionKind) -> str:
        options = self._alert(alert)
        count = max(self._scrape.by(signals.REJECTIONS, "source", tool=self._tool.name, kind=kind).values(), default=0)
        if count < (options.minimum or 0) or not self._calls or count / self._calls <= (options.ratio or 0):
            return ""
        return f"{count} of {self._calls} calls had {kind} faults in their arguments"

    def _refused(self) -> str:
        count = round(self._scrape.total(signals.POLICY_REFUSALS, tool=self._tool.name))
        most = self._alert("PolicyRefusals").threshold or 0
        return f"{_calls(count)} refused by policies" if count > most else ""

    def _irreversible(self, metric: signals.Metric, what: str) -> str:
        count = round(self._scrape.total(metric, tool=self._tool.name))
        return f"{_calls(count)} {what}" if count and self._tool.risk == Risk.IRREVERSIBLE else ""

    def _outstanding(self) -> str:
        count = round(self._scrape.total(signals.BATCH_ITEMS, tool=self._tool.name, status=ItemStatus.OUTSTANDING))
        return f"{count} items of batches left over" if count else ""


def _names(catalog: Catalog, options: RenderOptions, scrape: Scrape) -> Iterator[Notice]:
    for reason, alert, what in (
        (Reason.RENAMED, "ToolRenamedCalled", "to an old name"),
        (Reason.NOT_IN_PROFILE, "ToolNotInProfile", "to a tool of another profile"),
        (Reason.UNKNOWN, "ToolInvented", "to names that a model made up"),
    ):
        said = options.alert(alert)
        for owner in catalog.owners:
            count = round(scrape.total(signals.NOT_FOUND, reason=reason, owner=owner))
            if said.enabled and count and count >= (said.minimum or 0):
                yield Notice(options.alert_name(alert), str(said.severity), owner, None, f"{_calls(count)} {what}")


def _declarations(options: RenderOptions, scrape: Scrape) -> Iterator[Notice]:
    said = options.alert("DeclarationOverBudget")
    for labels, chars in scrape.samples(signals.DECLARATION_CHARS.name):
        budget = scrape.total(signals.DECLARATION_BUDGET, profile=labels["profile"])
        if said.enabled and budget and chars > budget:
            why = f"profile {labels['profile']} declares {chars:,.0f} characters, {budget:,.0f} are agreed"
            yield Notice(options.alert_name("DeclarationOverBudget"), str(said.severity), labels["owner"], None, why)


def _calls(count: int) -> str:
    return "1 call" if count == 1 else f"{count:,} calls"
