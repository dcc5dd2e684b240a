"""What TooltelRunners record beyond counts, and in the less usual ways to use a runner."""

from __future__ import annotations

import asyncio
import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest.mock import patch

import anthropic
import pytest
from anthropic import beta_tool
from anthropic.lib import tools as sdk_tools

from tests.integrations.anthropic.kit import VERSION, WAYS, Ask, Desk, Hotel, Step, ToolError, Way
from tests.integrations.anthropic.script import script
from tests.integrations.anthropic.test_conversation import new_desk, play
from tests.integrations.counting import counter, counts
from tests.integrations.hotel import telemetry
from tooltel.integrations.anthropic import TooltelRunners
from tooltel.testing import capture

if TYPE_CHECKING:
    from tooltel import Tooltel
    from tooltel.outcome import Outcome

TAKES_RAW = VERSION >= (0, 76)  # and warns of each name that it has no tool for
CHANGES_TOOLS = hasattr(sdk_tools.BetaToolRunner, "add_tools")  # by 1.10, with tools that run eagerly
TELLS_CONVERSATION = hasattr(anthropic.Anthropic, "open_telemetry")  # by 1.17
MAKES_THREADS = hasattr(anthropic.resources.beta.Messages, "thread")  # 2.x
BOOK = Ask("book_room", {"nights": 2, "kind": "single"}, "id-1")
DRILL = Ask("drill", {}, "id-9")


class Play(NamedTuple):
    """One turn of a desk with watched runners, and what was recorded."""

    desk: Desk
    outcomes: list[Outcome]
    counted: Counter[str]
    offered: list[list[str]]


def play_turn(
    *steps: Step,
    way: Way = "sync",
    tools: list[Any] | None = None,
    params: dict[str, Any] | None = None,
    **options: Any,
) -> Play:
    with telemetry() as tel, capture(tel) as seen:
        runners = TooltelRunners(tel, **{"profile": "desk", **options})
        desk = Desk(Hotel().tools(way) if tools is None else tools, make=runners.tool_runner, way=way)
        asyncio.run(desk.turn(*steps, **(params or {})))
        offered = [list(event["tools"]) for event in seen.logged("tools_offered")]
        return Play(desk, seen.outcomes, counts(seen), offered)


# --- where a call comes from ------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_a_call_and_a_drop_carry_agent_profile_conversation_and_id(way: Way) -> None:
    played = play_turn([BOOK, DRILL], "Done.", way=way, params={"conversation_id": "s-1"}, agent="concierge")
    assert {outcome.origin for outcome in played.outcomes} == {("desk", "concierge", "s-1")}
    assert sorted(str(outcome.call_id) for outcome in played.outcomes) == ["id-1", "id-9"]


def test_calls_with_equal_arguments_have_ids_of_their_own() -> None:
    asks = [BOOK, BOOK._replace(id="id-2"), BOOK._replace(id="id-3")]
    assert [outcome.call_id for outcome in play_turn(asks, "Done.").outcomes] == ["id-1", "id-2", "id-3"]


@pytest.mark.parametrize("way", WAYS)
def test_the_hosts_own_block_says_of_which_conversation_a_call_is(way: Way) -> None:
    with telemetry() as tel, capture(tel) as seen:
        desk = Desk(Hotel().tools(way), make=TooltelRunners(tel).tool_runner, way=way)
        with tel.session(id="s-42", profile="desk", agent="concierge"):
            asyncio.run(desk.turn([BOOK, DRILL], "Done."))
        assert {outcome.origin for outcome in seen.outcomes} == {("desk", "concierge", "s-42")}


@pytest.mark.skipif(not TELLS_CONVERSATION, reason="clients got an id for a conversation with 1.17")
def test_the_clients_own_id_of_a_conversation_is_taken() -> None:
    with telemetry() as tel, capture(tel) as seen:
        desk = Desk(Hotel().tools("sync"), make=TooltelRunners(tel).tool_runner)
        desk.client = desk.client.with_options(open_telemetry={"conversation_id": "c-7"})
        asyncio.run(desk.turn([BOOK, DRILL], "Done."))
        assert {outcome.origin.session_id for outcome in seen.outcomes} == {"c-7"}


def test_a_runner_inside_a_tool_names_its_caller() -> None:
    with telemetry() as tel, capture(tel) as seen:
        runners = TooltelRunners(tel, profile="desk")
        inner = Desk(Hotel().tools("sync"), make=runners.tool_runner)

        def ask_colleague() -> str:
            """Ask a colleague, who has tools of their own."""
            inner.runner([BOOK, DRILL], "Done.").until_done()
            return "done"

        outer = Desk([beta_tool(ask_colleague)], make=runners.tool_runner)
        asyncio.run(outer.turn([Ask("ask_colleague", {}, "id-0")], "Done.", conversation_id="s-1"))
        told = {outcome.call_id: outcome for outcome in seen.outcomes}
        assert [told[name].parent for name in ("id-0", "id-1", "id-9")] == [None, "ask_colleague", "ask_colleague"]
        assert {outcome.origin.session_id for outcome in seen.outcomes} == {"s-1"}


# --- declarations -----------------------------------------------------------------------------------


def test_the_declarations_that_were_sent_are_measured_once_in_a_conversation() -> None:
    with telemetry() as tel, capture(tel) as seen:
        desk = new_desk(tel, Hotel(), "sync")
        for _ in range(3):
            asyncio.run(desk.turn([BOOK], "Done."))
        names = [tool.name for tool in desk.tools]
        assert [list(event["tools"]) for event in seen.logged("tools_offered")] == [names]
        assert seen.increase("tooltel_profile_tools", profile="desk") == len(names)
        assert seen.increase("tooltel_tool_declaration_chars", tool="book_room") > 100


def test_each_conversation_is_told_what_it_was_offered_and_no_more_is_measured_than_what_changed() -> None:
    with telemetry() as tel, capture(tel) as seen, patch.object(tel, "declared", wraps=tel.declared) as declared:
        desk = Desk(Hotel().tools("sync"), make=TooltelRunners(tel, profile="desk").tool_runner)
        for conversation in ("s-1", "s-1", "s-2"):
            asyncio.run(desk.turn([BOOK], [BOOK], "Done.", conversation_id=conversation))
        assert len(seen.logged("tools_offered")) == declared.call_count == 2


def test_arguments_are_handed_in_as_the_model_wrote_them() -> None:
    with telemetry() as tel, patch.object(tel, "raw_arguments") as handed_in:
        desk = Desk(Hotel().tools("sync"), make=TooltelRunners(tel, profile="desk").tool_runner)
        asyncio.run(desk.turn([Ask("book_room", {"nights": "10", "colour": "red"}), Ask("book_room", ["x"])], "Done."))
        handed_in.assert_called_once_with("book_room", {"nights": "10", "colour": "red"}, desk.tools[0].input_schema)


# --- raw definitions, and other kinds of tools --------------------------------------------------------

RAW = {
    "name": "look_out",
    "description": "Look out of the window.",
    "input_schema": {"type": "object", "properties": {}},
}


@pytest.mark.skipif(not TAKES_RAW, reason="the runner takes raw definitions since 0.76")
@pytest.mark.parametrize("way", WAYS)
def test_a_raw_definition_is_declared_and_its_calls_are_the_hosts(way: Way) -> None:
    played = play_turn([Ask("look_out"), BOOK, DRILL], "Done.", way=way, tools=[*Hotel().tools(way), RAW])
    assert played.counted == counter("call book_room ok\ndrop unknown other")
    assert "look_out" in played.offered[0]


@pytest.mark.skipif(not hasattr(sdk_tools, "BetaBuiltinFunctionTool"), reason="such tools came with 0.72")
def test_a_tool_of_a_hosts_own_class_is_watched_and_keeps_its_state() -> None:
    class Memory(sdk_tools.BetaBuiltinFunctionTool):  # type: ignore[misc, unused-ignore]
        kept = 0

        def to_dict(self) -> Any:
            return {"type": "memory_20250818", "name": "memory"}

        def call(self, input: object) -> str:  # noqa: A002 - the SDK's word
            self.kept += 1
            return f"kept {self.kept}"

    memory = Memory()
    played = play_turn([Ask("memory", {"command": "view"})], "Done.", tools=[memory])
    assert played.counted == counter("call memory ok")
    assert memory.kept == 1


@pytest.mark.skipif(not hasattr(sdk_tools, "BetaRunnableToolset"), reason="toolsets came by 1.17")
def test_members_of_a_toolset_are_neither_calls_nor_names_that_are_no_tools() -> None:
    class Browser(sdk_tools.BetaRunnableToolset):  # type: ignore[misc, unused-ignore]
        toolset_name = "browser"

        def to_dict(self) -> Any:
            return {"type": "browser_toolset_20260801"}

        def call(self, context: Any, name: str, input: Any) -> str:  # noqa: A002 - the SDK's word
            return f"{name} done"

    asks = [
        Ask("navigate", {}, "id-1", "browser"),
        Ask("navigate", {}, "id-2", "computer"),
        Ask("navigate", {}, "id-3"),
    ]
    played = play_turn(asks, "Done.", tools=[Browser()])
    assert [outcome.call_id for outcome in played.outcomes] == ["id-2", "id-3"]
    assert played.counted == counter("drop unknown other\ndrop unknown other")
    assert "navigate done" in played.desk.api.requests[1]


@pytest.mark.skipif(ToolError is None, reason="ToolError came with 0.84")
@pytest.mark.parametrize(
    ("raising", "recorded"),
    [
        (TimeoutError, "call ring_bell timeout"),
        (KeyError, "call ring_bell invalid_arguments\nrejected ring_bell domain tool\nfield ring_bell domain other"),
    ],
)
def test_an_error_told_to_the_model_is_a_rejection_unless_time_ran_out(raising: Any, recorded: str) -> None:
    def ring_bell() -> str:
        """Ring the bell, so that somebody comes to the desk."""
        try:
            raise raising
        except raising as error:
            raise ToolError("not now") from error

    assert play_turn([Ask("ring_bell")], "Done.", tools=[beta_tool(ring_bell)]).counted == counter(recorded)


@pytest.mark.skipif(ToolError is None, reason="ToolError came with 0.84")
def test_an_error_of_an_mcp_server_is_an_error() -> None:
    module: dict[str, Any] = {"__name__": "anthropic.lib.tools.mcp", "ToolError": ToolError}
    exec("def convert():\n    raise ToolError('the server says no')", module)  # noqa: S102 - stands where the SDK's stands

    def ring_bell() -> str:
        """Ring the bell, so that somebody comes to the desk."""
        return str(module["convert"]())

    assert play_turn([Ask("ring_bell")], "Done.", tools=[beta_tool(ring_bell)]).counted == counter(
        "call ring_bell error"
    )


@pytest.mark.skipif(not CHANGES_TOOLS, reason="tools come and go since 1.10")
@pytest.mark.parametrize("way", ["sync", "async"])
def test_tools_that_come_and_go_are_watched_while_they_are_there(way: Way) -> None:
    async def talk(tel: Tooltel) -> None:
        hotel = Hotel()
        book, find, *_ = hotel.tools(way)
        desk = Desk([book], make=TooltelRunners(tel, profile="desk").tool_runner, way=way)
        ask = Ask("find_rooms", {"kind": "single"})
        runner = desk.runner([ask], [ask], [ask], "Done.")
        told = 0

        def between() -> None:
            nonlocal told
            told += 1
            if told == 2:
                runner.add_tools(find)
            if told == 3:
                runner.remove_tools(find)

        if way == "async":
            async for _ in runner:
                between()
        else:
            for _ in runner:
                between()

    with telemetry() as tel, capture(tel) as seen:
        asyncio.run(talk(tel))
        # The second was asked for before the tool came, but is run by it: so the SDK promises.
        assert counts(seen)["call find_rooms ok"] == 1
        assert [list(event["tools"]) for event in seen.logged("tools_offered")] == [
            ["book_room"],
            ["book_room", "find_rooms"],
            ["book_room"],
        ]


# --- less usual ways ----------------------------------------------------------------------------------


def test_until_done_alone_is_watched_too() -> None:
    with telemetry() as tel, capture(tel) as seen:
        desk = Desk(Hotel().tools("sync"), make=TooltelRunners(tel, profile="desk").tool_runner)
        desk.runner([BOOK, DRILL], "Done.").until_done()
        assert counts(seen) == counter("call book_room ok\ndrop unknown other")


def test_results_that_the_host_asks_for_itself_are_of_calls_made_once() -> None:
    with telemetry() as tel, capture(tel) as seen:
        desk = Desk(Hotel().tools("sync"), make=TooltelRunners(tel, profile="desk").tool_runner)
        for message in (runner := desk.runner([BOOK, DRILL], "Done.")):
            if message.stop_reason == "tool_use":
                assert runner.generate_tool_call_response() == runner.generate_tool_call_response()
        assert counts(seen) == counter("call book_room ok\ndrop unknown other")
        assert [outcome.call_id for outcome in seen.outcomes if outcome.tool] == ["id-1"]


def test_a_run_that_ends_before_it_answers_still_tells_the_name_that_was_no_tool() -> None:
    assert play_turn([BOOK, DRILL], params={"max_iterations": 1}).counted["drop unknown other"] == 1


@pytest.mark.parametrize("way", ["sync-stream", "async-stream"])
def test_a_reply_that_breaks_off_was_answered_by_nobody(way: Way) -> None:
    played = play_turn([DRILL, Ask("book_room", '{"nights": 2,,')], "Done.", way=way)
    assert "ValueError" in played.desk.transcript[0][-1]
    assert played.counted == Counter()


@pytest.mark.skipif(not CHANGES_TOOLS, reason="tools run eagerly since 1.10")
@pytest.mark.parametrize("way", ["sync-stream", "async-stream"])
def test_tools_that_run_while_the_reply_streams_are_watched(way: Way) -> None:
    played = play_turn([BOOK, DRILL, BOOK._replace(id="id-2")], "Done.", way=way, params={"run_tools_eagerly": True})
    assert played.counted == counter("call book_room ok\ncall book_room ok\ndrop unknown other")
    assert {outcome.call_id for outcome in played.outcomes} == {"id-1", "id-2", "id-9"}


@pytest.mark.skipif(not MAKES_THREADS, reason="message threads came with 2.x")
def test_a_runner_that_a_thread_makes_can_be_watched() -> None:
    with telemetry() as tel, capture(tel) as seen:
        run = TooltelRunners(tel, profile="desk").run("s-1")
        desk = Desk([])
        desk.api.play([BOOK, DRILL], "Done.")
        thread = desk.client.beta.messages.thread(
            model="scripted", max_tokens=100, tools=run.tools(Hotel().tools("sync")),
            messages=[{"role": "user", "content": "Please."}],
        )  # fmt: skip
        run.watch(thread.tool_runner()).until_done()
        assert counts(seen) == counter("call book_room ok\ndrop unknown other")
        assert {outcome.origin.session_id for outcome in seen.outcomes} == {"s-1"}


# --- the SDK's own word for it -------------------------------------------------------------------------


@pytest.mark.skipif(not TAKES_RAW, reason="the runner warns of names since 0.76")
@pytest.mark.parametrize("way", WAYS)
def test_what_is_counted_as_no_tool_is_what_the_runner_itself_warns_of(way: Way) -> None:
    async def converse(tel: Tooltel) -> None:
        hotel = Hotel()
        desk = new_desk(tel, hotel, way)
        for turn in script(way):
            await play(desk, hotel, turn)

    with telemetry() as tel, capture(tel) as seen, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        asyncio.run(converse(tel))
        texts = [str(each.message) for each in warned if each.category is UserWarning]
        of_names = [text for text in texts if "not found in tool runner" in text]
        assert len(of_names) == sum(outcome.missing is not None for outcome in seen.outcomes)
        assert len(of_names) == len([line for turn in script(way) for line in turn.recorded if line.startswith("drop")])
