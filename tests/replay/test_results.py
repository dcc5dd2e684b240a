from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from examples.replay.playing import play_bare

if TYPE_CHECKING:
    from examples.replay.playing import Answer
    from tests.replay.conftest import Replays


def told(answer: Answer) -> tuple[Any, ...]:
    """All that can be told of an answer without looking at who gave it."""
    error = answer.error
    return answer.found, type(answer.result), repr(answer.result), type(error), repr(error)


def state(instance: object) -> dict[str, object]:
    """What an instance was left with; random generators by where they stand, objects by what they show."""
    return {
        name: value.getstate() if isinstance(value, random.Random) else repr(value)
        for name, value in vars(instance).items()
    }


def test_answers_are_the_same_with_and_without_wrapping(replays: Replays) -> None:
    for wrapped, bare in zip(replays.wrapped.played, replays.bare, strict=True):
        assert [told(answer) for answer in wrapped.answers] == [told(answer) for answer in bare.answers]


def test_instances_are_left_in_the_same_state_with_and_without_wrapping(replays: Replays) -> None:
    for wrapped, bare in zip(replays.wrapped.played, replays.bare, strict=True):
        assert {api: state(instance) for api, instance in wrapped.instances.items()} == {
            api: state(instance) for api, instance in bare.instances.items()
        }


def test_conversations_do_change_their_instances(replays: Replays) -> None:
    """Else equal states would say nothing."""
    fresh = [replace(one.conversation, turns=()) for one in replays.bare]
    changed = sum(
        any(state(before.instances[api]) != state(after.instances[api]) for api in after.instances)
        for before, after in zip(play_bare(fresh), replays.bare, strict=True)
    )
    assert changed > 150


def test_an_answer_with_an_error_of_its_own_is_no_failed_call(replays: Replays) -> None:
    """`{"error": ...}` is business data: only raising, or an unmistakable shape, says that a call failed."""
    answers = [answer for one in replays.wrapped.played for answer in one.answers if answer.found]
    own = sum(isinstance(answer.result, dict) and "error" in answer.result for answer in answers)
    assert own > 50 or replays.kind == "right"
    good = sum(
        sample.value
        for family in replays.wrapped.tel.view.collect()
        for sample in family.samples
        if sample.name == "tooltel_tool_calls_total" and sample.labels["outcome"] == "ok"
    )
    assert good == sum(answer.error is None for answer in answers)
