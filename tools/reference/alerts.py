"""The page about alerts: what each means, whom it reaches, and which of its numbers can be changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from tools.reference import sentences
from tools.reference.markdown import code, codes, page, table
from tooltel.artifacts import RenderOptions
from tooltel.artifacts.defaults import ALERTS, AlertOptions
from tooltel.artifacts.rules import every_alert, runbook_name
from tooltel.artifacts.rules.book import Alert, Recipient
from tooltel.catalog import Catalog, Owner, Tool
from tooltel.signals import BUCKETS

WHO: Final = {
    Recipient.SERIES: "owner",
    Recipient.PLATFORM: "platform",
    Recipient.SECURITY: "security",
    Recipient.NOBODY: "dead-man's switch",
}

_EXAMPLE: Final = """\
[render.alerts]
ToolSilent = { window = "12h", minimum = 500 }
DomainRejections = { enabled = false }

[tools.order_lookup.alerts]
ToolLatencyHigh = { severity = "page" }
"""

_MEANING: Final = re.compile(r"^## Meaning\n+(.+?)(?=\n\n|\n#|\Z)", re.MULTILINE | re.DOTALL)


def alerts_page(runbooks: Mapping[str, str]) -> str:
    """Every alert that can fire today, in the order of the table of alerts."""
    return page(
        "Alerts",
        f"Names are as in a catalog; Prometheus has them with the prefix `{RenderOptions().alert_prefix}`. *To* says "
        "whose receiver: the owner in the alert's labels, the platform's owner, the security owner. *for* and *keeps* "
        "are Prometheus' `for` and `keep_firing_for`. Each has a [runbook](../../alerts/runbooks/README.md).",
        table(("alert", "as", "to", "for", "keeps", "numbers", "meaning"), _rows(runbooks)),
        "## Changing them",
        "For all tools in `[render.alerts]`, for one tool in its own `alerts`, where the table below says so:",
        f"```toml\n{_EXAMPLE}```",
        table(("option", "meaning"), ((code(key), said) for key, said in sentences.ALERT_OPTIONS.items())),
        table(("alert", "options", "one tool may differ"), _options()),
    )


def live_alerts() -> dict[str, Alert]:
    """Every alert whose series something emits, by its name in the table of defaults."""
    # A tool that asks for everything: alerts about latency exist only where a tool has a bound.
    tool = Tool("tool", "owner", risk="irreversible", objective=0.99, latency_bound=BUCKETS[0], aliases=("old",))
    catalog = Catalog([tool], [Owner("owner")], platform_owner="owner")
    found = {alert.key: alert for alert in every_alert(catalog, RenderOptions())}
    return {key: found[key] for key in ALERTS if key in found}


def _rows(runbooks: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    for key, alert in live_alerts().items():
        name = runbook_name(key)
        meaning = _MEANING.search(runbooks[name])
        if meaning is None:
            raise ValueError(f"{name} has no section `## Meaning`")
        said = " ".join(meaning[1].split())
        options = ALERTS[key]
        waits = (options.for_ or "0", options.keep_firing_for or "0")
        title = f"[{key}](../../alerts/runbooks/{name})"
        yield title, options.severity or "", WHO[alert.recipient], *waits, _numbers(options), said


def _numbers(options: AlertOptions) -> str:
    given = {name: getattr(options, name) for name in ("threshold", "ratio", "minimum", "window")}
    return ", ".join(f"{name} {_plain(value)}" for name, value in given.items() if value is not None)


def _plain(value: object) -> str:
    return f"{value:,.15g}" if isinstance(value, (int, float)) else str(value)


def _options() -> Iterator[tuple[str, ...]]:
    for key in live_alerts():
        options = ALERTS[key]
        yield key, codes(options.adjustable()), "yes" if options.per_tool else ""
