"""
What each framework's plug-in sees, what it cannot see, and why: one row per framework and moment.

The tests of a plug-in read their expectations here, and the table in the README is made from it, so that it says what
was proven. Each framework's rows stand together and name every moment.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping


class Moment(StrEnum):
    """Something that happens between a model and its tools."""

    CALL = "a call that succeeds"
    UNKNOWN = "a name that the model made up"
    EMPTY = "an empty name"
    NEAR_MISS = "a name that is nearly right"
    HOSTILE = "a name with newlines, control characters or thousands of characters"
    COERCED = 'a string where a number belongs ("10")'
    MISTYPED = 'a value that cannot be coerced ("ten")'
    MISSING = "a required argument left out"
    EXTRA = "an argument that the tool does not have"
    WRONG_CASE = "an enum value in the wrong case"
    NULL = "an explicit null"
    MALFORMED = "arguments that are not JSON"
    DOMAIN = "a rejection by the tool itself"
    REFUSED = "a refusal by a policy"
    CRASH = "a crash of the tool"
    TIMEOUT = "a time-out"
    CANCELLED = "a cancelled call"
    PARALLEL = "parallel calls"
    ALIAS = "an old name that still works"
    STREAM = "calls of a streaming run"
    DECLARATIONS = "the declarations that the model was sent"
    SESSION = "the conversation's id"
    AGENT = "the agent's name"
    CALL_ID = "the call's id"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """
    One moment in one framework.

    `seen` promises that it is counted as what it is. `how` says in a sentence where the plug-in sees it, and what it
    is recorded as; `why_not` why it is not seen, where it is not. `versions` are those that the tests ran with.
    """

    framework: str
    moment: Moment
    seen: bool
    how: str
    why_not: str
    versions: tuple[str, ...]


class Unseen(str):
    """Why a moment is not seen."""

    __slots__ = ()


def _rows(framework: str, versions: tuple[str, ...], moments: Mapping[Moment, str]) -> tuple[Row, ...]:
    return tuple(
        Row(
            framework=framework,
            moment=moment,
            seen=not isinstance(sentence, Unseen),
            how="" if isinstance(sentence, Unseen) else sentence,
            why_not=str(sentence) if isinstance(sentence, Unseen) else "",
            versions=versions,
        )
        for moment, sentence in moments.items()
    )


_RUNS_ANYWAY: Final = "and the tool runs: its arguments were not checked against the schema; "
_VALIDATION: Final = "ADK_ENABLE_FUNCTION_TOOL_ARG_VALIDATION=1 (2.x) makes ADK check them"
_IN_RESPONSE: Final = "each call of a response has callbacks of its own"
ADK: Final = _rows(
    "google-adk",
    ("1.18.0", "2.8.0", "2.13.0"),
    {
        Moment.CALL: "before_tool_callback and after_tool_callback: judged by the shape of the result",
        Moment.UNKNOWN: "before_tool_callback with a placeholder (2.9 and later), on_tool_error_callback (before)",
        Moment.EMPTY: "as an unknown name, with the reason `empty`",
        Moment.NEAR_MISS: "as an unknown name; the log names the nearest tool",
        Moment.HOSTILE: "as an unknown name; cleaned and cut in logs, cut on spans, never a label",
        Moment.COERCED: Unseen(f"ADK hands the string on {_RUNS_ANYWAY}{_VALIDATION}, and it converts the string"),
        Moment.MISTYPED: Unseen(f"ADK hands the value on {_RUNS_ANYWAY}{_VALIDATION}, and then the rejection is seen"),
        Moment.MISSING: "after_tool_callback: ADK's own answer in the tool's place, recognized by its words",
        Moment.EXTRA: Unseen(f"ADK drops the argument in silence {_RUNS_ANYWAY}no setting tells of it"),
        Moment.WRONG_CASE: Unseen(
            f"ADK hands the value on {_RUNS_ANYWAY}{_VALIDATION}, and then the rejection is seen"
        ),
        Moment.NULL: Unseen(f"ADK hands the null on {_RUNS_ANYWAY}{_VALIDATION}, and then the rejection is seen"),
        Moment.MALFORMED: Unseen("the model's client parses the arguments, and fails before ADK has a call at all"),
        Moment.DOMAIN: "tooltel.Rejected in on_tool_error_callback, or a result with status and errors",
        Moment.REFUSED: "tooltel.Refused, a result with status and policy, or a confirmation that a person denied",
        Moment.CRASH: "on_tool_error_callback with the exception; a result with `error` is one too, as in ADK's spans",
        Moment.TIMEOUT: "on_tool_error_callback with a TimeoutError",
        Moment.CANCELLED: "on_tool_error_callback (2.9 and later), or the end of the call's task (before)",
        Moment.PARALLEL: f"{_IN_RESPONSE}, and a task of its own",
        Moment.ALIAS: "a tool under its old name, or with redirect_aliases=True any alias whose tool is offered",
        Moment.STREAM: f"{_IN_RESPONSE}, in streaming mode too; not in bidirectional (live) runs before 2.0",
        Moment.DECLARATIONS: "before_model_callback: the function declarations of the request",
        Moment.SESSION: "the id of ADK's session, or of the block around the run",
        Moment.AGENT: "the name of the agent that calls, sub-agents and agent tools included",
        Moment.CALL_ID: "the id of the function call, ADK's own where the model gave none",
    },
)

_ARGUMENTS: Final = "on_tool_validate_error: a structural rejection, with the arguments that pydantic names"
PYDANTIC_AI: Final = _rows(
    "pydantic-ai",
    ("1.71.0", "1.107.10", "2.0.0", "2.68.0"),
    {
        Moment.CALL: "wrap_tool_execute: judged by the shape of the result",
        Moment.UNKNOWN: "after_model_request: the names in the response, against the tools of the request",
        Moment.EMPTY: "as an unknown name, with the reason `empty`",
        Moment.NEAR_MISS: "as an unknown name; the log names the nearest tool",
        Moment.HOSTILE: "as an unknown name; cleaned and cut in logs and on spans, never a label",
        Moment.COERCED: Unseen(
            "pydantic converts the string, and the tool runs: no hook tells of it; "
            "the raw arguments are handed in, for the check against the schema"
        ),
        Moment.MISTYPED: _ARGUMENTS,
        Moment.MISSING: _ARGUMENTS,
        Moment.EXTRA: _ARGUMENTS,
        Moment.WRONG_CASE: _ARGUMENTS,
        Moment.NULL: _ARGUMENTS,
        Moment.MALFORMED: "on_tool_validate_error: a structural rejection that names no argument",
        Moment.DOMAIN: "ModelRetry of a tool or its args_validator, tooltel.Rejected, or a result with errors",
        Moment.REFUSED: "tooltel.Refused, a result with status and policy, or an approval that a person denied "
        "(told by after_node_run, which a bare `async for` over the nodes calls since 2.2x only)",
        Moment.CRASH: "wrap_tool_execute with the exception, which ends the run; calls beside it are cancelled",
        Moment.TIMEOUT: "a TimeoutError, also where the framework made a retry of it (`Tool(timeout=...)`)",
        Moment.CANCELLED: "wrap_tool_execute with the cancellation; a call that the tool puts off counts as cancelled",
        Moment.PARALLEL: "each call of a response has hooks of its own, and a task of its own",
        Moment.ALIAS: "a tool under its old name, or with redirect_aliases=True any alias whose tool is offered",
        Moment.STREAM: "the same hooks: run_stream, event_stream_handler and iter; not in realtime sessions",
        Moment.DECLARATIONS: "after_model_request: the function and output tools of the request",
        Moment.SESSION: "the conversation's id (before 1.89 the run's), or that of the block around the run",
        Moment.AGENT: "the name of the agent that calls, sub-agents included; before 1.76 as told by agent=",
        Moment.CALL_ID: "the id of the tool call, pydantic-ai's own where the model gave none",
    },
)

_BY_WITNESS: Final = "a structural rejection, with the arguments that pydantic names, by a callback beside the host's"
_NO_HOOK: Final = "no hook tells of it; the raw arguments are handed in, for the check against the schema"
_LANGGRAPH: Final[Mapping[Moment, str]] = {
    Moment.CALL: "wrap_tool_call and awrap_tool_call: judged by the shape of the result, where its message is JSON",
    Moment.UNKNOWN: "wrap_tool_call with no tool, and no tool ran",
    Moment.EMPTY: "as an unknown name, with the reason `empty`",
    Moment.NEAR_MISS: "as an unknown name; the log names the nearest tool",
    Moment.HOSTILE: "as an unknown name; cleaned and cut in logs and on spans, never a label",
    Moment.COERCED: Unseen(f"pydantic converts the string, and the tool runs: {_NO_HOOK}"),
    Moment.MISTYPED: _BY_WITNESS,
    Moment.MISSING: _BY_WITNESS,
    Moment.EXTRA: Unseen(f"langchain-core drops the argument in silence, and the tool runs: {_NO_HOOK}"),
    Moment.WRONG_CASE: _BY_WITNESS,
    Moment.NULL: _BY_WITNESS,
    Moment.MALFORMED: Unseen("such a call is kept apart in the model's message, and never reaches a ToolNode"),
    Moment.DOMAIN: "ToolException, handled or not, tooltel.Rejected, or a result with status and errors",
    Moment.REFUSED: "tooltel.Refused, or a result with status and policy",
    Moment.CRASH: "the exception itself, also where the ToolNode makes a message of it; a message with status error",
    Moment.TIMEOUT: "a TimeoutError of the tool's; a step_timeout of the graph is seen as a cancellation",
    Moment.CANCELLED: "awrap_tool_call with the cancellation; a call that an interrupt puts off counts as cancelled",
    Moment.PARALLEL: "each call of a message is wrapped by itself, in a thread or a task of its own",
    Moment.ALIAS: "a tool under its old name, or with redirect_aliases=True any alias whose tool the ToolNode has "
    "(langgraph-prebuilt 1.0.12 and later)",
    Moment.STREAM: "the same hooks, whatever is streamed",
    Moment.DECLARATIONS: Unseen("a ToolNode has no part in the request to the model; hand them to tel.declared"),
    Moment.SESSION: "the config's thread_id, or the id of the block around the run",
    Moment.AGENT: "the name that the agent was made with, or as told by agent=",
    Moment.CALL_ID: "the id of the tool call",
}
LANGGRAPH: Final = _rows("langgraph", ("1.0.0", "1.0.8", "1.2.24"), _LANGGRAPH)
LANGCHAIN: Final = _rows(
    "langchain",
    ("1.0.0", "1.2.6", "1.5.2"),
    {
        **_LANGGRAPH,
        Moment.UNKNOWN: "wrap_tool_call with no tool, and no tool ran; an agent without any tools ends in silence "
        "before 1.2.7, and nothing is seen",
        Moment.MALFORMED: "wrap_model_call: the invalid_tool_calls of the answer, a structural rejection or a drop; "
        "JSON that breaks off in a streamed answer is completed by langchain-core, and the tool runs",
        Moment.REFUSED: "tooltel.Refused, a result with status and policy, another middleware that answers in the "
        "tool's place, or a person who denied (told when the model is asked next; a run that ends there tells nothing)",
        Moment.ALIAS: "a tool under its old name, or with redirect_aliases=True any alias whose tool the agent has",
        Moment.DECLARATIONS: "the tools that the chat model is called with, after every middleware's say",
        Moment.AGENT: "the name that create_agent was given, sub-agents included; before 1.2 as told by agent=",
    },
)

_BY_TOOL_CALL: Final = "the tool object's own verdict: a structural rejection, with the arguments that pydantic names"
ANTHROPIC: Final = _rows(
    "anthropic",
    ("0.68.0", "0.125.0", "2.14.0"),
    {
        Moment.CALL: "around the tool object's `call`, as the runner has no hook",
        Moment.UNKNOWN: "the names in each message that the runner gives, against the tools that it was given",
        Moment.EMPTY: "as an unknown name, with the reason `empty`",
        Moment.NEAR_MISS: "as an unknown name; the log names the nearest tool",
        Moment.HOSTILE: "as an unknown name; cleaned and cut in logs and on spans, never a label",
        Moment.COERCED: Unseen(
            "pydantic converts the string, and the tool runs: nothing tells of it; "
            "the raw arguments are handed in, for the check against the schema"
        ),
        Moment.MISTYPED: _BY_TOOL_CALL,
        Moment.MISSING: _BY_TOOL_CALL,
        Moment.EXTRA: _BY_TOOL_CALL,
        Moment.WRONG_CASE: _BY_TOOL_CALL,
        Moment.NULL: _BY_TOOL_CALL,
        Moment.MALFORMED: Unseen(
            "the API gives arguments as data; where they break off in a stream, reading it fails, and there is no call"
        ),
        Moment.DOMAIN: "ToolError (0.84 and later) or tooltel.Rejected, raised by the tool",
        Moment.REFUSED: "tooltel.Refused, raised by the tool; the runner has no policies of its own",
        Moment.CRASH: "the exception itself; a ValidationError of the tool's own is told from one of its arguments",
        Moment.TIMEOUT: "a TimeoutError of the tool's; the runner sets no limit",
        Moment.CANCELLED: "asynchronous runners: the cancellation, around the tool object's `call`",
        Moment.PARALLEL: "each call of a message by itself; the runner makes them one after the other",
        Moment.ALIAS: "a tool given a second time under its old name; else an old name is a drop, told as a rename",
        Moment.STREAM: "streaming runners too; names in a stream once the host went on from it",
        Moment.DECLARATIONS: "the tools of the runner, as they turn into the request, and tools added or removed later",
        Moment.SESSION: "as told by conversation_id=, by the client for its spans, or by the block around the run",
        Moment.AGENT: "as told by agent=, or that of the block around the run",
        Moment.CALL_ID: "the id of the tool_use block",
    },
)

_BY_SDK: Final = (
    "the SDK's verdict, before it is made text for the model: a structural rejection, with the arguments that pydantic "
    "names, or where the SDK hides its words (its default, later) those that do not match the schema"
)
_CONVERTS: Final = "nothing tells of it; the raw arguments are handed in, for the check against the schema"
OPENAI_AGENTS: Final = _rows(
    "openai-agents",
    ("0.10.4", "0.24.0"),
    {
        Moment.CALL: "around what the tool's invoker runs: judged by the shape of the result",
        Moment.UNKNOWN: "on_llm_end: the names in the answer, against the tools and handoffs of the turn; "
        "calls beside one in the same answer never happen, unless the run is to go on",
        Moment.EMPTY: "as an unknown name, with the reason `empty`",
        Moment.NEAR_MISS: "as an unknown name; the log names the nearest tool",
        Moment.HOSTILE: "as an unknown name; cleaned and cut in logs and on spans, never a label",
        Moment.COERCED: Unseen(f"pydantic converts the string, and the tool runs: {_CONVERTS}"),
        Moment.MISTYPED: _BY_SDK,
        Moment.MISSING: _BY_SDK,
        Moment.EXTRA: Unseen(f"pydantic drops the argument in silence, and the tool runs: {_CONVERTS}"),
        Moment.WRONG_CASE: _BY_SDK,
        Moment.NULL: _BY_SDK,
        Moment.MALFORMED: "the SDK's verdict: a structural rejection that names no argument",
        Moment.DOMAIN: "tooltel.Rejected raised by the tool, or a result with status and errors",
        Moment.REFUSED: "tooltel.Refused, a result with status and policy, a tool's input guardrail (the policy is its "
        "name), or an approval that a person denied (told when the model is asked next)",
        Moment.CRASH: "the exception itself, whatever the SDK makes of it for the model",
        Moment.TIMEOUT: "a TimeoutError of the tool's, or the SDK's own limit (`function_tool(timeout=...)`)",
        Moment.CANCELLED: "the cancellation, in the task that runs the tool; an agent as a tool in which a call waits "
        "for a person counts as cancelled",
        Moment.PARALLEL: "each call of an answer by itself, in a task of its own",
        Moment.ALIAS: "a tool given a second time under its old name; the SDK has no place to redirect a call, "
        "so that else an old name is a drop, told as a rename",
        Moment.STREAM: "the same, with run_streamed",
        Moment.DECLARATIONS: "on_llm_start: the tools and handoffs of the turn, those of MCP servers included",
        Moment.SESSION: "run(): the id of the SDK's session or conversation; else the run's group_id, "
        "or that of the block around the run",
        Moment.AGENT: "the name of the agent that calls, after a handoff too; of an agent that is a tool, where "
        "watch(agent).as_tool() made it one",
        Moment.CALL_ID: "the id of the function call",
    },
)

_NO_PROGRESS: Final = "a result comes whole, over streamable HTTP too; notifications of progress are no part of it"
_NO_CALL_ID: Final = Unseen("MCP has no place for the model's call id; the ids of requests only number a connection's")
_NOT_JSON: Final = Unseen("MCP takes arguments as data: whoever read the model's text has failed before")
_COERCED_IN_SERVER: Final = Unseen(
    "a server of functions turns the string into a number in silence; a low-level one of 1.x checks the schema"
)
_DROPPED_IN_SERVER: Final = Unseen(
    "a server of functions drops the argument in silence; a low-level one of 1.x checks the schema"
)
_ALIAS_UNKNOWN_THERE: Final = "an old name that works, or with redirect_aliases=True any alias unknown to the server"
_AS_ANSWERED: Final = "an answer with isError has no field for its cause; "
MCP_SERVER: Final = _rows(
    "mcp (server)",
    ("1.10.0", "1.30.0", "2.0.0", "2.3.0"),
    {
        Moment.CALL: "middleware (2.x) or the request handler (1.x): judged by the shape of the structured content",
        Moment.UNKNOWN: "the server's own error, known by its words and the very name that was asked for",
        Moment.EMPTY: "as an unknown name, with the reason `empty`",
        Moment.NEAR_MISS: "as an unknown name; the log names the nearest tool",
        Moment.HOSTILE: "as an unknown name; cleaned and cut in logs, cut on spans of ours, never a label",
        Moment.COERCED: _COERCED_IN_SERVER,
        Moment.MISTYPED: "pydantic's error behind the server's, or what the server says of the schema",
        Moment.MISSING: "pydantic's error behind the server's, or what the server says of the schema",
        Moment.EXTRA: _DROPPED_IN_SERVER,
        Moment.WRONG_CASE: "pydantic's error behind the server's, or what the server says of the schema",
        Moment.NULL: "pydantic's error behind the server's, or what the server says of the schema",
        Moment.MALFORMED: _NOT_JSON,
        Moment.DOMAIN: "a ToolError or tooltel.Rejected of the function's, or a result with status and errors",
        Moment.REFUSED: "tooltel.Refused, a result with status and policy, or other middleware's error (2.x)",
        Moment.CRASH: "the exception behind the server's error",
        Moment.TIMEOUT: "a TimeoutError behind the server's error",
        Moment.CANCELLED: "the end of the request's task, once the client has said that it gives the call up",
        Moment.PARALLEL: "each request has a context of its own",
        Moment.ALIAS: _ALIAS_UNKNOWN_THERE,
        Moment.STREAM: _NO_PROGRESS,
        Moment.DECLARATIONS: "what `tools/list` is answered with, as far as a client asks",
        Moment.SESSION: "the session that an HTTP request says it is of, or the block around the server",
        Moment.AGENT: Unseen("MCP names the client's software, and no agent: say agent= to watch_server"),
        Moment.CALL_ID: _NO_CALL_ID,
    },
)
MCP_CLIENT: Final = _rows(
    "mcp (client)",
    ("1.10.0", "1.30.0", "2.0.0", "2.3.0"),
    {
        Moment.CALL: "ClientSession.call_tool: judged by the shape of the structured content",
        Moment.UNKNOWN: "the answer's words in the forms of the Python and TypeScript SDKs, or the error -32602",
        Moment.EMPTY: "as an unknown name, with the reason `empty`",
        Moment.NEAR_MISS: "as an unknown name; the log names the nearest tool",
        Moment.HOSTILE: "as an unknown name; cleaned and cut in logs, cut on spans of ours, never a label",
        Moment.COERCED: Unseen("the server turns the string into a number, and its answer does not say so"),
        Moment.MISTYPED: "the answer's words in the forms of the Python and TypeScript SDKs and of fastmcp",
        Moment.MISSING: "the answer's words in the forms of the Python and TypeScript SDKs and of fastmcp",
        Moment.EXTRA: Unseen("the server drops the argument, and its answer does not say so; fastmcp's answers do"),
        Moment.WRONG_CASE: "the answer's words in the forms of the Python and TypeScript SDKs and of fastmcp",
        Moment.NULL: "the answer's words in the forms of the Python and TypeScript SDKs and of fastmcp",
        Moment.MALFORMED: "text that a host hands on unread is a structural rejection, before anything is sent; a host "
        "that reads it has failed before",
        Moment.DOMAIN: Unseen(
            _AS_ANSWERED + "it is recorded as an error, unless structured content has status and errors"
        ),
        Moment.REFUSED: Unseen(
            _AS_ANSWERED + "it is recorded as an error, unless structured content has status and policy"
        ),
        Moment.CRASH: "isError, a JSON-RPC error (by its code), or a result that breaks its output schema",
        Moment.TIMEOUT: Unseen(
            _AS_ANSWERED + "the client's own time limit is seen, and one inside the tool is recorded as an error"
        ),
        Moment.CANCELLED: "the end of the task that waits for the answer",
        Moment.PARALLEL: "each call has a context of its own",
        Moment.ALIAS: _ALIAS_UNKNOWN_THERE,
        Moment.STREAM: _NO_PROGRESS,
        Moment.DECLARATIONS: "what `tools/list` is answered with: of all servers of a profile, what a host can send",
        Moment.SESSION: "the block around the call; the id of MCP's own session numbers connections",
        Moment.AGENT: "the block around the call, or agent=",
        Moment.CALL_ID: _NO_CALL_ID,
    },
)
FASTMCP: Final = _rows(
    "fastmcp",
    ("2.14.0", "3.0.0", "3.4.11", "4.2.3"),
    {
        Moment.CALL: "on_call_tool: judged by the shape of the structured content",
        Moment.UNKNOWN: "NotFoundError in on_call_tool",
        Moment.EMPTY: "as an unknown name, with the reason `empty`",
        Moment.NEAR_MISS: "as an unknown name; the log names the nearest tool",
        Moment.HOSTILE: "as an unknown name; cleaned and cut in logs, cut on spans of ours, never a label",
        Moment.COERCED: Unseen("fastmcp turns the string into a number in silence, unless it validates strictly"),
        Moment.MISTYPED: "ValidationError in on_call_tool; strict validation of 2.x and 3.x rejects before it",
        Moment.MISSING: "ValidationError in on_call_tool",
        Moment.EXTRA: "ValidationError in on_call_tool",
        Moment.WRONG_CASE: "ValidationError in on_call_tool",
        Moment.NULL: "ValidationError in on_call_tool",
        Moment.MALFORMED: _NOT_JSON,
        Moment.DOMAIN: "a ToolError or tooltel.Rejected of the function's, or a result with status and errors",
        Moment.REFUSED: "tooltel.Refused, a result with status and policy, or an AuthorizationError",
        Moment.CRASH: "the exception behind fastmcp's ToolError",
        Moment.TIMEOUT: "a TimeoutError behind fastmcp's ToolError, or the tool's own time limit",
        Moment.CANCELLED: "the end of the request's task, once the client has said that it gives the call up",
        Moment.PARALLEL: "each request has a context of its own",
        Moment.ALIAS: _ALIAS_UNKNOWN_THERE,
        Moment.STREAM: _NO_PROGRESS,
        Moment.DECLARATIONS: "on_list_tools: what a client is listed, as far as it asks",
        Moment.SESSION: "fastmcp's session_id; not over the stateless protocol of 2026-07-28, which 4.x prefers",
        Moment.AGENT: Unseen("MCP names the client's software, and no agent: say agent= to the middleware"),
        Moment.CALL_ID: _NO_CALL_ID,
    },
)

ROWS: Final[tuple[Row, ...]] = (
    *ADK,
    *PYDANTIC_AI,
    *ANTHROPIC,
    *LANGCHAIN,
    *LANGGRAPH,
    *OPENAI_AGENTS,
    *MCP_SERVER,
    *MCP_CLIENT,
    *FASTMCP,
)


def rows_of(framework: str) -> dict[Moment, Row]:
    """The rows of *framework*, by moment."""
    return {row.moment: row for row in ROWS if row.framework == framework}
