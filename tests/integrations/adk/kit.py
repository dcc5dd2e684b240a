"""A hotel's desk on google-adk with a scripted model, and everything that can be seen of it from outside."""

from __future__ import annotations

import asyncio
import copy
import json
import re
from collections import deque
from collections.abc import AsyncGenerator, Iterable
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.function_tool import FunctionTool
from google.genai import types
from pydantic import PrivateAttr

from tests.integrations import hotel
from tooltel import Tool

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from google.adk.plugins.base_plugin import BasePlugin

    from tooltel import Tooltel

VERSION = tuple(int(part) for part in version("google-adk").split(".")[:2])
ANSWERS_UNKNOWN = VERSION >= (2, 9)  # an unknown name is answered to the model; before, it ended the run
SHOWS_PARTIAL_CALLS = VERSION >= (2, 0)  # and runs the final ones alone
VALIDATES = hasattr(FunctionTool, "_preprocess_args_with_validation")  # when told to, by an environment variable

CATALOG = hotel.catalog(Tool("concierge", "porters", profiles=["desk"]))


class Ask(NamedTuple):
    """
    A call that the model makes: its name (any object), its arguments, and an id of its own if it gives one.

    Arguments that are text are what no client of a model can read: it fails, as real ones do.
    """

    name: str | None
    args: dict[str, Any] | str | None = None
    id: str | None = None


Step = str | list[Ask]  # what the model answers one request with: text, or calls that run in parallel


class ScriptedModel(BaseLlm):
    """Answers each request with the next step; keeps the requests."""

    model: str = "scripted"
    _steps: deque[Step] = PrivateAttr(default_factory=deque)
    _requests: list[str] = PrivateAttr(default_factory=list)

    def script(self, *steps: Step) -> None:
        self._steps = deque(steps)

    @property
    def requests(self) -> list[str]:
        return self._requests

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncGenerator[LlmResponse, None]:
        self._requests.append(normal(llm_request.model_dump_json(exclude_none=True, exclude={"live_connect_config"})))
        step = self._steps.popleft() if self._steps else "Anything else?"
        if isinstance(step, str):
            parts = [types.Part(text=step)]
        else:
            parts = [
                types.Part(function_call=types.FunctionCall(name=ask.name, args=copy.deepcopy(ask.args), id=ask.id))
                for ask in step
            ]
        if stream:
            yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text="One mo")]), partial=True)
            if isinstance(step, list) and SHOWS_PARTIAL_CALLS:
                yield LlmResponse(content=types.Content(role="model", parts=copy.deepcopy(parts)), partial=True)
        yield LlmResponse(content=types.Content(role="model", parts=parts), partial=False if stream else None)


_RANDOM = re.compile(r"e-[0-9a-f-]{36}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def normal(text: str) -> str:
    """The text with random ids replaced by the order in which they came."""
    found: dict[str, str] = {}
    return _RANDOM.sub(lambda match: found.setdefault(match[0], f"id-{len(found)}"), text)


def dump(event: Any) -> str:
    """What an event says, without its own id and time."""
    kept = json.loads(event.model_dump_json(exclude={"id", "timestamp"}, exclude_none=True))
    return normal(json.dumps(kept, sort_keys=True))


class Desk:
    """One agent with tools and a conversation; `transcript` holds each turn's events and how it ended."""

    def __init__(
        self,
        tools: Iterable[Any],
        *,
        plugins: Iterable[BasePlugin] = (),
        streaming: bool = False,
        config: dict[str, Any] | None = None,
        **agent: Any,
    ) -> None:
        self.model = ScriptedModel()
        self.agent = LlmAgent(name="desk", model=self.model, tools=list(tools), **agent)
        app = App(name="hotel", root_agent=self.agent, plugins=list(plugins))
        self.runner = InMemoryRunner(app=app)
        mode = StreamingMode.SSE if streaming else StreamingMode.NONE
        self.config = RunConfig(streaming_mode=mode, **(config or {}))
        self.transcript: list[list[str]] = []
        self.events: list[Any] = []
        self.session_id = ""

    async def open(self, session_id: str = "guest-1") -> Desk:
        session = await self.runner.session_service.create_session(
            app_name="hotel", user_id="guest", session_id=session_id
        )
        self.session_id = session.id
        return self

    async def turn(self, *steps: Step, part: types.Part | None = None) -> list[Any]:
        """Let the guest say *part* or something, and the model answer with *steps*; what is raised ends the turn."""
        self.model.script(*steps)
        said: list[str] = []
        self.transcript.append(said)
        events: list[Any] = []
        try:
            async for event in self.runner.run_async(**self._message(part)):
                said.append(dump(event))
                events.append(event)
        except BaseException as error:
            said.append(normal(f"{type(error).__qualname__}: {error}"))
            if not isinstance(error, Exception) and _is_called_off():
                raise
        self.events += events
        return events

    def turn_sync(self, *steps: Step) -> None:
        """As `turn`, through ADK's synchronous runner."""
        self.model.script(*steps)
        said: list[str] = []
        self.transcript.append(said)
        try:
            said.extend(dump(event) for event in self.runner.run(**self._message()))
        except Exception as error:  # noqa: BLE001 - whatever ends a run is part of what is seen
            said.append(normal(f"{type(error).__qualname__}: {error}"))

    def _message(self, part: types.Part | None = None) -> dict[str, Any]:
        message = types.Content(role="user", parts=[part or types.Part(text="Please.")])
        return {
            "user_id": "guest",
            "session_id": self.session_id,
            "new_message": message,
            "run_config": self.config,
        }

    def seen(self) -> dict[str, Any]:
        """Everything that can be seen from outside."""
        return {"transcript": self.transcript, "requests": self.model.requests}


def _is_called_off() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


# --- the tools ------------------------------------------------------------------------------------


class Hotel(hotel.Hotel):
    """The hotel's tools; ADK has an answer of its own that says that a tool failed."""

    def book_table(self, size: int, how: str = "fine") -> dict[str, Any]:
        """Book a table in the restaurant, for some people."""
        self._note("book_table", size, how)
        return {"error": "the kitchen is closed"} if how == "error" else hotel.table(size, how)

    def tools(self, tel: Tooltel | None = None) -> list[Any]:
        """As ADK takes them, wrapped by *tel* when it is given; one is there under its old name too."""
        functions = self.functions()
        if tel is not None:
            functions = [tel.tool(function) for function in functions]
            return [*functions, tel.alias("search_rooms", functions[1])]
        find_rooms = functions[1]

        async def search_rooms(kind: str) -> Any:
            """Find the rooms of one kind that are free tonight."""
            return await find_rooms(kind)

        return [*functions, search_rooms]


def telemetry(**options: Any) -> AbstractContextManager[Tooltel]:
    """A Tooltel of this hotel's catalog, on a registry of its own."""
    return hotel.telemetry(CATALOG, **options)
