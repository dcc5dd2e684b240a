from __future__ import annotations

import ast
import json
from collections import Counter
from importlib import resources
from typing import TYPE_CHECKING

from examples.replay.accounts import executed_calls, recorded_calls
from examples.replay.tools import profile_of
from tests.replay.expectations import OWNERS, RISKS, calls, expected, missing_fields, repeats
from tooltel.testing import parse_samples

if TYPE_CHECKING:
    from examples.replay.conversations import Conversation
    from tests.replay.conftest import Recording, Replays


def counts(recording: Recording, metric: str, *labels: str) -> Counter[tuple[str, ...]]:
    """The samples of *metric*, summed by *labels*, without those at 0."""
    found: Counter[tuple[str, ...]] = Counter()
    for (name, pairs), value in parse_samples(recording.tel.view).items():
        if name == metric and value:
            found[tuple(dict(pairs)[label] for label in labels)] += int(value)
    return found


def test_the_right_answers_are_1142_calls_of_81_tools(right_conversations: list[Conversation]) -> None:
    """Counted in the file itself: every call expression in it, nested ones included."""
    path = resources.files("bfcl_eval").joinpath("data", "possible_answer", "BFCL_v4_multi_turn_base.json")
    found: Counter[str] = Counter()
    for line in path.read_text(encoding="utf-8").splitlines():
        for turn in json.loads(line)["ground_truth"]:
            for text in turn:
                nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
                found.update(ast.unparse(node.func) for node in nodes)
    assert (found.total(), len(found), len(right_conversations)) == (1142, 81, 200)
    assert found == Counter(step.name for one in right_conversations for step in one.steps)


def test_recorded_calls_are_the_calls_that_the_interpreter_saw(recording: Recording) -> None:
    """A call whose arguments do not fit is recorded, and never enters the tool's code."""
    by_outcome = counts(recording, "tooltel_tool_calls_total", "tool", "outcome")
    entered: Counter[str] = Counter()
    for (tool, outcome), count in by_outcome.items():
        if outcome != "invalid_arguments":
            entered[tool] += count
    assert entered == recording.executions


def test_wrapping_executes_every_tool_as_often_as_without(replays: Replays) -> None:
    assert replays.wrapped.executions == replays.bare_executions
    assert replays.bare_executions.total() > 1000


def test_recorded_calls_are_the_executed_ones_per_tool_and_outcome(replays: Replays) -> None:
    want = Counter((call.tool, call.outcome) for _, answer in calls(replays.bare) for call in [expected(answer)])
    assert counts(replays.wrapped, "tooltel_tool_calls_total", "tool", "outcome") == want


def test_every_series_of_a_call_says_whose_tool_it_is_how_risky_and_for_whom(replays: Replays) -> None:
    want = Counter(
        (name, OWNERS[name], RISKS[name], profile_of(one.conversation))
        for one, answer in calls(replays.bare)
        for name in [answer.step.name]
    )
    assert counts(replays.wrapped, "tooltel_tool_calls_total", "tool", "owner", "risk", "profile") == want


def test_durations_are_as_many_as_calls_per_tool_and_error(replays: Replays) -> None:
    want = Counter((call.tool, call.error_type) for _, answer in calls(replays.bare) for call in [expected(answer)])
    name = "gen_ai_execute_tool_duration_seconds_count"
    assert counts(replays.wrapped, name, "gen_ai_tool_name", "error_type") == want


def test_a_rejected_call_counts_once_and_names_each_argument_that_was_left_out(replays: Replays) -> None:
    rejected = Counter(
        answer.step.name for _, answer in calls(replays.bare) if expected(answer).outcome == "invalid_arguments"
    )
    found = counts(replays.wrapped, "tooltel_rejections_total", "tool", "kind", "source")
    assert found == Counter({(tool, "structural", "framework"): count for tool, count in rejected.items()})
    fields = counts(replays.wrapped, "tooltel_rejected_fields_total", "tool", "field")
    assert fields == missing_fields(replays.bare)


def test_a_call_to_no_tool_is_counted_apart_and_its_invented_name_is_no_label(replays: Replays) -> None:
    want = Counter(
        (profile_of(one.conversation), "platform", "unknown", "other")
        for one in replays.bare
        for answer in one.answers
        if not answer.found
    )
    labels = ("profile", "owner", "reason", "requested")
    assert counts(replays.wrapped, "tooltel_tool_not_found_total", *labels) == want


def test_equal_calls_that_change_something_are_counted_as_repeated(replays: Replays) -> None:
    found = counts(replays.wrapped, "tooltel_repeated_calls_total", "tool")
    assert found == Counter({(tool,): count for tool, count in repeats(replays.bare).items()})


def test_no_call_is_left_running_and_nothing_failed_inside(recording: Recording) -> None:
    assert counts(recording, "tooltel_tool_calls_active") == Counter()
    assert counts(recording, "tooltel_internal_errors_total") == Counter()
    assert counts(recording, "tooltel_label_overflow_total") == Counter()


def test_the_example_s_own_account_agrees(recording: Recording) -> None:
    assert executed_calls(recording.played) == recorded_calls(recording.tel)
    assert recorded_calls(recording.tel).total() == counts(recording, "tooltel_tool_calls_total")[()]


def test_the_two_replays_bring_good_calls_and_every_kind_of_trouble(replays: Replays) -> None:
    """Without trouble, the tests above would prove little about anything but good calls."""
    outcomes = {expected(answer).outcome for _, answer in calls(replays.bare)}
    invented = sum(not answer.found for one in replays.bare for answer in one.answers)
    if replays.kind == "right":
        assert (outcomes, invented, repeats(replays.bare).total()) == ({"ok"}, 0, 0)
    else:
        assert outcomes == {"ok", "invalid_arguments", "error"}
        assert invented > 10
        assert repeats(replays.bare).total() > 10
