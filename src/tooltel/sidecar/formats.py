r"""
From a line of a log to a record: message, logger, level.

A line may be wrapped by a container runtime (docker's json-file, CRI), be a JSON object of a structured logger, or be
text with one of the usual headers. The record's message is all that a signature looks at, so that text inside other
fields, a stack trace or a quoted message count for nothing.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from tooltel.match import Record
from tooltel.match.patterns import Pattern

DOCKER_PIECE: Final = 16 * 1024  # bytes: docker cuts longer lines, and only those
_ANSI: Final = re.compile(rb"\x1b\[[0-9;:?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")

# What most records begin with. The rest of a line, after its time, is often seen again.
STAMP: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?\[?(?:\d{2,4}[-/]\d\d[-/]\d{2,4}[T ])?\d\d:\d\d:\d\d(?:[.,]\d+)?(?: ?(?:Z|[+-]\d\d:?\d\d))?\]?"
)
_CRI: Final = re.compile(rb" (stdout|stderr) ([FP])(?::\S*)? ?", re.DOTALL)
# Of rsyslog and journalctl: the time without a year where there is none before, host, program[process].
_SYSLOG: Final = re.compile(
    rb"(?:[A-Z][a-z][a-z] [ \d]\d \d\d:\d\d:\d\d)? [\w.-]{1,255} ([\w./@-]{1,48}\[\d{1,10}\]): "
)

_LEVELS: Final[Mapping[str, str]] = {
    "TRACE": "TRACE", "TRC": "TRACE", "FINEST": "TRACE",
    "DEBUG": "DEBUG", "DBG": "DEBUG", "FINE": "DEBUG", "FINER": "DEBUG",
    "INFO": "INFO", "INF": "INFO", "I": "INFO", "NOTICE": "INFO", "CONFIG": "INFO",
    "WARNING": "WARNING", "WARN": "WARNING", "WRN": "WARNING", "W": "WARNING",
    "ERROR": "ERROR", "ERR": "ERROR", "E": "ERROR", "SEVERE": "ERROR",
    # java.util.logging speaks the machine's language, where it is one of these.
    "WARNUNG": "WARNING", "SCHWERWIEGEND": "ERROR", "INFORMATION": "INFO", "\u8b66\u544a": "WARNING",
    "\u91cd\u5927": "ERROR", "\u4e25\u91cd": "ERROR", "\u60c5\u5831": "INFO", "\u4fe1\u606f": "INFO",
    "CRITICAL": "CRITICAL", "FATAL": "CRITICAL", "FTL": "CRITICAL", "F": "CRITICAL", "PANIC": "CRITICAL",
    "DPANIC": "CRITICAL", "EMERGENCY": "CRITICAL", "ALERT": "CRITICAL",
}  # fmt: skip
# pino and bunyan write numbers, syslog and GELF other ones.
_NUMBERS: Final[Mapping[int, str]] = {
    10: "TRACE", 20: "DEBUG", 30: "INFO", 40: "WARNING", 50: "ERROR", 60: "CRITICAL",
    0: "CRITICAL", 1: "CRITICAL", 2: "CRITICAL", 3: "ERROR", 4: "WARNING", 5: "INFO", 6: "INFO", 7: "DEBUG",
}  # fmt: skip


def level_named(word: object) -> str | None:
    """Give the standard name of a level, or None for what is no level. Numbers are pino's or syslog's."""
    if isinstance(word, str):
        return _LEVELS.get(word.strip().upper())
    if isinstance(word, dict):  # loguru's
        return level_named(str(word.get("name")))
    return _NUMBERS.get(word) if isinstance(word, int) else None


# --- wrappers ----------------------------------------------------------------------------------------


class Piece(NamedTuple):
    """What a container runtime wrapped: a line of one of its streams, or a piece of one."""

    stream: str
    text: bytes
    is_whole: bool


def unwrap_cri(tail: bytes) -> Piece | None:
    """What the CRI log line with *tail* (after its time) holds; None where it is no such line."""
    found = _CRI.match(tail)
    if found is None:
        return None
    return Piece(found[1].decode(), tail[found.end() :], found[2] == b"F")


def unwrap_syslog(tail: bytes) -> Piece | None:
    """What the syslog line with *tail* (after its time, where that has a year) holds; None where it is no such line."""
    found = _SYSLOG.match(tail)
    return Piece(f"syslog {found[1].decode()}", tail[found.end() :], is_whole=True) if found is not None else None


def unwrap_docker(fields: Mapping[str, Any], length: int) -> Piece | None:
    """
    What a line of docker's json-file holds, decoded as *fields*; None where it is no such line.

    *length* is that of the raw line: what does not end in a newline is a piece only where docker had to cut.
    """
    text, stream = fields.get("log"), fields.get("stream")
    if not isinstance(text, str) or not isinstance(stream, str):
        return None
    is_whole = text.endswith("\n") or length < DOCKER_PIECE
    return Piece(f"docker {stream}"[:32], text.rstrip("\r\n").encode("utf-8", "surrogatepass"), is_whole)


@cache
def _decoder() -> Callable[[bytes], Any]:
    try:
        from orjson import loads  # late, as most logs are text
    except ImportError:  # the standard library's gives the same, slower
        return json.loads
    return loads


def read_json(line: bytes) -> dict[str, Any] | None:
    """The object that *line* is; None where it is none."""
    try:
        found = _decoder()(line)
    except (ValueError, RecursionError):
        # What one decoder refuses (a lone surrogate, NaN) another takes: who is installed must not matter.
        found = _read_leniently(line)
    return found if isinstance(found, dict) else None


def _read_leniently(line: bytes) -> Any:
    try:
        return json.loads(line.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return None


# --- JSON --------------------------------------------------------------------------------------------

_MESSAGE: Final = (
    "formattedMessage", "event", "message", "msg", "short_message", "body", "textPayload", "@message", "@m",
)  # fmt: skip
_LOGGER: Final = (
    "logger", "logger_name", "loggerName", "log.logger", "logger.name", "_logger", "_logger_name", "name", "scope",
    "category",
)  # fmt: skip
_LEVEL: Final = ("level", "levelname", "severity", "log.level", "level_name", "lvl", "@l", "levelno")


def record_of_json(fields: Mapping[str, Any]) -> Record | None:
    """The record that a structured logger wrote as *fields*; None where it has no message."""
    message = next((fields[key] for key in _MESSAGE if isinstance(fields.get(key), str)), None)
    nested = fields.get("log")
    inner: Mapping[str, Any] = nested if isinstance(nested, dict) else {}
    if message is None:
        if isinstance(fields.get("record"), dict):  # loguru's: the line as text, and all of it as an object
            return record_of_json(fields["record"])
        message = nested if isinstance(nested, str) else None
    if message is None:
        return None
    if "{}" in message and isinstance(fields.get("arguments"), list):  # logback's own encoder leaves them apart
        message = _filled(message, fields["arguments"])
    logger = next((fields[key] for key in _LOGGER if isinstance(fields.get(key), str)), None) or inner.get("logger")
    level = next((level_named(fields[key]) for key in _LEVEL if key in fields), None) or level_named(inner.get("level"))
    return Record(message.rstrip("\r\n"), logger if isinstance(logger, str) else None, level)


def _filled(message: str, arguments: list[Any]) -> str:
    first, *rest = message.split("{}")
    filled = [f"{argument}{part}" for argument, part in zip(arguments, rest, strict=False)]
    return "".join([first, *filled, *(f"{{}}{part}" for part in rest[len(filled) :])])


# Where structured loggers put the exception that a record carries: its stack trace, or an object that holds one.
_TRACES: Final = (
    "exception", "exc_info", "stack_trace", "stacktrace", "stack", "error", "err", "thrown", "throwable",
    "error.stack_trace", "exception.stacktrace", "full_message",
)  # fmt: skip
_INNER_TRACES: Final = ("stack_trace", "stacktrace", "stack", "extendedStackTrace")
_EXCEPTION: Final = re.compile(r"(?:Caused by: )?(?:[A-Za-z_$][\w$]*\.)*[A-Za-z_$][\w$]*(?::|$)")
_CAUSES: Final = 8  # of an exception, one below the other


def exceptions_of_json(fields: Mapping[str, Any]) -> Iterator[str]:
    """Lines that name an exception, as a text log's stack trace shows each on one of its own."""
    for key in _TRACES:
        if key in fields:
            yield from _exceptions(fields[key], _CAUSES)


def _exceptions(trace: object, deep: int) -> Iterator[str]:
    if isinstance(trace, str):
        yield from (line for line in trace.splitlines() if _EXCEPTION.match(line))
    elif isinstance(trace, dict):
        text = next((trace[key] for key in _INNER_TRACES if isinstance(trace.get(key), str)), None)
        if text is not None:
            yield from _exceptions(text, deep)
            return
        yield f"{trace.get('className') or trace.get('name') or trace.get('type')}: {trace.get('message')}"
        if deep:
            yield from _exceptions(trace.get("cause"), deep - 1)


# --- text --------------------------------------------------------------------------------------------

FOLLOWING: Final = 4  # further lines of a record that a signature may look at

_WORD: Final = (
    "TRACE|DEBUG|INFO(?:RMATION)?|NOTICE|WARN(?:ING|UNG)?|ERROR|ERR|SEVERE|FATAL|CRITICAL|PANIC|DPANIC|FINE(?:R|ST)?|"
    "CONFIG|WRN|INF|DBG|SCHWERWIEGEND|\u8b66\u544a|\u91cd\u5927|\u4e25\u91cd|\u60c5\u5831|\u4fe1\u606f"
)
_LV: Final = f"(?P<level>{_WORD})"
# A class of exceptions before a colon is how an exception is written, and no logger.
_LG: Final = r"(?P<logger>(?![\w$./-]*(?:Error|Exception)\b(?!\.))[A-Za-z_$][\w$./-]*)"
_MSG: Final = r"(?P<message>.*)"
_BRACKETS: Final = r"(?:\[[^\]]*\]\s+)*"
_NESTED: Final = r"(?:\s+\[[^\]]*\])?"
_LAYOUTS: Final = tuple(
    Pattern(pattern, re.DOTALL)
    for pattern in (
        # logback, log4j, Spring Boot: [thread] LEVEL pid --- [thread] logger [context] - message
        rf"(?:\d+\s+)?{_BRACKETS}{_LV}\s+(?:\d+\s+---\s+)?{_BRACKETS}{_LG}(?::\d+)?{_NESTED}(?:\s+(?:--?|:)|:)\s+{_MSG}",
        rf"{_LG}\s+-\s+{_LV}\s+-\s+{_MSG}",  # logging: name - LEVEL - message
        rf"{_LV}\s+-\s+{_LG}(?::\d+)?\s+-\s+{_MSG}",
        rf"\|?\s*{_LV}\s*\|\s*{_LG}(?::[\w<>.]+)?(?::\d+)?\s+[-|]\s+{_MSG}",  # loguru
        rf"{_LV}:{_LG}:{_MSG}",  # logging.basicConfig
        rf"\[\s*{_LV}\s*\]\s+{_LG}:\s+{_MSG}",
        rf"{_LV}\t(?:{_LG}\t)?(?:\S+:\d+\t)?{_MSG}",  # zap
        rf"\[\s*{_LV}\s*\]\s+{_MSG}",
        rf"{_LV}:?\s+{_MSG}",  # uvicorn, rich, and java.util.logging's second line
    )
)
# structlog's console: [level], the event, padded, [logger], key=value. Each is found by itself: one pattern for all of
# it would try every way to share out the spaces.
_STRUCTLOG: Final = Pattern(rf"\[\s*(?P<level>{_WORD.lower()})\s*\]\s+")
_STRUCTLOG_LOGGER: Final = Pattern(r"\s\[(?P<logger>[\w.-]+)\](?=\s+[\w.]+=|\s*\Z)")
_STRUCTLOG_VALUES: Final = Pattern(r"\s(?=[\w.]+=)")
_KLOG: Final = Pattern(
    r"(?P<level>[IWEF])\d{4} \d\d:\d\d:\d\d\.\d+\s+\d+ (?P<logger>\S+:\d+)\] (?P<message>.*)", re.DOTALL
)
_LOGFMT: Final = re.compile(r"""(?:^|\s)(?P<key>[\w.]+)=(?P<value>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\S*)""")
_LOGFMT_BEGIN: Final = Pattern(r"[\w.@]+=")
_JUL: Final = Pattern(
    r"(?:\S{2,12} \d{1,2}, \d{4},? \d{1,2}:\d\d:\d\d\s?\S{0,4}|\d\S*(?: \S+)?) (?P<logger>[\w.$]+) \S+$"
)
_LEVEL_ONLY: Final = Pattern(rf"(?:{_WORD}): ")


def record_of_text(tail: str, *, stamped: bool) -> Record:
    """
    The record whose line, after its time, is *tail*; *stamped* says that there was a time.

    Without a known header the whole line is the message, of no logger and no level.
    """
    text = tail.lstrip(" \t]|-") if stamped else tail
    if text.startswith("["):
        for pattern in (_LAYOUTS[0], _LAYOUTS[5]):
            if found := pattern.fullmatch(text):
                return _record(found)
        if found := _STRUCTLOG.match(text):
            return _record_of_structlog(text[found.end() :], found["level"])
    for pattern in _LAYOUTS:
        if found := pattern.fullmatch(text):
            return _record(found)
    if found := _KLOG.fullmatch(text):
        return _record(found)
    if _LOGFMT_BEGIN.match(text) and (record := _record_of_logfmt(text)):
        return record
    return Record(text, None, None)


def _record(found: re.Match[str]) -> Record:
    named = found.groupdict()
    return Record(trimmed(named["message"]), named.get("logger"), level_named(named["level"]))


def _record_of_structlog(rest: str, level: str) -> Record:
    found = _STRUCTLOG_LOGGER.search(rest)
    logger = found["logger"] if found else None
    if found is None:
        found = _STRUCTLOG_VALUES.search(rest)
    return Record(trimmed(rest[: found.start()] if found else rest), logger, level_named(level))


def trimmed(message: str) -> str:
    """*message* without what pads it at its end; a colon keeps its space, as the name after it may be empty."""
    bare = message.rstrip()
    return f"{bare} " if bare[-1:] == ":" and len(bare) < len(message) else bare


def _record_of_logfmt(text: str) -> Record | None:
    fields = {found["key"]: found["value"] for found in _LOGFMT.finditer(text)}
    message = next((fields[key] for key in ("event", "msg", "message") if key in fields), None)
    if message is None:
        return None
    level = fields.get("level", fields.get("severity", ""))
    logger = fields.get("logger", fields.get("name"))
    return Record(_unquoted(message), _unquoted(logger) if logger else None, level_named(_unquoted(level)))


def _unquoted(value: str) -> str:
    """A value of logfmt, or of structlog's key=value, which are Python's own literals."""
    if value[:1] not in ('"', "'"):
        return value
    read = _read_leniently(value.encode("utf-8", "surrogatepass")) if value[0] == '"' else None
    if read is None:
        try:
            read = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            read = value[1:-1]
    return str(read)


def needs_line_before(tail: str, *, stamped: bool) -> bool:
    """Whether the line before may hold this record's logger, as java.util.logging writes it."""
    return not stamped and _LEVEL_ONLY.match(tail) is not None


def with_line_before(record: Record, before: str) -> Record:
    """*record* with the logger of java.util.logging's first line, where *before* is one."""
    found = _JUL.fullmatch(before)
    return record._replace(logger=found["logger"]) if found else record


def without_colors(raw: bytes) -> bytes:
    """A raw line without what only a terminal understands."""
    return _ANSI.sub(b"", raw) if b"\x1b" in raw else raw


def decode(raw: bytes) -> str:
    """Text of a raw line: without color codes, NUL holes, byte order mark and carriage return."""
    text = without_colors(raw.strip(b"\0")).decode("utf-8", "replace")
    return text.removesuffix("\r").removeprefix("\ufeff")


def begins_record(text: str) -> bool:
    """Whether a line begins a record of its own, rather than going on with the one before."""
    if not text or text[0].isspace():
        return False
    if text[0] == "{" or STAMP.match(text.encode("utf-8", "replace")):
        return True
    return any(pattern.fullmatch(text) for pattern in _LAYOUTS) or _KLOG.fullmatch(text) is not None
