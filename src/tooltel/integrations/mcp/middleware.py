"""The middleware of servers of mcp 2.x."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tooltel.integrations.mcp.raised import Witnesses
from tooltel.integrations.mcp.serving import Request, Serving, session_id_of

if TYPE_CHECKING:
    from tooltel.runtime import Tooltel


class TooltelMiddleware:
    """
    Records every call that a server of mcp 2.x serves: `MCPServer(middleware=[TooltelMiddleware(tel)])`.

    List it before other middleware. `watch_server` adds it in the right place, and also lets it see what tools raise,
    which middleware alone cannot: there, a tool's own refusal and its crash are both no more than an error. *profile*
    and *agent* are what the calls carry. With *redirect_aliases*, a call to an old name that the server does not know
    is served under the tool's new name.
    """

    def __init__(
        self,
        tel: Tooltel,
        *,
        profile: str | None = None,
        agent: str | None = None,
        redirect_aliases: bool = False,
    ) -> None:
        self.tel = tel
        self._serving = Serving(tel, profile=profile, agent=agent, redirect_aliases=redirect_aliases)

    async def __call__(self, ctx: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        """Serve one message, and record it where it is about tools."""
        if ctx.request_id is None or ctx.method not in ("tools/call", "tools/list"):
            return await call_next(ctx)
        params = ctx.params if isinstance(ctx.params, Mapping) else {}
        if ctx.method == "tools/list":
            result = await call_next(ctx)
            self._serving.listed(
                result, goes_on=params.get("cursor") is not None, session_id=session_id_of(ctx.request)
            )
            return result
        name = params.get("name")

        async def send(new: str) -> Any:
            return await call_next(ctx if new == name else replace(ctx, params={**params, "name": new}))

        request = Request(name, params.get("arguments"), session_id_of(ctx.request))
        return await self._serving.call(request, send)

    def see(self, server: Any) -> None:
        """Let what the tools of *server*, an MCPServer, raise be seen: its answers no longer say."""
        if self._serving.witnesses is not None:
            return
        self._serving.witnesses = witnesses = Witnesses(others_may_answer=True)
        call_tool = server.call_tool

        async def seen(*args: Any, **kwargs: Any) -> Any:
            return await witnesses.see(call_tool, *args, **kwargs)

        server.call_tool = seen
