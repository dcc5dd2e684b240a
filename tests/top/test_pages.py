"""A /metrics page is read whoever wrote it, in both formats, whatever names are on it."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.parser import text_string_to_metric_families

from tooltel.top.gains import Key, Part, What
from tooltel.top.pages import find_gains, looks_like_metrics, read_labels, read_page

if TYPE_CHECKING:
    from tooltel import Tooltel

CALLS = "tooltel_tool_calls_total"
OK = Part(Key("refund", "orders"), What.CALLS, "ok")


def calls(value: object, tool: str = "refund", more: str = "") -> str:
    return (
        f'{CALLS}{{outcome="ok",owner="orders",profile="none",risk="read",tool="{tool}",version="1"}} {value}{more}\n'
    )


@given(st.lists(st.tuples(st.text(), st.text(), st.integers(0, 10**6)), max_size=5))
def test_both_formats_say_what_the_library_reads_whatever_the_names(rows: list[tuple[str, str, int]]) -> None:
    """Line breaks, quotes, braces, exemplar marks, lone carriage returns: nothing in a name forges a sample."""
    registry = CollectorRegistry()
    family = Counter(CALLS, "Calls.", ["tool", "owner", "outcome"], registry=registry)
    wanted: dict[Part, float] = {}
    for tool, owner, count in rows:
        family.labels(tool, owner, "ok").inc(count)
    text = generate_latest(registry).decode()
    for parsed in text_string_to_metric_families(text):
        for sample in parsed.samples:
            if sample.name == CALLS and sample.labels["tool"]:
                part = Part(Key(sample.labels["tool"], sample.labels["owner"] or "unowned"), What.CALLS, "ok")
                wanted[part] = wanted.get(part, 0.0) + sample.value
    openmetrics = generate_openmetrics(registry).decode()  # type: ignore[no-untyped-call]  # theirs has no types
    assert find_gains(None, read_page(text)) == wanted
    assert find_gains(None, read_page(openmetrics)) == wanted


def test_timestamps_and_exemplars_are_passed_over() -> None:
    text = (
        calls("3", more=" 1700000000000")
        + 'gen_ai_execute_tool_duration_seconds_bucket{error_type="",gen_ai_tool_name="a # {b",le="0.01",owner="o",'
        'risk="read"} 2.0 # {trace_id="} 99"} 0.004 1700000000.0\n# EOF\n'
    )
    assert find_gains(None, read_page(text)) == {
        OK: 3.0,
        Part(Key("a # {b", "o"), What.DURATION, bound=0.01): 2.0,
    }


@pytest.mark.parametrize("value", ["NaN", "nan", "+Inf", "-Inf", "-1", "many", "0x10", ""])
def test_a_value_that_is_no_count_is_no_value(value: str) -> None:
    page = read_page(calls(value) + calls(2, "order_lookup"))
    assert set(page.values.values()) == {2.0}


@pytest.mark.parametrize(
    "line",
    [
        f"{CALLS} 5",  # no labels at all: nobody knows whose
        f'{CALLS}{{tool="a"',  # the end of it is missing
        f'{CALLS}{{tool="a"}}5',
        f'x{CALLS}{{tool="a"}} 5',
        f'{CALLS}_too{{tool="a"}} 5',
        f'# {CALLS}{{tool="a"}} 5',
        'gen_ai_execute_tool_duration_seconds_bucket{gen_ai_tool_name="a",le="wide",owner="o"} 5',
        'gen_ai_execute_tool_duration_seconds_bucket{gen_ai_tool_name="a",owner="o"} 5',
    ],
)
def test_a_line_that_cannot_be_read_counts_as_not_there(line: str) -> None:
    assert find_gains(None, read_page(f"{line}\n{calls(1)}")) == {OK: 1.0}


def test_a_series_without_an_owner_is_unowned() -> None:
    (part,) = read_page(f'{CALLS}{{tool="a",outcome="ok"}} 1\n').parts.values()
    assert part.key == Key("a", "unowned")


def test_a_call_to_no_tool_is_of_the_name_that_was_asked_for_if_that_is_known() -> None:
    page = read_page(
        'tooltel_tool_not_found_total{owner="orders",profile="p",reason="renamed",requested="refund"} 2\n'
        'tooltel_tool_not_found_total{owner="desk",profile="p",reason="unknown",requested="other"} 3\n'
    )
    assert find_gains(None, page) == {
        Part(Key("refund", "orders"), What.NOT_FOUND): 2.0,
        Part(Key("", "desk"), What.NOT_FOUND): 3.0,
    }


def test_labels_are_unescaped() -> None:
    assert read_labels(r'a="x\"y",b="\\n",c="\n",d=""') == {"a": 'x"y', "b": "\\n", "c": "\n", "d": ""}


@pytest.mark.parametrize("hostile", ["{" * 200_000, '{a="' + "\\" * 200_001, '{a="b' * 60_000, '{a="b",' * 60_000])
def test_a_hostile_page_costs_no_more_than_its_length(hostile: str) -> None:
    """Backtracking over such a line would take years, not a second."""
    start = time.perf_counter()
    read_page(CALLS + hostile)
    assert time.perf_counter() - start < 5


def test_a_page_is_known_by_what_tooltel_alone_shows() -> None:
    assert not read_page("python_info 1\nprocess_start_time_seconds 5\n").known
    assert read_page('tooltel_build_info{version="1"} 1.0\n').known
    assert read_page("process_start_time_seconds 1.7e9\n").started == 1.7e9
    assert read_page("process_start_time_seconds NaN\n").started is None


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("# HELP a b\n", True),
        ("up 1\n", True),
        ('up{a="b"} 1 123\n', True),
        ("# EOF\n", True),
        ("", False),
        ("<!doctype html>\n<html>hello world</html>", False),
        ('{"status":"success"}', False),
    ],
)
def test_metrics_are_told_from_anything_else(text: str, is_one: bool) -> None:
    assert looks_like_metrics(text) is is_one


# --- between two pages -----------------------------------------------------------------------------------


def gained(*texts: str) -> dict[Part, float]:
    """Gains between the last two of the pages in *texts*."""
    before = page = None
    for text in texts:
        before, page = page, read_page(text, page)
    assert page is not None
    return find_gains(before, page)


def test_a_counter_gains_the_difference() -> None:
    assert gained(calls(3), calls(5)) == {OK: 2.0}


def test_a_counter_that_fell_began_anew() -> None:
    assert gained(calls(30), calls(4)) == {OK: 4.0}


def test_a_series_that_was_born_counts_from_nothing() -> None:
    assert gained(calls(1, "other_tool"), calls(1, "other_tool") + calls(2))[OK] == 2.0


def test_all_counters_begin_anew_when_the_process_did() -> None:
    """Also the one that by now counts more than it did before."""
    assert gained(
        "process_start_time_seconds 100\n" + calls(3), "process_start_time_seconds 200\n" + calls(5)
    ) == {OK: 5.0}  # fmt: skip


def test_series_of_one_counter_are_reset_each_for_itself() -> None:
    """The sum of both would hide it."""
    error = calls(10).replace('version="1"', 'version="2"')
    assert gained(calls(5) + error, calls(50) + error.replace(" 10", " 1")) == {OK: 46.0}


def test_a_value_that_is_no_number_for_once_is_the_one_of_before() -> None:
    assert gained(calls(1000), calls("NaN"), calls(1001)) == {OK: 1.0}
    assert gained(calls(1000), calls("NaN")) == {OK: 0.0}


def test_a_series_that_is_missing_for_once_is_not_born_again() -> None:
    assert gained(calls(1000), calls(1, "other_tool"), calls(1001) + calls(1, "other_tool"))[OK] == 1.0


def test_what_tooltel_serves_is_read(tel: Tooltel) -> None:
    """The real exposition: every outcome, bucket and rejection of a tool, and nothing that is not of a row."""

    @tel.tool(owner="orders", version=1, risk="read")
    def refund(amount: int) -> int:
        return amount

    refund(1)
    with pytest.raises(TypeError):
        refund()  # type: ignore[call-arg]
    before = read_page(generate_latest(tel.view).decode())
    refund(2)
    after = read_page(generate_latest(tel.view).decode(), before)
    gains = {part: gain for part, gain in find_gains(before, after).items() if gain}
    assert gains.pop(Part(Key("refund", "orders"), What.CALLS, "ok")) == 1.0
    assert {part.what for part in gains} == {What.DURATION}
    assert gains[Part(Key("refund", "orders"), What.DURATION, bound=math.inf)] == 1.0
    rejected = {part: gain for part, gain in find_gains(None, before).items() if part.what is What.REJECTED and gain}
    assert rejected == {Part(Key("refund", "orders"), What.REJECTED, "structural", "framework"): 1.0}
