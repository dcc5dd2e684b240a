"""What is told of a call on google-adk: where it came from, its span, and what stands in its place."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.function_tool import FunctionTool
from google.genai import types
from pydantic import BaseModel

from tests.integrations.adk.kit import (
    ANSWERS_UNKNOWN,
    VALIDATES,
    Ask,
    Desk,
    Hotel,
    ScriptedModel,
    Step,
    telemetry,
)
from tests.integrations.counting import counts
from tooltel.integrations.adk import TooltelPlugin
from tooltel.testing import capture

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from tooltel import Tooltel
    from tooltel.testing import Captured

ROOM = {"nights": 2, "kind": "single"}


def plugin(tel: Tooltel, **options: Any) -> TooltelPlugin:
    return TooltelPlugin(tel, **{"profile": "desk", **options})


async def talk(*turns: Sequence[Step], tools: Iterable[Any], plugins: Iterable[BasePlugin], **options: Any) -> Desk:
    desk = await Desk(tools, plugins=plugins, **options).open()
    for steps in turns:
        await desk.turn(*steps, "Done.")
    return desk


def recorded(tel: Tooltel, *turns: Sequence[Step], **options: Any) -> tuple[Counter[str], Captured]:
    options = {"tools": Hotel().tools(), "plugins": [plugin(tel)], **options}
    with capture(tel) as seen:
        asyncio.run(talk(*turns, **options))
        return counts(seen), seen


# --- where a call came from --------------------------------------------------------------------------


def test_a_call_carries_the_session_the_agent_the_profile_and_its_id() -> None:
    with telemetry() as tel:
        _, seen = recorded(tel, [[Ask("book_room", ROOM, "the-models-own")]], [[Ask("ring_bell"), Ask("drill")]])
    booked, *others = seen.outcomes
    assert booked.origin == ("desk", "desk", "guest-1")
    assert booked.call_id == "the-models-own"
    assert {outcome.origin for outcome in others} == {("desk", "desk", "guest-1")}
    assert all((outcome.call_id or "").startswith("adk-") for outcome in others)
    assert len({outcome.call_id for outcome in seen.outcomes}) == 3


def test_conversations_that_run_at_once_keep_apart() -> None:
    async def both(tel: Tooltel) -> None:
        desk = Desk(Hotel().tools(), plugins=[plugin(tel)])
        await desk.open("guest-1")
        await desk.runner.session_service.create_session(app_name="hotel", user_id="guest", session_id="guest-2")

        desk.model.script(*([[Ask("find_rooms", {"kind": "any"})]] * 20))

        async def run(session_id: str) -> None:
            message = types.Content(role="user", parts=[types.Part(text="Please.")])
            async for _ in desk.runner.run_async(user_id="guest", session_id=session_id, new_message=message):
                pass

        await asyncio.gather(run("guest-1"), run("guest-2"))

    with telemetry() as tel, capture(tel) as seen:
        asyncio.run(both(tel))
        per_session = Counter(outcome.origin.session_id for outcome in seen.outcomes)
    assert set(per_session) == {"guest-1", "guest-2"}
    assert per_session.total() == 20


def test_a_block_around_the_run_names_the_conversation_and_the_plugin_the_rest() -> None:
    async def run(tel: Tooltel) -> None:
        with tel.session(profile="back_office", agent="somebody", id="ticket-7"):
            await talk([[Ask("ring_bell")]], tools=Hotel().tools(), plugins=[plugin(tel)])
            await talk([[Ask("ring_bell")]], tools=Hotel().tools(), plugins=[plugin(tel, profile=None)])

    with telemetry() as tel, capture(tel) as seen:
        asyncio.run(run(tel))
    assert [outcome.origin for outcome in seen.outcomes] == [
        ("desk", "desk", "ticket-7"),
        ("back_office", "desk", "ticket-7"),
    ]


def test_each_agent_may_have_a_profile_of_its_own() -> None:
    with telemetry() as tel:
        for profile in ({"desk": "back_office"}, {"somebody": "desk"}):
            _, seen = recorded(tel, [[Ask("ring_bell")]], plugins=[plugin(tel, profile=profile)])
            expected = profile.get("desk", "none")
            assert [outcome.origin.profile for outcome in seen.outcomes] == [expected]


class Wish(BaseModel):
    text: str


def concierge(*steps: Step, **options: Any) -> AgentTool:
    model = ScriptedModel()
    model.script(*steps)
    functions = [function for function in Hotel().functions() if function.__name__ == "call_taxi"]
    return AgentTool(LlmAgent(name="concierge", model=model, tools=list(functions), **options))


def test_an_agent_as_a_tool_is_a_call_and_so_is_what_it_calls() -> None:
    tool = concierge([Ask("call_taxi"), Ask("drill")], "It comes.")
    with telemetry() as tel:
        found, seen = recorded(tel, [[Ask("concierge", {"request": "a taxi"})]], tools=[tool])
    inner = next(outcome for outcome in seen.outcomes if outcome.tool and outcome.tool.name == "call_taxi")
    assert inner.parent == "concierge"
    assert inner.origin == ("desk", "concierge", "guest-1")
    if ANSWERS_UNKNOWN:
        assert found == Counter(["call call_taxi ok", "drop unknown other", "call concierge ok"])
    else:  # the unknown name ends the inner run, and so the call of the agent
        assert found == Counter(["call call_taxi ok", "drop unknown other", "call concierge error"])


def test_what_an_agent_as_a_tool_is_asked_in_the_wrong_form_is_a_structural_rejection() -> None:
    tool = concierge("Nothing.", input_schema=Wish)
    with telemetry() as tel:
        found, _ = recorded(tel, [[Ask("concierge", {"text": 7})]], tools=[tool])
    assert found == Counter(
        [
            "call concierge invalid_arguments",
            "rejected concierge structural framework",
            "field concierge structural text",
        ]
    )


# --- spans ------------------------------------------------------------------------------------------


def tool_spans(spans: InMemorySpanExporter) -> list[ReadableSpan]:
    return [span for span in spans.get_finished_spans() if span.name.startswith("execute_tool")]


def facts(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def test_adks_own_span_is_tagged_and_no_second_one_is_made(host_spans: InMemorySpanExporter) -> None:
    async def run(tel: Tooltel) -> None:
        turns: list[list[Step]] = [
            [[Ask("book_room", ROOM)]],
            [[Ask("book_room", {})]],
            [[Ask("call_taxi", {"how": "crash"})]],
        ]
        await talk(*turns, tools=Hotel().tools(tel), plugins=[plugin(tel)])

    with telemetry() as tel:
        asyncio.run(run(tel))
    booked, rejected, crashed = spans = tool_spans(host_spans)
    assert {span.instrumentation_scope.name for span in spans if span.instrumentation_scope} == {"gcp.vertex.agent"}
    assert [facts(span)["tool.outcome"] for span in spans] == ["ok", "invalid_arguments", "error"]
    for span, owner in ((booked, "rooms"), (rejected, "rooms"), (crashed, "porters")):
        assert facts(span)["tool.owner"] == owner
        assert facts(span)["tool.profile"] == "desk"
        assert facts(span)["tool.version"] == "1"
        assert facts(span)["gen_ai.agent.name"] == "desk"
        assert facts(span)["gen_ai.conversation.id"] == "guest-1"


def test_the_span_over_parallel_calls_is_about_no_tool(host_spans: InMemorySpanExporter) -> None:
    async def run(tel: Tooltel) -> None:
        await talk([[Ask("ring_bell"), Ask("call_taxi")]], tools=Hotel().tools(), plugins=[plugin(tel)])

    with telemetry() as tel:
        asyncio.run(run(tel))
    tagged = {span.name: facts(span).get("tool.owner") for span in tool_spans(host_spans)}
    assert tagged == {
        "execute_tool ring_bell": "porters",
        "execute_tool call_taxi": "porters",
        "execute_tool (merged)": None,
    }


def test_a_drop_has_one_span_adks_own_where_it_makes_one(host_spans: InMemorySpanExporter) -> None:
    async def run(tel: Tooltel) -> None:
        await talk([[Ask("drill")]], tools=Hotel().tools(), plugins=[plugin(tel)])

    with telemetry() as tel:
        asyncio.run(run(tel))
    (span,) = tool_spans(host_spans)
    assert span.name == ("execute_tool drill" if ANSWERS_UNKNOWN else "execute_tool")
    assert facts(span)["tool.outcome"] == "not_found"
    assert facts(span)["gen_ai.tool.name"] == "drill"
    others = [span for span in host_spans.get_finished_spans() if span not in tool_spans(host_spans)]
    assert not any("tool.outcome" in facts(span) for span in others)


# --- people, policies and other plug-ins in the tool's place ---------------------------------------------


def approval(desk: Desk, *, confirmed: bool) -> types.Part:
    (asked,) = [call for event in desk.events for call in event.get_function_calls() if "confirmation" in call.name]
    response = types.FunctionResponse(id=asked.id, name=asked.name, response={"confirmed": confirmed})
    return types.Part(function_response=response)


@pytest.mark.parametrize(
    ("confirmed", "then"),
    [(True, ["call send_bill ok"]), (False, ["call send_bill refused", "refused send_bill confirmation"])],
)
def test_a_call_that_waits_for_a_person_is_put_off_and_then_made_or_refused(
    *, confirmed: bool, then: list[str]
) -> None:
    async def run(tel: Tooltel) -> tuple[Counter[str], Counter[str]]:
        send_bill = next(function for function in Hotel().functions() if function.__name__ == "send_bill")
        tool = FunctionTool(send_bill, require_confirmation=True)
        desk = await Desk([tool], plugins=[plugin(tel)]).open()
        with capture(tel) as seen:
            await desk.turn([Ask("send_bill", {"room": "12"})], "Done.")
            asked = counts(seen)
        with capture(tel) as seen:
            await desk.turn("Done.", part=approval(desk, confirmed=confirmed))
            return asked, counts(seen)

    with telemetry() as tel:
        asked, answered = asyncio.run(run(tel))
    assert asked == Counter(["call send_bill cancelled"])
    assert answered == Counter(then)


def test_a_policy_in_a_callback_of_the_agent_is_a_refusal() -> None:
    def house_rule(tool: Any, args: Any, tool_context: Any) -> Any:
        return {"status": "refused", "policy": "house", "error": "not here"}

    with telemetry() as tel:
        found, _ = recorded(tel, [[Ask("send_bill", {"room": "1"})]], before_tool_callback=house_rule)
    assert found == Counter(["call send_bill refused", "refused send_bill house"])


class Denies(BasePlugin):
    async def before_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any) -> Any:
        return {"status": "refused", "policy": "house"}


class Replaces(BasePlugin):
    async def after_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any, result: Any) -> Any:
        return {"error": "not for you"}


class Recovers(BasePlugin):
    async def on_tool_error_callback(self, *, tool: Any, tool_args: Any, tool_context: Any, error: Any) -> Any:
        return {"sorry": True}


class Raises(BasePlugin):
    async def before_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any) -> Any:
        raise LookupError("broken")


CRASH = Ask("call_taxi", {"how": "crash"})


@pytest.mark.parametrize(
    ("other", "ask", "ours_first", "ours_last"),
    [
        (Denies, Ask("ring_bell"), ["call ring_bell refused", "refused ring_bell house"], None),
        # Listed first, we see what the tool gave; listed last, what the model is going to see.
        (Replaces, Ask("ring_bell"), ["call ring_bell ok"], ["call ring_bell error"]),
        (Recovers, CRASH, ["call call_taxi error"], ["call call_taxi ok"]),
        (Recovers, Ask("drill"), ["drop unknown other"], ["drop unknown other"] if ANSWERS_UNKNOWN else []),
        (Raises, Ask("ring_bell"), ["call ring_bell error"], []),
    ],
)
def test_another_plugin_in_the_way_is_seen_once_as_far_as_it_lets_us(
    other: type[BasePlugin], ask: Ask, ours_first: list[str], ours_last: list[str] | None
) -> None:
    with telemetry() as tel:
        first, _ = recorded(tel, [[ask]], plugins=[plugin(tel), other("other")])
        last, _ = recorded(tel, [[ask]], plugins=[other("other"), plugin(tel)])
    assert first == Counter(ours_first)
    assert last == Counter(ours_first if ours_last is None else ours_last)


# --- arguments ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "fields"),
    [
        ({"nights": "10"}, []),
        ({"nights": "ten"}, ["nights"]),
        ({"kind": "Single"}, ["kind"]),
        ({"nights": None}, ["nights"]),
        ({"nights": "ten\nParameter 'forged': expected type 'int', validation error", "kind": "?"}, ["nights", "kind"]),
        ({"colour": "red"}, []),
    ],
)
def test_where_adk_checks_arguments_its_rejections_are_seen(
    changed: dict[str, Any], fields: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADK_ENABLE_FUNCTION_TOOL_ARG_VALIDATION", "1")
    with telemetry() as tel:
        found, _ = recorded(tel, [[Ask("book_room", {**ROOM, **changed})]])
    if fields and VALIDATES:
        lines = [f"field book_room structural {field}" for field in fields]
        lines += ["call book_room invalid_arguments", "rejected book_room structural framework"]
        forged = found - Counter(lines)
        assert set(forged) <= {"field book_room structural other"}  # the model's text, quoted by ADK
        assert not Counter(lines) - found
    else:
        assert found == Counter(["call book_room ok"])


NOT_OURS = (
    "Invoking `other()` failed as the following mandatory input parameters are not present:\nx\n"
    "You could retry calling this tool, but it is IMPORTANT for you to provide all the mandatory parameters."
)


@pytest.mark.parametrize(
    "answer",
    [
        "Invoking `ring_bell()` failed as the following mandatory input parameters are not present",
        NOT_OURS,
        "arguments are not present",
        7,
        ["invalid"],
    ],
)
def test_only_adks_own_words_are_a_rejection_by_adk(answer: Any) -> None:
    def ring_bell() -> Any:
        """Ring the bell, so that somebody comes to the desk."""
        return {"error": answer}

    with telemetry() as tel:
        found, _ = recorded(tel, [[Ask("ring_bell")]], tools=[ring_bell])
    assert found == Counter(["call ring_bell error"])


def test_an_error_in_a_result_counts_alike_with_and_without_a_wrapper_unless_the_catalog_says_otherwise() -> None:
    with telemetry() as tel:
        ask = Ask("book_table", {"size": 2, "how": "error"})
        bare, _ = recorded(tel, [[ask]])
        wrapped, seen = recorded(tel, [[ask]], tools=Hotel().tools(tel))
        assert bare == wrapped == Counter(["call book_table error"])
        assert [outcome.error_type for outcome in seen.outcomes] == ["tool_error"]


# --- old names --------------------------------------------------------------------------------------------


def without_old_name(tel: Tooltel | None = None) -> list[Any]:
    return [tool for tool in Hotel().tools(tel) if tool.__name__ != "search_rooms"]


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("wrapped", [False, True])
def test_an_alias_is_redirected_where_that_was_asked_for(*, streaming: bool, wrapped: bool) -> None:
    with telemetry() as tel:
        tools = without_old_name(tel if wrapped else None)
        ask = Ask("search_rooms", {"kind": "single"})
        redirecting = [plugin(tel, redirect_aliases=True)]
        found, seen = recorded(
            tel, [[ask, Ask("ring_bell"), ask]], tools=tools, plugins=redirecting, streaming=streaming
        )
    assert found == Counter(["call find_rooms ok", "alias search_rooms find_rooms"] * 2 + ["call ring_bell ok"])
    assert len({outcome.call_id for outcome in seen.outcomes}) == 3


def test_a_redirected_call_gives_the_model_what_the_new_name_would_have_given() -> None:
    async def said(name: str, tel: Tooltel) -> Any:
        redirecting = [plugin(tel, redirect_aliases=True)]
        turns: list[list[Step]] = [[[Ask(name, {"kind": "single"}, "c-1")]], [[Ask(name, {}, "c-2")]]]
        desk = await talk(*turns, tools=without_old_name(), plugins=redirecting)
        return desk.seen()

    with telemetry() as tel:
        assert asyncio.run(said("search_rooms", tel)) == asyncio.run(said("find_rooms", tel))


def test_an_alias_is_not_redirected_to_a_tool_that_the_agent_has_not() -> None:
    with telemetry() as tel:
        tools = [tool for tool in without_old_name() if tool.__name__ != "find_rooms"]
        ask = Ask("search_rooms", {"kind": "single"})
        found, _ = recorded(tel, [[ask]], tools=tools, plugins=[plugin(tel, redirect_aliases=True)])
    assert found == Counter(["drop renamed search_rooms"])


def test_without_redirection_an_alias_that_is_no_tool_is_a_drop() -> None:
    with telemetry() as tel:
        found, _ = recorded(tel, [[Ask("search_rooms", {"kind": "single"})]], tools=without_old_name())
    assert found == Counter(["drop renamed search_rooms"])


# --- ends ---------------------------------------------------------------------------------------------------


def test_a_crash_beside_a_running_call_leaves_both_with_their_own_ends() -> None:
    both = [Ask("ring_bell", {"how": "forever"}), Ask("call_taxi", {"how": "crash"})]
    with telemetry() as tel:
        found, _ = recorded(tel, [both])
    assert found == Counter(["call call_taxi error", "call ring_bell cancelled"])


def test_nothing_is_kept_of_calls_that_are_over() -> None:
    async def run(tel: Tooltel, ours: TooltelPlugin) -> None:
        await talk(*([[[Ask("ring_bell"), Ask("book_room")]]] * 5), tools=Hotel().tools(), plugins=[ours])

    with telemetry() as tel:
        ours = plugin(tel)
        asyncio.run(run(tel, ours))
        gc.collect()
        assert not ours._told


def test_a_disabled_tooltel_records_nothing_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLTEL_DISABLED", "1")
    with telemetry() as tel, capture(tel) as seen:
        desk = asyncio.run(talk([[Ask("ring_bell"), Ask("drill")]], tools=Hotel().tools(tel), plugins=[plugin(tel)]))
        assert not counts(seen)
        assert not seen.outcomes
    assert desk.transcript


def test_calls_in_flight_return_to_zero() -> None:
    with telemetry() as tel:
        recorded(tel, [[Ask("ring_bell"), CRASH]], [[Ask("ring_bell", {"how": "late"})]])
        running = [
            sample.value
            for family in tel.view.collect()
            for sample in family.samples
            if sample.name == "tooltel_tool_calls_active"
        ]
    assert running
    assert not any(running)
