"""TooltelMiddleware: what fastmcp tells a middleware of its server's calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from fastmcp.exceptions import NotFoundError
from fastmcp.server.middleware import Middleware

from tooltel.integrations.fastmcp.endings import FastMCPLife
from tooltel.integrations.fastmcp.requests import session_id_of, shown_tools, span_of_request
from tooltel.integrations.hooks import contained
from tooltel.integrations.mcp.serving import Request, Serving

if TYPE_CHECKING:
    from tooltel.runtime import Tooltel

_Next = Callable[[Any], Awaitable[Any]]


class TooltelMiddleware(Middleware):
    """
    Records every tool call, every call to no tool, and what the server lists: `mcp.add_middleware(...)`.

    Add it before other middleware: what one before it answers in a tool's place is not seen. *profile* and *agent* are
    what the calls carry. With *redirect_aliases*, a call to an old name that the server does not know is served under
    the tool's new name.

    The outcome is told on fastmcp's own span, where that is around middleware (4.x). 3.x opens it below: a
    ToolSpanProcessor says there whose tool it is, and the outcome is in metrics and logs alone.
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
        self._redirects = redirect_aliases
        self._serving = Serving(
            tel, profile=profile, agent=agent, redirect_aliases=False, life=FastMCPLife, span=span_of_request
        )

    async def on_call_tool(self, context: Any, call_next: _Next) -> Any:
        """Let the call be served, and record what comes of it."""
        message = context.message
        new_name = await self._new_name(message.name, context)

        async def send(_name: str) -> Any:
            if new_name is None:
                return await call_next(context)
            return await call_next(context.copy(message=message.model_copy(update={"name": new_name})))

        return await self._serving.call(Request(message.name, message.arguments, session_id_of(context)), send)

    async def on_list_tools(self, context: Any, call_next: _Next) -> Any:
        """Let the tools be listed, and record what they are."""
        tools = await call_next(context)
        self._listed(tools, context)
        return tools

    @contained
    def _listed(self, tools: Any, context: Any) -> None:
        listed: Mapping[str, Any] = {"tools": shown_tools(tools)}
        self._serving.listed(listed, goes_on=False, session_id=session_id_of(context))

    async def _new_name(self, name: str, context: Any) -> str | None:
        new_name = self._named_now(name) if self._redirects else None
        return new_name if new_name is not None and not await _knows(context, name) else None

    @contained
    def _named_now(self, name: str) -> str | None:
        alias = self.tel.catalog.aliases.get(name)
        return alias.tool if alias is not None else None


async def _knows(context: Any, name: str) -> bool:
    try:
        return await context.fastmcp_context.fastmcp.get_tool(name) is not None
    except NotFoundError:  # 2.x gives no None
        return False
    except Exception:  # noqa: BLE001 - the call itself will meet it, too, and say so
        return True
