"""Frameworks that write the line of a drop more than once for each call: one drop is one count."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sidecar.kit import CATALOG, Sidecar, append, expected
from tooltel import signals
from tooltel.catalog import Source
from tooltel.match import Judge, builtin_rules
from tooltel.sidecar import counting

TWICE = next(rule for rule in builtin_rules() if rule.times == 2)


class Strands(Sidecar):
    """A sidecar with the real signatures, one of which comes twice for each call."""

    def _make_judge(self, source: Source) -> Judge:  # type: ignore[override]
        return Judge(builtin_rules(), CATALOG, source.profile)


def twice(number: int, second: int = 0) -> bytes:
    """A line that strands writes twice for each call of `old_NUMBER`."""
    stamp = f"2026-11-30 17:00:{second:02d},000"
    return f"{stamp} WARNING strands.tools.tools: tool_name=<old_{number}> | invalid tool name pattern\n".encode()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "app.log"


def test_a_drop_that_is_logged_twice_counts_once(tmp_path: Path, log: Path) -> None:
    append(log, twice(1), twice(1))
    sidecar = Strands(tmp_path)
    sidecar.settle()
    assert sidecar.names() == expected(1)
    assert sidecar.total(signals.SIDECAR_MATCHES, signature=TWICE.id) == 2  # that counts lines


def test_calls_that_are_all_logged_twice_count_as_many_as_they_are(tmp_path: Path, log: Path) -> None:
    append(log, *(twice(number, second) for second in range(3) for number in (1, 2, 1, 2)))
    sidecar = Strands(tmp_path)
    sidecar.settle()
    assert sidecar.names() == {"old_1": 3, "old_2": 3}


def test_the_first_of_two_lines_counts_at_once_and_the_second_never(tmp_path: Path, log: Path) -> None:
    sidecar = Strands(tmp_path)
    seen = []
    for second in range(4):
        append(log, twice(1, second))
        sidecar.crank()
        seen.append(sidecar.names()["old_1"])
    assert seen == [1, 1, 2, 2]


def test_the_second_line_after_a_restart_and_a_rotation_counts_as_little(tmp_path: Path, log: Path) -> None:
    append(log, twice(1))
    sidecar = Strands(tmp_path)
    sidecar.crank()
    sidecar.restart()
    log.rename(tmp_path / "app.log.1")
    append(log, twice(1), twice(2), twice(2))
    sidecar.settle()
    assert sidecar.names() == expected(1, 2)


def test_the_second_line_of_another_source_is_a_call_of_its_own(tmp_path: Path) -> None:
    sources = [Source(name, (str(tmp_path / f"{name}.log"),), profile="support") for name in ("a", "b")]
    for source in sources:
        append(tmp_path / f"{source.name}.log", twice(1))
    sidecar = Strands(tmp_path, sources=sources)
    sidecar.settle()
    assert sidecar.names() == {"old_1": 2}


def test_names_whose_second_line_never_comes_do_not_pile_up(tmp_path: Path, log: Path) -> None:
    append(log, *(twice(number) for number in range(counting.REPEATS + 40)))
    sidecar = Strands(tmp_path)
    sidecar.settle()
    assert len(sidecar.engine.ledger.repeats) == counting.REPEATS
    assert sidecar.names() == expected(*range(counting.REPEATS + 40))
