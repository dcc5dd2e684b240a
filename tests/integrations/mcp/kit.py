"""The hotel's desk over MCP, in either version of the SDK, and everything that can be seen of it from outside."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Self

from mcp import types
from mcp.client.session import ClientSession
from mcp.server.lowlevel import Server
from mcp.shared.memory import create_client_server_memory_streams

if TYPE_CHECKING:
    from tests.integrations.mcp.hotel import Hotel
    from tests.integrations.mcp.script import Ask, Turn
    from tooltel import Tooltel

VERSION = tuple(int(part) for part in version("mcp").split(".")[:2])
IS_2 = VERSION >= (2, 0)

if IS_2:
    from mcp import Client
    from mcp.server import mcpserver

    HighLevel: Any = mcpserver.MCPServer
    ToolError: Any = mcpserver.exceptions.ToolError
else:
    from mcp.server import fastmcp

    HighLevel = fastmcp.FastMCP
    ToolError = fastmcp.exceptions.ToolError

# How a client reaches a server in this process: over streams, as it would over stdio; 2.x also without any.
WAYS = ("streams", "direct") if IS_2 else ("streams",)


def serve(hotel: Hotel, tel: Tooltel | None = None, **options: Any) -> Any:
    """The hotel's tools on the SDK's high-level server."""
    server = HighLevel("hotel", **options)
    for name, function in hotel.tools(tel).items():
        server.add_tool(function, name=name)
    return server


@asynccontextmanager
async def connect(server: Any, way: str = "streams", **options: Any) -> AsyncIterator[Any]:
    """A client that is connected to *server*: a Client (2.x), else a ClientSession."""
    if IS_2:
        async with Client(server, mode="legacy" if way == "streams" else "auto", **options) as client:
            yield client
        return
    low = server if isinstance(server, Server) else server._mcp_server
    async with create_client_server_memory_streams() as (client_streams, server_streams):
        running = asyncio.create_task(low.run(*server_streams, low.create_initialization_options()))
        try:
            async with ClientSession(*client_streams, **options) as session:
                await session.initialize()
                yield session
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


def session_of(client: Any) -> Any:
    """The ClientSession of what `connect` gives."""
    return getattr(client, "session", client)


class Desk:
    """Plays turns with a client; `transcript` holds what came back for each call, in order."""

    def __init__(self, client: Any, hotel: Hotel) -> None:
        self.client = client
        self.hotel = hotel
        self.transcript: list[list[str]] = []

    async def play(self, turn: Turn) -> None:
        """Make the calls of *turn* at once."""
        if turn.called_off:
            await self._call_off(turn.asks[0])
            return
        said = await asyncio.gather(*(self.ask(ask) for ask in turn.asks))
        self.transcript.append(list(said))

    async def ask(self, ask: Ask) -> str:
        """Make one call, and tell what came of it."""
        options = {} if ask.timeout is None else {"read_timeout_seconds": _seconds(ask.timeout)}
        try:
            result = await self.client.call_tool(ask.name, ask.arguments, **options)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what came back
            code = getattr(getattr(error, "error", None), "code", None)
            return normal(f"{type(error).__qualname__} {code}: {error}")
        return dump(result)

    async def _call_off(self, ask: Ask) -> None:
        self.hotel.rung.clear()
        self.hotel.hung_up.clear()
        running = asyncio.create_task(self.client.call_tool(ask.name, ask.arguments))
        await self.hotel.rung.wait()
        if not IS_2:  # where the host has to tell the server so itself
            session = session_of(self.client)
            note = types.CancelledNotificationParams(requestId=session._request_id - 1)
            await session.send_notification(
                types.ClientNotification(types.CancelledNotification(method="notifications/cancelled", params=note))
            )
        running.cancel()
        ended = await asyncio.gather(running, return_exceptions=True)
        self.transcript.append([type(ended[0]).__qualname__])
        await self.hotel.hung_up.wait()
        for _ in range(20):  # until what was called off has been left by all
            await asyncio.sleep(0)


def _seconds(timeout: float) -> Any:
    return timeout if IS_2 else timedelta(seconds=timeout)


def dump(result: Any) -> str:
    """What a result says."""
    return normal(json.dumps(result.model_dump(mode="json", by_alias=True, exclude_none=True), sort_keys=True))


_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


def normal(text: str) -> str:
    """The text without addresses in memory."""
    return _ADDRESS.sub("0x…", text)


class Log(logging.Handler):
    """What the SDK says about a run, tracebacks left out, in whatever order its tasks said it."""

    def __init__(self, name: str) -> None:
        super().__init__(logging.INFO)
        self.said: list[str] = []
        self._logger = logging.getLogger(name)

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(normal(f"{record.name} {record.levelname} {record.getMessage()}"))

    def __enter__(self) -> Self:
        self._before = self._logger.level
        self._logger.setLevel(logging.INFO)
        self._logger.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._logger.removeHandler(self)
        self._logger.setLevel(self._before)


@contextmanager
def warnings_said() -> Iterator[set[str]]:
    """What Python warned of in the block; of what is left open it warns whenever it likes."""
    said: set[str] = set()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield said
    said.update(f"{each.category.__name__} {each.message}" for each in caught if each.category is not ResourceWarning)


def low_level(handler: Callable[[str, dict[str, Any]], Any], *, watch: Callable[[Any], Any] = lambda _: None) -> Any:
    """A low-level Server with one tool, `book_room`; *watch* is given it before handlers are registered."""
    schema = {
        "type": "object",
        "properties": {"nights": {"type": "integer"}, "kind": {"enum": ["single", "double"]}},
        "required": ["nights"],
        "additionalProperties": False,
    }
    field = "input_schema" if IS_2 else "inputSchema"
    tool = types.Tool(name="book_room", description="Book a room for some nights.", **{field: schema})
    if IS_2:

        async def list_tools(ctx: Any, params: Any) -> Any:
            return types.ListToolsResult(tools=[tool])

        async def call_tool(ctx: Any, params: Any) -> Any:
            said = await handler(params.name, params.arguments or {})
            return types.CallToolResult(content=[types.TextContent(type="text", text=said)])

        server = Server("hotel", on_list_tools=list_tools, on_call_tool=call_tool)
        watch(server)
        return server
    server = Server("hotel")
    watch(server)

    @server.list_tools()
    async def list_tools_1() -> list[Any]:
        return [tool]

    @server.call_tool()
    async def call_tool_1(name: str, arguments: dict[str, Any]) -> list[Any]:
        return [types.TextContent(type="text", text=await handler(name, arguments))]

    return server
