"""A hotel's desk on anthropic's tool runner with a scripted API, and everything that can be seen of it from outside."""

from __future__ import annotations

import asyncio
import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple, Optional

import anthropic
from anthropic import Anthropic, AsyncAnthropic, beta_async_tool, beta_tool
from pydantic import TypeAdapter

from tooltel import Refused, Rejected, Tooltel

VERSION = tuple(int(part) for part in version("anthropic").split(".")[:2])
httpx = import_module("httpx2" if find_spec("httpx2") else "httpx")  # the client's own, since 1.x
ToolError: Any = getattr(
    import_module("anthropic.lib.tools"), "ToolError", None
)  # how a tool gives an error, since 0.84


class Ask(NamedTuple):
    """A call that the model makes: its name, its arguments, an id if it gives one, and the toolset that it is of."""

    name: str
    args: Any = None
    id: str | None = None
    toolset: str | None = None


Step = str | list[Ask]  # what the model answers one request with: text, or calls


class Api:
    """Answers each request with the next step, whole or as a stream; `requests` is what it was sent."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self._steps: deque[Step] = deque()
        self._asked = 0
        self.transport = httpx.MockTransport(self._answer)

    def play(self, *steps: Step) -> None:
        self._steps = deque(steps)

    def _answer(self, request: Any) -> Any:
        body = json.loads(request.content)
        self.requests.append(json.dumps([body, request.headers.get("x-stainless-helper")], sort_keys=True))
        step = self._steps.popleft() if self._steps else "Anything else?"
        if step == "down":
            return httpx.Response(
                400, json={"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}
            )
        message = self._message(step)
        if not body.get("stream"):
            return httpx.Response(200, json=message)
        text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in stream(message))
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=text.encode())

    def _message(self, step: Step) -> dict[str, Any]:
        content = [{"type": "text", "text": step}] if isinstance(step, str) else [self._block(ask) for ask in step]
        return {
            "id": f"msg_{len(self.requests)}",
            "type": "message",
            "role": "assistant",
            "model": "scripted",
            "content": content,
            "stop_reason": "end_turn" if isinstance(step, str) else "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }

    def _block(self, ask: Ask) -> dict[str, Any]:
        self._asked += 1
        args = {} if ask.args is None else ask.args
        block = {"type": "tool_use", "id": ask.id or f"call-{self._asked}", "name": ask.name, "input": args}
        return block if ask.toolset is None else {**block, "toolset_name": ask.toolset}


def stream(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The events by which the API would send *message*; text in place of arguments is sent as it is."""
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            start, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            text = block["input"] if isinstance(block["input"], str) else json.dumps(block["input"])
            start, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": text}
        yield {"type": "content_block_start", "index": index, "content_block": start}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 1}}
    yield {"type": "message_stop"}


_ADDRESS = re.compile(r"0x[0-9a-f]+")


def dump(value: Any) -> str:
    """What a message or an event says."""
    return _ADDRESS.sub("0x", TypeAdapter(Any).dump_json(value, fallback=str, warnings=False).decode())


Make = Callable[..., Any]  # `client.beta.messages.tool_runner`, or something in its place, called with the client first


def plainly(client: Any, **params: Any) -> Any:
    """Make the runner as a host without tooltel would."""
    return client.beta.messages.tool_runner(**params)


Way = Literal["sync", "sync-stream", "async", "async-stream"]
WAYS: tuple[Way, ...] = ("sync", "sync-stream", "async", "async-stream")


class Desk:
    """One client with tools; `transcript` holds what came of each turn."""

    def __init__(self, tools: Iterable[Any], *, make: Make = plainly, way: Way = "sync", **params: Any) -> None:
        self.api = Api()
        kind: Any = AsyncAnthropic if way.startswith("async") else Anthropic
        http: Any = httpx.AsyncClient if way.startswith("async") else httpx.Client
        self.client = kind(api_key="none", max_retries=0, http_client=http(transport=self.api.transport))
        self.tools = list(tools)
        self.way = way
        self.make = make
        self.params = params
        self.transcript: list[list[str]] = []

    def runner(self, *steps: Step, **params: Any) -> Any:
        """A runner over one turn, in which the model answers with *steps*."""
        self.api.play(*steps)
        self.transcript.append([])
        asked: dict[str, Any] = {
            "model": "scripted",
            "max_tokens": 100,
            "tools": self.tools,
            "messages": [{"role": "user", "content": "Please."}],
            "stream": self.way.endswith("stream"),
            **self.params,
            **params,
        }
        return self.make(self.client, **asked)

    async def turn(self, *steps: Step, **params: Any) -> None:
        """Let the guest say something, and the model answer with *steps*; what is raised ends the turn."""
        runner = self.runner(*steps, **params)
        said = self.transcript[-1]
        try:
            if self.way.startswith("async"):
                await self._listen(runner, said)
            else:
                self._read(runner, said)
        except BaseException as error:
            said.append(f"{type(error).__qualname__}: {error}")
            if not isinstance(error, Exception):
                raise

    def _read(self, runner: Any, said: list[str]) -> None:
        for item in runner:
            said.append(type(item).__name__)
            if self.way.endswith("stream"):
                said.extend([dump(event) for event in item])
            else:
                said.append(dump(item))
        said.append(dump(runner.until_done()))

    async def _listen(self, runner: Any, said: list[str]) -> None:
        async for item in runner:
            said.append(type(item).__name__)
            if self.way.endswith("stream"):
                said.extend([dump(event) async for event in item])
            else:
                said.append(dump(item))
        said.append(dump(await runner.until_done()))

    def seen(self) -> dict[str, Any]:
        """Everything that can be seen from outside."""
        return {"transcript": self.transcript, "requests": self.api.requests}


# --- the tools ------------------------------------------------------------------------------------


class Hotel:
    """The tools, with a log of what really ran, and a bell that a test can wait for."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.rung = asyncio.Event()

    def _note(self, name: str, *args: Any) -> None:
        self.log.append(f"{name}{args!r}")

    def book_room(self, nights: int, kind: Literal["single", "double"], note: Optional[str] = None) -> str:  # noqa: UP045 - as schemas are often made
        """Book one room for some nights, for a guest."""
        self._note("book_room", nights, kind, note)
        return f"{nights} {kind}"

    def find_rooms(self, kind: str) -> list[dict[str, Any]]:
        """Find the rooms of one kind that are free tonight."""
        self._note("find_rooms", kind)
        return [{"type": "text", "text": "12, 14"}]

    def book_table(self, size: int, how: str = "fine") -> str:
        """Book a table in the restaurant, for some people."""
        self._note("book_table", size, how)
        if how == "raise":
            raise Rejected("size", problem=f"{size} is too many", expected="integer from 1 to 8")
        if how == "error" and ToolError is not None:
            raise ToolError("tables are for up to 8 people")
        return "table 7"

    def send_bill(self, room: str, how: str = "fine") -> str:
        """Send the bill of a room to the guest, once and for all."""
        self._note("send_bill", room, how)
        if how == "raise":
            raise Refused("bills need a manager", policy="bills")
        return "bill 3"

    def ring_bell(self, how: str = "fine") -> str:
        """Ring the bell, so that somebody comes to the desk."""
        self._note("ring_bell", how)
        if how == "late":
            raise TimeoutError
        return "somebody comes"

    def call_taxi(self, how: str = "fine") -> str:
        """Call a taxi to the front door, for a guest."""
        self._note("call_taxi", how)
        if how == "crash":
            raise KeyError("no such taxi")
        if how == "odd":
            TypeAdapter(int).validate_python("a backend's odd answer")
        return "in five minutes"

    async def ring_and_wait(self, how: str = "fine") -> str:
        """Ring the bell, so that somebody comes to the desk."""
        self._note("ring_bell", how)
        if how == "late":
            async with asyncio.timeout(0):
                await asyncio.Event().wait()
        if how == "forever":
            self.rung.set()
            await asyncio.Event().wait()
        return "somebody comes"

    def functions(self) -> list[Callable[..., Any]]:
        """The tools without anything around them."""
        return [self.book_room, self.find_rooms, self.book_table, self.send_bill, self.ring_bell, self.call_taxi]

    def tools(self, way: Way, tel: Tooltel | None = None) -> list[Any]:
        """As a runner takes them, wrapped by *tel* when it is given; one is there under its old name, too."""
        functions: list[tuple[str, Callable[..., Any]]] = [(each.__name__, each) for each in self.functions()]
        if way.startswith("async"):
            functions = [
                (name, self.ring_and_wait if name == "ring_bell" else awaited(each)) for name, each in functions
            ]
        if tel is not None:
            functions = [(name, tel.tool(each, name=name)) for name, each in functions]
        old = dict(functions)["find_rooms"]
        functions.append(("search_rooms", old if tel is None else tel.alias("search_rooms", old)))
        make: Any = beta_async_tool if way.startswith("async") else beta_tool
        return [make(each, name=name) for name, each in functions]


def awaited(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The same tool as a coroutine function."""
    import functools

    @functools.wraps(fn)
    async def run(*args: Any, **kwargs: Any) -> Any:
        await asyncio.sleep(0)
        return fn(*args, **kwargs)

    return run


__all__ = [
    "WAYS",
    "Api",
    "Ask",
    "Desk",
    "Hotel",
    "Make",
    "Step",
    "ToolError",
    "Way",
    "anthropic",
]
