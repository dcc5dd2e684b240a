"""A hotel's desk on LangChain with a scripted model, and everything that can be seen of it from outside."""

from __future__ import annotations

import asyncio
import functools
import json
import re
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, human_in_the_loop
from langchain_core.language_models import BaseChatModel
from langchain_core.load import dumps
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import PrivateAttr, TypeAdapter

from tests.integrations import hotel
from tooltel import Refused, Rejected, Tool

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun

    from tooltel import Catalog, Tooltel

LANGCHAIN = tuple(int(part) for part in version("langchain").split("."))
NAMES_AGENTS = LANGCHAIN >= (1, 2)  # before, a run does not tell the name of its agent
TAKES_ANY_TOOL = LANGCHAIN >= (1, 2, 7)  # where a middleware wraps tool calls: it may run what the agent does not know
MARKS_DECISIONS = hasattr(human_in_the_loop, "add_notification_metadata")  # a person's no says that it is one
THREAD = "guest-7"
LATEST = 8  # messages of a conversation that are looked at again after each turn
MODES = ["values", "updates", "messages", "custom"]

CATALOG = hotel.catalog(
    Tool("find_rooms", "rooms", profiles=["desk"], aliases=["search_rooms", "rooms_free"]),
    Tool("book_sauna", "kitchen", profiles=["desk"]),
    Tool("open_safe", "money", profiles=["desk"]),
)


class Ask(NamedTuple):
    """A call that the model makes: with arguments as they are, or with text that is no JSON."""

    name: str
    args: dict[str, Any] | str
    id: str


def ask(name: str, args: dict[str, Any] | str | None = None, call_id: str | None = None) -> Ask:
    """A call with an id of its own."""
    _ids.append(call_id or f"call-{len(_ids)}")
    return Ask(name, {} if args is None else args, _ids[-1])


_ids: list[str] = []
Step = str | list[Ask]  # what the model answers one request with: text, or calls that run in parallel


class ScriptedModel(BaseChatModel):
    """Answers each request with the next step; keeps the requests. Streams where it is asked to."""

    keeps: bool = True
    _steps: deque[Step] = PrivateAttr(default_factory=deque)
    _requests: list[str] = PrivateAttr(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @property
    def requests(self) -> list[str]:
        return self._requests

    def script(self, *steps: Step) -> None:
        self._steps = deque(steps)

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
        return self.bind(tools=[convert_to_openai_tool(each) for each in tools], **options)

    def _next(self, messages: list[BaseMessage], options: dict[str, Any]) -> Step:
        if self.keeps:
            said = [len(messages), *(dumps(message) for message in messages[-LATEST:]), options.get("tools")]
            self._requests.append(normal(json.dumps(said, sort_keys=True)))
        return self._steps.popleft() if self._steps else "Anything else?"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **options: Any,
    ) -> ChatResult:
        step = self._next(messages, options)
        if isinstance(step, str):
            message = AIMessage(content=step)
        else:
            message = AIMessage(
                content="",
                tool_calls=[
                    {"name": a.name, "args": dict(a.args), "id": a.id} for a in step if isinstance(a.args, dict)
                ],
                invalid_tool_calls=[
                    {"name": a.name, "args": a.args, "id": a.id, "error": "no JSON", "type": "invalid_tool_call"}
                    for a in step
                    if isinstance(a.args, str)
                ],
            )
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _chunks(self, step: Step) -> Iterator[ChatGenerationChunk]:
        if isinstance(step, str):
            pieces = [AIMessageChunk(content=step[:3]), AIMessageChunk(content=step[3:])]
        else:
            texts = [a.args if isinstance(a.args, str) else json.dumps(a.args) for a in step]
            pieces = [
                AIMessageChunk(
                    content="",
                    tool_call_chunks=[{"name": a.name, "args": text[:4], "id": a.id, "index": place}],
                )
                for place, (a, text) in enumerate(zip(step, texts, strict=True))
            ]
            pieces += [
                AIMessageChunk(
                    content="",
                    tool_call_chunks=[{"name": None, "args": text[4:], "id": None, "index": place}],
                )
                for place, text in enumerate(texts)
            ]
        for piece in pieces:
            yield ChatGenerationChunk(message=piece)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **options: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in self._chunks(self._next(messages, options)):
            if run_manager is not None:
                run_manager.on_llm_new_token(str(chunk.message.content), chunk=chunk)
            yield chunk

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **options: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._chunks(self._next(messages, options)):
            if run_manager is not None:
                await run_manager.on_llm_new_token(str(chunk.message.content), chunk=chunk)
            yield chunk


_RANDOM = re.compile(
    r"(?:lc_)?run--[0-9a-f-]{36}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|\b[0-9a-f]{32}\b|0x[0-9a-f]{8,}|\d{4}-\d\d-\d\dT[\d:.]+(?:\+00:00)?"
)


def normal(text: str) -> str:
    """The text with random ids, addresses and times replaced by the order in which they came."""
    found: dict[str, str] = {}
    return _RANDOM.sub(lambda match: found.setdefault(match[0], f"id-{len(found)}"), text)


def dump(event: object) -> str:
    """What an event says; of a long conversation, its latest messages and how many there are."""
    return normal(dumps(_cut(event)))


def _cut(event: Any) -> Any:
    if isinstance(event, tuple):
        return [_cut(each) for each in event]
    if isinstance(event, dict) and isinstance(messages := event.get("messages"), list):
        return {**event, "messages": [len(messages), *messages[-LATEST:]]}
    return event


class Hotel:
    """The tools, what they were called with, and the moment at which the bell is being rung."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.rung = asyncio.Event()
        self._lock = threading.Lock()

    def _note(self, name: str, **args: Any) -> None:
        with self._lock:
            self.log.append(f"{name} {json.dumps(args, sort_keys=True)}")

    def book_room(self, nights: int, kind: Literal["single", "double"], note: str | None = None) -> dict[str, Any]:
        """Book a room for some nights."""
        self._note("book_room", nights=nights, kind=kind, note=note)
        return {"nights": nights, "kind": kind}

    def find_rooms(self, kind: str) -> list[str]:
        """Find the rooms that are free."""
        self._note("find_rooms", kind=kind)
        return ["12", "14"]

    def book_table(self, size: int, how: str = "") -> Any:
        """Book a table for some guests."""
        self._note("book_table", size=size, how=how)
        if how == "raise":
            raise Rejected("size", problem="9 is too many", expected="at most 8")
        if how == "exception":
            raise ToolException("the kitchen is closed")
        if how == "shape":
            return {"status": "invalid_arguments", "errors": [{"field": "size", "problem": "9 is too many"}]}
        return ToolMessage("no oven", tool_call_id=how, status="error") if how else "booked"

    def book_sauna(self, persons: int) -> str:
        """Book the sauna for some guests."""
        self._note("book_sauna", persons=persons)
        if persons > 4:
            raise ToolException("the sauna is for four")
        return "booked"

    def send_bill(self, room: str, how: str = "") -> Any:
        """Send a room's bill."""
        self._note("send_bill", room=room, how=how)
        if how == "raise":
            raise Refused("not without the guest", policy="bills")
        if how == "shape":
            return {"status": "refused", "policy": "bills"}
        return {"room": room, "replayed": True} if how == "replayed" else {"room": room}

    def open_safe(self, room: str) -> str:
        """Open the safe of a room."""
        self._note("open_safe", room=room)
        return "open"

    def call_taxi(self, how: str = "") -> str:
        """Call a taxi."""
        self._note("call_taxi", how=how)
        if how == "crash":
            raise RuntimeError("no line")
        if how == "type":
            raise TypeError("call_taxi() missing 1 required positional argument: 'line'")
        if how == "validation":
            TypeAdapter(int).validate_python("no number")  # of what the taxi office answered, say
        return "it is coming"

    def clean_rooms(self, rooms: list[str]) -> dict[str, Any]:
        """Have rooms cleaned."""
        self._note("clean_rooms", rooms=rooms)
        states = ["ok", "ok", "failed"]
        if not rooms:
            raise LookupError("which?")
        return {"status": "partial", "results": [{"status": each} for each in states[: len(rooms)]]}

    def ring_bell(self, how: str = "") -> str:
        """Ring for the porter."""
        self._note("ring_bell", how=how)
        if how == "late":
            raise TimeoutError
        return "rung"

    async def ring_bell_long(self, how: str = "") -> str:
        """Ring for the porter."""
        if how == "forever":
            self._note("ring_bell", how=how)
            self.rung.set()
            await asyncio.Event().wait()
        return self.ring_bell(how)

    def tools(self, tel: Tooltel | None = None, *, asynchronous: bool = True) -> list[BaseTool]:
        """The tools for an agent; wrapped by *tel* too, where it is given."""

        def made(fn: Callable[..., Any], name: str, **options: Any) -> BaseTool:
            coroutine = self.ring_bell_long if name == "ring_bell" else _later(fn)
            if tel is not None and name in tel.catalog.tools:
                fn, coroutine = tel.tool(fn, name=name), tel.tool(coroutine, name=name)
            return StructuredTool.from_function(
                fn, coroutine=coroutine if asynchronous else None, name=name, description=f"{fn.__doc__}", **options
            )

        named = (self.book_room, self.find_rooms, self.book_table, self.send_bill, self.open_safe, self.call_taxi)
        return [
            *(made(fn, fn.__name__) for fn in (*named, self.clean_rooms, self.ring_bell)),
            made(self.book_sauna, "book_sauna", handle_tool_error=True, handle_validation_error=True),
            made(self.find_rooms, "search_rooms"),
        ]


def _later(fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fn)
    async def later(**given: Any) -> Any:
        await asyncio.sleep(0)
        return fn(**given)

    return later


class NoSafes(AgentMiddleware[Any, Any]):
    """The house's own policy: answers in the tool's place."""

    def _refusal(self, request: Any) -> ToolMessage | None:
        if request.tool_call["name"] != "open_safe":
            return None
        return ToolMessage("nobody opens safes", tool_call_id=request.tool_call["id"], status="error")

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        return self._refusal(request) or handler(request)

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        return self._refusal(request) or await handler(request)


class Desk:
    """
    An agent with a conversation, and everything that can be seen of it.

    One that remembers its messages takes longer with each turn; all turns are of one thread, anyway.
    """

    def __init__(
        self,
        tools: Sequence[BaseTool],
        *,
        middleware: Sequence[Any] = (),
        keeps: bool = True,
        remembers: bool = False,
    ) -> None:
        self.model = ScriptedModel(keeps=keeps)
        self.agent = create_agent(
            self.model,
            list(tools),
            middleware=list(middleware),
            checkpointer=InMemorySaver() if remembers else None,
            name="front_desk",
        )
        self._keeps = keeps
        self.events: list[list[str]] = []  # of each turn
        self.errors: list[str] = []
        self._in_order: list[bool] = []
        self._turns = 0

    def begin(self, steps: Sequence[Step]) -> tuple[dict[str, Any], dict[str, Any]]:
        self.model.script(*steps)
        self.events.append([])
        self._in_order.append(all(isinstance(step, str) or len(step) == 1 for step in steps))
        self._turns += 1
        message = HumanMessage(f"turn {self._turns}", id=f"turn-{self._turns}")
        return {"messages": [message]}, {"configurable": {"thread_id": THREAD}}

    def _saw(self, event: object) -> None:
        if self._keeps:
            self.events[-1].append(dump(event))

    def turn(self, *steps: Step, streaming: bool = False) -> None:
        given, config = self.begin(steps)
        try:
            if streaming:
                for event in self.agent.stream(given, config, stream_mode=MODES):
                    self._saw(event)
            else:
                self._saw(self.agent.invoke(given, config))
        except Exception as error:  # noqa: BLE001 - what the host sees is what is compared
            self.errors.append(normal(f"{type(error).__name__}: {error}"))

    async def aturn(self, *steps: Step, streaming: bool = False) -> None:
        given, config = self.begin(steps)
        try:
            if streaming:
                async for event in self.agent.astream(given, config, stream_mode=MODES):
                    self._saw(event)
            else:
                self._saw(await self.agent.ainvoke(given, config))
        except Exception as error:  # noqa: BLE001 - as above
            self.errors.append(normal(f"{type(error).__name__}: {error}"))

    def seen(self) -> dict[str, Any]:
        """Everything that was to be seen. Of parallel calls, nobody knows which ends first."""
        events = [turn if self._in_order[place] else sorted(turn) for place, turn in enumerate(self.events)]
        return {"events": events, "errors": self.errors, "requests": self.model.requests, "messages": self.messages()}

    def messages(self) -> list[str]:
        """The messages that it remembers."""
        if self.agent.checkpointer is None:
            return []
        state = self.agent.get_state({"configurable": {"thread_id": THREAD}})
        return [normal(dumps(message)) for message in state.values["messages"]]


def telemetry(catalog: Catalog = CATALOG, **options: Any) -> AbstractContextManager[Tooltel]:
    """A Tooltel of this hotel's catalog, if of no other, on a registry of its own."""
    return hotel.telemetry(catalog, **options)
