"""
What alerts say: pieces of Prometheus' text templates.

Names reach a text through `$labels` only, and a query inside a text through `%q`: whatever a tool is called,
it is data. Text that comes from the catalog or the options is made literal first.
"""

from __future__ import annotations

import re
from typing import Final

from tooltel import signals
from tooltel.artifacts.rules.book import OWNED, OWNER, TOOL, VERSION, Book
from tooltel.promql import Expr, Match, call, compare, none_of, quote

PERCENT: Final = "{{ $value | humanizePercentage }}"
COUNT: Final = '{{ $value | printf "%.0f" }}'
NUMBER: Final = "{{ $value | humanize }}"

# A place in a query for the value of a label of the alert. Private use characters: quoting leaves them alone.
_HOLE: Final = re.compile('"\ue000(\\w+)\ue001"')


def said(label: str) -> str:
    """The value of *label* of the alert."""
    return f"{{{{ $labels.{label} }}}}"


def literal(text: str) -> str:
    """Make *text* stand for itself in a template."""
    return text.replace("{{", '{{ "{{" }}')


def hole(label: str) -> str:
    """A matcher's value that becomes the value of *label* of the alert."""
    return f"\ue000{label}\ue001"


def asked(expr: Expr) -> str:
    """The action that runs *expr*, its holes filled, as the text is written: goes after `with` or `range`."""
    text = re.sub(r"\n *", " ", expr.text)
    labels = _HOLE.findall(text)
    with_verbs = _HOLE.sub("%q", text.replace("%", "%%"))
    arguments = "".join(f" $labels.{label}" for label in labels)
    return f"printf {quote(with_verbs)}{arguments} | query"


def listed(expr: Expr, label: str, *, none: str) -> str:
    """A list of the values of *label* in the answer to *expr*, each with its rounded number; else *none*."""
    item = f'{{{{ if $i }}}}, {{{{ end }}}}{{{{ $e.Labels.{label} }}}} {{{{ $e.Value | printf "%.0f" }}}}'
    return f"{{{{ range $i, $e := {asked(expr)} }}}}{item}{{{{ else }}}}{none}{{{{ end }}}}"


def top_errors(book: Book) -> str:
    """Which errors a tool had most in the last hour, with their numbers."""
    name, error_type, *_ = signals.DURATION.labels
    silent = none_of("", *(str(status) for status in signals.NEUTRAL))
    where: dict[str, str | Match] = {
        name: hole(TOOL),
        OWNER: hole(OWNER),
        error_type: silent,
        **_same_cluster(book),
    }
    counts = book.scope.increase(signals.DURATION, "1h", "_count", **where)
    top = call("topk", 3, compare(book.scope.total(counts, error_type), ">", 0))
    return f"Most frequent errors of the last hour: {listed(top, error_type, none='none')}."


def version_news(book: Book) -> str:
    """Whether a version of the tool is in use that was not a day ago."""
    info = book.scope.series(signals.TOOL_INFO, **owned_holes(book))
    now = book.scope.total(info, VERSION, function="max")
    before = book.scope.total(moved(info, "1d"), VERSION, function="max")
    new = book.scope.join(now, "unless", before, VERSION)
    each = "{{ range . }}Version {{ .Labels.version }} was not seen a day ago.{{ end }}"
    same = "Its version did not change in the last day."
    return f"{{{{ with {asked(new)} }}}}{each}{{{{ else }}}}{same}{{{{ end }}}}"


def evidence(book: Book, status: str | None = None) -> str:
    """What whoever is paged looks at first: errors, a new version, traces."""
    return f"{top_errors(book)} {version_news(book)} {where_traces_are(status)}"


def where_traces_are(status: str | None = None) -> str:
    """Where a trace of such a call can be found."""
    also = f" and {signals.OUTCOME} = {status}" if status else ""
    return f"Traces: exemplars of the latency panel, or spans with {signals.TOOL_NAME} = {said(TOOL)}{also}."


def moved(expr: Expr, offset: str) -> Expr:
    """The value of a plain selector *offset* ago."""
    return Expr(f"{expr.text} offset {offset}", expr.labels, reads=expr.reads)


def of_tool() -> str:
    """The tool and its owner, as texts name them."""
    return f"{said(TOOL)} (owner {said(OWNER)})"


def owned_holes(book: Book) -> dict[str, str]:
    """Matchers for queries about the alert's own tool."""
    return {**{label: hole(label) for label in OWNED}, **_same_cluster(book)}


def _same_cluster(book: Book) -> dict[str, str]:
    label = book.options.cluster_label
    return {label: hole(label)} if label and label not in book.options.selector else {}
