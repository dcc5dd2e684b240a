from __future__ import annotations

import sys
from pathlib import Path
from textwrap import dedent
from time import thread_time

import pytest

from tooltel import loading
from tooltel.catalog import Catalog, Owner, Profile
from tooltel.errors import CatalogError, Level, Problem
from tooltel.loading import (
    UNREADABLE,
    assert_catalog,
    load,
    load_catalog,
    locate,
    parse_duration,
    read,
    read_catalog,
)
from tooltel.signals import Risk

GOOD = """\
[catalog]
platform_owner = "platform"
session_retention = "30d"
[owners.platform]
[profiles.support]
owner = "platform"
[tools.order_lookup]
owner = "platform"
profiles = ["support"]
version = 3
"""
DESCRIPTION = "Look up one order by its number, and say where it is."


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tools.toml"


def write(file: Path, text: str | bytes) -> Path:
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def only(problems: list[Problem]) -> Problem:
    (problem,) = problems
    return problem


# --- what a file may look like ---------------------------------------------------------------------------


def test_the_whole_schema_becomes_nouns(file: Path) -> None:
    text = dedent("""
        [catalog]
        session_retention = "1w2d"
        platform_owner = "platform"
        security_owner = "platform"
        name_pattern = "[a-z_]+"
        description_min_chars = 10
        budget_chars = 60_000
        levels = { description = "warn", budget = "off" }

        [owners.platform]
        page = { pagerduty_configs = [{ routing_key_file = "/etc/key" }] }

        [profiles.support]
        owner = "platform"
        budget_chars = 12000

        [tools.order_refund]
        version = 1
        owner = "platform"
        risk = "irreversible"
        profiles = ["support"]
        description = "Refund one order in full."
        aliases = ["refund_order"]
        retired = ["refund"]
        objective = 0.99
        latency_bound = 2.56
        repeatable = false
        result_shape = true
        alerts = { ToolLatencyHigh = { severity = "page" } }

        [mcp.kb]
        owner = "platform"
        version = "1.4.2"
        allow = ["kb_search"]

        [sidecar.sources.agent]
        files = ["/var/log/agent/*.log"]
        format = "json"
        profile = "support"
        framework = "google-adk-java"
        plugin = true

        [[signatures]]
        moment = "not_found"
        logger = "com.acme.Agent"
        level = "WARN"
        pattern = 'no such function (?P<name>\\S*)'

        [render]
        cluster_label = "cluster"
    """)
    catalog = load(write(file, text))
    assert catalog.session_retention == 9 * 86400
    assert (catalog.platform_owner, catalog.security_owner) == ("platform", "platform")
    assert (catalog.house.name_pattern, catalog.house.description_min_chars) == ("[a-z_]+", 10)
    assert catalog.house.budget_chars == 60_000
    assert (catalog.house.level("description"), catalog.house.level("budget")) == (Level.WARN, Level.OFF)
    assert catalog.house.level("name_pattern") is Level.ERROR
    assert catalog.owners["platform"].page == {"pagerduty_configs": [{"routing_key_file": "/etc/key"}]}
    assert catalog.profiles["support"] == Profile("support", "platform", 12000)
    tool = catalog.tools["order_refund"]
    assert (tool.version, tool.risk, tool.profiles) == ("1", Risk.IRREVERSIBLE, ("support",))
    assert (tool.aliases, tool.retired) == (("refund_order",), ("refund",))
    assert (tool.objective, tool.latency_bound, tool.repeatable) == (0.99, 2.56, False)
    assert tool.alerts == {"ToolLatencyHigh": {"severity": "page"}}
    assert catalog.mcp["kb"].allow == ("kb_search",)
    source = catalog.sources["agent"]
    assert (source.format, source.profile, source.framework, source.plugin) == (
        "json",
        "support",
        "google-adk-java",
        True,
    )
    assert catalog.signatures[0].logger == "com.acme.Agent"
    assert catalog.render == {"cluster_label": "cluster"}
    assert catalog.source == str(file)


def test_the_example_catalog_is_fine() -> None:
    example = Path(loading.__file__).parent.parent / "demo" / "tools.toml"
    assert read(example)[1] == []


def test_a_byte_order_mark_and_windows_line_ends_are_accepted(file: Path) -> None:
    assert load(write(file, b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())).tools
    bad = GOOD.replace('owner = "platform"\nprofiles', 'owner = "nobody"\nprofiles').replace("\n", "\r\n")
    assert [problem.line for problem in read(write(file, bad))[1]] == [8]


def test_inline_tables_may_take_many_lines(file: Path) -> None:
    text = GOOD + 'alerts = {\n  ToolErrors = { severity = "page" }, # why\n}\n'
    assert load(write(file, text)).tools["order_lookup"].alerts == {"ToolErrors": {"severity": "page"}}


# --- files that cannot be read ---------------------------------------------------------------------------


def test_an_absent_file_is_a_problem_that_says_where_it_was_looked_for(file: Path) -> None:
    problem = only(read(file)[1])
    assert problem.rule in UNREADABLE
    assert problem.file == str(file)
    assert "no such file" in problem.what
    assert str(Path.cwd())[-20:] in problem.fix


def test_a_directory_is_a_problem_that_names_the_file_in_it(tmp_path: Path) -> None:
    problem = only(read(tmp_path)[1])
    assert problem.rule in UNREADABLE
    assert problem.what == "is a directory"


def test_a_path_that_no_file_can_have_is_a_problem() -> None:
    assert only(read("tools\0.toml")[1]).rule in UNREADABLE


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that even root cannot read")
def test_a_file_that_cannot_be_read_is_a_problem() -> None:
    problem = only(read("/proc/self/mem")[1])
    assert problem.rule in UNREADABLE
    assert problem.what.startswith("cannot be read: ")


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing yet\n"])
def test_an_empty_file_is_a_problem(file: Path, text: str) -> None:
    assert only(read(write(file, text))[1]).rule == "empty"


def test_text_that_is_not_utf8_is_a_problem_in_its_line(file: Path) -> None:
    problem = only(read(write(file, b'[owners.a]\n# gr\xfc\xdfe\nx = "\xff"\n'))[1])
    assert (problem.rule, problem.line) == ("not_utf8", 2)
    assert "0xfc" in problem.what


def test_a_huge_file_is_a_problem_and_is_not_read_to_its_end(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "SIZE_LIMIT", 2**20)
    assert only(read(write(file, "#" * (2**20 + 1)))[1]).rule == "too_large"
    monkeypatch.setattr(loading, "SIZE_LIMIT", 2**20 + 1)
    assert only(read(file)[1]).rule == "empty"


@pytest.mark.parametrize("text", ["x = " + "[" * 100_000, "x = " + "9" * 10_000, "x = {" * 5_000])
def test_text_made_to_hurt_the_parser_is_a_problem(file: Path, text: str) -> None:
    catalog, problems = read(write(file, text))
    assert catalog is None
    assert only(problems).rule == "syntax"


# --- syntax ------------------------------------------------------------------------------------------------


def test_both_lines_and_both_owners_of_a_tool_declared_twice_are_named(file: Path) -> None:
    text = GOOD + '[owners.orders]\n[tools.order_lookup]\nowner = "orders"\n'
    problem = only(read(write(file, text))[1])
    assert (problem.rule, problem.path, problem.line) == ("duplicate_name", "tools.order_lookup", 12)
    assert all(part in problem.what for part in ("line 7", "'platform'", "'orders'"))


def test_a_tool_declared_twice_as_inline_table_names_both_owners_too(file: Path) -> None:
    text = '[owners.a]\n[owners.b]\n[tools]\nkb_search = { owner = "a" }\nkb_search = { owner = "b" }\n'
    problem = only(read(write(file, text))[1])
    assert (problem.rule, problem.line) == ("duplicate_key", 5)
    assert "line 4" in problem.what


def test_a_file_pasted_twice_is_one_problem_per_table(file: Path) -> None:
    problems = read(write(file, GOOD + GOOD))[1]
    assert [problem.rule for problem in problems] == ["duplicate_name"] * 4
    assert [problem.line for problem in problems] == [11, 14, 15, 17]


def test_what_is_wrong_after_a_broken_line_is_found_too(file: Path) -> None:
    text = GOOD.replace('"30d"', "30d") + 'risk = "reed"\n'
    problems = read(write(file, text))[1]
    assert [(problem.rule, problem.line) for problem in problems] == [("syntax", 3), ("unknown_risk", 11)]


def test_a_file_broken_everywhere_is_given_up_in_time(file: Path) -> None:
    lines = [f"[tools.tool_{number}]\nowner = platform\n" for number in range(20_000)]
    problems = read(write(file, "".join(lines)))[1]
    assert 5 < len(problems) < 200


# --- raising -----------------------------------------------------------------------------------------------


def test_load_raises_one_error_with_every_problem(file: Path) -> None:
    write(file, GOOD + 'risk = "reed"\nobjective = 2\nunheard_of = 1\n')
    with pytest.raises(CatalogError) as caught:
        load(file)
    assert [problem.rule for problem in caught.value.problems] == ["unknown_risk", "objective", "unknown_key"]
    assert str(caught.value).startswith(f"3 problems in {file}:\n")
    assert f"{file}:13: error: tools.order_lookup.unheard_of: no key" in str(caught.value)


def test_warnings_stop_no_load_and_are_told_by_read(file: Path) -> None:
    text = GOOD + 'description = "short"\n'
    levels = 'levels = { description = "warn" }\n'
    write(file, text.replace("[owners", levels + "[owners", 1))
    assert load(file).tools["order_lookup"].description == "short"
    problem = only(read(file)[1])
    assert (problem.level, problem.house, problem.line) == (Level.WARN, True, 12)


def test_a_misspelled_section_is_one_problem_and_not_one_per_reference(file: Path) -> None:
    problem = only(read(write(file, GOOD.replace("[owners.platform]", "[owner.platform]")))[1])
    assert (problem.rule, problem.path) == ("unknown_key", "owner")


# --- specs -------------------------------------------------------------------------------------------------


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = "made_in_code_for_loading"
    (tmp_path / f"{name}.py").write_text(
        dedent("""
            from tooltel.catalog import Catalog, Owner, Tool
            GOOD = Catalog(tools=[Tool("order_lookup", "orders")], owners=[Owner("orders")])
            BAD = Catalog(tools=[Tool("order_lookup", "nobody")], owners=[Owner("orders")])
            class inner:
                GOOD = GOOD
            def make():
                return GOOD
        """)
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, name, raising=False)
    return name


def test_a_catalog_in_code_is_loaded_by_module_and_attribute(module: str) -> None:
    assert list(load_catalog(f"{module}:GOOD").tools) == ["order_lookup"]
    assert list(load_catalog(f"{module}:inner.GOOD").tools) == ["order_lookup"]
    with pytest.raises(CatalogError, match="no owner 'nobody'"):
        load_catalog(f"{module}:BAD")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("no_such_module_at_all:CATALOG", "No module named"),
        ("{module}:MISSING", "no attribute 'MISSING'"),
        ("{module}:make", "not a function"),
        ("{module}:Owner", "is a type"),
        ("raises_when_imported:CATALOG", "raised ZeroDivisionError"),
    ],
)
def test_a_spec_that_leads_to_no_catalog_is_a_problem(spec: str, said: str, module: str, tmp_path: Path) -> None:
    (tmp_path / "raises_when_imported.py").write_text("1 / 0\n")
    catalog, problems = read_catalog(spec.format(module=module))
    assert catalog is None
    problem = only(problems)
    assert problem.rule in UNREADABLE
    assert said in str(problem)


def test_a_file_is_never_taken_for_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("antigravity:CATALOG").write_text(GOOD)
    assert load_catalog("antigravity:CATALOG").tools
    assert "antigravity" not in sys.modules


def test_a_catalog_is_its_own_spec() -> None:
    catalog = Catalog(owners=[Owner("orders")])
    assert load_catalog(catalog) is catalog


# --- the assertion -----------------------------------------------------------------------------------------


def test_assert_catalog_passes_a_good_one_and_fails_with_every_problem(file: Path) -> None:
    assert_catalog(write(file, GOOD))
    write(file, GOOD + 'risk = "reed"\nobjective = 2\n')
    with pytest.raises(AssertionError) as caught:
        assert_catalog(str(file))
    assert str(caught.value).count("\n") == 2


def test_assert_catalog_fails_on_warnings_only_when_strict(file: Path) -> None:
    text = GOOD.replace("[owners", 'levels = { description = "warn" }\n[owners', 1) + 'description = "x"\n'
    assert_catalog(write(file, text))
    with pytest.raises(AssertionError, match="warn: tools"):
        assert_catalog(file, strict=True)


def test_assert_catalog_holds_declarations_against_names_and_budgets(file: Path) -> None:
    write(file, GOOD.replace('owner = "platform"\n[tools', 'owner = "platform"\nbudget_chars = 10\n[tools'))
    declarations = {"support": [{"name": "order_lokup", "description": DESCRIPTION, "parameters": {}}]}
    with pytest.raises(AssertionError) as caught:
        assert_catalog(file, declarations=declarations)
    assert "did you mean 'order_lookup'?" in str(caught.value)
    assert f"{file}:7: error: profiles.support.budget_chars: the declarations take" in str(caught.value)


# --- places and durations ----------------------------------------------------------------------------------


def test_problems_found_elsewhere_get_the_line_of_their_path(file: Path) -> None:
    write(file, GOOD + "[render]\ncluster_label = 5\n")
    given = [
        Problem("x", "render.cluster_label", "what", "fix"),
        Problem("x", "tools.order_lookup.alerts.Unset", "what", "fix"),
        Problem("x", "nowhere", "what", "fix"),
        Problem("x", "far", "what", "fix", file="other.json", line=3),
    ]
    located = locate(given, str(file))
    assert [(each.path, each.line) for each in located] == [
        ("nowhere", None),
        ("tools.order_lookup.alerts.Unset", 7),
        ("render.cluster_label", 12),
        ("far", 3),
    ]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30d", 2_592_000), ("12h", 43_200), ("1h30m", 5_400), ("1w2d", 777_600), ("1500ms", 1.5), ("1y", 31_536_000)],
)
def test_durations_are_read_as_prometheus_writes_them(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "30", "d", "30 d", "30days", "-1d", "1.5h", "٣d", "1d\n", "1d 2h", "9" * 50 + "d"]
)
def test_anything_else_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="no duration"):
        parse_duration(text)


def test_a_retention_of_nothing_is_a_problem(file: Path) -> None:
    problem = only(read(write(file, GOOD.replace("30d", "0d")))[1])
    assert (problem.rule, problem.line) == ("range", 3)


@pytest.mark.slow
def test_ten_thousand_tools_load_in_well_under_a_second(file: Path) -> None:
    """Measured: 0.45 s. In the time of the thread, which other processes do not stretch; the bound is generous."""
    tools = [
        f'[tools.tool_{number}]\nowner = "platform"\nrisk = "write"\nprofiles = ["support"]\nversion = 3\n'
        f'description = "{DESCRIPTION}"\naliases = ["old_{number}"]\nretired = ["gone_{number}"]\n'
        "objective = 0.99\nlatency_bound = 2.56\n"
        for number in range(10_000)
    ]
    write(file, GOOD + "".join(tools))
    times = []
    for _ in range(3):
        start = thread_time()
        assert len(load(file).tools) == 10_001
        times.append(thread_time() - start)
    assert min(times) < 1.5, times
