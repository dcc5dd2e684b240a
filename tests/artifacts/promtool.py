"""The real promtool, asked whether rules are valid and what they do."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from tests.servers import Servers

_FAILED = re.compile(r'expr: "(?P<expr>.*)", time: ')
_BROKEN = re.compile(r"rule: (?P<rule>\S+), time: .*, err: ")
_GOT = re.compile(r"Labels:(?P<labels>\{.*\})\s+Annotations:(?P<annotations>\{.*\})")
_PAIR = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def write(files: Mapping[str, str], folder: Path) -> None:
    """Put rendered files below *folder*."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def complaint(servers: Servers, files: Iterable[Path]) -> str:
    """What promtool has to say against rule files, duplicates included; empty when they are valid."""
    done = _run(servers, "check", "rules", *files)
    return "" if done.returncode == 0 and "FAILED" not in done.stdout else done.stdout + done.stderr


def failures(servers: Servers, tests: Iterable[Path]) -> str:
    """What promtool's unit tests report; empty when all pass."""
    done = _run(servers, "test", "rules", *tests)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def faults(servers: Servers, test: Path) -> tuple[set[str], set[str]]:
    """The expressions of a test file whose expectations are not met, and the rules that cannot be evaluated."""
    said = failures(servers, [test])
    wrong = {match["expr"].replace(r"\"", '"') for match in _FAILED.finditer(said)}
    broken = {match["rule"] for match in _BROKEN.finditer(said)}
    assert wrong or broken or not said, said
    return wrong, broken


def tests_of(file: Path) -> list[dict[str, Any]]:
    """The unit tests in a file."""
    tests: list[dict[str, Any]] = yaml.safe_load(file.read_text(encoding="utf-8"))["tests"]
    return tests


def alerts_of(file: Path) -> list[dict[str, Any]]:
    """The alerting rules in a file."""
    groups = yaml.safe_load(file.read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"] if "alert" in rule]


def keep_tests(file: Path, *alerts: str) -> Path:
    """A copy of a test file with the tests of some alerts only."""
    document = yaml.safe_load(file.read_text(encoding="utf-8"))
    document["tests"] = [test for test in document["tests"] if test["name"].partition(":")[0] in alerts]
    kept = file.with_name(f"{file.stem}_kept.yml")
    kept.write_text(yaml.safe_dump(document), encoding="utf-8")
    return kept


def texts(servers: Servers, tests: Path) -> list[dict[str, str]]:
    """
    The labels and texts of every alert that fires in a test file, at the first time where one is expected.

    promtool shows texts only where it finds them wrong, so it is told to expect none.
    """
    document: dict[str, Any] = yaml.safe_load(tests.read_text(encoding="utf-8"))
    for test in document["tests"]:
        firing = [check for check in test.pop("promql_expr_test") if check["exp_samples"]]
        name = test["name"].partition(":")[0]
        test["alert_rule_test"] = [
            {"eval_time": check["eval_time"], "alertname": name, "exp_alerts": []} for check in firing[:1]
        ]
    asked = tests.with_name("annotations.yml")
    asked.write_text(yaml.safe_dump(document))
    said = failures(servers, [asked])
    return [_pairs(got["labels"]) | _pairs(got["annotations"]) for got in _GOT.finditer(said)]


def _pairs(text: str) -> dict[str, str]:
    return {name: _unquoted(value) for name, value in _PAIR.findall(text)}


def _unquoted(value: str) -> str:
    return value.replace(r"\"", '"').replace(r"\n", "\n").replace("\\\\", "\\")


def _run(servers: Servers, *command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [servers.promtool, *map(str, command)], capture_output=True, text=True, check=False, timeout=390
    )
