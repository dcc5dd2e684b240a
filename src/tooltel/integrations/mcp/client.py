"""The client's end: what is asked of a server, and what comes back."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import WeakSet

from tooltel.call import current_call, current_session, entered
from tooltel.integrations.conversations import Conversations
from tooltel.integrations.hooks import contained
from tooltel.integrations.mcp.answers import field
from tooltel.integrations.mcp.endings import Asked
from tooltel.integrations.mcp.life import Life, live
from tooltel.integrations.mcp.listing import Listing
from tooltel.integrations.mcp.spans import client_span
from tooltel.integrations.mcp.together import together_on

if TYPE_CHECKING:
    from tooltel.call import Call, Session
    from tooltel.observed import Observed
    from tooltel.runtime import Tooltel

C = TypeVar("C")
_MARK: Final = "__tooltel_watch__"  # on a method of ours: the Tooltel that it tells
_ASKING: Final = ("call_tool", "list_tools", "call_tool_mcp", "list_tools_mcp")


def watch_client(
    tel: Tooltel,
    client: C,
    *,
    profile: str | None = None,
    agent: str | None = None,
    redirect_aliases: bool = False,
    declares: bool = True,
) -> C:
    """
    Record every call that *client* makes and every call to no tool, and what it is told that there is; give it back.

    *client* is a ClientSession, or what makes sessions: a Client (2.x), fastmcp's Client, a ClientSessionGroup.
    *profile* and *agent* are what the calls carry; left out, they are the session's of the context, or the process'
    default. With *redirect_aliases*, a call to an old name that the server does not know is made again under the tool's
    new name. Say *declares=False* where a plug-in of the agent's framework tells what the model is really sent.
    """
    watch = ClientWatch(tel, profile=profile, agent=agent, redirect_aliases=redirect_aliases, declares=declares)
    watch.put_on(client)
    return client


class ClientWatch:
    """What is done at the methods of a client."""

    def __init__(
        self, tel: Tooltel, *, profile: str | None, agent: str | None, redirect_aliases: bool, declares: bool
    ) -> None:
        self.tel = tel
        self._profile = profile
        self._agent = agent
        self._redirects = redirect_aliases
        self._declares = declares
        self._conversations = Conversations(tel)
        self._together = together_on(tel)
        self._open: WeakSet[Call] = WeakSet()

    def put_on(self, client: Any) -> None:
        """Put the watch on *client*, once; on one that makes sessions, whenever it is used."""
        if hasattr(type(client), "session") or hasattr(type(client), "sessions"):
            for name in _ASKING:
                if hasattr(client, name):
                    self._put(client, name, self._ahead(client, getattr(client, name)))
            return
        listing = Listing(self.tel)
        self._put(client, "call_tool", self._calling(listing, client.call_tool))
        self._put(client, "list_tools", self._listing(listing, client.list_tools))

    def _put(self, client: Any, name: str, method: Callable[..., Any]) -> None:
        if getattr(getattr(client, name), _MARK, None) is not self.tel:
            setattr(method, _MARK, self.tel)
            setattr(client, name, method)

    def _ahead(self, client: Any, method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        @functools.wraps(method)
        async def ask(*args: Any, **kwargs: Any) -> Any:
            self._put_on_sessions(client)
            return await method(*args, **kwargs)

        return ask

    @contained
    def _put_on_sessions(self, client: Any) -> None:
        many = hasattr(type(client), "sessions")
        for session in client.sessions if many else (client.session,):
            self.put_on(session)

    def _calling(self, listing: Listing, method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        @functools.wraps(method)
        async def call_tool(name: Any, arguments: Any = None, *args: Any, **kwargs: Any) -> Any:
            if not isinstance(name, str):
                self._missed(name)
                return await method(name, arguments, *args, **kwargs)

            async def send(asked: str) -> Any:
                if observed is not None:
                    self._ask(observed, asked, _mapping(arguments), outer)
                return await method(asked, arguments, *args, **kwargs)

            outer = current_call()
            observed = self._begin(listing, name, arguments)
            life = self._life(listing, name, arguments, observed)
            try:
                return await live(life, send, name, new_name=self._new_name(name))
            finally:
                self._answered(observed)

        return call_tool

    def _listing(self, listing: Listing, method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        @functools.wraps(method)
        async def list_tools(*args: Any, **kwargs: Any) -> Any:
            result = await method(*args, **kwargs)
            self._listed(listing, result, args, kwargs)
            return result

        return list_tools

    @contained
    def _begin(self, listing: Listing, name: str, arguments: object) -> Observed:
        given = _mapping(arguments)
        schema = listing.schema(name)
        if schema is not None:
            self.tel.raw_arguments(name, given, schema)
        call = self.tel.observe(name, given, span=client_span(name), session=self._session())
        self._open.add(call)
        return call

    @contained
    def _missed(self, name: object) -> None:
        with entered(self._session() or current_session() or self.tel.services.session):
            self.tel.not_found(name)

    @contained
    def _ask(self, call: Observed, name: str, given: Mapping[str, Any], outer: Call | None) -> None:
        self._together.ask(call, name, given, outer=outer)

    @contained
    def _answered(self, call: Observed | None) -> None:
        self._together.answered(call)

    @contained
    def _life(self, listing: Listing, name: str, arguments: object, observed: Observed | None) -> Life | None:
        asked = Asked(name, _mapping(arguments), listing.schema(name))
        return Life(self.tel, asked, observed) if observed is not None else None

    @contained
    def _new_name(self, name: str) -> str | None:
        alias = self.tel.catalog.aliases.get(name) if self._redirects else None
        return alias.tool if alias is not None else None

    @contained
    def _listed(self, listing: Listing, result: object, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        asked = [*args, kwargs.get("cursor"), field(kwargs.get("params"), "cursor")]
        listing.read(field(result, "tools") or (), goes_on=any(isinstance(cursor, str) for cursor in asked))
        here = current_call()
        by_sdk = here is not None and here in self._open  # which looks for the schema of a result
        if self._declares and not by_sdk and field(result, "next_cursor") is None:
            listing.declare(self._session())

    def _session(self) -> Session | None:
        if self._profile is None and self._agent is None:
            return None
        return self._conversations.session(None, agent=self._agent, profile=self._profile)


def _mapping(arguments: object) -> Mapping[str, Any]:
    return arguments if isinstance(arguments, Mapping) else {}
