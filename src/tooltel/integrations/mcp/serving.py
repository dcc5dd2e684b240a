"""The server's end: what is asked of it, and what comes of that, whichever hook tells."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tooltel.call import entered
from tooltel.integrations.conversations import Conversations
from tooltel.integrations.hooks import contained
from tooltel.integrations.mcp.answers import field
from tooltel.integrations.mcp.endings import Asked
from tooltel.integrations.mcp.life import Life, live
from tooltel.integrations.mcp.listing import Listing
from tooltel.integrations.mcp.spans import server_span
from tooltel.integrations.mcp.together import together_on

if TYPE_CHECKING:
    from opentelemetry.trace import Span

    from tooltel.call import Session
    from tooltel.integrations.mcp.raised import Witnesses
    from tooltel.runtime import Tooltel

_SESSION_HEADER: Final = "mcp-session-id"


class Request(NamedTuple):
    """One `tools/call`: any name with any arguments, in a session that has an id or has none."""

    name: Any
    arguments: Any
    session_id: str | None = None


class Serving:
    """
    What is done for each request at a server.

    `witnesses` see what the server's own code raises; None where nothing shows it. *life* reads the ends of calls,
    *span* finds the framework's own span of the request.
    """

    def __init__(
        self,
        tel: Tooltel,
        *,
        profile: str | None,
        agent: str | None,
        redirect_aliases: bool,
        life: type[Life] = Life,
        span: Callable[[], Span | None] = server_span,
    ) -> None:
        self.tel = tel
        self.witnesses: Witnesses | None = None
        self._life = life
        self._span = span
        self._profile = profile
        self._agent = agent
        self._redirects = redirect_aliases
        self._conversations = Conversations(tel)
        self._listing = Listing(tel)
        self._together = together_on(tel)
        self._together.has_servers = True

    async def call(self, request: Request, send: Callable[[str], Awaitable[Any]]) -> Any:
        """Let *send* serve the call under the name it is given, and record what comes of it."""
        if not isinstance(request.name, str):
            return await self._nameless(request, send)
        if self._together.is_handed_on(request.name, request.arguments):
            return await send(request.name)
        with self._joined(request) or nullcontext():
            life = self._begin(request)
            return await live(life, send, request.name, new_name=self._new_name(request.name))

    async def _nameless(self, request: Request, send: Callable[[str], Awaitable[Any]]) -> Any:
        try:
            return await send(request.name)
        except Exception:
            self._missed(request)
            raise

    @contained
    def _missed(self, request: Request) -> None:
        with entered(self._session(request.session_id)):
            self.tel.not_found(request.name, span=self._span())

    @contained
    def _joined(self, request: Request) -> AbstractContextManager[None]:
        return self._together.serve(request.name, _mapping(request.arguments))

    @contained
    def _begin(self, request: Request) -> Life:
        name, given = request.name, _mapping(request.arguments)
        asked = Asked(name, given, self._listing.schema(name))
        if asked.schema is not None:
            self.tel.raw_arguments(name, given, asked.schema)
        call = self.tel.observe(name, given, span=self._span(), session=self._session(request.session_id))
        self._together.serves(call, name, given)
        return self._life(self.tel, asked, call, self.witnesses.watch(call) if self.witnesses is not None else None)

    @contained
    def _new_name(self, name: str) -> str | None:
        alias = self.tel.catalog.aliases.get(name) if self._redirects else None
        return alias.tool if alias is not None else None

    @contained
    def listed(self, result: object, *, goes_on: bool, session_id: str | None = None, shown: bool = True) -> None:
        """Take note of what the server lists; *shown* to a client, and not only to itself."""
        result = getattr(result, "root", result)
        self._listing.read(field(result, "tools") or (), goes_on=goes_on)
        if shown and field(result, "next_cursor") is None:
            self._listing.declare(self._session(session_id))

    def _session(self, session_id: str | None) -> Session:
        return self._conversations.session(session_id, agent=self._agent, profile=self._profile)


def session_id_of(http: Any) -> str | None:
    """The id of the session that an HTTP request (None: there is none) says it is of."""
    headers = getattr(http, "headers", None)
    return headers.get(_SESSION_HEADER) if headers is not None else None


def _mapping(arguments: object) -> Mapping[str, Any]:
    return arguments if isinstance(arguments, Mapping) else {}
