"""A hotel's desk on pydantic-ai with a scripted model, and everything that can be seen of it from outside."""

from __future__ import annotations

import asyncio
import json
import re
from collections import deque
from collections.abc import AsyncIterator, Iterable
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import TypeAdapter
from pydantic_ai import Agent, ModelRetry
from pydantic_ai import Tool as FrameworkTool
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from tests.integrations import hotel

if TYPE_CHECKING:
    from pydantic_ai.capabilities import AbstractCapability

    from tooltel import Tooltel

VERSION = tuple(int(part) for part in version("pydantic-ai-slim").split(".")[:2])


class Ask(NamedTuple):
    """A call that the model makes: its name, its arguments (an object, or text that should be JSON), and an id."""

    name: str
    args: dict[str, Any] | str | None = None
    id: str | None = None


Step = str | list[Ask]  # what the model answers one request with: text, or calls that run in parallel


class Script:
    """A model that answers each request with the next step; `requests` is what it was sent."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self._steps: deque[Step] = deque()
        self._asked = 0
        self.model = FunctionModel(self._answer, stream_function=self._stream)

    def play(self, *steps: Step) -> None:
        self._steps = deque(steps)

    def _next(self, messages: Any, info: AgentInfo) -> Step:
        self.requests.append(dump({"messages": messages, "tools": info.function_tools}))
        return self._steps.popleft() if self._steps else "Anything else?"

    def _id(self, ask: Ask) -> str:
        self._asked += 1
        return ask.id or f"call-{self._asked}"

    async def _answer(self, messages: Any, info: AgentInfo) -> ModelResponse:
        step = self._next(messages, info)
        if isinstance(step, str):
            return ModelResponse(parts=[TextPart(step)])
        return ModelResponse(parts=[ToolCallPart(ask.name, ask.args, tool_call_id=self._id(ask)) for ask in step])

    async def _stream(self, messages: Any, info: AgentInfo) -> AsyncIterator[Any]:
        step = self._next(messages, info)
        if isinstance(step, str):
            for word in step.split(" "):
                yield word
            return
        for place, ask in enumerate(step):
            text = ask.args if isinstance(ask.args, str) else json.dumps(ask.args or {})
            yield {place: DeltaToolCall(name=ask.name, json_args=text[:4], tool_call_id=self._id(ask))}
            yield {place: DeltaToolCall(json_args=text[4:])}


_RANDOM = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}"
    r"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(?:Z|\+00:00)"
)


def normal(text: str) -> str:
    """The text with random ids and times replaced by the order in which they came."""
    found: dict[str, str] = {}
    return _RANDOM.sub(lambda match: found.setdefault(match[0], f"id-{len(found)}"), text)


def dump(value: Any) -> str:
    """What a message or an event says, without ids and times of its own."""
    return normal(TypeAdapter(Any).dump_json(value, fallback=str).decode())


def describe(error: BaseException) -> str:
    """What an exception says; a cancellation says which task was cancelled, which is different each time."""
    if not isinstance(error, Exception):
        return type(error).__qualname__
    return normal(f"{type(error).__qualname__}: {error} from {error.__cause__!r}")


Way = Literal["run", "sync", "stream", "iterated", "events"]
WAYS: tuple[Way, ...] = ("run", "sync", "stream", "iterated", "events")


class Desk:
    """One agent with tools and a conversation; `transcript` holds what came of each turn."""

    def __init__(
        self,
        tools: Iterable[Any],
        *,
        capabilities: Iterable[AbstractCapability[Any]] = (),
        way: Way = "run",
        **agent: Any,
    ) -> None:
        self.script = Script()
        self.agent: Agent[Any, Any] = Agent(
            self.script.model, name="desk", tools=list(tools), capabilities=list(capabilities), **agent
        )
        self.way = way
        self.history: list[Any] = []
        self.transcript: list[list[str]] = []
        self.output: Any = None

    async def turn(self, *steps: Step, **run: Any) -> None:
        """Let the guest say something, and the model answer with *steps*; what is raised ends the turn."""
        said = self._begin(*steps)
        try:
            result = await getattr(self, f"_{self.way}")(said, {"message_history": self.history, **run})
        except BaseException as error:
            said.append(describe(error))
            if not isinstance(error, Exception) and _is_called_off():
                raise
        else:
            self._finish(said, result)

    def turn_sync(self, *steps: Step) -> None:
        """As `turn`, through the synchronous runner."""
        said = self._begin(*steps)
        try:
            result = self.agent.run_sync("Please.", message_history=self.history)
        except Exception as error:  # noqa: BLE001 - whatever ends a turn is a part of it
            said.append(describe(error))
        else:
            self._finish(said, result)

    def _begin(self, *steps: Step) -> list[str]:
        self.script.play(*steps)
        self.transcript.append([])
        return self.transcript[-1]

    def _finish(self, said: list[str], result: Any) -> None:
        self.history = result.all_messages()
        said.append(normal(ModelMessagesTypeAdapter.dump_json(result.new_messages()).decode()))

    async def _run(self, said: list[str], run: dict[str, Any]) -> Any:
        result = await self.agent.run("Please." if "deferred_tool_results" not in run else None, **run)
        self.output = result.output
        return result

    async def _stream(self, said: list[str], run: dict[str, Any]) -> Any:
        async with self.agent.run_stream("Please.", **run) as result:
            said.extend([text async for text in result.stream_text(delta=True, debounce_by=None)])
        return result

    async def _iterated(self, said: list[str], run: dict[str, Any]) -> Any:
        async with self.agent.iter("Please.", **run) as running:
            said.extend([type(node).__name__ async for node in running])
        return running.result

    async def _events(self, said: list[str], run: dict[str, Any]) -> Any:
        async def note(_: Any, events: Any) -> None:
            # Before 2.6x, results of parallel calls that came at once were told in the order of a set, by chance.
            results: list[str] = []
            async for event in events:
                if event.event_kind == "function_tool_result":
                    results.append(dump(event))
                else:
                    said.extend([*sorted(results), dump(event)])
                    results.clear()
            said.extend(sorted(results))

        return await self.agent.run("Please.", event_stream_handler=note, **run)

    def seen(self) -> dict[str, Any]:
        """Everything that can be seen from outside."""
        return {"transcript": self.transcript, "requests": self.script.requests}


def _is_called_off() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


# --- the tools ------------------------------------------------------------------------------------


class Hotel(hotel.Hotel):
    """The hotel's tools; pydantic-ai has an exception of its own for what the model should try again."""

    async def book_table(self, size: int, how: str = "fine") -> dict[str, Any]:
        """Book a table in the restaurant, for some people."""
        self._note("book_table", size, how)
        if how == "retry":
            raise ModelRetry("tables are for up to 8 people")
        return hotel.table(size, how)

    async def ring_bell(self, how: str = "fine") -> str:
        """Ring the bell, so that somebody comes to the desk."""
        said = await super().ring_bell(how)
        if how == "crash":
            raise RuntimeError("the bell is broken")
        return said

    async def clean_rooms(self, rooms: list[str]) -> dict[str, Any]:
        """Have some rooms cleaned, as soon as possible."""
        if not rooms:
            self._note("clean_rooms", rooms)
            await asyncio.Event().wait()
        return await super().clean_rooms(rooms)

    def tools(self, tel: Tooltel | None = None) -> list[Any]:
        """As an agent takes them, wrapped by *tel* when it is given; rooms are cleaned at once or not at all."""
        functions = self.functions()
        if tel is not None:
            functions = [tel.tool(function) for function in functions]
        impatient = FrameworkTool(functions.pop(), name="clean_rooms", timeout=0.02)
        return [*functions, impatient]
