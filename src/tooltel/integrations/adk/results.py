"""What a result of google-adk's says of its call: a tool's own, or one that ADK gives in the tool's place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from tooltel.outcome import OK, Fault, judge_result
from tooltel.signals import ERROR_TOOL, POLICY_CONFIRMATION, Status

if TYPE_CHECKING:
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.tool_context import ToolContext

    from tooltel.observed import Observed

# FunctionTool answers the model itself where the arguments do not fit, in these words alone (1.18 to 2.13).
_MISSING: Final = (
    "the following mandatory input parameters are not present:\n",
    "\nYou could retry calling this tool, but it is IMPORTANT for you to provide all the mandatory parameters.",
)
# With ADK_ENABLE_FUNCTION_TOOL_ARG_VALIDATION=1.
_MISFIT: Final = (
    "due to argument validation errors:\n",
    "\nYou could retry calling this tool with corrected argument types.",
)
_MISFIT_FIELD: Final = re.compile(r"^Parameter '([^'\n]*)': expected type '(.*?)', validation error", re.MULTILINE)
# Where calls of the tool need a person's approval.
_PENDING: Final = {"error": "This tool call requires confirmation, please approve or reject."}
_DISAPPROVED: Final = {"error": "This tool call is rejected."}


def conclude(call: Observed, tool: BaseTool, tool_context: ToolContext, result: Any) -> None:
    """End *call* as *result* says, which the model is going to see."""
    if not (isinstance(result, (dict, Mapping)) and result.get("error")):  # dict first: an abstract class asks longer
        call.finish(result)
    elif (faults := _faults(tool.name, result)) is not None:
        call.reject(faults)
    elif result == _PENDING and tool_context.actions.requested_tool_confirmations:
        call.put_off()  # once it is approved, ADK makes it anew
    elif result == _DISAPPROVED and tool_context.tool_confirmation is not None:
        call.refuse(POLICY_CONFIRMATION)
    elif call.tool.result_shape and judge_result(result) is OK:
        call.conclude(Status.ERROR, ERROR_TOOL)  # as ADK's own telemetry takes it
    else:
        call.finish(result)


def conclude_error(call: Observed, tool: BaseTool, error: BaseException) -> None:
    """End *call* with what was raised in it."""
    schema = getattr(getattr(tool, "agent", None), "input_schema", None)
    if isinstance(error, ValidationError) and schema is not None and error.title == schema.__name__:
        # An agent as a tool: its arguments are validated before it runs.
        call.reject([Fault(_field(problem["loc"]), str(problem["msg"])) for problem in error.errors()])
    else:
        call.fail(error)


def response_in(event: Any, call_id: str | None) -> Any:
    """The response to call *call_id* that ADK made an event of; None where *event* holds none."""
    parts = getattr(getattr(event, "content", None), "parts", None) or ()
    responses = [part.function_response for part in parts if part.function_response is not None]
    return next((response.response for response in responses if response.id == call_id), None)


def _faults(name: str, result: Mapping[str, Any]) -> list[Fault] | None:
    text = result.get("error")
    if len(result) != 1 or not isinstance(text, str):
        return None
    if (listed := _between(text, f"Invoking `{name}()` failed as " + _MISSING[0], _MISSING[1])) is not None:
        return [Fault(field, "is missing") for field in listed.split("\n")]
    if (listed := _between(text, f"Invoking `{name}()` failed " + _MISFIT[0], _MISFIT[1])) is not None:
        return [Fault(field, "does not fit", kind) for field, kind in _MISFIT_FIELD.findall(listed)]
    return None


def _between(text: str, start: str, end: str) -> str | None:
    if text.startswith(start) and text.endswith(end):
        return text[len(start) : len(text) - len(end)]
    return None


def _field(location: tuple[int | str, ...]) -> str:
    return str(location[0]) if location else ""
