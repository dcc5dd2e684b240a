"""The callback handler, for loops that run tools themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from langchain_core.tools import ToolException

from tooltel.call import current_call
from tooltel.integrations.hooks import OpenCalls, contained
from tooltel.integrations.langchain_core.endings import Asked, Endings
from tooltel.integrations.langchain_core.origins import Origins
from tooltel.integrations.langchain_core.witness import Inline, Witness, was_rejected

if TYPE_CHECKING:
    from uuid import UUID

    from tooltel.runtime import Tooltel

# The tool that langchain-classic's AgentExecutor runs in the place of one that is not there, and what it is told.
_INVALID: Final = "invalid_tool"
_REQUESTED: Final = "requested_tool_name"


class TooltelCallback(Inline):
    """
    Records the tools that run, and AgentExecutor's calls to no tool: `executor.invoke(..., {"callbacks": [handler]})`.

    It sees less than the middleware: no call that something else answered, and no exception that the tool itself was
    told to handle, which looks like a result. Calls that a middleware of ours records already are left alone. A tool
    that another tool runs is recorded, too, with the outer one as its parent.
    """

    ignore_agent = False

    def __init__(
        self,
        tel: Tooltel,
        *,
        profile: str | None = None,
        agent: str | None = None,
        domain_errors: tuple[type[Exception], ...] = (ToolException,),
    ) -> None:
        self.tel = tel
        self._origins = Origins(tel, profile=profile, agent=agent)
        self._endings = Endings(domain_errors)
        self._open = OpenCalls(tel)

    @contained
    def on_tool_start(
        self,
        serialized: Mapping[str, Any] | None,
        input_str: str,  # noqa: ARG002 - the framework's signature
        *,
        run_id: UUID,
        metadata: Mapping[str, Any] | None = None,
        inputs: object = None,
        tool_call_id: str | None = None,
        **_: Any,
    ) -> None:
        """Begin the call, or record that there is no such tool."""
        name = (serialized or {}).get("name") or ""
        arguments = inputs if isinstance(inputs, Mapping) else {}
        known = metadata or {}
        session = self._origins.session(self._origins.run({"configurable": known, "metadata": known}, None))
        if name == _INVALID and _REQUESTED in arguments:
            self.tel.not_found(arguments[_REQUESTED], call_id=tool_call_id, session=session)
        elif not self._is_told(name):
            self._open.add(run_id, self.tel.observe(name, arguments, call_id=tool_call_id, session=session))

    @contained
    def on_tool_end(self, output: object, *, run_id: UUID, **_: Any) -> None:
        """End the call with its result."""
        call = self._open.take(run_id)
        if call is not None:
            ran = Witness(self.tel)
            ran.started = True
            self._endings.by_output(call, Asked(None, {}), output, ran)

    @contained
    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """End the call with what was raised."""
        call = self._open.take(run_id)
        if call is not None:
            self._endings.by_error(call, Asked(None, {}), error, rejected=was_rejected(error))

    def _is_told(self, name: str) -> bool:
        around = current_call()
        if around is None or not around.observed:
            return False
        alias = self.tel.catalog.aliases.get(name)
        return around.tool.name == (alias.tool if alias is not None else name)
