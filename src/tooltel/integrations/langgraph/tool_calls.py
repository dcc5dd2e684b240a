"""The calls of a ToolNode, by the hooks that it has for wrappers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, ToolException

from tooltel.integrations.hooks import contained
from tooltel.integrations.langchain_core.endings import Asked, Endings, is_fine, is_put_off
from tooltel.integrations.langchain_core.origins import Origins
from tooltel.integrations.langchain_core.schemas import published
from tooltel.integrations.langchain_core.witness import Witness, witnesses

if TYPE_CHECKING:
    from langgraph.prebuilt.tool_node import ToolCallRequest
    from langgraph.types import Command

    from tooltel.call import Session
    from tooltel.observed import Observed
    from tooltel.runtime import Tooltel

    Result: TypeAlias = ToolMessage | Command[Any]


class TooltelToolCalls:
    """
    Records every call that a ToolNode is asked for, those to no tool too.

    *profile* and *agent* are what the calls carry; left out, they are the host's session's, the agent's own name, the
    process' default. The conversation's id is the config's `thread_id`. With *redirect_aliases*, a call to an old name
    runs the tool under its new one, and is answered under the old. *domain_errors* are the exceptions by which tools
    tell the model that they do not want a call: pass () where tools raise ToolException for crashes.
    """

    def __init__(
        self,
        tel: Tooltel,
        *,
        profile: str | None = None,
        agent: str | None = None,
        redirect_aliases: bool = False,
        domain_errors: tuple[type[Exception], ...] = (ToolException,),
    ) -> None:
        self.tel = tel
        self.origins = Origins(tel, profile=profile, agent=agent)
        self.endings = Endings(domain_errors)
        self._redirects = redirect_aliases
        self.tools: Mapping[str, BaseTool] = {}  # where to find a redirected call's tool, before ToolRuntime had them
        self.reached: Callable[[str | None, str | None], None] | None = None  # told of each call's thread and id

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Result]) -> Result:
        """Let *handler* make the call, and record it."""
        call = self.begin(request)
        if call is None:
            return handler(request)
        try:
            result = handler(call.request)
        except BaseException as error:
            call.failed(error)
            raise
        shown = call.ended(result)
        return result if shown is None else shown

    def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Result]]
    ) -> Awaitable[Result]:
        """
        Let *handler* make the call, and record it.

        Not a coroutine function: langchain wraps those for its tracing in two threads and a task of their own.
        """
        return self._awrap(request, handler)

    async def _awrap(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Result]]) -> Result:
        call = self.begin(request)
        if call is None:
            return await handler(request)
        try:
            result = await handler(call.request)
        except BaseException as error:
            call.failed(error)
            raise
        shown = call.ended(result)
        return result if shown is None else shown

    @contained
    def begin(self, request: ToolCallRequest) -> ToolCall:
        """Begin the call, with the tool that an old name stands for, where that was asked for."""
        run = self.origins.run(request.runtime.config, request.state)
        if self.reached is not None:
            self.reached(run.thread, request.tool_call["id"])
        session = self.origins.session(run)
        return ToolCall(self, self._redirected(request), session, asked=request.tool_call["name"])

    def _redirected(self, request: ToolCallRequest) -> ToolCallRequest:
        if not self._redirects or request.tool is not None:
            return request
        alias = self.tel.catalog.aliases.get(request.tool_call["name"])
        tool = self._tool(alias.tool, request) if alias is not None else None
        if alias is None or tool is None:
            return request
        return request.override(tool_call={**request.tool_call, "name": alias.tool}, tool=tool)

    def _tool(self, name: str, request: ToolCallRequest) -> BaseTool | None:
        known = getattr(request.runtime, "tools", None)  # since langgraph-prebuilt 1.0.12
        if known is None:
            return self.tools.get(name)
        return next((tool for tool in known if tool.name == name), None)


class ToolCall:
    """
    One call, from the ToolNode's asking for it until its answer.

    A name that the ToolNode does not know may still be a tool's that a middleware brings along; so such a call begins
    when a tool runs, and is a call to no tool where none does.
    """

    __slots__ = ("_asked", "_endings", "_id", "_name", "_observed", "_session", "_token", "_witness", "request", "tel")

    def __init__(self, calls: TooltelToolCalls, request: ToolCallRequest, session: Session, *, asked: str) -> None:
        self.tel = calls.tel
        self.request = request
        self._name = asked
        self._id: str | None = request.tool_call["id"]
        self._asked = Asked(request.tool, request.tool_call["args"])
        self._session = session
        self._endings = calls.endings
        self._observed: Observed | None = None
        if request.tool is not None:
            self._begin()
            self._witness = Witness(self.tel)
        else:
            self._witness = Witness(self.tel, self._begin)
        self._token = witnesses.set(self._witness)

    def _begin(self) -> None:
        tool, arguments = self._asked
        if tool is not None and (schema := published(tool)) is not None:
            self.tel.raw_arguments(self._name, arguments, schema)
        self._observed = self.tel.observe(self._name, arguments, call_id=self._id, session=self._session)

    @contained
    def ended(self, result: Result) -> Result | None:
        """Record what the call came to; give what the model is to see, where it is not *result*."""
        self._unwatch()
        if self._observed is None and is_fine(result):
            self._begin()  # a middleware has answered to a name of its own
        call = self._observed
        if call is None:
            self._missed()
            return None
        try:
            self._endings.by_result(call, self._asked, result, self._witness)
        finally:
            if call.is_open:  # what came of it could not be read; it has ended all the same
                call.finish(None)
        return self._renamed(result)

    @contained
    def failed(self, error: BaseException) -> None:
        """Record what the call was ended by."""
        self._unwatch()
        call, real, rejected = self._observed, error, False
        if call is None:
            if isinstance(error, Exception) and not is_put_off(error):
                self._missed()
            return
        if self._witness.error is not None and isinstance(error, Exception):  # what the ToolNode has made of it
            real, rejected = self._witness.error, self._witness.rejected
        try:
            self._endings.by_error(call, self._asked, real, rejected=rejected)
        finally:
            if call.is_open:
                call.fail(error)

    def _unwatch(self) -> None:
        try:
            witnesses.reset(self._token)
        except ValueError:  # ended in another context than begun: nothing of ours is set in this one
            return

    def _missed(self) -> None:
        self.tel.not_found(self._name, call_id=self._id, session=self._session)

    def _renamed(self, result: Result) -> Result | None:
        """The answer to a redirected call under the name that the model used; some providers pair them by it."""
        if self.request.tool_call["name"] == self._name or not isinstance(result, ToolMessage):
            return None
        return result.model_copy(update={"name": self._name})
