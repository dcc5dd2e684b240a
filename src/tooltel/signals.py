"""
The one table: every name that leaves the process.

Recorders, processors, expressions, dashboards, rules and reference pages read these rows; nothing else
types a metric, label, attribute or event name. A row that no code emits yet is `waiting`, and what is
generated from the table (panels, alerts, reference) leaves waiting rows out.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from tooltel.errors import SignalError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Kind(StrEnum):
    """What a series is to Prometheus."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    INFO = "info"


class State(StrEnum):
    """Whether the running code writes a row, or a later part of tooltel will."""

    EMITTED = "emitted"
    WAITING = "waiting"
    EXTERNAL = "external"  # somebody else's series, which our expressions query


# --- closed label values -------------------------------------------------------------------------


class Risk(StrEnum):
    """How much harm a wrong call can do."""

    READ = "read"
    WRITE = "write"
    IRREVERSIBLE = "irreversible"


class Status(StrEnum):
    """The one outcome in which a call settles."""

    OK = "ok"
    PARTIAL = "partial"
    REPLAYED = "replayed"
    INVALID_ARGUMENTS = "invalid_arguments"
    REFUSED = "refused"
    ERROR = "error"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    ABANDONED = "abandoned"
    NOT_FOUND = "not_found"

    __hash__ = str.__hash__  # an enum's own is Python code, and every failed call asks several times


class Reason(StrEnum):
    """Why a call reached no tool."""

    RENAMED = "renamed"
    NOT_IN_PROFILE = "not_in_profile"
    UNKNOWN = "unknown"
    EMPTY = "empty"


class RejectionKind(StrEnum):
    """Whether rejected arguments break the published schema, or only the tool's own rules."""

    STRUCTURAL = "structural"
    DOMAIN = "domain"


class RejectionSource(StrEnum):
    """Whose verdict a rejection is."""

    FRAMEWORK = "framework"  # Python's own argument binding, or the agent framework
    SCHEMA = "schema"  # our check of the raw arguments against the declared JSON Schema
    TOOL = "tool"  # tooltel.Rejected, or an unmistakable result


class ItemStatus(StrEnum):
    """What became of one item of a batch."""

    OK = "ok"
    FAILED = "failed"
    COMPENSATED = "compensated"
    OUTSTANDING = "outstanding"


class SkipCause(StrEnum):
    """Why a sidecar could not judge a line."""

    TOO_LONG = "too_long"  # over the limit of a line, or of a record in pieces
    MALFORMED = "malformed"  # looks like JSON and is none
    UNFINISHED = "unfinished"  # pieces of a record whose end never came


OTHER: Final = "other"  # the label value that everything over a bound folds into
NO_PROFILE: Final = "none"  # profile of a call outside any session
UNOWNED: Final = "unowned"  # owner of a tool that the catalog does not hold
UNKNOWN_RISK: Final = "unknown"  # risk of such a tool

BAD: Final = (Status.ERROR, Status.TIMEOUT)  # what burns an error budget
# In neither numerator nor denominator of an error budget: the tool did nothing wrong.
NEUTRAL: Final = (Status.INVALID_ARGUMENTS, Status.REFUSED, Status.CANCELLED, Status.ABANDONED)
BORN_OUTCOMES: Final = (Status.OK, Status.ERROR, Status.TIMEOUT)

# Closed values of the label `error_type`, beside exception class names.
ERROR_TIMEOUT: Final = "timeout"
ERROR_NOT_FOUND: Final = "tool_not_found"
ERROR_INVALID: Final = "invalid_arguments"
ERROR_REFUSED: Final = "refused"
ERROR_TOOL: Final = "tool_error"
ERROR_OUTPUT: Final = "invalid_output"  # the result is not of the schema that the tool declared for it
ERROR_CANCELLED: Final = "cancelled"
ERROR_ABANDONED: Final = "abandoned"

# Values of the label `policy`, beside those that tools name.
POLICY_CONFIRMATION: Final = "confirmation"  # a person was asked, and said no
POLICY_AUTHORIZATION: Final = "authorization"  # whoever called may not
POLICY_MIDDLEWARE: Final = "middleware"  # another part of the agent answered in the tool's place, with an error
POLICY_FILTER: Final = "filter"  # the host did not offer the tool to the model in this turn


class Component(StrEnum):
    """Parts of tooltel whose failures are contained and counted."""

    CALL = "call"
    CLOCK = "clock"
    SPANS = "spans"
    METRICS = "metrics"
    LOGS = "logs"
    RECORDER = "recorder"
    REDACT = "redact"
    REPEATS = "repeats"
    DECLARATIONS = "declarations"
    EXPOSITION = "exposition"
    INTEGRATIONS = "integrations"
    SIDECAR = "sidecar"


# --- metrics ---------------------------------------------------------------------------------------

# No integer bound: OTLP writes le="1" where a scrape writes le="1.0".
BUCKETS: Final = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)


@dataclass(frozen=True, slots=True)
class Metric:
    """
    One row: a family of series.

    `name` is the full name that PromQL uses. `unit` is the base unit of the values. `born` says in words
    for which label values the series exists at 0 before anything happened. `where` is empty for what every process
    shows, and `sidecar` for what only a sidecar does.
    """

    name: str
    kind: Kind
    labels: tuple[str, ...]
    help: str
    unit: str = ""
    born: str = ""
    state: State = State.EMITTED
    multiprocess_mode: str = ""
    where: str = ""

    @property
    def family(self) -> str:
        """The name without the suffix that the exposition format adds."""
        suffix = {Kind.COUNTER: "_total", Kind.INFO: "_info"}.get(self.kind, "")
        return self.name.removesuffix(suffix)

    @property
    def series(self) -> tuple[str, ...]:
        """Every series name of the family, as a scrape shows it."""
        if self.kind is Kind.HISTOGRAM:
            return (f"{self.name}_bucket", f"{self.name}_sum", f"{self.name}_count")
        return (self.name,)


def _row(name: str, kind: Kind, labels: str, help: str, **rest: str | State) -> Metric:  # noqa: A002 - Prometheus' word
    return Metric(name, kind, tuple(labels.split()), help, **rest)  # type: ignore[arg-type]  # kwargs of one dataclass


C, G, H, INFO = Kind.COUNTER, Kind.GAUGE, Kind.HISTOGRAM, Kind.INFO
_W = State.WAITING
_X = State.EXTERNAL

TOOL_CALLS = _row(
    "tooltel_tool_calls_total",
    C,
    "tool owner version risk profile outcome",
    "Tool calls that settled, by outcome.",
    unit="calls",
    born="tools wrapped in this process x (their profiles and none) x ok, error, timeout",
)
DURATION = _row(
    "gen_ai_execute_tool_duration_seconds",
    H,
    "gen_ai_tool_name error_type owner risk",
    "Time that a tool call spent in its own steps.",
    unit="seconds",
)
FIRST_ITEM = _row(
    "tooltel_stream_first_item_seconds",
    H,
    "tool owner",
    "Time that a streaming tool spent in its own steps until its first item.",
    unit="seconds",
)
ACTIVE = _row(
    "tooltel_tool_calls_active",
    G,
    "tool owner",
    "Tool calls running now.",
    unit="calls",
    born="wrapped tools",
    multiprocess_mode="livesum",
)
NOT_FOUND = _row(
    "tooltel_tool_not_found_total",
    C,
    "profile owner reason requested",
    "Calls to a name that is no tool of the profile, by reason.",
    unit="calls",
    born="profiles x (unknown, empty) with other; retired names x their tool's profiles",
)
ALIAS_CALLS = _row(
    "tooltel_alias_calls_total",
    C,
    "alias tool owner",
    "Calls that used an old name of a tool.",
    unit="calls",
    born="aliases",
)
REJECTIONS = _row(
    "tooltel_rejections_total",
    C,
    "tool owner kind source",
    "Calls whose arguments were rejected, once per source.",
    unit="calls",
    born="wrapped tools x (structural/framework, structural/schema, domain/tool)",
)
REJECTED_FIELDS = _row(
    "tooltel_rejected_fields_total",
    C,
    "tool owner kind field",
    "Arguments found wrong in rejected calls.",
    unit="arguments",
)
CORRECTIONS = _row(
    "tooltel_corrections_total",
    C,
    "tool owner corrected",
    "Rejected calls by whether the next try was accepted.",
    unit="calls",
    born="wrapped tools x true, false",
    state=_W,
)
POLICY_REFUSALS = _row(
    "tooltel_policy_refusals_total",
    C,
    "tool owner risk policy",
    "Calls that a policy refused.",
    unit="calls",
)
REPEATED_CALLS = _row(
    "tooltel_repeated_calls_total",
    C,
    "tool owner risk",
    "Write or irreversible calls made again with equal arguments in one session.",
    unit="calls",
    born="wrapped tools that are not read",
)
BATCH_ITEMS = _row(
    "tooltel_batch_items_total",
    C,
    "tool owner status",
    "Items of partial results, by what became of them.",
    unit="items",
    born="wrapped tools x outstanding",
)
DECLARATION_CHARS = _row(
    "tooltel_declaration_chars",
    G,
    "profile owner",
    "Characters of all tool declarations as last sent to the model.",
    unit="chars",
    born="profiles declared",
    multiprocess_mode="mostrecent",
)
DECLARATION_TOKENS = _row(
    "tooltel_declaration_tokens",
    G,
    "profile owner",
    "Tokens of all tool declarations as last sent to the model; only where a token counter was given.",
    unit="tokens",
    multiprocess_mode="mostrecent",
)
DECLARATION_BUDGET = _row(
    "tooltel_declaration_budget_chars",
    G,
    "profile owner",
    "Characters that the declarations of a profile may take.",
    unit="chars",
    born="profiles declared",
    multiprocess_mode="mostrecent",
)
PROFILE_TOOLS = _row(
    "tooltel_profile_tools",
    G,
    "profile owner",
    "Tools that a profile offered to the model, as last declared.",
    unit="tools",
    born="profiles declared",
    multiprocess_mode="mostrecent",
)
TOOL_DECLARATION_CHARS = _row(
    "tooltel_tool_declaration_chars",
    G,
    "tool owner",
    "Characters of one tool's declaration as last sent to the model.",
    unit="chars",
    multiprocess_mode="mostrecent",
)
TOOL_INFO = _row("tooltel_tool_info", INFO, "tool owner version risk", "The tools of the catalog.", born="catalog")
TOOL_DECLARATION_INFO = _row(
    "tooltel_tool_declaration_info",
    INFO,
    "tool owner version sha",
    "Fingerprint of each declaration as last sent to the model.",
    multiprocess_mode="livemostrecent",  # what a worker sent that is gone is in use no more
)
TOOL_OBJECTIVE = _row(
    "tooltel_tool_objective_ratio",
    G,
    "tool owner",
    "Share of calls that a tool promises to serve without error.",
    unit="ratio",
    born="tools with an objective",
)
MCP_SERVER_INFO = _row(
    "tooltel_mcp_server_info",
    INFO,
    "server server_version owner",
    "MCP servers as they introduced themselves.",
    state=_W,
)
MCP_SERVER_PINNED_INFO = _row(
    "tooltel_mcp_server_pinned_info",
    INFO,
    "server server_version owner",
    "MCP server versions that the catalog pins.",
    state=_W,
)
MCP_UNLISTED = _row(
    "tooltel_mcp_unlisted_tools",
    G,
    "server owner",
    "Tools that an MCP server offers and the catalog does not allow.",
    unit="tools",
    state=_W,
)
MCP_CHANGED = _row(
    "tooltel_mcp_changed_tools",
    G,
    "server owner",
    "Tools of an MCP server whose definition changed.",
    unit="tools",
    state=_W,
)
CATALOG_INFO = _row("tooltel_catalog_info", INFO, "sha", "Fingerprint of the catalog in use.", born="yes")
BUILD_INFO = _row("tooltel_build_info", INFO, "version", "Version of tooltel.", born="yes")
CATALOG_LOADED = _row(
    "tooltel_catalog_loaded_timestamp_seconds",
    G,
    "",
    "When the catalog in use was loaded, as Unix time.",
    unit="seconds",
    born="yes",
)
CATALOG_RELOAD_FAILURES = _row(
    "tooltel_catalog_reload_failures_total",
    C,
    "",
    "Reloads that kept the old catalog because the new one had problems.",
    unit="reloads",
    born="yes",
)
INTERNAL_ERRORS = _row(
    "tooltel_internal_errors_total",
    C,
    "component",
    "Failures inside tooltel that were kept away from a tool.",
    unit="errors",
    born="components",
)
LABEL_OVERFLOW = _row(
    "tooltel_label_overflow_total",
    C,
    "metric",
    "Label values that were folded into other because of a bound.",
    unit="values",
    born="metrics",
)


SIDECAR: Final = "sidecar"


def _sidecar(name: str, kind: Kind, help: str, labels: str = "source", unit: str = "") -> Metric:  # noqa: A002
    return _row(f"tooltel_sidecar_{name}", kind, labels, help, unit=unit, born="sources", where=SIDECAR)


SIDECAR_LINES = _sidecar("lines_total", C, "Lines read.", unit="lines")
SIDECAR_BYTES = _sidecar("bytes_total", C, "Bytes read.", unit="bytes")
SIDECAR_MATCHES = _sidecar("matches_total", C, "Lines that a signature counted.", "source signature", "lines")
SIDECAR_SKIPPED_LINES = _sidecar("skipped_lines_total", C, "Lines that could not be judged.", "source cause", "lines")
SIDECAR_SKIPPED_BYTES = _sidecar("skipped_bytes_total", C, "Bytes that could not be judged.", unit="bytes")
SIDECAR_TRUNCATIONS = _sidecar("truncations_total", C, "Files found truncated.", unit="files")
SIDECAR_ROTATIONS = _sidecar("rotations_total", C, "Files found rotated.", unit="files")
SIDECAR_CHECKPOINT_FAILURES = _sidecar(
    "checkpoint_failures_total", C, "Commits that failed, and states that were lost.", unit="commits"
)
SIDECAR_LAG = _sidecar("lag_bytes", G, "Bytes written and not yet committed.", unit="bytes")
SIDECAR_OPEN_FILES = _sidecar("open_files", G, "Files held open.", unit="files")
SIDECAR_LAST_READ = _sidecar("last_read_timestamp_seconds", G, "When a source last gave data.", unit="seconds")

# Foreign series that our expressions query. Target labels (job, instance) are everywhere.
UP = _row("up", G, "", "Whether a scrape worked.", state=_X)
RULE_FAILURES = _row(
    "prometheus_rule_evaluation_failures_total", C, "rule_group", "Rule evaluations that failed.", state=_X
)
ALERTS = _row(
    "ALERTS", G, "alertname alertstate severity owner tool profile", "Alerts as Prometheus sees them.", state=_X
)

METRICS: Final[tuple[Metric, ...]] = tuple(
    value for value in list(globals().values()) if isinstance(value, Metric) and value.state is not _X
)
EXTERNAL: Final[tuple[Metric, ...]] = (UP, RULE_FAILURES, ALERTS)
EMITTED: Final[tuple[Metric, ...]] = tuple(metric for metric in METRICS if metric.state is State.EMITTED)
IN_PROCESS: Final[tuple[Metric, ...]] = tuple(metric for metric in EMITTED if metric.where != SIDECAR)
TARGET_LABELS: Final = ("job", "instance")  # added by every scrape

BY_NAME: Final[Mapping[str, Metric]] = MappingProxyType({metric.name: metric for metric in (*METRICS, *EXTERNAL)})


def metric_named(name: str) -> Metric:
    """The row of *name*; raises SignalError for a name that nothing emits."""
    try:
        return BY_NAME[name]
    except KeyError:
        raise SignalError(f"no metric {name!r} in tooltel.signals") from None


# --- spans -----------------------------------------------------------------------------------------

# OpenTelemetry GenAI conventions, status Development. The Python package deprecates or lacks them, so they
# stand here: https://github.com/open-telemetry/semantic-conventions-genai
OPERATION_NAME: Final = "gen_ai.operation.name"
EXECUTE_TOOL: Final = "execute_tool"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_TYPE: Final = "gen_ai.tool.type"
TOOL_TYPE_FUNCTION: Final = "function"
TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
AGENT_NAME: Final = "gen_ai.agent.name"
CONVERSATION_ID: Final = "gen_ai.conversation.id"
CALL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
CALL_RESULT: Final = "gen_ai.tool.call.result"
ERROR_TYPE: Final = "error.type"

# Ours. The four keys of a tool are only defaults: settings rename them, as a standard is being discussed.
OWNER: Final = "tool.owner"
VERSION: Final = "tool.version"
RISK: Final = "tool.risk"
PROFILE: Final = "tool.profile"
OUTCOME: Final = "tool.outcome"
ALIAS: Final = "tool.alias"
STREAM_LIFE: Final = "tool.stream.life"

ATTRIBUTES: Final = (
    OPERATION_NAME, TOOL_NAME, TOOL_TYPE, TOOL_CALL_ID, AGENT_NAME, CONVERSATION_ID, OWNER, VERSION, RISK, PROFILE,
    OUTCOME, ERROR_TYPE, ALIAS, STREAM_LIFE, CALL_ARGUMENTS, CALL_RESULT,
)  # fmt: skip

NAME_LIMIT: Final = 128  # characters of a name that somebody else chose, in spans and logs


# --- log events --------------------------------------------------------------------------------------


class Event(StrEnum):
    """Names of log events; their keys are the span attributes and the keys below."""

    TOOL_CALL = "tool_call"
    TOOL_NOT_FOUND = "tool_not_found"
    TOOL_ALIAS_CALLED = "tool_alias_called"
    TOOL_REJECTED = "tool_rejected"
    TOOL_REFUSED = "tool_refused"
    TOOL_CALL_REPEATED = "tool_call_repeated"
    TOOL_RESULT_PARTIAL = "tool_result_partial"
    TOOLS_OFFERED = "tools_offered"
    CATALOG_RELOADED = "catalog_reloaded"
    CATALOG_RELOAD_FAILED = "catalog_reload_failed"
    CATALOG_PROBLEM = "catalog_problem"
    DECLARATION_CHANGED = "declaration_changed"
    MCP_DRIFT = "mcp_drift"
    TELEMETRY_ERROR = "telemetry_error"


KEY_TRACE_ID: Final = "trace_id"
KEY_SPAN_ID: Final = "span_id"
KEY_SECONDS: Final = "seconds"
KEY_REQUESTED: Final = "requested"
KEY_REASON: Final = "reason"
KEY_NEAREST: Final = "nearest"
KEY_KIND: Final = "kind"
KEY_SOURCE: Final = "source"
KEY_FAULTS: Final = "faults"
KEY_POLICY: Final = "policy"
KEY_FIRST_SEEN: Final = "first_seen"
KEY_ITEMS: Final = "items"
KEY_TOOLS: Final = "tools"
KEY_COMPONENT: Final = "component"
KEY_SUPPRESSED: Final = "suppressed"
KEY_PROBLEM: Final = "problem"
KEY_PROBLEMS: Final = "problems"
KEY_SHA: Final = "sha"
KEY_CHARS: Final = "chars"
KEY_BUDGET: Final = "budget_chars"
KEY_COUNTED: Final = "tool.counted"  # on a record of somebody else's: it told of a drop, which was counted

LOGGER: Final = "tooltel"  # name of the standard library's logger, where structlog is not configured
SCOPE: Final = "tooltel"  # name of the tracer
