"""What google-adk really sends to a model, and old names that the model answers with."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import uuid4

from tooltel import signals
from tooltel.call import entered
from tooltel.declarations.forms import as_data

if TYPE_CHECKING:
    from google.adk.models.llm_request import LlmRequest
    from google.adk.models.llm_response import LlmResponse
    from google.genai.types import FunctionDeclaration, Part

    from tooltel.call import Session
    from tooltel.runtime import Tooltel

_AGENTS: Final = 1_000  # whose last declarations are kept
_REDIRECTED: Final = 10_000  # calls that were renamed and have not begun yet
# ADK gives a call an id of this form where the model gave none, and keeps such ids from the model.
_ID_PREFIX: Final = "adk-"
_name: Final = attrgetter("name")


class _Last(NamedTuple):
    """What an agent was sent last, and in which run; `forms` is that as data, which is compared in no time."""

    run: str
    sent: list[FunctionDeclaration]
    names: list[str | None]
    forms: list[Any]
    schemas: Mapping[str | None, Mapping[str, Any]]


_NOTHING: Final = _Last("", [], [], [], {})


class Sent:
    """
    The declarations that each agent was last sent: recorded when they change, and for each new conversation.

    They are compared whole with the first request of a run, and by name with its later ones.
    """

    def __init__(self, tel: Tooltel) -> None:
        self.tel = tel
        self._last: dict[str | None, _Last] = {}  # by agent

    def note(self, request: LlmRequest, run: str, session: Session) -> None:
        """Record what *request* declares to the model, in the run of that id."""
        agent = session.origin.agent
        tools = (request.config.tools if request.config is not None else None) or ()
        sent = [each for tool in tools for each in getattr(tool, "function_declarations", None) or ()]
        names = list(map(_name, sent))
        last = self._last.get(agent, _NOTHING)
        is_known = names == last.names and (run == last.run or list(map(vars, sent)) == list(map(vars, last.sent)))
        if is_known and (not sent or (run == last.run and session.offered is not None)):
            return
        if is_known:
            forms, schemas = last.forms, last.schemas
        else:
            forms, schemas = [as_data(each) for each in sent], {each.name: _schema(each) for each in sent}
        self._last[agent] = _Last(run, sent, names, forms, schemas)
        if len(self._last) > _AGENTS:
            del self._last[next(iter(self._last))]
        if is_known and session.offered is not None:
            return
        with entered(session):
            self.tel.declared(session.asked_profile or signals.NO_PROFILE, forms)
        if session.offered is None:  # with telemetry switched off, redirection still has to know
            session.offered = tuple(name or "" for name in names)

    def schema(self, agent: str | None, tool: str) -> Mapping[str, Any]:
        """The JSON Schema that *agent* was last shown for the arguments of *tool*; empty where there was none."""
        return self._last.get(agent, _NOTHING).schemas.get(tool) or {}


def _schema(declaration: FunctionDeclaration) -> Mapping[str, Any]:
    schema = getattr(declaration, "parameters_json_schema", None)
    if schema is None and declaration.parameters is not None:  # Google's own dialect, with types in capitals
        schema = declaration.parameters.json_schema.model_dump(mode="json", by_alias=True, exclude_none=True)
    return schema if isinstance(schema, Mapping) else {}


class Redirects:
    """Gives an old name that the model asks for its tool's new one, before ADK looks for it."""

    def __init__(self, tel: Tooltel) -> None:
        self.tel = tel
        self._asked: OrderedDict[str, str] = OrderedDict()  # call id -> the old name
        self._lock = threading.Lock()

    def rename(self, response: LlmResponse, session: Session) -> None:
        """Rename in *response* the calls of aliases whose tool this agent was offered; the history shows the new."""
        parts = response.content.parts if response.content is not None else None
        if not parts:
            return
        renamed = [self._renamed(part, session.offered or (), partial=bool(response.partial)) for part in parts]
        if any(new is not old for new, old in zip(renamed, parts, strict=True)):
            response.content = response.content.model_copy(update={"parts": renamed})

    def asked(self, call_id: str | None) -> str | None:
        """The old name under which call *call_id* was made, once."""
        if call_id is None or not self._asked:
            return None
        with self._lock:
            return self._asked.pop(call_id, None)

    def _renamed(self, part: Part, offered: tuple[str, ...], *, partial: bool) -> Part:
        call = part.function_call
        alias = self.tel.catalog.aliases.get(call.name or "") if call is not None else None
        if call is None or alias is None or alias.tool not in offered or alias.name in offered:
            return part
        update = {"name": alias.tool}
        if not partial:  # what is partial is shown and never run
            update["id"] = call.id or f"{_ID_PREFIX}{uuid4()}"
            with self._lock:
                self._asked[update["id"]] = alias.name
                if len(self._asked) > _REDIRECTED:
                    self._asked.popitem(last=False)
        return part.model_copy(update={"function_call": call.model_copy(update=update)})
