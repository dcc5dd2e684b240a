"""The unit tests notice damaged rules: each mutant of each rule fails some expectation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from tests.artifacts import promtool
from tests.artifacts.fleets import DAY, with_options
from tests.artifacts.rule_mutants import Rule, mutants
from tooltel.artifacts.options import RenderOptions
from tooltel.artifacts.rules import render_rule_tests, render_rules

if TYPE_CHECKING:
    from tests.servers import Servers

# Shorter than usual, so that days are not played to hundreds of mutants, and two tools that share the only bound.
SMALL: Final = with_options(alerts={"ToolSilent": {"window": "1h", "minimum": 20}})
TOOLS: Final = {name: replace(SMALL.tools[name], latency_bound=0.32) for name in ("order_lookup", "order_search")}
CATALOG: Final = replace(SMALL, tools=TOOLS, session_retention=6 * DAY)

# Damages that change nothing which a test of this length can see, with the reason.
EQUIVALENT: Final = {
    r"window 1d changed to 10d": "presence before: no test plays ten days of absence",
    r"DomainRejections .*label source renamed": "domain rejections have one source: no sum over sources differs",
    r"AliasSafeToRemove .*window (2h changed to 12m|1h changed to 6m)": "tests evaluate at full hours",
    r"AliasSafeToRemove .*window 6d changed to 60d": "hours watched: no test plays more than one retention",
}


@dataclass(frozen=True)
class Batch:
    """
    Mutants of one rule that are played together to the unit tests of an alert.

    Each is number `at` and has copies of all that depends on it, which are named M<at> or end in _m<at>.
    """

    title: str
    rules: Sequence[Rule]
    tests: Path

    def noticed(self, servers: Servers, folder: Path, numbers: set[int]) -> set[int]:
        """The numbers of the mutants that some unit test notices."""
        found: set[int] = set()
        for test in sorted(promtool.tests_of(self.tests), key=_length):
            if _is_about(test, self.title) and (left := numbers - found):
                found |= self._noticed_by(servers, folder, test, left)
        return found

    def _noticed_by(self, servers: Servers, folder: Path, test: dict[str, Any], numbers: set[int]) -> set[int]:
        # A mutant that cannot be evaluated ends the test. It is found by the first check, before all are played.
        start = {**test, "promql_expr_test": test["promql_expr_test"][:1]}
        broken: set[int] = set()
        wrong: set[int] = set()
        for played in (start, test):
            wrong, more = self._play(servers, folder, played, numbers - broken)
            while more:
                broken |= more
                wrong, more = self._play(servers, folder, played, numbers - broken)
        return broken | wrong

    def _play(
        self, servers: Servers, folder: Path, test: dict[str, Any], numbers: set[int]
    ) -> tuple[set[int], set[int]]:
        rules = [rule for rule in self.rules if (at := _number(rule)) is None or at in numbers]
        (folder / "rules.yml").write_text(
            yaml.dump({"groups": [{"name": "all", "rules": rules}]}, Dumper=yaml.CSafeDumper)
        )
        document: dict[str, Any] = yaml.load(self.tests.read_text(), Loader=yaml.CSafeLoader)
        document |= {"rule_files": ["rules.yml"], "group_eval_order": ["all"]}
        document["tests"] = [_multiplied(test, self.title, numbers)]
        (folder / "tests.yml").write_text(yaml.dump(document, Dumper=yaml.CSafeDumper))
        wrong, broken = promtool.faults(servers, folder / "tests.yml")
        noticed = {int(at) for expr in wrong for at in re.findall(r'alertname="M(\d+)"', expr)}
        return noticed, {int(re.sub(r".*[mM]", "", name)) for name in broken}


@dataclass
class Case:
    """A rule with its mutants, and batches to play them in: the survivors of one are played in the next."""

    name: str
    what: Sequence[str]
    batches: list[Batch] = field(default_factory=list)

    def survivors(self, servers: Servers, folder: Path) -> list[str]:
        """What was done to the mutants that no unit test notices."""
        left = set(range(len(self.what)))
        for batch in self.batches:
            noticed = batch.noticed(servers, folder, left)
            assert 0 not in noticed, f"{batch.title}: the undamaged rule fails its own tests"
            left -= noticed
            if left == {0}:
                break
        return [f"{self.name}: {self.what[at]}" for at in sorted(left - {0})]


def _length(test: dict[str, Any]) -> int:
    """When the last check of a test is, in seconds."""
    return max(int(check["eval_time"].removesuffix("s")) for check in test["promql_expr_test"])


def _number(rule: Rule) -> int | None:
    """Which mutant a rule belongs to, or None for the undamaged."""
    found = re.fullmatch(r"M(\d+)|.*_m(\d+)", str(rule.get("alert") or rule["record"]))
    return int(found[1] or found[2]) if found else None


def _multiplied(test: dict[str, Any], title: str, numbers: set[int]) -> dict[str, Any]:
    """The test with every check for every mutant."""
    alert = f'alertname="{title.split(maxsplit=1)[0]}"'
    several = []
    for check in test["promql_expr_test"]:
        for at in sorted(numbers):
            own = f'alertname="M{at}"'
            samples = [{**sample, "labels": sample["labels"].replace(alert, own)} for sample in check["exp_samples"]]
            several.append({**check, "expr": check["expr"].replace(alert, own), "exp_samples": samples})
    return {**test, "promql_expr_test": several}


def _is_about(test: dict[str, Any], title: str) -> bool:
    alert, severity = title.split()
    about = test["name"].partition(":")[0] == alert
    return about and f'severity="{severity}"' in test["promql_expr_test"][0]["expr"]


# --- which mutants there are --------------------------------------------------------------------------------


def cases(folder: Path) -> Iterator[Case]:
    """One case for each rule that can be rendered: alerts, and recorded series with all that reads them."""
    options = RenderOptions.from_catalog(CATALOG)
    tests = render_rule_tests(CATALOG, options, waiting=True)
    promtool.write(tests, folder)
    for path, text in render_rules(CATALOG, options, waiting=True).items():
        rules = [rule for group in yaml.safe_load(text)["groups"] for rule in group["rules"]]
        files = [folder / other for other in tests if Path(other).stem.partition("_")[0] == Path(path).stem]
        recorded = [rule for rule in rules if "record" in rule]
        alerts = [_bare(rule) for rule in rules if "alert" in rule]
        for alert in alerts:
            yield _alert_case(alert, recorded, files)
        for record in recorded:
            yield _recorded_case(record, recorded, alerts, files)


def _bare(rule: Rule) -> Rule:
    return {key: value for key, value in rule.items() if key != "annotations"}


def _alert_case(alert: Rule, recorded: list[Rule], files: list[Path]) -> Case:
    damaged = mutants(alert)
    rules = [{**rule, "alert": f"M{at}"} for at, rule in enumerate([alert, *(mutant.rule for mutant in damaged)])]
    title = _title(alert)
    needed = _needed(alert, recorded)
    batches = [Batch(title, [*needed, *rules], file) for file in files if _is_played(title, file)]
    return Case(title, ["nothing", *(mutant.what for mutant in damaged)], batches)


def _recorded_case(record: Rule, recorded: list[Rule], alerts: list[Rule], files: list[Path]) -> Case:
    damaged = mutants(record)
    case = Case(record["record"], ["nothing", *(mutant.what for mutant in damaged)])
    for file in files:
        for alert in alerts:
            title = _title(alert)
            if record["record"] in _read_by(alert, recorded) and _is_played(title, file):
                copies = [
                    copy
                    for at, rule in enumerate([record, *(mutant.rule for mutant in damaged)])
                    for copy in _copies(rule, recorded, alert, at)
                ]
                case.batches.append(Batch(title, [*_needed(alert, recorded), *copies], file))
    return case


def _copies(damaged: Rule, recorded: list[Rule], alert: Rule, at: int) -> Iterator[Rule]:
    """A mutant of a recorded series, with copies of all that is between it and the alert."""
    changed = [damaged["record"]]
    yield {**damaged, "record": f"{damaged['record']}_m{at}"}
    for other in recorded:
        if damaged["record"] in _read_by(other, recorded):
            yield {**_reading(other, changed, at), "record": f"{other['record']}_m{at}"}
            changed.append(other["record"])
    yield {**_reading(alert, changed, at), "alert": f"M{at}"}


def _reading(rule: Rule, names: list[str], at: int) -> Rule:
    expr = rule["expr"]
    for name in names:
        expr = re.sub(rf"{re.escape(name)}(?![\w:])", f"{name}_m{at}", expr)
    return {**rule, "expr": expr}


def _read_by(rule: Rule, recorded: list[Rule]) -> set[str]:
    """Every recorded series that *rule* reads, by others too."""
    names: set[str] = set()
    for other in recorded:
        if other is not rule and re.search(rf"{re.escape(other['record'])}(?![\w:])", rule["expr"]):
            names |= {other["record"], *_read_by(other, recorded)}
    return names


def _needed(alert: Rule, recorded: list[Rule]) -> list[Rule]:
    names = _read_by(alert, recorded)
    return [rule for rule in recorded if rule["record"] in names]


def _title(alert: Rule) -> str:
    return f"{alert['alert']} {alert['labels']['severity']}"


def _is_played(title: str, file: Path) -> bool:
    return any(_is_about(test, title) for test in promtool.tests_of(file))


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_every_mutant_of_every_rule_is_noticed(newest_servers: Servers, tmp_path: Path) -> None:
    played = list(cases(tmp_path))

    def play(at: int) -> list[str]:
        folder = tmp_path / str(at)
        folder.mkdir()
        return played[at].survivors(newest_servers, folder)

    with ThreadPoolExecutor(2) as pool:
        alive = [what for found in pool.map(play, range(len(played))) for what in found]
    unknown = [what for what in alive if not any(re.search(pattern, what) for pattern in EQUIVALENT)]
    assert unknown == []
    assert sum(len(case.what) - 1 for case in played) > 750
    assert all(any(re.search(pattern, what) for what in alive) for pattern in EQUIVALENT)  # none is out of date


def test_mutants_are_rules_that_parse() -> None:
    """Otherwise promtool would refuse them, and they would prove nothing."""
    import promql_parser

    options = RenderOptions.from_catalog(CATALOG)
    for text in render_rules(CATALOG, options, waiting=True).values():
        for group in yaml.safe_load(text)["groups"]:
            for mutant in (mutant for rule in group["rules"] for mutant in mutants(rule)):
                promql_parser.parse(mutant.rule["expr"])
