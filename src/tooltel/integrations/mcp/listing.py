"""What `tools/list` last told: the schemas of arguments, and what a model is shown."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from tooltel import signals
from tooltel.call import current_session, entered
from tooltel.integrations.mcp.answers import field

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tooltel.call import Session
    from tooltel.runtime import Tooltel


class Listing:
    """
    The tools that one end was last told of, page by page.

    An agent may be connected to several servers: what its profile declares is what all of them list.
    """

    def __init__(self, tel: Tooltel) -> None:
        self.tel = tel
        self._tools: dict[str, Any] = {}
        self._lock = threading.Lock()

    def read(self, tools: Iterable[Any], *, goes_on: bool = False) -> None:
        """Keep *tools*, instead of those before, or, where the page *goes_on*, beside them."""
        page = {name: tool for tool in tools if isinstance(name := field(tool, "name"), str)}
        with self._lock:
            self._tools = {**self._tools, **page} if goes_on else page

    def declare(self, session: Session | None) -> None:
        """Record what a model of *session* (None: of this context) is shown, if it is not what it was."""
        session = session or current_session() or self.tel.services.session
        shown = _shown_on(self.tel).setdefault(session.asked_profile, WeakKeyDictionary())
        if shown.get(self) == self._tools and (session.offered is not None or not self._tools):
            return
        shown[self] = self._tools
        everything = {name: tool for tools in list(shown.values()) for name, tool in tools.items()}
        with entered(session):
            self.tel.declared(session.asked_profile or signals.NO_PROFILE, list(everything.values()))

    def schema(self, name: str) -> Mapping[str, Any] | None:
        """The JSON Schema that was last listed for the arguments of tool *name*."""
        schema: Mapping[str, Any] | None = field(self._tools.get(name), "input_schema")
        return schema


_Shown = dict[str | None, WeakKeyDictionary[Listing, dict[str, Any]]]  # by profile
_shown: WeakKeyDictionary[Tooltel, _Shown] = WeakKeyDictionary()


def _shown_on(tel: Tooltel) -> _Shown:
    return _shown.setdefault(tel, {})
