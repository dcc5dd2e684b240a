from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry.trace import StatusCode

from examples.replay.conversations import version
from examples.replay.tools import profile_of
from tests.replay.expectations import OWNERS, RISKS, expected

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.sdk.trace import ReadableSpan

    from examples.replay.playing import Answer, Played
    from tests.replay.conftest import Recording, Replays


def roots(recording: Recording) -> list[ReadableSpan]:
    return [span for span in recording.spans if span.name == "conversation"]


def children(recording: Recording, root: ReadableSpan) -> list[ReadableSpan]:
    """The spans right below *root*, in the order in which they ended."""
    return [span for span in recording.spans if span.parent and span.parent.span_id == root.context.span_id]


def with_spans(replays: Replays) -> Iterator[tuple[Played, Answer, ReadableSpan]]:
    """Every answer with its span: conversations follow each other, and so do the calls of each."""
    for one, root in zip(replays.bare, roots(replays.wrapped), strict=True):
        for answer, span in zip(one.answers, children(replays.wrapped, root), strict=True):
            yield one, answer, span


def test_each_call_has_one_span_right_below_the_root_of_its_conversation(replays: Replays) -> None:
    recording = replays.wrapped
    for one, root in zip(replays.bare, roots(recording), strict=True):
        below = children(recording, root)
        assert len(below) == len(one.answers)
        assert all(span.context.trace_id == root.context.trace_id for span in below)
        assert root.parent is None
    assert len(recording.spans) == 200 + sum(len(one.answers) for one in replays.bare)


def test_spans_are_named_after_their_tools_in_the_order_of_the_calls(replays: Replays) -> None:
    for _, answer, span in with_spans(replays):
        assert span.name == (f"execute_tool {answer.step.name}" if answer.found else "execute_tool")


def test_every_span_says_owner_version_risk_profile_and_outcome(replays: Replays) -> None:
    for one, answer, span in with_spans(replays):
        if not answer.found:
            continue
        call = expected(answer)
        assert span.attributes is not None
        assert dict(span.attributes) == {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.tool,
            "gen_ai.tool.type": "function",
            "gen_ai.agent.name": "assistant",
            "gen_ai.conversation.id": one.conversation.id,
            "tool.owner": OWNERS[call.tool],
            "tool.version": version(),
            "tool.risk": RISKS[call.tool],
            "tool.profile": profile_of(one.conversation),
            "tool.outcome": call.outcome,
            **({"error.type": call.error_type} if call.error_type else {}),
        }


def test_a_call_to_no_tool_has_a_span_that_says_what_was_asked_for_and_who_looks_after_it(
    replays: Replays,
) -> None:
    for one, answer, span in with_spans(replays):
        if answer.found:
            continue
        assert span.attributes is not None
        assert span.attributes["gen_ai.tool.name"] == answer.step.name
        assert span.attributes["tool.owner"] == "platform"
        assert span.attributes["tool.profile"] == profile_of(one.conversation)
        assert span.attributes["tool.outcome"] == "not_found"
        assert span.attributes["error.type"] == "tool_not_found"


def test_a_span_has_an_error_status_where_the_call_failed_and_no_message_of_the_tool(
    replays: Replays,
) -> None:
    for _, answer, span in with_spans(replays):
        good = answer.found and expected(answer).outcome == "ok"
        assert span.status.status_code is (StatusCode.UNSET if good else StatusCode.ERROR)
        assert span.status.description is None
        assert not span.events
