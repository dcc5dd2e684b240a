"""Alerts about calls that should not happen, and about MCP servers that offer what nobody agreed to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from tooltel import signals
from tooltel.artifacts.dashboards import links
from tooltel.artifacts.rules.book import (
    OWNED,
    OWNER,
    RISK,
    TOOL,
    TOOL_OWNER,
    Alert,
    Book,
    Group,
    Panel,
    Recipient,
)
from tooltel.artifacts.rules.texts import COUNT, NUMBER, evidence, of_tool, said, where_traces_are
from tooltel.promql import Match, compare, renamed
from tooltel.signals import Risk, Status

if TYPE_CHECKING:
    from tooltel.signals import Metric

TOOL_PANEL: Final = Panel(links.TOOL, OWNED)
SERVERS: Final = Panel(links.LIFECYCLE, (TOOL_OWNER,))
POLICY: Final = (*OWNED, "policy")


def groups(book: Book) -> Iterator[Group]:
    """The groups of this theme."""
    interval = book.options.group_interval
    yield Group("tooltel-security", interval, alerts=(*_refusals(book), *_refused(book), *_repeated(book)))
    mcp = (*_drift(book), *_unlisted(book), *_changed(book))
    yield Group("tooltel-security-mcp", interval, alerts=mcp)


def _refusals(book: Book) -> Iterator[Alert]:
    for each in book.variants("PolicyRefusals"):
        settings = each.settings
        gained = book.gained(signals.POLICY_REFUSALS, POLICY, settings.window or "", **each.matching())
        yield Alert(
            "PolicyRefusals", each, book.live(compare(gained, ">", settings.threshold or 0)),
            f"Policy {said('policy')} keeps refusing {said(TOOL)}",
            f"Calls of {of_tool()} that policy {said('policy')} refused within {settings.window}: {COUNT}. "
            "Either an agent insists on what it may not do, or the policy is wrong. "
            f"{where_traces_are(Status.REFUSED)}",
            TOOL_PANEL,
        )  # fmt: skip


def _refused(book: Book) -> Iterator[Alert]:
    for each in book.variants("IrreversibleCallRefused"):
        where: dict[str, str | Match] = {**each.matching(), RISK: Risk.IRREVERSIBLE}
        gained = book.gained(signals.POLICY_REFUSALS, POLICY, each.settings.window or "", **where)
        # The alert goes to security; a static label takes the place of the tool's owner, who stays visible.
        told = renamed(book.live(compare(gained, ">", 0)), OWNER, TOOL_OWNER)
        yield Alert(
            "IrreversibleCallRefused", each, told,
            f"An irreversible call of {said(TOOL)} was refused",
            f"Calls of {said(TOOL)} (owner {said(TOOL_OWNER)}) that policy {said('policy')} refused within "
            f"{each.settings.window}: {COUNT}. The policy held; find out what the agent wanted and who asked "
            f"it to. {where_traces_are(Status.REFUSED)}",
            Panel(links.TOOL, (TOOL_OWNER, TOOL)), Recipient.SECURITY,
        )  # fmt: skip


def _repeated(book: Book) -> Iterator[Alert]:
    for each in book.variants("IrreversibleCallRepeated"):
        where: dict[str, str | Match] = {**each.matching(), RISK: Risk.IRREVERSIBLE}
        gained = book.gained(signals.REPEATED_CALLS, OWNED, each.settings.window or "", **where)
        yield Alert(
            "IrreversibleCallRepeated", each, book.live(compare(gained, ">", 0)),
            f"{said(TOOL)} was called again with the same arguments",
            f"Irreversible calls of {of_tool()} that repeated one of their session, which had gone through or "
            f"may have, within {each.settings.window}: {COUNT}. Check what was done twice, and undo it by "
            f"hand; log events {signals.Event.TOOL_CALL_REPEATED} name the sessions. {evidence(book)}",
            TOOL_PANEL,
        )  # fmt: skip


# --- MCP servers -----------------------------------------------------------------------------------------


def _drift(book: Book) -> Iterator[Alert]:
    scope, running = book.scope, (OWNER, "server", "server_version")
    seen = scope.total(scope.series(signals.MCP_SERVER_INFO), *running, function="count")
    drifted = scope.join(seen, "unless", scope.series(signals.MCP_SERVER_PINNED_INFO), *running[1:])
    for each in book.variants("McpServerVersionDrift"):
        yield Alert(
            "McpServerVersionDrift", each, renamed(drifted, OWNER, TOOL_OWNER),
            f"MCP server {said('server')} runs version {said('server_version')}, which is not pinned",
            f"MCP server {said('server')} (owner {said(TOOL_OWNER)}) introduces itself as version "
            f"{said('server_version')}; the catalog pins another. Processes that talk to it: {NUMBER}.",
            SERVERS, Recipient.SECURITY,
        )  # fmt: skip


def _unlisted(book: Book) -> Iterator[Alert]:
    what = "offers tools that the catalog does not allow"
    yield from _counted(book, "McpUnlistedTools", signals.MCP_UNLISTED, what)


def _changed(book: Book) -> Iterator[Alert]:
    yield from _counted(book, "McpChangedTools", signals.MCP_CHANGED, "changed the definition of tools")


def _counted(book: Book, key: str, row: Metric, what: str) -> Iterator[Alert]:
    found = book.scope.total(book.scope.series(row), OWNER, "server", function="max")
    for each in book.variants(key):
        yield Alert(
            key, each, renamed(compare(found, ">", 0), OWNER, TOOL_OWNER),
            f"MCP server {said('server')} {what}",
            f"MCP server {said('server')} (owner {said(TOOL_OWNER)}) {what}: {NUMBER}. A model reads "
            "descriptions as instructions, so look at them before anything else.",
            SERVERS, Recipient.SECURITY,
        )  # fmt: skip
