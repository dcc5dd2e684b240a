"""What real formatters wrote (real_lines/README.md): each drop counts once, by name and reason, and nothing else."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.test_sidecar import counts, run
from tests.sidecar.real_lines import remake
from tests.signals.scrape import total
from tooltel import signals
from tooltel.loading import read_catalog
from tooltel.match import Judge, rules_of_catalog
from tooltel.sidecar.judging import LineJudge
from tooltel.text import clean

if TYPE_CHECKING:
    from tooltel.catalog import Catalog

FOLDER = remake.HERE
FILES = sorted(path.name for path in FOLDER.glob("*.log"))
CONTAINERS = {"docker.log": "docker", "cri.log": "cri"}
LONG = ("after_a_long_field", "cut_in_two", "wide")  # names in remake.long_lines


def read() -> Catalog:
    catalog, problems = read_catalog(str(FOLDER / "tools.toml"))
    assert catalog is not None, problems
    return catalog


CATALOG = read()
RULES = rules_of_catalog(CATALOG)


def expected(name: str) -> Counter[tuple[str, str]]:
    """Name and reason of each drop that a file tells of."""
    if name in CONTAINERS or name in remake.SYSLOGS:
        logs = ("logback-default.log", "logstash.log", "jul-default.log")
        return sum(map(expected, logs), Counter((each, "unknown") for each in LONG if name in CONTAINERS))
    found = [event for event in remake.events() if "drop" in event]
    key = "drop" if name in remake.OBJECTS else "drop_in_text"
    return Counter((clean(event.get(key, event["drop"])), event["reason"]) for event in found)


def drops(log: bytes, form: str, *, fast: bool) -> Counter[tuple[str, str]]:
    """What a log counts; nothing of it may be skipped, or count as anything else."""
    skipped: list[object] = []
    judging = LineJudge(Judge(RULES, CATALOG, "support"), form=form, skipped=skipped.append, fast=fast)
    judging.take(bytearray(log), 0, len(log), {}, is_patient=False)
    found: Counter[tuple[str, str]] = Counter()
    for matched, times in judging.drain():
        missing = matched.outcome.missing
        assert missing is not None, matched.rule.id
        found[missing.requested, missing.reason.value] += times
    assert skipped == []
    return found


@pytest.mark.parametrize("fast", [True, False], ids=["fast", "plain"])
@pytest.mark.parametrize("name", FILES)
def test_each_drop_of_a_real_log_counts_once_by_name_and_reason(name: str, fast: bool) -> None:
    log = (FOLDER / name).read_bytes()
    told = CONTAINERS.get(name) or ("json" if name in remake.OBJECTS else "auto" if name in remake.SYSLOGS else "text")
    for form in ("auto", told):
        assert drops(log, form, fast=fast) == expected(name)


@pytest.mark.parametrize("fast", [True, False], ids=["fast", "plain"])
def test_each_error_that_a_host_in_javascript_logs_counts_once(fast: bool) -> None:
    """The drops are the names in the program but for those that it only quotes."""
    names = re.findall(
        r"failed\('(\w+)'(?:, undefined)?\)(?!\.message)", (FOLDER / "node" / "agent.mjs").read_text("utf-8")
    )
    assert len(names) == 16
    log = (FOLDER / "node" / "agent.log").read_bytes()
    assert drops(log, "auto", fast=fast) == Counter((name, "unknown") for name in names)


def test_every_formatter_has_its_file() -> None:
    assert set(FILES) == {*remake.LOGS, *remake.DOCUMENTED, *CONTAINERS, *remake.SYSLOGS}


def test_lines_of_the_container_files_are_cut_and_torn_apart() -> None:
    """Else they would prove less than they are there for."""
    docker = (FOLDER / "docker.log").read_text(encoding="utf-8").splitlines()
    cri = (FOLDER / "cri.log").read_text(encoding="utf-8").splitlines()
    assert sum('\\n","stream"' not in line for line in docker) == sum(" P " in line[:50] for line in cri) == 4
    assert [line.partition('"stream":"')[2][:6] for line in docker[:4]] == ["stdout", "stderr"] * 2


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_the_sidecar_counts_a_real_log_as_it_is_started(name: str, tmp_path: Path) -> None:
    catalog = str(FOLDER / "tools.toml")
    said = run(tmp_path, "--catalog", catalog, "--file", str(FOLDER / name), "--once", "--profile", "support")
    assert said.returncode == 0
    found = counts(said)
    reasons: Counter[str] = Counter()
    for (_, reason), times in expected(name).items():
        reasons[reason] += times
    assert {reason: total(found, signals.NOT_FOUND.name, reason=reason) for reason in reasons} == dict(reasons)
    assert total(found, signals.NOT_FOUND.name) == total(found, signals.SIDECAR_MATCHES.name) == reasons.total()
    for requested, owner in (("order_lookup", "orders"), ("order_refund", "payments")):
        assert total(found, signals.NOT_FOUND.name, requested=requested, owner=owner) == (
            sum(times for (each, _), times in expected(name).items() if each == requested)
        )
    assert total(found, signals.SIDECAR_SKIPPED_LINES.name) == 0


@pytest.mark.slow
def test_the_same_formatters_write_the_same_today(tmp_path: Path) -> None:
    if missing := remake.what_is_missing():
        pytest.skip(missing)
    remake.make_java_logs(tmp_path)
    for name in remake.LOGS:
        log = (tmp_path / name).read_bytes()
        assert drops(log, "auto", fast=True) == expected(name)
        assert log.count(b"\n") == (FOLDER / name).read_bytes().count(b"\n")
