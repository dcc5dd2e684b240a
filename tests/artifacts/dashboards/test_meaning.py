"""What a dashboard says is true: numbers on crafted pasts whose answer is known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.artifacts.dashboards.ladder.asking import answer
from tests.artifacts.dashboards.ladder.reading import Json, queries
from tests.artifacts.dashboards.ladder.synthetic import DAY, END
from tooltel import signals
from tooltel.artifacts.dashboards import lifecycle, links
from tooltel.artifacts.rules.lifecycle import COMPLETE

if TYPE_CHECKING:
    from tests.backfill import Prometheus

    Backfill = Callable[[str], Prometheus]

HOUR = 3600
Past = Iterable[tuple[int, float]]
Row = tuple[signals.Metric, dict[str, str], Past]


def written(rows: list[Row]) -> str:
    """OpenMetrics text of crafted series."""

    def lines() -> Iterator[str]:
        for metric in dict.fromkeys(row[0] for row in rows):
            kind = "counter" if metric.kind is signals.Kind.COUNTER else "gauge"
            yield f"# TYPE {metric.name.removesuffix('_total')} {kind}"
            for _, labels, past in (row for row in rows if row[0] is metric):
                text = ",".join(f'{name}="{value}"' for name, value in {"job": "tooltel", **labels}.items())
                yield from (f"{metric.name}{{{text}}} {value:g} {at}" for at, value in past)
        yield "# EOF\n"

    return "\n".join(lines())


def told(board: Json, prometheus: Prometheus, place: str) -> list[dict[str, Any]]:
    """The answer to the query that stands at *place* of *board*."""
    (asked,) = [each for each in queries(board) if each.place == f"{board['uid']}/{place}"]
    return answer(board, asked, prometheus, end=END)


def column(board: Json, prometheus: Prometheus, place: str, label: str) -> dict[str, float]:
    """A table's column as {label: number}."""
    return {each["metric"][label]: float(each["value"][1]) for each in told(board, prometheus, place)}


def number(board: Json, prometheus: Prometheus, place: str) -> float:
    (only,) = told(board, prometheus, place)
    return float(only["value"][1])


def hourly(days: float, value: Callable[[int], float], *, gap: tuple[float, float] = (0, 0)) -> Past:
    """A sample each five minutes for *days*, but none between the two days ago of *gap*."""
    times = range(END - int(days * DAY), END + 1, 300)
    return [(at, value(at)) for at in times if not gap[1] < (END - at) / DAY < gap[0]]


def steady(per_second: float) -> Past:
    """A counter over the last two hours."""
    return [(at, per_second * (at - END + 2 * HOUR)) for at in range(END - 2 * HOUR, END + 1, 15)]


ALIAS = {"tool": "order_lookup", "owner": "orders"}


def called_until(days_ago: float) -> Callable[[int], float]:
    return lambda at: float(min(at, END - int(days_ago * DAY)) // HOUR)


ALIASES: dict[str, Past] = {
    "called_now": hourly(40, called_until(0)),
    "called_3_days_ago": hourly(40, called_until(3)),
    "silent_for_35_days": hourly(40, called_until(35)),
    "never_called": hourly(40, lambda _: 0.0),
    "watched_for_10_days": hourly(10, lambda _: 0.0),
    "lost_for_5_days": hourly(40, lambda _: 0.0, gap=(15, 10)),
    "restarted": hourly(40, lambda at: 7.0 if at < END - 35 * DAY else 0.0),
    "removed": [(at, 0.0) for at, _ in hourly(40, lambda _: 0.0) if at < END - DAY],
}


def test_aliases_say_when_they_were_called_and_which_may_go(boards: dict[str, Json], backfill: Backfill) -> None:
    rows: list[Row] = [
        (signals.ALIAS_CALLS, {**ALIAS, "alias": name, "instance": "a"}, past) for name, past in ALIASES.items()
    ]
    prometheus, board = backfill(written(rows)), boards[links.LIFECYCLE]
    verdicts = column(board, prometheus, "Aliases/verdict", "alias")
    assert {name for name, verdict in verdicts.items() if verdict == 1} == {
        "silent_for_35_days", "never_called", "restarted",
    }  # fmt: skip
    assert set(verdicts) == set(ALIASES) - {"removed"}
    ago = column(board, prometheus, "Aliases/last_call", "alias")
    assert ago == {"called_now": 0, "called_3_days_ago": pytest.approx(3 * DAY, abs=0.1 * DAY)}
    seen = column(board, prometheus, "Aliases/watched", "alias")
    assert seen["never_called"] == pytest.approx(1, abs=0.01)
    assert seen["watched_for_10_days"] == pytest.approx(10 / 30, abs=0.01)
    assert seen["lost_for_5_days"] == pytest.approx(25 / 30, abs=0.01)
    assert number(board, prometheus, "Aliases that may go/A") == 3


def test_an_alias_is_watched_as_completely_as_the_alert_demands() -> None:
    assert lifecycle.WATCHED == COMPLETE


def calls(tool: str, **per_second: float) -> list[Row]:
    base = {"tool": tool, "owner": "orders", "version": "1", "risk": "read", "profile": "support", "instance": "a"}
    return [(signals.TOOL_CALLS, {**base, "outcome": outcome}, steady(rate)) for outcome, rate in per_second.items()]


def test_a_failed_call_is_an_error_or_a_timeout_among_those_that_count(
    boards: dict[str, Json], backfill_newest: Backfill
) -> None:
    rows = calls("a", ok=0.8, error=0.1, timeout=0.1, refused=5, invalid_arguments=5, cancelled=5, abandoned=5)
    rows += calls("b", ok=1.0, error=0, timeout=0)
    rows += calls("idle", ok=0, error=0, timeout=0)
    prometheus, board = backfill_newest(written(rows)), boards[links.FLEET]
    assert number(board, prometheus, "Failed calls/A") == pytest.approx(0.1, abs=0.001)
    shares = column(board, prometheus, "Worst tools/failed_share", "tool")
    assert shares == {"a": pytest.approx(0.2, abs=0.001), "b": 0}  # a tool without calls has no share
    assert column(board, prometheus, "Worst tools/calls", "tool")["a"] == pytest.approx(21 * HOUR, rel=0.01)


def test_a_rejected_call_counts_once_however_many_saw_it(boards: dict[str, Json], backfill_newest: Backfill) -> None:
    base = {"tool": "a", "owner": "orders", "instance": "a"}
    rows = calls("a", ok=1.0)
    for kind, source, rate in (
        ("structural", "framework", 0.1),
        ("structural", "schema", 0.2),
        ("domain", "tool", 0.3),
    ):
        rows.append((signals.REJECTIONS, {**base, "kind": kind, "source": source}, steady(rate)))
    prometheus, board = backfill_newest(written(rows)), boards[links.FLEET]
    assert number(board, prometheus, "Wrong arguments/A") == pytest.approx(0.2, abs=0.001)
    rejected = column(board, prometheus, "Worst tools/rejected", "tool")
    assert rejected == {"a": pytest.approx(0.5 * HOUR, rel=0.01)}


def test_the_first_refusal_is_seen_although_its_series_is_born_with_it(
    boards: dict[str, Json], backfill_newest: Backfill
) -> None:
    born = END - 20 * 60
    labels = {"tool": "a", "owner": "orders", "risk": "irreversible", "policy": "refunds", "instance": "a"}
    past = [(at, 1.0) for at in range(born, END + 1, 15)]
    prometheus = backfill_newest(written([*calls("a", ok=1.0), (signals.POLICY_REFUSALS, labels, past)]))
    assert column(boards[links.FLEET], prometheus, "Worst tools/refused", "tool") == {"a": 1}


def test_burn_is_measured_against_the_objective(boards: dict[str, Json], backfill_newest: Backfill) -> None:
    rows = calls("a", ok=0.9, error=0.1, timeout=0)
    for instance in ("a", "b"):  # both processes say the same objective
        objective = {"tool": "a", "owner": "orders", "instance": instance}
        rows.append((signals.TOOL_OBJECTIVE, objective, [(at, 0.98) for at, _ in steady(1)]))
    prometheus, board = backfill_newest(written(rows)), boards[links.OWNER]
    assert number(board, prometheus, "Fastest burn/A") == pytest.approx(5, rel=0.01)


def test_zero_alerts_are_only_said_where_the_rules_run(boards: dict[str, Json], backfill_newest: Backfill) -> None:
    now = [(at, 1.0) for at, _ in steady(1)]
    watchdog = {"alertname": "TooltelWatchdog", "alertstate": "firing", "severity": "none"}
    quiet = backfill_newest(written([(signals.ALERTS, watchdog, now)]))
    without = backfill_newest(written([(signals.UP, {"instance": "a"}, now)]))
    for board in (boards[links.FLEET], boards[links.OWNER], boards[links.TOOL]):
        assert number(board, quiet, "Firing alerts/A") == 0
        assert told(board, without, "Firing alerts/A") == []
    assert told(boards[links.OWNER], quiet, "Alerts/now") == []  # the dead-man's switch concerns nobody
