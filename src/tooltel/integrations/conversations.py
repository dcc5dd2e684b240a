"""The sessions of a framework's conversations, where no `with` block can be put around one."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from tooltel.call import Session, current_session

if TYPE_CHECKING:
    from tooltel.catalog import Catalog
    from tooltel.runtime import Tooltel

CONVERSATIONS: Final = 1_000  # kept at once, in one plug-in; one that is asked for again later is made anew

_Key = tuple[str | None, str | None, str | None]


class Conversations:
    """
    Gives one Session per conversation, agent and profile: `tel.observe(..., session=conversations.session(...))`.

    Inside a session that has an id already (the host's own block, or the call of a sub-agent), that id stays: what a
    sub-agent does belongs to the conversation that asked for it, whatever its framework calls the inner run.
    """

    def __init__(self, tel: Tooltel) -> None:
        self.tel = tel
        self._sessions: dict[_Key, Session] = {}
        self._catalog: Catalog | None = None
        self._lock = threading.Lock()

    def session(
        self,
        id: str | None,  # noqa: A002 - the noun's own word
        *,
        agent: str | None = None,
        profile: str | None = None,
    ) -> Session:
        """Give the session of conversation *id*; without *profile*, the one of this context or of the process."""
        around = current_session()
        outside = None
        if around is not None:
            outside = around.origin.session_id
            profile = around.asked_profile if profile is None else profile
        key = (outside or id, agent, profile)
        kept = self._sessions.get(key) if self._catalog is self.tel.catalog else None
        return kept if kept is not None else self._keep(key, self._make(key, around if outside else None))

    def _keep(self, key: _Key, made: Session) -> Session:
        with self._lock:
            if self._catalog is not self.tel.catalog:  # what a profile is called may have changed
                self._catalog, self._sessions = self.tel.catalog, {}
            kept = self._sessions.setdefault(key, made)
            if len(self._sessions) > CONVERSATIONS:
                del self._sessions[next(iter(self._sessions))]
        return kept

    def _make(self, key: _Key, around: Session | None) -> Session:
        conversation, agent, profile = key
        with self.tel.session(profile=profile, agent=agent, id=conversation) as made:
            pass
        # Without the call that was running at this moment: the session will outlive it. Where the framework has no id,
        # one session stands for many conversations: what was asked for in one of them is no repetition in the next.
        own = made.key if conversation is not None else None
        return Session(made.origin, asked_profile=made.asked_profile, key=around.key if around else own)
