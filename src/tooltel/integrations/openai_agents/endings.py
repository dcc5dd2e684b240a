"""How a call ended, as the exceptions tell it that openai-agents turns into text for the model."""

from __future__ import annotations

from traceback import walk_tb
from typing import TYPE_CHECKING, Any, Final

from agents.agent_tool_state import get_agent_tool_state_scope, peek_agent_tool_run_result
from agents.exceptions import ModelBehaviorError
from pydantic import ValidationError

from tooltel.boundary import find_faults, read_arguments
from tooltel.errors import MissingExtraError
from tooltel.integrations.validation import faults_of
from tooltel.outcome import Fault

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tooltel.observed import Observed

# What the SDK says of arguments that do not fit, before the tool runs; the name of the tool and perhaps more follow.
_MISFIT: Final = "Invalid JSON input for tool "
_SDK_AND_OURS: Final = ("agents.", "tooltel.")
_RUN: Final = "agents.run"
_NO_OBJECT: Final = (Fault("", "is no object", "object"),)


def conclude(call: Observed, tool: Any, ctx: Any, result: object) -> None:
    """End *call* of *tool* with what it gave, in that context of the SDK's."""
    asked = getattr(ctx, "tool_call", None)
    if asked is not None and getattr(tool, "_is_agent_tool", False):
        inner = peek_agent_tool_run_result(asked, scope_id=get_agent_tool_state_scope(ctx))
        if getattr(inner, "interruptions", None):  # a call inside waits for a person; then the SDK makes this one anew
            call.put_off()
            return
    call.finish(result)


def conclude_error(call: Observed, arguments: str, schema: Mapping[str, Any], error: BaseException) -> None:
    """End *call* with what was raised in it; *arguments* are the model's text, *schema* what it was shown for it."""
    data, faults = read_arguments(arguments)
    if _is_misfit(error):
        call.reject(faults or _faults(data, schema, error.__cause__))
    elif isinstance(error, TypeError) and not faults and not isinstance(data, dict):
        call.reject(_NO_OBJECT)  # as early versions (0.10) unpack whatever the model wrote
    else:
        call.fail(error)


def _is_misfit(error: BaseException) -> bool:
    """Whether *error* is the SDK's own, of this call: no function of the host's was entered, and no run of an agent."""
    if not isinstance(error, ModelBehaviorError) or not str(error).startswith(_MISFIT):
        return False
    modules = {str(frame.f_globals.get("__name__", "")) for frame, _ in walk_tb(error.__traceback__)}
    return _RUN not in modules and all(module.startswith(_SDK_AND_OURS) for module in modules)


def _faults(data: object, schema: Mapping[str, Any], cause: BaseException | None) -> Sequence[Fault]:
    """What is wrong with the arguments: as pydantic says, or else against the schema that the model was shown."""
    if not isinstance(data, dict):
        return _NO_OBJECT
    if isinstance(cause, ValidationError):
        return faults_of(cause)
    # The SDK hides pydantic's words by default, as they hold what the model wrote (OPENAI_AGENTS_DONT_LOG_TOOL_DATA).
    try:
        return find_faults(data, schema)
    except MissingExtraError:
        return ()
