"""TooltelRunners: tool runners of anthropic's, watched from both of their ends, as they have no hook for tools."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from opentelemetry import trace

from tooltel import signals
from tooltel.call import current_session, entered
from tooltel.integrations.anthropic.endings import conclude_error
from tooltel.integrations.anthropic.watched import watched
from tooltel.integrations.conversations import Conversations
from tooltel.integrations.hooks import contained

if TYPE_CHECKING:
    from tooltel.call import Session
    from tooltel.observed import Observed
    from tooltel.runtime import Tooltel


class TooltelRunners:
    """
    Makes tool runners that record every call, every call to no tool, and what the model was sent.

    `runners.tool_runner(client, ...)` stands in place of `client.beta.messages.tool_runner(...)`. *profile* and *agent*
    are what the calls carry. Calls of raw definitions are the host's to run, and to record with `@tel.tool` or
    `tel.call`; members of a toolset (`browser`, `computer`) are not recorded.
    """

    def __init__(self, tel: Tooltel, *, profile: str | None = None, agent: str | None = None) -> None:
        self.tel = tel
        self.sent: list[Any] | None = None
        self._profile = profile
        self._agent = agent
        self._conversations = Conversations(tel)

    def tool_runner(self, client: Any, *, conversation_id: str | None = None, **params: Any) -> Any:
        """
        Give the runner that `client.beta.messages.tool_runner(**params)` gives, watched; for either kind of client.

        *conversation_id* tells conversations apart; the one of the client's `open_telemetry` option, where left out.
        """
        run = self.run(conversation_id or _conversation_of(client))
        if "tools" in params:
            params["tools"] = run.tools(params["tools"])
        return run.watch(client.beta.messages.tool_runner(**params))

    def run(self, conversation_id: str | None = None) -> Run:
        """Give a Run, for a runner that something else makes, such as a message thread."""
        return Run(self, conversation_id)

    def session(self, conversation_id: str | None) -> Session:
        """Give the session of a conversation; what nobody told is that of the block around."""
        around = current_session()
        agent = self._agent or (around.origin.agent if around is not None else None)
        return self._conversations.session(conversation_id, agent=agent, profile=self._profile)


class Run:
    """
    One tool runner's run: `tools` are the ones to hand to it, `watch` is what to do with it.

    The names of its tools are known from there, so names that the model made up are told from them.
    """

    def __init__(self, runners: TooltelRunners, conversation_id: str | None) -> None:
        self.tel = runners.tel
        self._runners = runners
        self._conversation_id = conversation_id
        self._declarations: dict[str, Any] = {}
        self._is_declared = False
        self._item: Any = None  # what the runner gave last: a message, or the stream of one

    def tools(self, tools: Iterable[Any]) -> list[Any]:
        """Give *tools* with every call of theirs recorded: copies of function tools, all else as it is."""
        given = list(tools)
        for tool in given:
            self.know(tool)
        return self.watched(given)

    def watched(self, tools: Iterable[Any]) -> list[Any]:
        """As `tools`, without taking note that the model is offered them."""
        return [self._watched_tool(tool) or tool for tool in tools]

    def watch(self, runner: Any) -> Any:
        """Let *runner* tell what it gives; it is given back, and stays what it is."""
        self._watch(runner)
        return runner

    # --- which tools there are ---

    @contained
    def know(self, tool: Any) -> None:
        """Take note of a tool that the model is offered from now on."""
        self._declarations[_name(tool)] = dict(tool) if isinstance(tool, Mapping) else tool.to_dict()
        self._is_declared = False

    @contained
    def forget(self, tool: Any) -> None:
        """Take note that the model is not offered a tool any more."""
        self._declarations.pop(tool if isinstance(tool, str) else _name(tool), None)
        self._is_declared = False

    @contained
    def _watch(self, runner: Any) -> None:
        runner.__class__ = watched(runner.__class__)
        runner.tooltel = self

    @contained
    def _watched_tool(self, tool: Any) -> Any:
        if isinstance(tool, Mapping) or hasattr(tool, "toolset_name"):
            return None
        copied = copy.copy(tool)  # the host's own object may serve other runners
        copied.call = self._watched_call(tool)
        return copied

    # --- calls ---

    def _watched_call(self, tool: Any) -> Any:
        inner, name, schema = tool.call, tool.name, getattr(tool, "input_schema", None)
        if inspect.iscoroutinefunction(inner):

            @functools.wraps(inner)
            async def call_async(input: object, *args: Any, **kwargs: Any) -> Any:  # noqa: A002 - the framework's word
                observed = self._begin(name, schema, input)
                try:
                    result = await inner(input, *args, **kwargs)
                except BaseException as error:
                    self._fail(observed, input, error)
                    raise
                self._finish(observed, result)
                return result

            return call_async

        @functools.wraps(inner)
        def call(input: object, *args: Any, **kwargs: Any) -> Any:  # noqa: A002 - the framework's word
            observed = self._begin(name, schema, input)
            try:
                result = inner(input, *args, **kwargs)
            except BaseException as error:
                self._fail(observed, input, error)
                raise
            self._finish(observed, result)
            return result

        return call

    @contained
    def _begin(self, name: str, schema: object, given: object) -> Observed:
        arguments = given if isinstance(given, Mapping) else None
        if arguments is not None:
            self.tel.raw_arguments(name, arguments, schema)
        call_id = next((block.id for block in _asked_in(self._item) if block.input is given), None)
        span = _span_of(name, call_id)
        if call_id is None and span is not None:
            call_id = getattr(span, "attributes", {}).get(signals.TOOL_CALL_ID)
        return self.tel.observe(name, arguments, call_id=call_id, span=span, session=self._session())

    @contained
    def _fail(self, observed: Observed | None, given: object, error: BaseException) -> None:
        if observed is not None:
            conclude_error(observed, given, error)

    @contained
    def _finish(self, observed: Observed | None, result: object) -> None:
        if observed is not None:
            observed.finish(result)

    # --- what the runner gives ---

    @contained
    def got(self, item: Any) -> None:
        """Take note of a message, or of the stream of one that nobody has read yet."""
        self._declare()
        self._item = item
        if hasattr(item, "content"):
            self._find_drops(item)

    @contained
    def went_on(self) -> None:
        """Take note that the runner is done with what it gave before: a stream of it has been read by now."""
        item, self._item = self._item, None
        if item is not None and not hasattr(item, "content"):
            message = _snapshot(item)
            if message is not None and message.stop_reason is not None:  # else it broke off, and was answered by nobody
                self._find_drops(message)

    def _find_drops(self, message: Any) -> None:
        for block in _asked_in(message):
            # A member of a toolset is called by a name of its own, beside the toolset's.
            name = getattr(block, "toolset_name", None) or block.name
            if name not in self._declarations:
                self.tel.not_found(block.name, call_id=block.id, session=self._session())

    def _declare(self) -> None:
        if self._is_declared:
            return
        self._is_declared = True
        session, sent = self._session(), list(self._declarations.values())
        if sent != self._runners.sent or session.offered is None:
            self._runners.sent = sent
            with entered(session):
                self.tel.declared(session.asked_profile or signals.NO_PROFILE, sent)

    def _session(self) -> Session:
        return self._runners.session(self._conversation_id)


def _name(tool: Any) -> str:
    """The name by which the model calls *tool*; for a toolset its own, for a provider's nameless tool its type."""
    if isinstance(tool, Mapping):
        return str(tool.get("name") or tool.get("type"))
    return str(getattr(tool, "toolset_name", None) or tool.name)


def _asked_in(item: Any) -> list[Any]:
    """The calls that the model asks for in a message, or in the stream of one as far as it was read."""
    message = item if item is None or hasattr(item, "content") else _snapshot(item)
    return [block for block in message.content or () if block.type == "tool_use"] if message is not None else []


def _snapshot(stream: Any) -> Any:
    try:
        return stream.current_message_snapshot
    except AssertionError:  # nothing came yet
        return None


def _span_of(name: str, call_id: str | None) -> trace.Span | None:
    """The SDK's own span of this call (since 1.17), where it makes one."""
    span = trace.get_current_span()
    attributes = getattr(span, "attributes", None) or {}
    scope = getattr(getattr(span, "instrumentation_scope", None), "name", None)
    if scope == signals.SCOPE or attributes.get(signals.OPERATION_NAME) != signals.EXECUTE_TOOL:
        return None
    is_it = attributes.get(signals.TOOL_CALL_ID) == call_id if call_id else attributes.get(signals.TOOL_NAME) == name
    return span if is_it else None


def _conversation_of(client: Any) -> str | None:
    options = getattr(client, "open_telemetry", None)
    found = options.get("conversation_id") if isinstance(options, Mapping) else None
    return found if isinstance(found, str) else None
