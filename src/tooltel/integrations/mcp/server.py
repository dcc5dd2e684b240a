"""Watching a server of either version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import WeakKeyDictionary

from tooltel.integrations.mcp.middleware import TooltelMiddleware

if TYPE_CHECKING:
    from tooltel.integrations.mcp.handlers import Handlers
    from tooltel.runtime import Tooltel

S = TypeVar("S")
_SDK: Final = "mcp."
_watched: WeakKeyDictionary[Any, Handlers] = WeakKeyDictionary()  # by server of 1.x


def watch_server(
    tel: Tooltel,
    server: S,
    *,
    profile: str | None = None,
    agent: str | None = None,
    redirect_aliases: bool = False,
) -> S:
    """
    Record every call that *server* serves and every call to no tool, and what it lists; give it back.

    *server* is an MCPServer (2.x), the SDK's FastMCP (1.x), or a low-level Server: watch that one before its handlers
    are registered, to know what they raise. *profile* and *agent* are what the calls carry. With *redirect_aliases*, a
    call to an old name that the server does not know is served under the tool's new name.
    """
    said = {"profile": profile, "agent": agent, "redirect_aliases": redirect_aliases}
    if hasattr(server, "middleware"):
        _watch_by_middleware(tel, server, said)
    else:
        _watch_by_handlers(tel, server, said)
    return server


def _watch_by_middleware(tel: Tooltel, server: Any, said: dict[str, Any]) -> None:
    chain = server.middleware
    ours = next((each for each in chain if isinstance(each, TooltelMiddleware) and each.tel is tel), None)
    if ours is None:
        ours = TooltelMiddleware(tel, **said)
        # Inside the SDK's own, which makes the span, and outside of everybody else's.
        place = next((n for n, each in enumerate(chain) if not type(each).__module__.startswith(_SDK)), len(chain))
        chain.insert(place, ours)
    if hasattr(server, "call_tool"):
        ours.see(server)


def _watch_by_handlers(tel: Tooltel, server: Any, said: dict[str, Any]) -> None:
    from tooltel.integrations.mcp.handlers import Handlers  # 1.x alone has what it needs

    low = server if hasattr(server, "request_handlers") else server._mcp_server  # noqa: SLF001 - as the SDK's own do
    known = _watched.get(low)
    if known is not None and known.tel is tel:
        return
    _watched[low] = handlers = Handlers(tel, low, **said)
    if low is not server:
        handlers.see(server._tool_manager)  # noqa: SLF001 - nothing else is told of what a tool raises
