"""Whose call it is: the conversation, the agent and the profile, as far as a run of LangGraph's tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from langchain_core.messages import AIMessage

from tooltel.call import current_session
from tooltel.integrations.conversations import Conversations

if TYPE_CHECKING:
    from tooltel.call import Session
    from tooltel.catalog import Catalog
    from tooltel.runtime import Tooltel


class Run(NamedTuple):
    """What a hook is told of its run: the conversation's id, and the agent's name."""

    thread: str | None
    agent: str | None


def _name_in(state: object) -> object:
    messages = state.get("messages") if isinstance(state, Mapping) else getattr(state, "messages", state)
    if not isinstance(messages, Sequence):
        return None
    return next((message.name for message in reversed(messages) if isinstance(message, AIMessage)), None)


class Origins:
    """Gives the Session of a run; *profile* and *agent* win over what the run and the host's own block say."""

    def __init__(self, tel: Tooltel, *, profile: str | None, agent: str | None) -> None:
        self._tel = tel
        self._profile = profile
        self._agent = agent
        self._conversations = Conversations(tel)
        # The last one given, as a conversation's calls mostly come one after the other.
        self._last: tuple[Run, Catalog, Session] | None = None

    def run(self, config: Mapping[str, Any], messages: object) -> Run:
        """
        The run that has *config*; *messages* are the state, or the messages in it.

        create_agent tells the agent's name in the metadata since langchain 1.2, and on each of its messages since 1.1.
        """
        thread = (config.get("configurable") or {}).get("thread_id")
        agent: object = self._agent or (config.get("metadata") or {}).get("lc_agent_name")
        if agent is None:
            agent = _name_in(messages)
        return Run(None if thread is None else str(thread), agent if isinstance(agent, str) and agent else None)

    def session(self, run: Run) -> Session:
        """The session that *run* is part of."""
        around = current_session()
        if around is not None:
            return self._inside(around, run)
        last, catalog = self._last, self._tel.catalog
        if last is not None and last[0] == run and last[1] is catalog:
            return last[2]
        found = self._conversations.session(run.thread, agent=run.agent, profile=self._profile)
        self._last = (run, catalog, found)
        return found

    def _inside(self, around: Session, run: Run) -> Session:
        origin = around.origin
        agent = run.agent or origin.agent
        profile = self._profile if self._profile is not None else around.asked_profile
        stays = origin.session_id is not None or run.thread is None
        if stays and agent == origin.agent and profile == around.asked_profile:
            return around
        return self._conversations.session(run.thread, agent=agent, profile=profile)
