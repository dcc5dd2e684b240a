"""A user's own signatures: used beside the frameworks', refused with their place where they cannot work."""

from __future__ import annotations

from pathlib import Path

import pytest

from tooltel.catalog import Catalog, Signature, Source, Tool
from tooltel.errors import CatalogError
from tooltel.loading import locate, read_catalog
from tooltel.match import Judge, Record, find_signature_problems, rules_of_catalog
from tooltel.match.signatures import literal_of
from tooltel.signals import Status

FIND = Tool("order_find", "orders")


def catalog(*signatures: Signature) -> Catalog:
    return Catalog([FIND], signatures=signatures, open=True)


def judged(signature: Signature, record: Record) -> tuple[Status, str] | None:
    made = catalog(signature)
    match = Judge(rules_of_catalog(made), made).judge(record)
    if match is None:
        return None
    missing, tool = match.outcome.missing, match.outcome.tool
    return match.outcome.status, missing.requested if missing else tool.name if tool else ""


def test_a_signature_counts_lines_of_its_logger_and_level() -> None:
    own = Signature("not_found", r"no such function (?P<name>\S*)", logger="com.acme.Agent", level="warn")
    record = Record("no such function order_fnd", "com.acme.Agent", "WARNING")
    assert judged(own, record) == (Status.NOT_FOUND, "order_fnd")
    assert judged(own, record._replace(logger="c.a.Agent")) == (Status.NOT_FOUND, "order_fnd")
    assert judged(own, record._replace(logger="com.acme.Other")) is None
    assert judged(own, record._replace(level="INFO")) is None
    assert judged(own, record._replace(message="I found no such function order_fnd")) is None


@pytest.mark.parametrize("moment", ["error", "refused", "timeout", "invalid_arguments"])
def test_a_signature_may_tell_of_any_moment_of_a_named_tool(moment: str) -> None:
    own = Signature(moment, rf"{moment} in (?P<name>\w+)")
    assert judged(own, Record(f"{moment} in order_find")) == (Status(moment), "order_find")


def test_signatures_come_before_the_frameworks_and_count_whatever_framework_is_told() -> None:
    made = catalog(Signature("not_found", "Tool not found: (?P<name>.*)"))
    match = Judge(rules_of_catalog(made), made, framework="agno").judge(Record("Tool not found: drill"))
    assert match is not None
    assert match.rule.id == "signatures.0"


@pytest.mark.parametrize(
    ("signature", "path", "says"),
    [
        (Signature("not_found", "no such tool (?P<name>("), "signatures[0].pattern", "no regular expression"),
        (Signature("not_found", r"(?P<name>\S*) (\d+)"), "signatures[0].pattern", "no fixed text"),
        (Signature("not_found", "(?i)no such tool (?P<name>.*)"), "signatures[0].pattern", "no fixed text"),
        (Signature("not_found", "no such tool|unknown tool"), "signatures[0].pattern", "no fixed text"),
        (Signature("error", "failed to run"), "signatures[0].pattern", "which tool"),
        (Signature("nonsense", "no such tool (?P<name>.*)"), "signatures[0].moment", "no moment"),
        (Signature("not_found", "no such tool (?P<name>.*)", level="loud"), "signatures[0].level", "no level 'loud'"),
        (Signature("not_found", r"no such tool (?P<name>(\w+)+)!"), "signatures[0].pattern", "minutes"),
        (Signature("not_found", r"no such tool (?P<name>(a|ab)*)!"), "signatures[0].pattern", "minutes"),
        (Signature("not_found", r"no such tool (?:\w*\s*)*!"), "signatures[0].pattern", "minutes"),
        (Signature("not_found", r"no such tool (?:a{0,9}){0,9}!"), "signatures[0].pattern", "minutes"),
        (Signature("not_found", "no such tool " + "a?" * 30 + "!"), "signatures[0].pattern", "minutes"),
        (Signature("not_found", r"no such tool (?:a|a){40}!"), "signatures[0].pattern", "minutes"),
        (Signature("not_found", r"no such tool .* or .* or (?P<name>.*)"), "signatures[0].pattern", "minutes"),
        (Signature("not_found", r"no such tool (?P<name>.*) (?P=name).*"), "signatures[0].pattern", "minutes"),
    ],
)
def test_a_signature_that_cannot_work_is_refused_with_its_place(signature: Signature, path: str, says: str) -> None:
    made = catalog(signature)
    (problem,) = find_signature_problems(made)
    assert problem.path == path
    assert says in problem.what
    assert problem.fix
    with pytest.raises(CatalogError) as raised:
        rules_of_catalog(made)
    assert raised.value.problems == (problem,)


def test_a_source_of_a_framework_that_nobody_knows_is_a_problem() -> None:
    made = Catalog(sources=[Source("agent", ("/var/log/a.log",), framework="google-adkk")], open=True)
    (problem,) = find_signature_problems(made)
    assert (problem.rule, problem.path) == ("unknown_framework", "sidecar.sources.agent.framework")


def test_a_good_signature_has_no_problems() -> None:
    assert find_signature_problems(catalog(Signature("not_found", r"no such function (?P<name>\S*)"))) == []


def test_the_problem_names_the_line_of_the_catalog_file(tmp_path: Path) -> None:
    path = tmp_path / "tools.toml"
    path.write_text(
        '[catalog]\nplatform_owner = "a"\n[owners.a]\n\n'
        "[[signatures]]\nmoment = \"not_found\"\npattern = '(a+)+ here'\n"
    )
    made, _ = read_catalog(str(path))
    assert made is not None
    lines = [problem.line for problem in locate(find_signature_problems(made), str(path))]
    assert lines == [7]


@pytest.mark.parametrize(
    ("pattern", "literal"),
    [
        (r"no such function (?P<name>\S*)", "no such function "),
        (r"\[agent\] (?:unknown tool)[:] (?P<name>.*)", " unknown tool: "),
        (r"(?P<name>\w+)? is no tool", " is no tool"),
        (r"(?:optional text)?x", None),
        (r"[ab]cd", None),
        (r"(?:abcd){2} e", "abcd"),
        (r'"tool": "(?P<name>[^"]*)", "found": false', ": false"),
    ],
)
def test_the_text_to_look_for_is_what_every_match_holds(pattern: str, literal: str | None) -> None:
    assert literal_of(pattern) == literal
