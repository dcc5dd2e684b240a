"""From lines to matches: wherever a chunk is cut, whatever wraps a line, and whichever matcher is installed."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sidecar.kit import CATALOG, Judge
from tooltel.sidecar.judging import LineJudge

if TYPE_CHECKING:
    from tooltel.signals import SkipCause

HEADER = "2026-11-30 17:49:25,123 [main] WARN com.acme.Agent - "
DROP = HEADER + "Tool not found: old_7"


def judge(
    log: bytes, *, form: str = "auto", fast: bool = True, cuts: tuple[int, ...] = (), patient: bool = False
) -> tuple[Counter[str], Counter[str]]:
    """Names that were counted, and causes of what was skipped, when *log* comes in pieces cut at *cuts*."""
    skipped: Counter[str] = Counter()

    def skip(cause: SkipCause) -> None:
        skipped[cause.value] += 1

    judging = LineJudge(Judge(CATALOG), form=form, skipped=skip, fast=fast)
    names: Counter[str] = Counter()
    pieces: dict[str, bytes] = {}
    buffer, start = bytearray(), 0
    ends = [*sorted(min(cut, len(log)) for cut in cuts), len(log)]
    begin = 0
    for place, end in enumerate(ends):
        buffer += log[begin:end]
        begin = end
        is_last = place == len(ends) - 1
        whole = len(buffer) if is_last else buffer.rfind(b"\n") + 1
        if whole > start:
            start = judging.take(buffer, start, whole, pieces, is_patient=patient and not is_last)
        for matched, times in judging.drain():
            assert matched.outcome.missing is not None
            names[matched.outcome.missing.requested] += times
    return names, skipped


def names(log: str | bytes, **options: object) -> list[str]:
    text = log.encode("utf-8", "surrogateescape") if isinstance(log, str) else log
    return sorted(judge(text, **options)[0].elements())  # type: ignore[arg-type]


def docker(text: str, stream: str = "stdout", *, end: str = "\n") -> str:
    return json.dumps({"log": text + end, "stream": stream, "time": "2026-11-30T17:49:25.1Z"})


def cri(text: str, tag: str = "F", stream: str = "stdout") -> str:
    return f"2026-11-30T17:49:25.123456789Z {stream} {tag} {text}"


@pytest.mark.parametrize(
    "line",
    [
        DROP,
        DROP + "\r",
        "\ufeff" + DROP,
        "\0\0\0" + DROP,
        "\x1b[33m" + DROP + "\x1b[0m",
        "WARNING:com.acme.Agent:Tool not found: old_7",
        "WARNING:  Tool not found: old_7",
        "Tool not found: old_7",
        "17:49:25.123 [main] WARN  com.acme.Agent -- Tool not found: old_7",
        "2026-11-30T17:49:25.123+01:00  WARN 12345 --- [app] [main] c.a.Agent       : Tool not found: old_7",
        "2026-11-30 17:49:25.123 | WARNING  | agent.run:step:12 - Tool not found: old_7",
        "2026/11/30 17:49:25 Tool not found: old_7",
        "W1130 17:49:25.123456   12345 agent.go:12] Tool not found: old_7",
        "2026-11-30T17:49:25.123Z\tWARN\tagent\tagent/run.go:12\tTool not found: old_7",
        'time=2026-11-30T17:49:25.123Z level=WARN msg="Tool not found: old_7" run=3',
        "2026-11-30T17:49:25.123Z [warning  ] Tool not found: old_7          [com.acme.Agent] run=3",
        json.dumps({"event": "Tool not found: old_7", "level": "warning", "logger": "agent"}),
        json.dumps({"message": "Tool not found: old_7", "levelname": "WARNING", "name": "agent"}),
        json.dumps({"msg": "Tool not found: old_7", "level": 40, "time": 1}),
        json.dumps({"instant": {}, "level": "WARN", "loggerName": "a.B", "message": "Tool not found: old_7"}),
        json.dumps({"message": "Tool not found: old_7", "log": {"level": "WARN", "logger": "a.B"}, "ecs.version": "1"}),
        '{"message":"\\u0054ool not found\\u003a old_7"}',
        docker(DROP),
        docker(DROP + "\r"),
        docker(json.dumps({"event": "Tool not found: old_7"})),
        docker("Tool not found: old_7", end=""),
        cri(DROP),
        cri(DROP, "F:tag", "stderr"),
        cri(json.dumps({"message": "Tool not found: old_7"})),
    ],
)
def test_a_drop_is_found_in_what_real_loggers_write(line: str) -> None:
    assert names(line + "\n") == ["old_7"]
    assert names(f"{HEADER}before\n{line}\n{HEADER}after\n", fast=False) == ["old_7"]


@pytest.mark.parametrize(
    "line",
    [
        HEADER + "the user wrote: Tool not found: old_7",
        HEADER + '"Tool not found: old_7" is what I mean',
        "    at Tool not found: old_7",
        "java.lang.RuntimeException: Tool not found: old_7",
        "Caused by: x.Y: Tool not found: old_7",
        json.dumps({"message": "failed", "exception": "Tool not found: old_7"}),
        json.dumps({"message": "failed", "stack_trace": "x\nTool not found: old_7"}),
        json.dumps({"message": {"text": "Tool not found: old_7"}}),
        json.dumps(["Tool not found: old_7"]),
        docker(HEADER + "quoted: Tool not found: old_7"),
        cri("said Tool not found: old_7"),
    ],
)
def test_a_quoted_message_or_a_stack_trace_is_no_drop(line: str) -> None:
    assert names(line + "\n") == []


def test_java_util_logging_writes_the_logger_on_the_line_before() -> None:
    judged = Judge(CATALOG)
    judging = LineJudge(judged, skipped=lambda _cause: None)
    log = bytearray(
        b"Nov 30, 2026 5:49:25 PM com.acme.Agent call\nWARNING: Tool not found: old_7\n"
        + "Nov 30, 2026, 5:49:25\u202fPM com.acme.Other call\nSEVERE: Tool not found: old_8\n".encode()
    )
    judging.take(log, 0, len(log), {}, is_patient=False)
    assert [(record.logger, record.level) for record in judged.judged] == [
        ("com.acme.Agent", "WARNING"),
        ("com.acme.Other", "ERROR"),
    ]


JUL = "Nov 30, 2026 5:49:25 PM a.B c\nWARNING: Tool not found: old_3"
TWO = "Tool 'old_7' not found.\nAvailable tools: a, b\n\nPossible causes:\n"


def test_a_second_line_is_waited_for_and_no_longer() -> None:
    judging = LineJudge(Judge(CATALOG), skipped=lambda _cause: None)
    buffer = bytearray((HEADER + TWO).encode())
    first = buffer.find(b"\n") + 1
    assert judging.take(buffer, 0, first, {}, is_patient=True) == 0
    assert judging.take(buffer, 0, first, {}, is_patient=False) == first
    assert list(judging.drain()) == []
    assert judging.take(buffer, 0, len(buffer), {}, is_patient=True) == len(buffer)
    assert [times for _, times in judging.drain()] == [1]


@pytest.mark.parametrize("wrap", [docker, cri, str], ids=["docker", "cri", "bare"])
def test_a_second_line_is_found_in_the_same_stream(wrap: object) -> None:
    assert callable(wrap)
    first, second = (HEADER + TWO).split("\n")[:2]
    lines = [wrap(first), wrap(second)]
    assert names("\n".join(lines) + "\n") == ["old_7"]
    other = [wrap(first), wrap(HEADER + "something else"), wrap(second)]
    assert names("\n".join(other) + "\n") == []


@given(
    st.lists(st.integers(0, 2500), max_size=6),
    st.lists(
        st.sampled_from(
            [DROP, HEADER + "nothing", HEADER + TWO, docker(DROP), cri("Tool not fou", "P"), cri("nd: old_7"), "", "{",
             cri("Tool not found: old_9", stream="stderr"), JUL]
        ),
        max_size=14,
    ),
)  # fmt: skip
@settings(deadline=None)
def test_where_a_chunk_ends_changes_nothing(cuts: list[int], lines: list[str]) -> None:
    log = "".join(f"{line}\n" for line in lines).encode()
    assert judge(log, cuts=tuple(cuts), patient=True) == judge(log)


@given(
    st.lists(st.sampled_from([DROP, docker(DROP), cri("Tool not fou", "P"), cri("nd: old_7"), "Tool", "\\u0054ool "]))
)
@settings(deadline=None)
def test_without_the_fast_matcher_the_counts_are_the_same(lines: list[str]) -> None:
    log = "".join(f"{line}\n" for line in lines).encode()
    assert judge(log, fast=False) == judge(log, fast=True)


@given(st.lists(st.binary(max_size=60)), st.sampled_from(["auto", "text", "json", "docker", "cri"]))
@settings(deadline=None)
def test_no_line_is_a_crash(lines: list[bytes], form: str) -> None:
    log = b"\n".join([*(b"Tool not found: " + each for each in lines), *lines, b'{"log": Tool not found: \xff', b""])
    judge(log, form=form)


def test_a_line_that_only_looks_like_json_is_skipped_and_counted() -> None:
    assert judge(b'{"message": "Tool not found: old_7"\n') == (Counter(), Counter(malformed=1))


def test_invalid_utf8_is_no_obstacle() -> None:
    assert names(b"12:00:00 WARN com.acme.Agent - Tool not found: \xff\xfe\n") == ["\ufffd\ufffd"]


def pieces_of(text: str, size: int = 16384) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def test_a_line_that_docker_cut_is_put_together() -> None:
    message = json.dumps({"padding": "x" * 40_000, "event": "Tool not found: old_7"})
    *cut, last = pieces_of(message)
    log = [docker(piece, end="") for piece in cut]
    log.insert(1, docker(DROP, "stderr"))  # another stream goes on meanwhile
    log.append(docker(last))
    assert names("\n".join(log) + "\n") == ["old_7", "old_7"]


def test_a_literal_that_the_runtime_cut_in_two_is_found() -> None:
    cut = json.dumps({"padding": "x" * (16384 - 35), "event": "Tool not found: old_7"})
    first, second = pieces_of(cut)
    assert "Tool not found" not in f"{first}|{second}"
    assert names(f"{docker(first, end='')}\n{docker(second)}\n") == ["old_7"]
    assert names(f"{cri(first, 'P')}\n{cri(second)}\n") == ["old_7"]


def test_a_record_in_too_many_pieces_is_skipped_and_counted() -> None:
    log = "\n".join([*[cri("x" * 16000, "P")] * 10, cri("end"), cri(DROP), ""]).encode()
    assert judge(log) == (Counter(old_7=1), Counter(too_long=1))


@pytest.mark.parametrize(
    ("form", "counted"),
    [("text", ["old_7"]), ("json", ["old_7", "old_8", "old_9"]), ("auto", ["old_10", "old_7", "old_8", "old_9"])],
)
def test_a_format_that_was_told_is_not_guessed(form: str, counted: list[str]) -> None:
    log = [DROP, '{"message":"Tool not found: old_8"}', docker("Tool not found: old_9"), cri("Tool not found: old_10")]
    assert names("\n".join(log) + "\n", form=form) == counted
