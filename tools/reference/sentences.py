"""
What the tables of the code do not say of themselves: one sentence for each attribute, event, label value and key.

A name without a sentence, and a sentence without a name, fail the rendering: neither can be forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tooltel import signals
from tooltel.catalog import HouseRules, McpServer, Owner, Profile, Signature, Source, Tool
from tooltel.signals import Event, ItemStatus, Reason, RejectionKind, RejectionSource, Risk, SkipCause, Status

# attribute -> (when it is set, what it says)
ATTRIBUTES: Final[Mapping[str, tuple[str, str]]] = MappingProxyType({
    signals.OPERATION_NAME: ("start", f"Always `{signals.EXECUTE_TOOL}`."),
    signals.TOOL_NAME: (
        "start", "The tool; for a call that reached none, the name that was asked for, cleaned and cut."
    ),
    signals.TOOL_TYPE: ("start", f"Always `{signals.TOOL_TYPE_FUNCTION}`."),
    signals.TOOL_CALL_ID: ("start, when known", "The id that the model or the framework gave the call."),
    signals.AGENT_NAME: ("start, when known", "The agent that calls."),
    signals.CONVERSATION_ID: ("start, when known", "The session's id."),
    signals.OWNER: ("start", "The team that answers for the tool."),
    signals.VERSION: ("start", "The tool's version."),
    signals.RISK: ("start", "How much harm a wrong call can do."),
    signals.PROFILE: ("start", "The profile of the session."),
    signals.OUTCOME: ("when it settles", "How the call ended; never set before."),
    signals.ERROR_TYPE: (
        "when it settles", "What went wrong: an exception's class, or a word such as `timeout`. Absent on success."
    ),
    signals.ALIAS: ("start", "The old name that was called; absent where the tool's own name was."),
    signals.STREAM_LIFE: (
        "when it settles", "Seconds from a stream's first item to its last, the reader's time included."
    ),
    signals.CALL_ARGUMENTS: ("start, opt-in", "The arguments, redacted and bounded."),
    signals.CALL_RESULT: ("when it settles, opt-in", "The result, redacted and bounded."),
})  # fmt: skip

# event -> (level, keys beside those of the span, what it says)
EVENTS: Final[Mapping[Event, tuple[str, tuple[str, ...], str]]] = MappingProxyType({
    Event.TOOL_CALL: (
        "debug when it went well, else warning", (signals.KEY_SECONDS,), "A call settled. See `TOOLTEL_LOG_CALLS`."
    ),
    Event.TOOL_NOT_FOUND: (
        "warning", (signals.KEY_REQUESTED, signals.KEY_REASON, signals.KEY_NEAREST),
        "A model asked for a name that is no tool of its profile.",
    ),
    Event.TOOL_ALIAS_CALLED: ("info", (), "A call used an old name of a tool."),
    Event.TOOL_REJECTED: (
        "warning", (signals.KEY_KIND, signals.KEY_SOURCE, signals.KEY_FAULTS),
        "Arguments were rejected; the faults name each argument and what is wrong with it.",
    ),
    Event.TOOL_REFUSED: ("warning", (signals.KEY_POLICY,), "A policy refused a call."),
    Event.TOOL_CALL_REPEATED: (
        "warning", (signals.KEY_FIRST_SEEN,),
        "An equal write or irreversible call was made again in one session; the key says how many seconds after.",
    ),
    Event.TOOL_RESULT_PARTIAL: ("warning", (signals.KEY_ITEMS,), "A batch was done in part; the key counts its items."),
    Event.TOOLS_OFFERED: (
        "info", (signals.KEY_TOOLS,), "The tools that a session's model was offered; once per change."
    ),
    Event.CATALOG_RELOADED: ("info", (signals.KEY_SHA, signals.KEY_TOOLS), "A new catalog is in use."),
    Event.CATALOG_RELOAD_FAILED: (
        "error", (signals.KEY_PROBLEMS,), "The old catalog stays in use, because of these problems."
    ),
    Event.CATALOG_PROBLEM: (
        "warning", (signals.KEY_PROBLEM,), "Something is wrong in the catalog that does not stop the process."
    ),
    Event.DECLARATION_CHANGED: (
        "warning", (signals.KEY_SHA,), "The model is shown another declaration of a tool under the same version."
    ),
    Event.TELEMETRY_ERROR: (
        "error", (signals.KEY_COMPONENT, signals.KEY_PROBLEM, signals.KEY_SUPPRESSED),
        "Something inside tooltel failed and was kept away from the tools; at most once a minute per part.",
    ),
})  # fmt: skip

WAITING_EVENTS: Final = frozenset({Event.MCP_DRIFT})  # named in the table, written by no code yet

# label -> value -> what it says
LABEL_VALUES: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType({
    "risk": {
        Risk.READ: "Changes nothing.",
        Risk.WRITE: "Changes something that can be changed back.",
        Risk.IRREVERSIBLE: "Cannot be undone: money, messages, deletion.",
        signals.UNKNOWN_RISK: "The catalog does not hold the tool.",
    },
    "outcome": {
        Status.OK: "It did what it was asked to.",
        Status.PARTIAL: "Some of a batch's items are done.",
        Status.REPLAYED: "An earlier result was returned again, and nothing was done twice.",
        Status.INVALID_ARGUMENTS: "The arguments were wrong. Neutral to the error budget.",
        Status.REFUSED: "A policy said no. Neutral to the error budget.",
        Status.ERROR: "It failed. Burns the error budget.",
        Status.TIMEOUT: "It took too long. Burns the error budget.",
        Status.CANCELLED: "It was called off. Neutral to the error budget.",
        Status.ABANDONED: "The reader of a stream went away. Neutral to the error budget.",
        Status.NOT_FOUND: "It reached no tool: only in logs and spans, the metric of such calls is one of its own.",
    },
    "reason": {
        Reason.RENAMED: "An old name: `retired`, or an alias that nothing answers to.",
        Reason.NOT_IN_PROFILE: "A tool of the catalog that this profile does not have.",
        Reason.UNKNOWN: "The model made the name up.",
        Reason.EMPTY: "No name at all.",
    },
    "kind": {
        RejectionKind.STRUCTURAL: "They do not match the published schema.",
        RejectionKind.DOMAIN: "They are well-formed, and the tool cannot accept them.",
    },
    "source": {
        RejectionSource.FRAMEWORK: "Python's own argument binding, or the agent's framework.",
        RejectionSource.SCHEMA: "tooltel's own check of the raw arguments against the schema that the model was shown.",
        RejectionSource.TOOL: "The tool: `tooltel.Rejected`, or a result that says so.",
    },
    "status": {
        ItemStatus.OK: "Done.",
        ItemStatus.FAILED: "Not done.",
        ItemStatus.COMPENSATED: "Done, and undone again.",
        ItemStatus.OUTSTANDING: "Nobody knows yet: somebody has to finish it.",
    },
    "cause": {
        SkipCause.TOO_LONG: "Over the limit of a line, or of a record in pieces.",
        SkipCause.MALFORMED: "Looks like JSON, and is none.",
        SkipCause.UNFINISHED: "Pieces of a record whose end never came.",
    },
    "error_type": {
        signals.ERROR_TIMEOUT: "It took too long.",
        signals.ERROR_INVALID: "The arguments were wrong.",
        signals.ERROR_REFUSED: "A policy said no.",
        signals.ERROR_TOOL: "The tool answered that it failed, and raised nothing.",
        signals.ERROR_OUTPUT: "The result is not of the schema that the tool declared for it.",
        signals.ERROR_CANCELLED: "It was called off.",
        signals.ERROR_ABANDONED: "The reader of a stream went away.",
        signals.ERROR_NOT_FOUND: "It reached no tool: on spans and in logs only.",
        signals.OTHER: "One of more than 50 exception classes of one tool.",
    },
    "policy": {
        signals.POLICY_CONFIRMATION: "A person was asked, and said no.",
        signals.POLICY_AUTHORIZATION: "Whoever called may not.",
        signals.POLICY_MIDDLEWARE: "Another part of the agent answered in the tool's place, with an error.",
        signals.POLICY_FILTER: "The host did not offer the tool to the model in this turn.",
        signals.OTHER: "One of more than 50 policies of one tool.",
    },
    "profile": {
        signals.NO_PROFILE: "A call outside any session, in a process without a default profile.",
        signals.OTHER: "A profile that the catalog does not hold.",
    },
    "owner": {signals.UNOWNED: "A tool that the catalog does not hold."},
    "requested": {signals.OTHER: "A name that is not known: it is in the log and on the span, never on a label."},
})  # fmt: skip

CATALOG: Final[Mapping[str, str]] = MappingProxyType(
    {
        "session_retention": "An alias may go after no calls for longer than this.",
        "platform_owner": "Who gets what has no owner. Rendering needs one, with a `page` receiver.",
        "security_owner": "Who is told of refused irreversible calls; without one, the platform's owner.",
    }
)

NOUNS: Final[Mapping[type, Mapping[str, str]]] = MappingProxyType(
    {
        HouseRules: {
            "name_pattern": "What tools are called: a regular expression of Python's. A house rule.",
            "description_min_chars": "Shortest description of a tool. A house rule.",
            "budget_chars": "Characters that the declarations of all tools together may take. A house rule.",
            "levels": "A broken house rule is `error`, `warn` or `off`, by `name_pattern`, `description`, `budget`.",
        },
        Owner: {
            "page": "Receiver of pages, as Alertmanager has it, without a name; without one, the platform owner's.",
            "ticket": "Receiver of tickets; without one, the page's.",
            "digest": "Receiver of housekeeping; without one, the ticket's.",
        },
        Profile: {
            "owner": "Who answers for what these agents are offered.",
            "budget_chars": "Characters that its declarations may take.",
        },
        Tool: {
            "owner": "The team that is paged.",
            "risk": "`read`, `write` or `irreversible`.",
            "version": "Raised with every change of what the model is shown.",
            "profiles": "The profiles that may see it.",
            "description": "What the model is told; left out, the function's docstring.",
            "aliases": "Old names that still work.",
            "retired": "Old names that no longer do: a call to one is a rename, not an invention.",
            "objective": "Promised share of calls without error, 0.95 to 0.9999; without one, no page for errors.",
            "latency_bound": "Seconds that a call may take: one of the histogram's bounds.",
            "repeatable": "Whether an equal call made twice is fine; left out, only for `read`.",
            "result_shape": "Whether return values may be read for their outcome.",
            "alerts": "Options of single alerts for this tool, by alert: see [alerts](alerts.md).",
        },
        McpServer: {
            "owner": "Who answers for the server.",
            "version": "The exact version that is allowed.",
            "allow": "The tools that it may offer.",
        },
        Source: {
            "files": "Paths or globs.",
            "format": "`auto`, `text`, `json`, `docker` or `cri`.",
            "profile": "Whose sessions the lines are about. Without it `not_in_profile` cannot be told.",
            "framework": "Whose lines they are: only its signatures count.",
            "plugin": "true: a plug-in in that process already counts what its framework logs.",
        },
        Signature: {
            "moment": "What such a line tells of: an outcome, such as `not_found`.",
            "pattern": "A regular expression of Python's; the group `name` is the tool.",
            "logger": "Only lines of this logger.",
            "level": "Only lines of this level.",
        },
    }
)

RENDER: Final[Mapping[str, str]] = MappingProxyType(
    {
        "labels": "Labels that every rule gets.",
        "selector": "Matchers that every query gets.",
        "cluster_label": "A label that every sum keeps apart, such as `cluster`.",
        "job": "The scrape job's name.",
        "dashboards_url": "Where Grafana is.",
        "runbooks_url": "Where the runbooks are; `/ToolSilent.md` is added.",
        "group_interval": "How often rules are evaluated, at most 4m.",
        "alert_prefix": "What alert names begin with.",
        "prometheus_version": "Oldest Prometheus that reads the rules.",
        "alertmanager_version": "Oldest Alertmanager that reads the routes; receivers are held against its fields.",
        "retention": "How long Prometheus keeps data; longer than `session_retention`.",
        "deadman": "Receiver of the dead-man's switch.",
        "alertmanager": "`global` and `templates`, passed on to Alertmanager.",
        "alerts": "Options of single alerts for all tools, by alert: see [alerts](alerts.md).",
    }
)

ALERT_OPTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "threshold": "What the measured value is compared with.",
        "ratio": "The share of calls, or of targets.",
        "minimum": "Number of events below which nothing is said.",
        "window": "How far it looks back, 5m to 30d.",
        "for": "How long it must hold.",
        "keep_firing_for": "How long it fires on after.",
        "severity": "`page`, `ticket` or `info`.",
        "enabled": "false: no rule at all.",
    }
)
