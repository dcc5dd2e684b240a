"""The figures that come of the rounds, as a table for people and as one object for machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bench.cases import ASYNC, CONDITIONS, SYNC
from bench.floor import ATTRIBUTES
from bench.timing import Added, Figure, Rounds, added, ratio
from tooltel import signals

if TYPE_CHECKING:
    from bench.imports import ImportCost

KINDS: Final = (SYNC, ASYNC)
BESIDE: Final = ("exemplar", "argument_hash", "log_event", "log_event_structlog")
BARS: Final[Mapping[str, float]] = {
    "sampled": 1.40, "unsampled": 0.45, "no_sdk": 0.30, "error": 1.50, "import_ratio": 1.15
}  # fmt: skip


class Row(NamedTuple):
    """One line of the table: a figure, what it is measured in, and the most it may be."""

    key: str
    label: str
    figure: Figure
    bar: float | None = None


def _over_bare(kind: str, case: str, bare: str = "bare") -> Added:
    return Added(f"{kind} {case}", f"{kind} {bare}")


def _floor(kind: str) -> Added:
    return _over_bare(kind, "floor sampled")


def wrapped(rounds: Rounds, kind: str) -> Iterator[Row]:
    """A wrapped call of one kind against the floor of that kind."""
    floor = _floor(kind)
    labels = {"sampled": "sampled", "unsampled": "sampled out", "no_sdk": "no SDK"}
    for condition in CONDITIONS:
        figure = ratio(rounds, _over_bare(kind, condition), floor)
        yield Row(condition, f"tooltel, {labels[condition]}", figure, BARS[condition])
    failed, good = _over_bare(kind, "error", "bare error"), _over_bare(kind, "sampled")
    yield Row("error", "tooltel, error path over its success path", ratio(rounds, failed, good), BARS["error"])
    yield Row(
        "generator_item",
        "tooltel, one item of a stream",
        ratio(rounds, _over_bare(kind, "item", "bare item"), floor),
    )


def rulers(rounds: Rounds, kind: str) -> Iterator[Row]:
    """What the floor costs in each condition, and what other ways to write it cost."""
    floor = _floor(kind)
    yield Row("floor", "floor, sampled", ratio(rounds, floor, floor))
    yield Row("floor_unsampled", "floor, sampled out", ratio(rounds, _over_bare(kind, "floor unsampled"), floor))
    yield Row("floor_no_sdk", "floor, no SDK", ratio(rounds, _over_bare(kind, "floor no_sdk"), floor))
    yield Row(
        "floor_error",
        "floor, error path",
        ratio(rounds, _over_bare(kind, "floor error", "bare error"), floor),
    )
    if kind == SYNC:
        yield Row("careful_user", "a careful `with` block", ratio(rounds, _over_bare(kind, "careful"), floor))
    yield Row(
        "prometheus_client",
        "prometheus_client only",
        ratio(rounds, _over_bare(kind, "prometheus_client"), floor),
    )


def beside(rounds: Rounds) -> Iterator[Row]:
    """What is opt-in, or depends on the tool, on top of a sampled call: in floors."""
    labels = {
        "exemplar": "an exemplar",
        "argument_hash": "a write tool's argument hash",
        "log_event": "a good call's log event, to logging's NullHandler",
        "log_event_structlog": "the same, as JSON to a structlog that drops it",
    }
    floor = _floor(SYNC)
    for name in BESIDE:
        yield Row(name, labels[name], ratio(rounds, Added(f"beside {name}", f"{SYNC} sampled"), floor))
    event = Added("beside error_log_event", f"{SYNC} error")
    yield Row("error_log_event", "a failed call's log event, to logging's NullHandler", ratio(rounds, event, floor))


def attributes(rounds: Rounds) -> Iterator[Row]:
    """Each span attribute on top of those above it: in floors."""
    floor = _floor(SYNC)
    for count, name in enumerate(ATTRIBUTES, start=1):
        step = Added(f"attributes {count}", f"attributes {count - 1}")
        yield Row(name, f"{name}, at start", ratio(rounds, step, floor))
    last = Added("attributes with outcome", f"attributes {len(ATTRIBUTES)}")
    yield Row(signals.OUTCOME, f"{signals.OUTCOME}, set at the end", ratio(rounds, last, floor))


def as_table(rounds: Rounds, imports: ImportCost) -> str:
    """Every figure for people to read: median, quartiles, and the bar where there is one."""
    lines: list[str] = []
    for kind in KINDS:
        floor = added(rounds, _floor(kind)).median / 1000
        lines += _block(
            f"{kind}: x floor ({floor:.1f} us of CPU time here)",
            [*wrapped(rounds, kind), *rulers(rounds, kind)],
        )
    lines += _block("beside, on top of a sampled call: + x floor", beside(rounds))
    lines += _block("span attributes, each on top of those above: + x floor", attributes(rounds))
    lines.append(
        f"import opentelemetry.trace, prometheus_client {imports.theirs:.0f} ms; import tooltel {imports.ours:.0f} ms: "
        f"x {imports.ratio:.3f} {_verdict(imports.ratio, BARS['import_ratio'])}; "
        f"with what its first use loads {imports.used:.0f} ms: x {imports.used_ratio:.3f}"
    )
    lines.append(f"{len(rounds[f'{SYNC} bare'])} rounds; medians, with quartiles in brackets")
    return "\n".join(lines)


def _block(title: str, rows: Any) -> list[str]:
    lines = [title]
    for row in rows:
        figure = row.figure
        verdict = "" if row.bar is None else _verdict(figure.median, row.bar)
        spread = f"[{figure.low:6.3f} {figure.high:6.3f}]"
        lines.append(f"  {row.label:<52} {figure.median:7.3f}  {spread}  {verdict}".rstrip())
    return [*lines, ""]


def _verdict(value: float, bar: float) -> str:
    return f"(at most {bar:.2f}: {'yes' if value <= bar else 'NO'})"


def as_object(rounds: Rounds, imports: ImportCost) -> dict[str, Any]:
    """Every figure for machines: medians; `spread` holds the quartiles of those with a bar."""
    kinds = {kind: [*wrapped(rounds, kind), *rulers(rounds, kind)] for kind in KINDS}
    return {
        **{kind: {row.key: _short(row.figure.median) for row in rows} for kind, rows in kinds.items()},
        "import_ratio": _short(imports.ratio),
        "import_used_ratio": _short(imports.used_ratio),
        "beside": {row.key: _short(row.figure.median) for row in beside(rounds)},
        "attributes": {row.key: _short(row.figure.median) for row in attributes(rounds)},
        "spread": {
            kind: {row.key: [_short(row.figure.low), _short(row.figure.high)] for row in rows if row.bar is not None}
            for kind, rows in kinds.items()
        },
        "floor_microseconds": {kind: _short(added(rounds, _floor(kind)).median / 1000) for kind in KINDS},
        "import_milliseconds": {
            "tooltel": _short(imports.ours),
            "used": _short(imports.used),
            "required": _short(imports.theirs),
        },
        "rounds": len(rounds[f"{SYNC} bare"]),
    }


def _short(value: float) -> float:
    return round(value, 4)
