"""TooltelAgents: agents whose tools are watched, and runs of them that know which conversation they belong to."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from agents import Runner
from agents.tracing import get_current_trace

from tooltel.call import entered
from tooltel.integrations.conversations import Conversations
from tooltel.integrations.hooks import contained
from tooltel.integrations.openai_agents.copies import Copies
from tooltel.integrations.openai_agents.turns import Turns

if TYPE_CHECKING:
    from tooltel.call import Session
    from tooltel.runtime import Tooltel


class TooltelAgents:
    """
    Records every tool call of an agent, every call to no tool, and what the model was sent.

    `agents.run(agent, ...)`, `run_sync` and `run_streamed` stand in place of `Runner`'s, with the same options.
    *profile* is the profile of all agents, or a mapping from agent names to profiles. The host's own agents and tools
    stay as they are: copies of them run, of each agent one, and results, events and hooks speak of the copies. Where
    that matters, watch each agent where it is made, as `watch` leaves alone what is watched already.

    Handoffs are followed. An agent that is a tool of another is watched where it is made one:
    `agents.watch(helper).as_tool(...)`. Hosted tools, shells, computers and custom tools are not recorded. What an MCP
    server answers is text to the SDK, an error too; `tooltel.integrations.mcp.watch_client(tel, server.session,
    declares=False)` tells those apart, and a call stays one.
    """

    def __init__(self, tel: Tooltel, *, profile: str | Mapping[str, str] | None = None) -> None:
        self.tel = tel
        self.turns = Turns(self)
        self._profile = profile
        self._conversations = Conversations(tel)
        self._copies = Copies(self)

    def watch(self, agent: Any) -> Any:
        """Give a watched copy of *agent*, the same one while the agent stays the same; a watched one as it is."""
        return self._watched(agent) or agent

    async def run(self, starting_agent: Any, input: Any, **options: Any) -> Any:  # noqa: A002 - the SDK's word
        """Run the agent as `Runner.run` does, watched."""
        with self._conversation(options) or nullcontext():
            return await Runner.run(self.watch(starting_agent), input, **options)

    def run_sync(self, starting_agent: Any, input: Any, **options: Any) -> Any:  # noqa: A002 - the SDK's word
        """Run the agent as `Runner.run_sync` does, watched."""
        with self._conversation(options) or nullcontext():
            return Runner.run_sync(self.watch(starting_agent), input, **options)

    def run_streamed(self, starting_agent: Any, input: Any, **options: Any) -> Any:  # noqa: A002 - the SDK's word
        """Run the agent as `Runner.run_streamed` does, watched."""
        with self._conversation(options) or nullcontext():  # the run's task starts here, and keeps it
            return Runner.run_streamed(self.watch(starting_agent), input, **options)

    def session(self, agent: str, context: Any) -> Session:
        """Give the session of what *agent* does in a run with that context of the SDK's."""
        profile = self._profile
        if profile is not None and not isinstance(profile, str):
            profile = profile.get(agent)
        return self._conversations.session(_group_of(context), agent=agent, profile=profile)

    @contained
    def _watched(self, agent: Any) -> Any:
        return self._copies.of(agent)

    @contained
    def _conversation(self, options: Mapping[str, Any]) -> AbstractContextManager[Session] | None:
        session, config = options.get("session"), options.get("run_config")
        group = config.get("group_id") if isinstance(config, Mapping) else getattr(config, "group_id", None)
        found = options.get("conversation_id") or getattr(session, "session_id", None) or group
        return entered(self._conversations.session(found)) if found else None


def _group_of(context: Any) -> str | None:
    """The id by which the host groups the runs of a conversation, for traces; None where it has none."""
    config = getattr(context, "run_config", None)
    found = getattr(config, "group_id", None) or getattr(get_current_trace(), "group_id", None)
    return found if isinstance(found, str) else None
