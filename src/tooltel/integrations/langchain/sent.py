"""The declarations as they were really sent: what a chat model was called with, after every middleware's say."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from tooltel import signals
from tooltel.call import entered
from tooltel.integrations.langchain_core.witness import Inline

if TYPE_CHECKING:
    from uuid import UUID

    from tooltel.call import Session
    from tooltel.runtime import Tooltel

_AGENTS: Final = 1_000  # whose last declarations are kept


class ModelWitness(Inline):
    """Sees which tools each chat model was called with; a middleware of the agent's may ask models of its own."""

    ignore_llm = False
    ignore_chat_model = False

    def __init__(self) -> None:
        self._sent: dict[UUID, Any] = {}
        self._answers: list[tuple[object, Any]] = []

    def on_chat_model_start(self, *_: Any, run_id: UUID, **told: Any) -> None:
        """Keep the tools of a request, in whatever form the model's own class has put them."""
        options = {**(told.get("options") or {}), **(told.get("invocation_params") or {})}
        self._sent[run_id] = options.get("tools")

    def on_llm_start(self, *_: Any, **__: Any) -> None:
        """Pass over a model that is no chat model: it is sent no tools."""

    def on_llm_end(self, response: Any, *, run_id: UUID, **_: Any) -> None:
        """Keep which answer came of which request."""
        for generations in getattr(response, "generations", ()):
            for generation in generations:
                self._answers.append((getattr(generation, "message", None), self._sent.get(run_id)))

    def sent_for(self, messages: Sequence[object]) -> Any:
        """The tools that the model of *messages* was sent, or of the last request; None where nothing tells."""
        for message, sent in self._answers:
            if any(message is each for each in messages):
                return sent
        return next(reversed(self._sent.values()), None)


class Sent:
    """Records declarations when they change, and for each new conversation."""

    def __init__(self, tel: Tooltel) -> None:
        self.tel = tel
        self._last: OrderedDict[tuple[str | None, str | None], Any] = OrderedDict()
        self._converted: tuple[list[Any], list[Any]] = ([], [])
        self._lock = threading.Lock()

    def note(self, sent: object, tools: Sequence[Any], session: Session) -> None:
        """Record *sent*, or else what *tools* would be sent as, where the model's class does not tell."""
        declarations = list(sent) if isinstance(sent, (list, tuple)) and sent else self._forms(tools)
        agent = (session.asked_profile, session.origin.agent)
        if declarations == self._last.get(agent, []) and (session.offered is not None or not declarations):
            return
        with self._lock:
            self._last[agent] = declarations
            if len(self._last) > _AGENTS:
                self._last.popitem(last=False)
        with entered(session):
            self.tel.declared(session.asked_profile or signals.NO_PROFILE, declarations)

    def _forms(self, tools: Sequence[Any]) -> list[Any]:
        before, forms = self._converted
        if len(before) != len(tools) or any(new is not old for new, old in zip(tools, before, strict=True)):
            forms = [convert_to_openai_tool(tool) if isinstance(tool, BaseTool) else tool for tool in tools]
            self._converted = (list(tools), forms)
        return forms
