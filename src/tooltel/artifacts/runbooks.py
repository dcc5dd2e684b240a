"""The index of the runbooks. The runbooks themselves are written by hand: one file per alert."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tooltel.artifacts.documents import generated_from
from tooltel.artifacts.rules import every_alert, runbook_name
from tooltel.artifacts.rules.book import Alert, Recipient

if TYPE_CHECKING:
    from tooltel.artifacts.options import RenderOptions
    from tooltel.catalog import Catalog

INDEX: Final = "alerts/runbooks/README.md"
_WHO: Final = {
    Recipient.SERIES: "the tool's or profile's owner",
    Recipient.PLATFORM: "the platform team",
    Recipient.SECURITY: "the security owner",
    Recipient.NOBODY: "the dead man's switch",
}


def render_runbook_index(catalog: Catalog, options: RenderOptions) -> dict[str, str]:
    """Write the index: every alert of *catalog*, whom it goes to as what, and its runbook."""
    rows: dict[str, list[Alert]] = {}
    for alert in every_alert(catalog, options):
        rows.setdefault(runbook_name(alert.key), []).append(alert)  # two alerts of one name share a runbook
    lines = [
        f"<!-- {generated_from(catalog)} -->",
        "",
        "# Runbooks",
        "",
        "One for each alert, in the same order: what it means, what it does to users, how to find out why, what to do.",
        "",
        "| alert | goes out as | to |",
        "|---|---|---|",
    ]
    for runbook, alerts in sorted(rows.items()):
        severities = sorted({alert.settings.severity or "none" for alert in alerts})
        link = f"[{options.alert_name(runbook.removesuffix('.md'))}]({runbook})"
        lines.append(f"| {link} | {' and '.join(severities)} | {_WHO[alerts[0].recipient]} |")
    return {INDEX: "\n".join(lines) + "\n"}
