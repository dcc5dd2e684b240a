"""The request handlers of servers of mcp 1.x, which has no middleware."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from mcp import types

from tooltel.integrations.mcp.raised import Witnesses
from tooltel.integrations.mcp.serving import Request, Serving, session_id_of

if TYPE_CHECKING:
    from tooltel.runtime import Tooltel

_Handler = Callable[[Any], Awaitable[Any]]


class Handlers:
    """
    Watches the handlers of a low-level Server, and those that are registered later.

    What a handler of one's own raises is seen where it is registered once the server is watched; before, only what the
    SDK makes of it.
    """

    def __init__(
        self, tel: Tooltel, server: Any, *, profile: str | None, agent: str | None, redirect_aliases: bool
    ) -> None:
        self.tel = tel
        self._server = server
        self._serving = Serving(tel, profile=profile, agent=agent, redirect_aliases=redirect_aliases)
        self._made = {types.CallToolRequest: self._calling, types.ListToolsRequest: self._listing}
        for kind in self._made:
            self._put(kind)
        server.call_tool = self._registering(server.call_tool, types.CallToolRequest, sees=True)
        server.list_tools = self._registering(server.list_tools, types.ListToolsRequest, sees=False)

    def see(self, manager: Any) -> None:
        """Let what the tools of *manager*, a FastMCP's, raise be seen."""
        self._serving.witnesses = witnesses = Witnesses(others_may_answer=False)
        call_tool = manager.call_tool

        @functools.wraps(call_tool)
        async def seen(*args: Any, **kwargs: Any) -> Any:
            return await witnesses.see(call_tool, *args, **kwargs)

        manager.call_tool = seen

    def _put(self, kind: Any) -> None:
        handler = self._server.request_handlers.get(kind)
        if handler is not None:
            self._server.request_handlers[kind] = self._made[kind](handler)

    def _registering(self, register: Callable[..., Any], kind: Any, *, sees: bool) -> Callable[..., Any]:
        @functools.wraps(register)
        def decorator(*args: Any, **kwargs: Any) -> Any:
            decorate = register(*args, **kwargs)

            def watched(fn: Callable[..., Any]) -> Any:
                decorate(self._seen(fn) if sees else fn)
                self._put(kind)
                return fn

            return watched

        return decorator

    def _seen(self, fn: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        self._serving.witnesses = witnesses = Witnesses(others_may_answer=False)

        @functools.wraps(fn)
        async def seen(*args: Any, **kwargs: Any) -> Any:
            return await witnesses.see(fn, *args, **kwargs)

        return seen

    def _calling(self, handler: _Handler) -> _Handler:
        @functools.wraps(handler)
        async def call(request: Any) -> Any:
            params = request.params

            async def send(name: str) -> Any:
                if name == params.name:
                    return await handler(request)
                return await handler(request.model_copy(update={"params": params.model_copy(update={"name": name})}))

            return await self._serving.call(Request(params.name, params.arguments, self._session_id()), send)

        return call

    def _listing(self, handler: _Handler) -> _Handler:
        @functools.wraps(handler)
        async def list_tools(request: Any) -> Any:
            result = await handler(request)
            # Without a request, the SDK asks for itself: it looks for the schemas of a call.
            cursor = getattr(getattr(request, "params", None), "cursor", None)
            self._serving.listed(
                result, goes_on=cursor is not None, session_id=self._session_id(), shown=request is not None
            )
            return result

        return list_tools

    def _session_id(self) -> str | None:
        try:
            return session_id_of(getattr(self._server.request_context, "request", None))
        except LookupError:  # outside any request
            return None
