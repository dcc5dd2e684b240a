"""Alerts about the contract of a model and its tools: names, arguments and declarations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltel import signals
from tooltel.artifacts.dashboards import links
from tooltel.artifacts.rules import recordings
from tooltel.artifacts.rules.book import (
    OWNED,
    OWNER,
    PROFILE,
    TOOL,
    VERSION,
    Alert,
    Book,
    Group,
    Panel,
    Recipient,
    Variant,
)
from tooltel.artifacts.rules.texts import (
    COUNT,
    NUMBER,
    PERCENT,
    listed,
    of_tool,
    owned_holes,
    said,
    version_news,
)
from tooltel.promql import Expr, Match, call, compare, one_of, over
from tooltel.signals import Reason, RejectionKind

TOOL_PANEL: Final = Panel(links.TOOL, OWNED)
PROFILE_PANEL: Final = Panel(links.LIFECYCLE, (OWNER, PROFILE))
MISSING: Final = (OWNER, PROFILE, "requested")  # what tells one misdirected name from another


def groups(book: Book) -> Iterator[Group]:
    """The groups of this theme."""
    interval = book.options.group_interval
    names = (*_renamed(book), *_misplaced(book), *_invented(book))
    yield Group("tooltel-contract-names", interval, alerts=names)
    yield Group("tooltel-contract-arguments", interval, alerts=(*_structural(book), *_domain(book)))
    seen = (recordings.declaration_seen(book),)
    yield Group(
        "tooltel-contract-declarations",
        recordings.seldom(book),
        seen,
        (*_over_budget(book), *_changed(book), *_unowned(book)),
    )


# --- names -----------------------------------------------------------------------------------------------


def _renamed(book: Book) -> Iterator[Alert]:
    for each in book.variants("ToolRenamedCalled"):
        yield Alert(
            "ToolRenamedCalled", each, _missing(book, each, MISSING, Reason.RENAMED),
            f"Old name {said('requested')} is still called",
            f"Calls of profile {said(PROFILE)} for {said('requested')}, a retired name of a tool of "
            f"{said(OWNER)}, within {each.settings.window}: {COUNT}. They reached nothing; some prompt, "
            "memory or session still knows the old name.",
            PROFILE_PANEL,
        )  # fmt: skip


def _misplaced(book: Book) -> Iterator[Alert]:
    for each in book.variants("ToolNotInProfile"):
        yield Alert(
            "ToolNotInProfile", each, _missing(book, each, MISSING, Reason.NOT_IN_PROFILE),
            f"Profile {said(PROFILE)} calls {said('requested')}, which it does not have",
            f"Calls of profile {said(PROFILE)} for {said('requested')} of {said(OWNER)} within "
            f"{each.settings.window}: {COUNT}. The tool exists, but not in this profile: either the profile "
            "lacks it, or a prompt speaks of a tool that this agent should not know.",
            PROFILE_PANEL,
        )  # fmt: skip


def _invented(book: Book) -> Iterator[Alert]:
    by = (OWNER, PROFILE, "reason")
    for each in book.variants("ToolInvented"):
        yield Alert(
            "ToolInvented", each, _missing(book, each, by, Reason.UNKNOWN, Reason.EMPTY),
            f"Profile {said(PROFILE)} calls tools that do not exist",
            f"Calls of profile {said(PROFILE)} for a name that no tool has or had ({said('reason')}) within "
            f"{each.settings.window}: {COUNT}. The exact names are in the log events "
            f"{signals.Event.TOOL_NOT_FOUND}, with the nearest known name of each.",
            PROFILE_PANEL,
        )  # fmt: skip


def _missing(book: Book, variant: Variant, by: tuple[str, ...], *reasons: Reason) -> Expr:
    reason: str | Match = one_of(*reasons) if len(reasons) > 1 else reasons[0]
    gained = book.gained(signals.NOT_FOUND, by, variant.settings.window or "", reason=reason)
    least = variant.settings.minimum
    return compare(gained, ">", 0) if least is None else compare(gained, ">=", least)


# --- arguments -------------------------------------------------------------------------------------------


def _structural(book: Book) -> Iterator[Alert]:
    for each in book.variants("StructuralRejections"):
        yield Alert(
            "StructuralRejections", each, _rejected(book, each, RejectionKind.STRUCTURAL),
            f"{said(TOOL)} gets arguments that break its schema",
            f"{PERCENT} of the calls of {of_tool()} within {each.settings.window} did not match the "
            f"published schema. {_worst_fields(book, each, RejectionKind.STRUCTURAL)} {version_news(book)}",
            TOOL_PANEL,
        )  # fmt: skip


def _domain(book: Book) -> Iterator[Alert]:
    for each in book.variants("DomainRejections"):
        yield Alert(
            "DomainRejections", each, _rejected(book, each, RejectionKind.DOMAIN),
            f"{said(TOOL)} refuses well-formed arguments",
            f"{PERCENT} of the calls of {of_tool()} within {each.settings.window} matched the schema and "
            f"were still not acceptable to the tool. {_worst_fields(book, each, RejectionKind.DOMAIN)} "
            f"{version_news(book)}",
            TOOL_PANEL,
        )  # fmt: skip


def _rejected(book: Book, variant: Variant, kind: RejectionKind) -> Expr:
    scope, settings, where = book.scope, variant.settings, variant.matching()
    window = settings.window or ""
    by_source = scope.total(scope.increase(signals.REJECTIONS, window, **where, kind=kind), *OWNED, "source")
    # One call may be rejected by the framework and by our own check: the larger count is the number of calls.
    rejected = scope.total(by_source, *OWNED, function="max")
    calls = scope.total(scope.increase(signals.TOOL_CALLS, window, **where), *OWNED)
    share = compare(scope.join(rejected, "/", calls, *OWNED), ">", settings.ratio or 0)
    return book.live(scope.join(share, "and", compare(rejected, ">=", settings.minimum or 0), *OWNED))


def _worst_fields(book: Book, variant: Variant, kind: RejectionKind) -> str:
    fields = book.gained(
        signals.REJECTED_FIELDS, ("field",), variant.settings.window or "", **owned_holes(book), kind=kind
    )
    worst = listed(call("topk", 3, compare(fields, ">", 0)), "field", none="not known")
    return f"Arguments found wrong most often: {worst}."


# --- declarations ----------------------------------------------------------------------------------------


def _over_budget(book: Book) -> Iterator[Alert]:
    scope, by = book.scope, (OWNER, PROFILE)
    chars, budget = (
        scope.total(scope.series(row), *by, function="max")
        for row in (signals.DECLARATION_CHARS, signals.DECLARATION_BUDGET)
    )
    holes = {label: value for label, value in owned_holes(book).items() if label not in OWNED}
    for each in book.variants("DeclarationOverBudget"):
        yield Alert(
            "DeclarationOverBudget", each, scope.join(chars, ">", budget, *by),
            f"The tool declarations of profile {said(PROFILE)} are over budget",
            f"{COUNT} characters are sent to the model with every call of profile {said(PROFILE)}, more than "
            f"its owner {said(OWNER)} allows. Largest declarations of all tools: {_largest(book, holes)}.",
            PROFILE_PANEL,
        )  # fmt: skip


def _largest(book: Book, where: dict[str, str]) -> str:
    chars = book.scope.series(signals.TOOL_DECLARATION_CHARS, **where)
    return listed(call("topk", 3, book.scope.total(chars, TOOL, function="max")), TOOL, none="not known")


def _changed(book: Book) -> Iterator[Alert]:
    scope, versioned = book.scope, (OWNER, TOOL, VERSION)
    for each in book.variants("DeclarationChangedWithoutVersionBump"):
        seen = scope.recorded(recordings.declaration_seen(book), **each.matching())
        shas = scope.total(over("max_over_time", seen, each.settings.window or ""), *versioned, "sha", function="group")
        several = compare(scope.total(shas, *versioned, function="count"), ">", 1)
        in_use = scope.series(signals.TOOL_DECLARATION_INFO)
        yield Alert(
            "DeclarationChangedWithoutVersionBump", each,
            book.live(scope.join(several, "and", in_use, *versioned), *versioned),
            f"The declaration of {said(TOOL)} changed, its version did not",
            f"{NUMBER} different declarations of {of_tool()} were sent to models as version {said(VERSION)} "
            f"within {each.settings.window}: what differs between two sessions cannot be told apart any "
            "more.",
            TOOL_PANEL,
        )  # fmt: skip


def _unowned(book: Book) -> Iterator[Alert]:
    scope = book.scope
    calls = scope.total(scope.series(signals.TOOL_CALLS, owner=signals.UNOWNED), TOOL)
    # Counters keep their labels after a reload; what the catalog holds by now has an owner.
    lost = scope.join(compare(calls, ">", 0), "unless", scope.series(signals.TOOL_INFO), TOOL)
    for each in book.variants("ToolWithoutOwner"):
        yield Alert(
            "ToolWithoutOwner", each, lost,
            f"{said(TOOL)} has no owner",
            f"The catalog does not hold {said(TOOL)}, and it is called: {COUNT} times so far. Its pages would "
            "reach nobody who knows it, and it has no risk, no profile and no objective. Add it to the "
            "catalog.",
            Panel(links.FLEET), Recipient.PLATFORM,
        )  # fmt: skip
