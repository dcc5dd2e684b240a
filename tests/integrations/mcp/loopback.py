"""A server over streamable HTTP on this machine's loopback, and a client that is connected to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn

from tests.integrations.mcp.kit import IS_2


class Web(uvicorn.Server):
    """Says when it listens."""

    def __init__(self, app: Any) -> None:
        super().__init__(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", timeout_graceful_shutdown=1))
        self.listens = asyncio.Event()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.listens.set()

    @property
    def port(self) -> int:
        port: int = self.servers[0].sockets[0].getsockname()[1]
        return port


@asynccontextmanager
async def listening(app: Any) -> AsyncIterator[str]:
    """The address of *app*'s MCP endpoint, while it is served."""
    web = Web(app)
    running = asyncio.create_task(web.serve())
    await web.listens.wait()
    try:
        yield f"http://127.0.0.1:{web.port}/mcp"
    finally:
        web.should_exit = True
        await running


@asynccontextmanager
async def connect_to(address: str, *, modern: bool = False) -> AsyncIterator[Any]:
    """A client that is connected to *address*; *modern*: by the stateless protocol of 2026-07-28, which 2.x has."""
    if IS_2:
        from mcp import Client

        async with Client(address, mode="auto" if modern else "legacy") as client:
            yield client
        return
    from mcp.client.session import ClientSession
    from mcp.client.streamable_http import streamablehttp_client

    async with streamablehttp_client(address) as (read, write, _), ClientSession(read, write) as session:
        await session.initialize()
        yield session
