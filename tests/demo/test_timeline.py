from __future__ import annotations

import subprocess
from functools import lru_cache
from typing import TYPE_CHECKING

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tooltel import signals
from tooltel.demo.timeline import TARGET, History, play_history

if TYPE_CHECKING:
    from pathlib import Path

    from tests.servers import Servers
    from tooltel.demo.ledger import Ledger

START = 1_900_000_000.0
STEP = 60.0
SECONDS = 3600.0


@lru_cache(maxsize=1)
def history() -> tuple[History, Ledger]:
    return play_history(7, 120, start=START, seconds=SECONDS, step=STEP)


def samples() -> list[tuple[str, dict[str, str], float, float]]:
    return [
        (sample.name, dict(sample.labels), sample.value, float(str(sample.timestamp)))
        for family in history()[0].collect()
        for sample in family.samples
    ]


@pytest.mark.slow
def test_the_same_arguments_give_the_same_text() -> None:
    again, _ = play_history(7, 120, start=START, seconds=SECONDS, step=STEP)
    assert again.text() == history()[0].text()


def test_the_text_is_openmetrics_with_every_emitted_row() -> None:
    """One scrape of it: prometheus_client's parser takes the second time of a histogram for a duplicate."""
    lines = history()[0].text().splitlines(keepends=True)
    last = [line for line in lines if line.startswith("#") or float(line.rpartition(" ")[2]) == START + SECONDS]
    families = list(text_string_to_metric_families("".join(last)))  # type: ignore[no-untyped-call]
    names = {sample.name for family in families for sample in family.samples}
    assert {series for row in signals.IN_PROCESS for series in row.series} <= names


def test_the_samples_of_a_series_stand_together() -> None:
    seen: list[str] = []
    for line in history()[0].text().splitlines():
        if line.startswith(signals.TOOL_CALLS.name):
            series = line.rpartition(" ")[0].rpartition(" ")[0]
            if not seen or seen[-1] != series:
                seen.append(series)
    assert len(seen) == len(set(seen)) > 0


def test_there_is_one_scrape_per_step_from_the_start_to_the_end() -> None:
    times = sorted({at for name, _, _, at in samples() if name == signals.UP.name})
    assert times == [START + STEP * place for place in range(61)]


def test_each_series_has_its_samples_in_order_and_none_twice() -> None:
    series: dict[tuple[str, tuple[tuple[str, str], ...]], list[float]] = {}
    for name, labels, _, at in samples():
        series.setdefault((name, tuple(sorted(labels.items()))), []).append(at)
    assert all(times == sorted(set(times)) for times in series.values())


def test_every_sample_carries_the_labels_of_its_target() -> None:
    assert all(TARGET.items() <= labels.items() for _, labels, _, _ in samples())


def test_counters_start_at_zero_and_never_fall() -> None:
    seen: dict[tuple[tuple[str, str], ...], float] = {}
    for name, labels, value, at in samples():
        if name != signals.TOOL_CALLS.name:
            continue
        key = tuple(sorted(labels.items()))
        if at == START:
            assert value == 0
        assert value >= seen.get(key, 0.0)
        seen[key] = value


def test_the_last_scrape_holds_all_that_was_done() -> None:
    end = START + SECONDS
    recorded = sum(value for name, _, value, at in samples() if name == signals.TOOL_CALLS.name and at == end)
    assert recorded == history()[1].calls


def test_the_catalog_is_loaded_when_the_history_starts() -> None:
    assert {value for name, _, value, _ in samples() if name == signals.CATALOG_LOADED.name} == {START}


@pytest.mark.parametrize("seconds", [1.0, STEP])
def test_a_history_has_a_scrape_before_and_one_after_the_shift(seconds: float) -> None:
    short, ledger = play_history(7, 40, start=START, seconds=seconds, step=STEP)
    times = {sample.timestamp for family in short.collect() for sample in family.samples}
    assert times == {START, START + STEP}
    assert ledger.calls > 0


def test_a_real_prometheus_takes_the_history(servers: Servers, tmp_path: Path) -> None:
    text = tmp_path / "history.txt"
    text.write_text(history()[0].text(), "utf-8")
    (tmp_path / "data" / "wal").mkdir(parents=True)  # a dump wants one, be it empty
    make: list[str | Path] = [servers.promtool, "tsdb", "create-blocks-from", "openmetrics", text]
    made = subprocess.run([*make, tmp_path / "data"], capture_output=True, text=True, check=False, timeout=60)
    assert made.returncode == 0, made.stderr
    dumped = subprocess.run(
        [servers.promtool, "tsdb", "dump", "--match", '{__name__="up"}', tmp_path / "data"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert len(dumped.stdout.splitlines()) == 61
