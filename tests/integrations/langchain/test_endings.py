"""What a call came to, told apart where the framework makes the same message of everything."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from langchain.tools import InjectedState
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langgraph.types import Command
from pydantic import BaseModel, Field, TypeAdapter, field_validator

from tests.integrations.counting import counts
from tests.integrations.langchain.kit import Desk, Hotel, ask, telemetry
from tooltel.integrations.langchain import TooltelMiddleware
from tooltel.testing import Captured, capture

STRUCTURAL = {"call call_taxi invalid_arguments": 1, "rejected call_taxi structural framework": 1}
DOMAIN = {"call call_taxi invalid_arguments": 1, "rejected call_taxi domain tool": 1}
CRASH = {"call call_taxi error": 1}
OK = {"call call_taxi ok": 1}


@pytest.fixture(params=["sync", "async"])
def play(request: pytest.FixtureRequest) -> Callable[..., None]:
    def play(desk: Desk, args: dict[str, Any] | None = None) -> None:
        steps = ([ask("call_taxi", args or {}, "the-call")], "Done.")
        if request.param == "sync":
            desk.turn(*steps)
        else:
            asyncio.run(desk.aturn(*steps))

    return play


def call_taxi(persons: int = 1) -> Any:
    """Call a taxi."""
    if persons > 4:
        raise ToolException("they hold four")
    if persons == 0:
        TypeAdapter(int).validate_python("what the office answered")
    return "it is coming"


def made(fn: Callable[..., Any] = call_taxi, **options: Any) -> BaseTool:
    return StructuredTool.from_function(fn, name="call_taxi", **options)


def recorded(
    tool: BaseTool, play: Callable[..., None], args: dict[str, Any] | None = None, **options: Any
) -> tuple[dict[str, int], Captured]:
    with telemetry() as tel, capture(tel) as seen:
        play(Desk([tool], middleware=[TooltelMiddleware(tel, **options)]), args)
        return dict(counts(seen)), seen


HANDLED: list[Any] = [True, "the taxi says no", lambda error: f"sorry: {error}"]


@pytest.mark.parametrize("handled", [None, *HANDLED])
def test_a_tool_exception_is_the_tools_own_rejection_however_it_is_handled(
    play: Callable[..., None], handled: Any
) -> None:
    assert recorded(made(handle_tool_error=handled), play, {"persons": 9})[0] == DOMAIN


@pytest.mark.parametrize("handled", [None, *HANDLED])
def test_where_tools_raise_tool_exceptions_for_crashes_one_can_say_so(play: Callable[..., None], handled: Any) -> None:
    assert recorded(made(handle_tool_error=handled), play, {"persons": 9}, domain_errors=())[0] == CRASH


@pytest.mark.parametrize("handled", [None, *HANDLED])
@pytest.mark.parametrize("also", [None, True])
def test_rejected_arguments_are_structural_however_they_are_handled(
    play: Callable[..., None], handled: Any, also: Any
) -> None:
    tool = made(handle_validation_error=handled, handle_tool_error=also)
    assert recorded(tool, play, {"persons": "many"})[0] == {**STRUCTURAL, "field call_taxi structural persons": 1}


@pytest.mark.parametrize("handled", [None, *HANDLED])
def test_a_validation_error_of_the_tools_own_is_a_crash_however_it_is_handled(
    play: Callable[..., None], handled: Any
) -> None:
    assert recorded(made(handle_validation_error=handled), play, {"persons": 0})[0] == CRASH


def test_the_host_may_say_that_other_exceptions_are_rejections_too(play: Callable[..., None]) -> None:
    def full() -> str:
        """Call a taxi."""
        raise LookupError("no taxi is free")

    assert recorded(made(full), play, domain_errors=(LookupError,))[0] == DOMAIN
    assert recorded(made(full), play)[0] == CRASH


class Order(BaseModel):
    """Calls a taxi."""

    persons: int
    stops: list[str] = Field(default_factory=list)

    @field_validator("stops")
    @classmethod
    def few(cls, stops: list[str]) -> list[str]:
        if len(stops) > 1:
            raise ValueError("one stop is enough")
        return stops


@pytest.mark.parametrize(
    ("args", "fields"),
    [
        ({}, {"persons"}),
        ({"persons": "x", "stops": [1, "a"]}, {"persons", "stops"}),
        ({"persons": 1, "stops": ["a", "b"]}, {"stops"}),
    ],
)
def test_faults_are_counted_by_the_arguments_of_the_schema(
    play: Callable[..., None], args: dict[str, Any], fields: set[str]
) -> None:
    def order(persons: int, stops: list[str]) -> str:
        return f"{persons} {stops}"

    found, seen = recorded(made(order, args_schema=Order, description="Calls a taxi."), play, args)
    assert found == {**STRUCTURAL, **{f"field call_taxi structural {field}": 1 for field in fields}}
    (event,) = seen.logged("tool_rejected")
    assert "input_value" not in str(event)
    assert "errors.pydantic.dev" not in str(event)


def test_what_the_host_injects_is_no_argument_of_the_models(play: Callable[..., None]) -> None:
    def order(persons: int, state: Annotated[dict[str, Any], InjectedState]) -> str:
        """Call a taxi."""
        return f"{persons} {len(state['messages'])}"

    assert recorded(made(order), play, {"persons": 2})[0] == OK
    assert recorded(made(order), play, {})[0] == {**STRUCTURAL, "field call_taxi structural persons": 1}


def test_what_the_host_injects_wrongly_is_a_crash(play: Callable[..., None]) -> None:
    def order(persons: int, state: Annotated[int, InjectedState]) -> str:
        """Call a taxi."""
        return f"{persons} {state}"

    assert recorded(made(order), play, {"persons": 2})[0] == CRASH


SCHEMA = {"type": "object", "properties": {"persons": {"type": "integer"}}, "required": ["persons"], "title": "Taxi"}


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"persons": 2}, OK),
        ({}, {**STRUCTURAL, "field call_taxi structural persons": 1}),
        ({"persons": 2, "luggage": 3}, {**STRUCTURAL, "field call_taxi structural other": 1}),
    ],
)
def test_a_tool_that_came_with_json_schema_is_rejected_where_its_function_cannot_be_called(
    play: Callable[..., None], args: dict[str, Any], expected: dict[str, int]
) -> None:
    def order(persons: int) -> str:
        return f"{persons}"

    tool = made(order, args_schema=SCHEMA, description="Calls a taxi.", infer_schema=False)
    assert recorded(tool, play, args)[0] == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (Command(update={"messages": [ToolMessage("coming", tool_call_id="the-call")]}), OK),
        (Command(update={"messages": [ToolMessage("no", tool_call_id="the-call", status="error")]}), CRASH),
        (ToolMessage("no", tool_call_id="the-call", status="error"), CRASH),
        (ToolMessage("coming", tool_call_id="the-call"), OK),
        ({"status": "refused", "policy": "night"}, {"call call_taxi refused": 1, "refused call_taxi night": 1}),
        ({"status": "waiting", "note": "business"}, OK),
        ('{ no JSON, but it says "status"', OK),
        ({"isError": True, "content": []}, CRASH),
        ([{"type": "text", "text": "coming"}], OK),
        (None, OK),
        ({"status": "refused", "policy": "night", "padding": "x" * 70_000}, OK),
    ],
)  # fmt: skip
def test_a_result_is_judged_by_what_the_framework_gets(
    play: Callable[..., None], given: Any, expected: dict[str, int]
) -> None:
    def order() -> Any:
        """Call a taxi."""
        return given

    assert recorded(made(order), play)[0] == expected


def test_the_artifact_of_a_result_is_left_alone(play: Callable[..., None]) -> None:
    def order() -> Any:
        """Call a taxi."""
        return '{"status": "refused", "policy": "night"}', {"seats": 4}

    tool = made(order, response_format="content_and_artifact")
    assert recorded(tool, play)[0] == {"call call_taxi refused": 1, "refused call_taxi night": 1}


def test_a_result_of_the_wrong_kind_is_a_crash(play: Callable[..., None]) -> None:
    def order() -> Any:
        """Call a taxi."""
        return "only content"

    assert recorded(made(order, response_format="content_and_artifact"), play)[0] == CRASH


def test_the_exception_itself_names_the_error(play: Callable[..., None]) -> None:
    class NoLine(Exception):
        pass

    def order() -> Any:
        """Call a taxi."""
        raise NoLine("secret")

    _, seen = recorded(made(order), play)
    (outcome,) = seen.outcomes
    assert outcome.error_type.endswith("NoLine")
    assert "secret" not in str(seen.events)
    (span,) = seen.spans
    assert not span.status.is_ok
    assert span.status.description is None


def test_truncated_json_of_a_streamed_answer_is_completed_by_langchain_and_runs() -> None:
    """As far as anybody can see it is a call like any other."""
    with telemetry() as tel, capture(tel) as seen:
        desk = Desk(Hotel().tools(), middleware=[TooltelMiddleware(tel)])
        desk.turn([ask("find_rooms", '{"kind": "single"')], "Done.", streaming=True)
        assert counts(seen) == {"call find_rooms ok": 1}


@pytest.mark.parametrize("streaming", [False, True])
def test_a_call_that_is_no_json_is_rejected_beside_one_that_runs(streaming: bool) -> None:
    with telemetry() as tel, capture(tel) as seen:
        desk = Desk(Hotel().tools(), middleware=[TooltelMiddleware(tel, profile="desk")])
        desk.turn([ask("call_taxi"), ask("find_rooms", "kind: single", "broken")], "Done.", streaming=streaming)
        assert counts(seen) == {
            "call call_taxi ok": 1,
            "call find_rooms invalid_arguments": 1,
            "rejected find_rooms structural framework": 1,
            "field find_rooms structural other": 1,
        }
    assert {outcome.call_id for outcome in seen.outcomes} >= {"broken"}
    assert "single" not in str(seen.logged("tool_rejected"))
