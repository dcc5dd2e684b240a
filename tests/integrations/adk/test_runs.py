"""Tools from elsewhere, and ways to run them beside an agent's turn: MCP, workflows, live runs; declarations."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from google.adk.agents import LlmAgent
from google.adk.agents.live_request_queue import LiveRequestQueue
from google.adk.apps import App
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.mcp_tool.mcp_session_manager import StdioConnectionParams
from google.adk.tools.mcp_tool.mcp_toolset import McpToolset
from google.genai import types
from mcp import StdioServerParameters

from tests.integrations.adk.kit import VERSION, Ask, Desk, Hotel, ScriptedModel, telemetry
from tests.integrations.counting import counts
from tooltel.integrations.adk import TooltelPlugin
from tooltel.testing import capture

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import pytest

    from tooltel import Tooltel

SERVER = Path(__file__).with_name("mcp_server.py")
LIVE_IS_SEEN = VERSION >= (2, 0)  # before, live runs asked no plug-in about tools
HAS_TOOL_NODES = VERSION >= (2, 9)  # whose callbacks plug-ins get


# --- MCP ------------------------------------------------------------------------------------------------


def test_the_tools_of_an_mcp_server_are_calls_and_its_errors_are_errors() -> None:
    async def run(tel: Tooltel) -> None:
        command = StdioServerParameters(command=sys.executable, args=[str(SERVER)])
        toolset = McpToolset(connection_params=StdioConnectionParams(server_params=command, timeout=60))
        desk = await Desk([toolset], plugins=[TooltelPlugin(tel, profile="desk")]).open()
        for size in (4, 9, "four"):
            await desk.turn([Ask("book_table", {"size": size})], "Done.")
        await desk.turn([Ask("drill", {})], "Done.")
        await toolset.close()

    with telemetry() as tel, capture(tel) as seen:
        asyncio.run(run(tel))
        expected = ["call book_table ok", "call book_table error", "call book_table error", "drop unknown other"]
        assert counts(seen) == Counter(expected)
        assert seen.increase("tooltel_declaration_chars", profile="desk") > 100


# --- workflows ------------------------------------------------------------------------------------------


def test_a_tool_that_a_workflow_runs_is_a_call_of_no_agent() -> None:
    async def run(tel: Tooltel) -> None:
        from google.adk.workflow import START, Workflow

        functions = {function.__name__: function for function in Hotel().functions()}
        steps = (START, FunctionTool(functions["ring_bell"]), FunctionTool(functions["call_taxi"]))
        flow = Workflow(name="nightly", edges=[steps])
        runner = InMemoryRunner(app=App(name="hotel", root_agent=flow, plugins=[TooltelPlugin(tel, profile="desk")]))
        await runner.session_service.create_session(app_name="hotel", user_id="guest", session_id="night-1")
        message = types.Content(role="user", parts=[types.Part(text="{}")])
        async for _ in runner.run_async(user_id="guest", session_id="night-1", new_message=message):
            pass

    if not HAS_TOOL_NODES:
        return
    with telemetry() as tel, capture(tel) as seen:
        asyncio.run(run(tel))
        assert counts(seen) == Counter(["call ring_bell ok", "call call_taxi ok"])
        assert {outcome.origin for outcome in seen.outcomes} == {("desk", None, "night-1")}


# --- live runs ------------------------------------------------------------------------------------------


class LiveConnection:
    """A connection whose model asks for the next calls each time it was sent something."""

    def __init__(self, steps: list[list[Ask]]) -> None:
        self._steps = steps
        self._sent: asyncio.Queue[None] = asyncio.Queue()

    async def send_history(self, history: Any) -> None:
        pass

    async def send_content(self, content: Any, **_: Any) -> None:
        self._sent.put_nowait(None)

    _send_content = send_content

    async def send_realtime(self, blob: Any) -> None:
        pass

    async def receive(self) -> AsyncIterator[LlmResponse]:
        for step in self._steps:
            await self._sent.get()
            calls = [types.FunctionCall(name=ask.name, args=ask.args or {}, id=ask.id) for ask in step]
            parts = [types.Part(function_call=call) for call in calls]
            yield LlmResponse(content=types.Content(role="model", parts=parts), turn_complete=False)
        await self._sent.get()
        yield LlmResponse(turn_complete=True)

    async def close(self) -> None:
        pass


class LiveModel(ScriptedModel):
    @asynccontextmanager
    async def connect(self, llm_request: Any) -> AsyncIterator[LiveConnection]:
        yield LiveConnection([step for step in self._steps if isinstance(step, list)])


def test_calls_of_a_live_run_are_seen_since_adk_tells_plugins_of_them() -> None:
    async def run(tel: Tooltel) -> None:
        model = LiveModel()
        model.script([Ask("ring_bell", {}, "a-1")], [Ask("book_room", {}, "a-2")])
        agent = LlmAgent(name="desk", model=model, tools=Hotel().tools())
        runner = InMemoryRunner(app=App(name="hotel", root_agent=agent, plugins=[TooltelPlugin(tel, profile="desk")]))
        await runner.session_service.create_session(app_name="hotel", user_id="guest", session_id="live-1")
        queue = LiveRequestQueue()
        queue.send_content(types.Content(role="user", parts=[types.Part(text="Good morning.")]))
        answered = 0
        async for event in runner.run_live(user_id="guest", session_id="live-1", live_request_queue=queue):
            answered += len(event.get_function_responses())
            if event.turn_complete:
                break
        assert answered == 2

    with telemetry() as tel, capture(tel) as seen:
        asyncio.run(run(tel))
        expected = [
            "call ring_bell ok",
            "call book_room invalid_arguments",
            "rejected book_room structural framework",
            "field book_room structural nights",
            "field book_room structural kind",
        ]
        assert counts(seen) == Counter(expected if LIVE_IS_SEEN else [])


# --- declarations ---------------------------------------------------------------------------------------


def test_what_the_model_is_sent_is_measured_once_and_told_once_per_conversation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def run(tel: Tooltel) -> None:
        desk = Desk(Hotel().tools(), plugins=[TooltelPlugin(tel, profile="desk")])
        for session_id in ("guest-1", "guest-2"):
            await desk.open(session_id)
            for _ in range(3):
                await desk.turn([Ask("ring_bell")], "Done.")

    with telemetry() as tel, capture(tel) as seen:
        declared: list[str] = []
        note = tel.declared

        def noting(profile: str, sent: Any) -> None:
            declared.append(profile)
            note(profile, sent)

        monkeypatch.setattr(tel, "declared", noting)
        asyncio.run(run(tel))
        assert declared == ["desk", "desk"]
        assert seen.increase("tooltel_profile_tools", profile="desk") == 8
        assert seen.increase("tooltel_declaration_chars", profile="desk") > 1_000
        assert seen.increase("tooltel_tool_declaration_info", tool="book_room") == 1
        (first, second) = seen.logged("tools_offered")
        assert first == second
        assert list(first["tools"])[:2] == ["book_room", "find_rooms"]


def test_an_agent_that_gains_a_tool_is_measured_again() -> None:
    async def run(tel: Tooltel) -> None:
        functions = Hotel().functions()
        desk = await Desk(functions[:2], plugins=[TooltelPlugin(tel, profile="desk")]).open()
        await desk.turn("Good morning.")
        desk.agent.tools.append(functions[2])
        await desk.turn("Good evening.")

    with telemetry() as tel, capture(tel) as seen:
        asyncio.run(run(tel))
        assert seen.increase("tooltel_profile_tools", profile="desk") == 3
        assert [len(event["tools"]) for event in seen.logged("tools_offered")] == [2, 3]


def test_a_description_that_changes_between_runs_is_measured_again() -> None:
    def describe(text: str) -> FunctionTool:
        def ring_bell(how: str = "fine") -> str:
            return how

        ring_bell.__doc__ = text
        return FunctionTool(ring_bell)

    async def run(tel: Tooltel) -> tuple[float, float]:
        desk = await Desk([describe("Ring the bell.")], plugins=[TooltelPlugin(tel, profile="desk")]).open()
        with capture(tel) as seen:
            await desk.turn([Ask("ring_bell")], "Done.")
            short = seen.increase("tooltel_declaration_chars", profile="desk")
        desk.agent.tools[0] = describe("Ring the bell, so that somebody comes to the desk.")
        with capture(tel) as seen:
            await desk.turn([Ask("ring_bell")], "Done.")
            return short, seen.increase("tooltel_declaration_chars", profile="desk")

    with telemetry() as tel:
        short, more = asyncio.run(run(tel))
    assert short > 0
    assert more == len(", so that somebody comes to the desk")
