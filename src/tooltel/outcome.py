"""
The Outcome: what became of one attempt to use a tool, and how it is told from results and exceptions.

An Outcome is the one noun that flows: the wrappers, the plug-ins and the log signatures all end in one, and
every sink takes one.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeGuard

from tooltel import signals
from tooltel.errors import Refused, Rejected
from tooltel.signals import ItemStatus, RejectionKind, RejectionSource, Status
from tooltel.text import clean

if TYPE_CHECKING:
    from opentelemetry.trace import Span

    from tooltel.catalog import Missing, Tool

MAX_FAULTS: Final = 32  # of one rejected call; more would only repeat the story


class Fault(NamedTuple):
    """One argument found wrong: `field` as the caller named it, `problem` and `expected` for people."""

    field: str
    problem: str
    expected: str | None = None


class Rejection(NamedTuple):
    """One source's verdict that the arguments are wrong."""

    kind: RejectionKind
    source: RejectionSource
    faults: tuple[Fault, ...] = ()


class StreamTimes(NamedTuple):
    """Times of a stream, in seconds: own steps until the first item, and first to last item with the consumer's."""

    first_item: float | None
    life: float
    items: int


class Origin(NamedTuple):
    """Where a call came from: its session's facts, all optional but the profile label."""

    profile: str = signals.NO_PROFILE
    agent: str | None = None
    session_id: str | None = None


class Outcome(NamedTuple):
    """
    What became of one attempt to use a tool. Immutable; a tuple, because it is made on every call.

    `seconds` is the time in the tool's own steps. `tool` is None when no tool was reached, then `missing` says why.
    `error_type` is empty on success, else bounded and safe as a label once its per-tool bound is applied.
    `repeated` is the number of seconds since an equal call of the session was first seen, or None.
    `span` is the call's open span, for sinks that link to it; None where no span was made. `mark` is what the sink
    that counts running calls left at the call's start; None where it was told of none. `is_plain` promises that the
    call went well and that there is nothing to tell beyond its time. `borrowed` says that the span is a framework's.
    `result` is what is kept of the result, redacted, where payloads are kept at all.
    """

    status: Status
    tool: Tool | None
    origin: Origin
    seconds: float = 0.0
    error: BaseException | None = None
    error_type: str = ""
    alias: str | None = None
    parent: str | None = None
    call_id: str | None = None
    rejections: tuple[Rejection, ...] = ()
    policy: str | None = None
    items: Mapping[str, int] | None = None
    stream: StreamTimes | None = None
    repeated: float | None = None
    missing: Missing | None = None
    span: Span | None = None
    mark: Any = None
    is_plain: bool = False
    borrowed: bool = False
    result: str | None = None


class Recorder(Protocol):
    """A sink: called once for every outcome, in the thread of the call. Whatever it raises is contained."""

    def __call__(self, outcome: Outcome, /) -> None:
        """Take note of *outcome*."""


class Verdict(NamedTuple):
    """What a result or an exception says about its call."""

    status: Status
    error_type: str = ""
    rejections: tuple[Rejection, ...] = ()
    policy: str | None = None
    items: Mapping[str, int] | None = None


OK: Final = Verdict(Status.OK)
_REPLAYED: Final = Verdict(Status.REPLAYED)
_TOOL_ERROR: Final = Verdict(Status.ERROR, signals.ERROR_TOOL)
PLAIN: Final = frozenset({str, int, float, bool, bytes, list, tuple, set, type(None)})


def judge_exception(error: BaseException) -> Verdict:
    """Tell what *error*, raised by a tool, says about its call."""
    if isinstance(error, Rejected):
        fault = Fault(clean(error.field), clean(error.problem), clean(error.expected) if error.expected else None)
        return _rejected(RejectionKind.DOMAIN, RejectionSource.TOOL, (fault,))
    if isinstance(error, Refused):
        return Verdict(Status.REFUSED, signals.ERROR_REFUSED, policy=clean(error.policy))
    kind: type = type(error)
    return _judge_kind(kind)


@lru_cache(maxsize=512)  # nearly every error is of a few classes
def _judge_kind(kind: type) -> Verdict:
    if issubclass(kind, GeneratorExit):
        return Verdict(Status.ABANDONED, signals.ERROR_ABANDONED)
    if issubclass(kind, TimeoutError):
        return Verdict(Status.TIMEOUT, signals.ERROR_TIMEOUT)
    if _is_cancellation(kind):
        return Verdict(Status.CANCELLED, signals.ERROR_CANCELLED)
    return Verdict(Status.ERROR, clean(kind.__qualname__) or signals.OTHER)  # no type at all would say: no error


def structural(faults: Sequence[Fault], source: RejectionSource = RejectionSource.FRAMEWORK) -> Verdict:
    """The verdict on a call whose arguments do not fit the tool's signature or schema."""
    return _rejected(RejectionKind.STRUCTURAL, source, tuple(faults[:MAX_FAULTS]))


def judge_result(result: object) -> Verdict:
    """
    Tell what a returned *result* says about its call, where its shape is unmistakable.

    `invalid_arguments` needs `errors`, `partial` needs `results`, `refused` needs `policy`, an MCP result needs
    `isError` beside `content`, and `replayed` must be the boolean. A bare `status` is the tool's own business.
    """
    kind = type(result)
    if kind in PLAIN:
        return OK
    if isinstance(result, (dict, Mapping)):  # dict first: asking the abstract class takes ten times as long
        return _judge_mapping(result)
    return _TOOL_ERROR if _is_mcp_error(result, kind) else OK


def _judge_mapping(result: Mapping[Any, Any]) -> Verdict:
    if "status" not in result and "replayed" not in result and "content" not in result:
        return OK
    status = result.get("status")
    if not isinstance(status, str):  # an array would even refuse to be compared
        status = None
    if status == "invalid_arguments" and _is_list(errors := result.get("errors")) and errors:
        return _rejected(RejectionKind.DOMAIN, RejectionSource.TOOL, _faults(errors))
    if status == "refused" and isinstance(policy := result.get("policy"), str):
        return Verdict(Status.REFUSED, signals.ERROR_REFUSED, policy=clean(policy))
    if result.get("replayed") is True:
        return _REPLAYED
    if status == "partial" and _is_list(results := result.get("results")) and (items := _items(results)):
        return Verdict(Status.PARTIAL, items=items)
    if "content" in result and (result.get("isError") is True or result.get("is_error") is True):
        return _TOOL_ERROR
    return OK


def _rejected(kind: RejectionKind, source: RejectionSource, faults: tuple[Fault, ...]) -> Verdict:
    return Verdict(Status.INVALID_ARGUMENTS, signals.ERROR_INVALID, rejections=(Rejection(kind, source, faults),))


def _is_list(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, (list, tuple))


def _faults(errors: Sequence[Any]) -> tuple[Fault, ...]:
    found = []
    for error in errors[:MAX_FAULTS]:
        if isinstance(error, Mapping):
            expected = error.get("expected")
            found.append(
                Fault(
                    clean(error.get("field", "")),
                    clean(error.get("problem", "not acceptable")),
                    None if expected is None else clean(expected),
                )
            )
        else:
            found.append(Fault("", clean(error)))
    return tuple(found)


def _items(results: Sequence[Any]) -> Mapping[str, int]:
    """What became of the items; empty where not one of them tells, as in a page of search results."""
    counts: dict[str, int] = {}
    unread = 0
    for item in results:
        status = item.get("status") if isinstance(item, Mapping) else item
        if isinstance(status, str) and status in _ITEM_STATUSES:
            counts[status] = counts.get(status, 0) + 1
        else:
            unread += 1
    if counts and unread:  # an item whose fate we cannot read is not known to be done
        outstanding = ItemStatus.OUTSTANDING.value
        counts[outstanding] = counts.get(outstanding, 0) + unread
    return MappingProxyType(counts)


_ITEM_STATUSES: Final = frozenset(status.value for status in ItemStatus)


def _is_mcp_error(result: object, kind: type) -> bool:
    return any(getattr(result, name, None) is True for name in _error_flags(kind))


@lru_cache(maxsize=512)
def _error_flags(kind: type) -> tuple[str, ...]:
    # Only classes that declare the fields: a mock or a proxy answers every getattr.
    declared: set[str] = set()
    for base in kind.__mro__[:-1]:
        declared.update(_annotated(base))
    if "content" not in declared:
        return ()
    return tuple(name for name in ("isError", "is_error") if name in declared)


def _annotated(kind: type) -> Iterable[str]:
    if sys.version_info >= (3, 14):  # evaluated when asked for, where a name that means nothing must not raise
        import annotationlib

        return annotationlib.get_annotations(kind, format=annotationlib.Format.FORWARDREF)
    return inspect.get_annotations(kind)


def _is_cancellation(kind: type) -> bool:
    # Looked up, not imported: asyncio costs tens of milliseconds, and where it was never imported nothing
    # can have raised its exception.
    for module, name in (
        ("asyncio", "CancelledError"),
        ("concurrent.futures", "CancelledError"),
        ("trio", "Cancelled"),
    ):
        loaded = sys.modules.get(module)
        cancelled = getattr(loaded, name, None) if loaded is not None else None
        if isinstance(cancelled, type) and issubclass(kind, cancelled):
            return True
    return False
