"""What was counted, a line for each: the language in which a script says what must be recorded."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tooltel.testing import Captured

COUNTED = {
    "tooltel_tool_calls_total": ("call", "tool", "outcome"),
    "tooltel_tool_not_found_total": ("drop", "reason", "requested"),
    "tooltel_rejections_total": ("rejected", "tool", "kind", "source"),
    "tooltel_rejected_fields_total": ("field", "tool", "kind", "field"),
    "tooltel_policy_refusals_total": ("refused", "tool", "policy"),
    "tooltel_alias_calls_total": ("alias", "alias", "tool"),
    "tooltel_repeated_calls_total": ("repeated", "tool"),
    "tooltel_batch_items_total": ("items", "tool", "status"),
    "tooltel_internal_errors_total": ("internal error", "component"),
    "tooltel_label_overflow_total": ("overflow", "metric"),
}


def counts(seen: Captured) -> Counter[str]:
    """Everything that was counted, a line for each."""
    found: Counter[str] = Counter()
    for (metric, labels), increase in seen.increases().items():
        if metric in COUNTED:
            noun, *names = COUNTED[metric]
            values = dict(labels)
            found[" ".join([noun, *(values[name] for name in names)])] += int(increase)
    return found


def lines(text: str) -> tuple[str, ...]:
    """The lines of *text*, as a script tells them: empty ones left out, and none indented."""
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def counter(text: str) -> Counter[str]:
    """What `counts` gives when there was what the lines of *text* say, and no more."""
    return Counter(lines(text))


def is_plain(recorded: Iterable[str]) -> bool:
    """Whether nothing was recorded but calls that went well."""
    return all(line.startswith("call ") and line.endswith(" ok") for line in recorded)
