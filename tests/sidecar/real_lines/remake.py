"""
Makes the log files beside it: the events of events.jsonl, as real formatters write them.

`python -m tests.sidecar.real_lines.remake` writes them anew; the README says what is needed. Tests import it, too.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

HERE: Final = Path(__file__).parent
JARS: Final = Path("/usr/share/java")
PIECE: Final = 16 * 1024  # bytes: where docker and the CRI runtimes cut a line

_LOGBACK: Final = ("logback-classic", "logback-core", "slf4j-api")
_SIMPLE: Final = ("slf4j-simple", "slf4j-api")
_LOG4J: Final = ("log4j-api", "log4j-core", "jackson-core", "jackson-databind", "jackson-annotations")
_GERMAN: Final = ("-Duser.language=de", "-Duser.country=DE")


class Log(NamedTuple):
    """One file: what logs it, with which libraries and which settings."""

    program: str
    jars: tuple[str, ...]
    settings: tuple[str, ...]


def _logback(config: str) -> Log:
    return Log("WithSlf4j", _LOGBACK, (f"-Dlogback.configurationFile={HERE / 'config' / config}",))


def _log4j(config: str) -> Log:
    return Log("WithLog4j", _LOG4J, (f"-Dlog4j2.configurationFile={HERE / 'config' / config}",))


def _jul(config: str, *settings: str) -> Log:
    return Log("WithJul", (), (f"-Djava.util.logging.config.file={HERE / 'config' / config}", *settings))


LOGS: Final = {
    "logback-default.log": _logback("logback-default.xml"),
    "logback-spring.log": _logback("logback-spring.xml"),
    "logback-file.log": _logback("logback-file.xml"),
    "logback-caller.log": _logback("logback-caller.xml"),
    "slf4j-simple.log": Log("WithSlf4j", _SIMPLE, ("-Dorg.slf4j.simpleLogger.defaultLogLevel=debug",)),
    "log4j2-default.log": _log4j("log4j2-default.xml"),
    "log4j2-manual.log": _log4j("log4j2-manual.xml"),
    "log4j2-classic.log": _log4j("log4j2-classic.xml"),
    "log4j2-quarkus.log": _log4j("log4j2-quarkus.xml"),
    "log4j2-json.log": _log4j("log4j2-json.xml"),
    "log4j2-json-objects.log": _log4j("log4j2-json-objects.xml"),
    "log4j2-gelf.log": _log4j("log4j2-gelf.xml"),
    "jul-default.log": _jul("jul-default.properties"),
    "jul-german.log": _jul("jul-default.properties", *_GERMAN),
    "jul-line.log": _jul("jul-line.properties"),
}
DOCUMENTED: Final = ("logback-json.log", "logstash.log", "ecs.log")
SYSLOGS: Final = {"syslog.log": "RSYSLOG_FileFormat", "syslog-traditional.log": "RSYSLOG_TraditionalFileFormat"}
OBJECTS: Final = frozenset({*DOCUMENTED, "log4j2-json.log", "log4j2-json-objects.log", "log4j2-gelf.log"})


def events() -> list[dict[str, Any]]:
    """What is logged, in order; `drop` is the name of the drop that an event tells of, `reason` is why."""
    return [json.loads(line) for line in (HERE / "events.jsonl").read_text(encoding="utf-8").splitlines()]


# --- Java ----------------------------------------------------------------------------------------------------


def what_is_missing() -> str | None:
    """Why the Java logs cannot be made here, in a sentence; None where they can."""
    for tool in ("java", "javac"):
        if shutil.which(tool) is None:
            return f"no {tool}: install a JDK of version 17 or later"
    wanted = sorted({jar for log in LOGS.values() for jar in log.jars})
    if missing := [jar for jar in wanted if not (JARS / f"{jar}.jar").exists()]:
        return f"no {', '.join(missing)}.jar in {JARS}: apt-get install liblogback-java liblog4j2-java libslf4j-java"
    return None


def make_java_logs(folder: Path) -> None:
    """Compile the programs and let each write its file into *folder*."""
    with tempfile.TemporaryDirectory() as made:
        classes, given = Path(made), Path(made) / "events.tsv"
        given.write_text("".join(f"{_row(event)}\n" for event in events()), encoding="utf-8")
        sources = sorted(str(path) for path in (HERE / "java").rglob("*.java"))
        against = f"{JARS / 'slf4j-api.jar'}:{JARS / 'log4j-api.jar'}"
        subprocess.run(["javac", "-cp", against, "-d", made, *sources], check=True)
        for name, log in LOGS.items():
            path = ":".join([str(classes), *(str(JARS / f"{jar}.jar") for jar in log.jars)])
            command = ["java", "-Dfile.encoding=UTF-8", *log.settings, "-cp", path, log.program, str(given)]
            said = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if said.returncode:
                raise RuntimeError(f"{log.program} made no {name}: {said.stdout.decode(errors='replace')}")
            (folder / name).write_bytes(said.stdout)


def _row(event: dict[str, Any]) -> str:
    thrown = [part for link in event.get("thrown", ()) for part in link]
    fields = (event["logger"], event["level"], _escaped(event["message"]), _list(event.get("args")), _list(thrown))
    return "\t".join(fields)


def _list(texts: list[str] | None) -> str:
    return "".join(rf"\,{_escaped(text)}" for text in texts) if texts else "-"


def _escaped(text: str) -> str:
    return text.replace("\n", r"\n").replace("\t", r"\t").replace("\x1b", r"\e")


# --- formats whose encoders are not installed by the libraries above -----------------------------------------


def make_documented_logs(folder: Path) -> None:
    """Write the events as newer encoders are documented to: logback's own, logstash's, and ECS."""
    for name, form in zip(DOCUMENTED, (_logback_json, _logstash, _ecs), strict=True):
        lines = [json.dumps(form(place, event), ensure_ascii=False) for place, event in enumerate(events())]
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _logback_json(place: int, event: dict[str, Any]) -> dict[str, Any]:
    """Logback 1.5's JsonEncoder: the message without its arguments, which come after it."""
    thrown: dict[str, Any] | None = None
    for name, message in reversed(event.get("thrown", ())):
        step = {"className": name, "message": message, "stepArray": [], **({"cause": thrown} if thrown else {})}
        thrown = step
    return {
        "sequenceNumber": place,
        "timestamp": 1796077765000 + place,
        "nanoseconds": 0,
        "level": event["level"],
        "threadName": "main",
        "loggerName": event["logger"],
        "context": {"name": "default", "birthdate": 1796077764000, "properties": {}},
        "mdc": {"session": "s-42"},
        "message": event["message"],
        **({"arguments": event["args"]} if "args" in event else {}),
        "throwable": thrown,
    }


def _logstash(place: int, event: dict[str, Any]) -> dict[str, Any]:
    return {
        "@timestamp": _time(place),
        "@version": "1",
        "message": _message(event),
        "logger_name": event["logger"],
        "thread_name": "main",
        "level": event["level"],
        "level_value": 30000,
        **({"stack_trace": _trace(event["thrown"])} if "thrown" in event else {}),
    }


def _ecs(place: int, event: dict[str, Any]) -> dict[str, Any]:
    thrown = event.get("thrown", ())
    error = {"type": thrown[0][0], "message": thrown[0][1], "stack_trace": _trace(thrown)} if thrown else None
    return {
        "@timestamp": _time(place),
        "log": {"level": event["level"], "logger": event["logger"]},
        "process": {"pid": 4711, "thread": {"name": "main"}},
        "service": {"name": "desk"},
        "message": _message(event),
        **({"error": error} if error else {}),
        "ecs": {"version": "8.11"},
    }


def _message(event: dict[str, Any]) -> str:
    message: str = event["message"]
    for argument in event.get("args", ()):
        before, _, after = message.partition("{}")
        message = f"{before}{argument}{after}"
    return message


def _trace(thrown: list[list[str]]) -> str:
    at = "\tat com.acme.desk.Orders.handle(Orders.java:17)\n"
    return "".join(f"{'Caused by: ' if place else ''}{name}: {said}\n{at}" for place, (name, said) in enumerate(thrown))


# --- container runtimes --------------------------------------------------------------------------------------


def make_container_logs(folder: Path, sources: Path) -> None:
    """Wrap logs of *sources* as docker's json-file driver and a CRI runtime would."""
    outputs = {
        "stdout": [*_lines(sources / "logback-default.log"), *_lines(sources / "logstash.log")],
        "stderr": [*_lines(sources / "jul-default.log"), *long_lines()],
    }
    turns = list(_in_turns({stream: list(_pieces(lines)) for stream, lines in outputs.items()}))
    (folder / "docker.log").write_text("".join(_docker(turns)), encoding="utf-8")
    (folder / "cri.log").write_text("".join(_cri(turns)), encoding="utf-8")


def make_syslogs(folder: Path, sources: Path) -> None:
    """Let a real rsyslogd write what two programs say in turns, in its own format and in the traditional one."""
    said = {
        "agent[4711]": _lines(sources / "jul-default.log"),
        "worker[4712]": [*_lines(sources / "logback-default.log"), *_lines(sources / "logstash.log")],
    }
    turns = list(_in_turns({program: [(line, True) for line in lines] for program, lines in said.items()}))
    with tempfile.TemporaryDirectory() as made:
        inside = Path(made)
        written = {name: inside / name for name in SYSLOGS}
        actions = [f'action(type="omfile" file="{written[name]}" template="{form}")' for name, form in SYSLOGS.items()]
        config = inside / "rsyslog.conf"
        listening = f'input(type="imuxsock" Socket="{inside / "log"}" CreatePath="on" RateLimit.Interval="0")'
        config.write_text("\n".join(['module(load="imuxsock" SysSock.Use="off")', listening, *actions]))
        daemon = subprocess.Popen([_rsyslogd(), "-n", "-f", str(config), "-i", str(inside / "pid")])
        try:
            _send(inside / "log", turns)
            _wait_for(
                lambda: all(path.exists() and path.read_bytes().count(b"\n") >= len(turns) for path in written.values())
            )
        finally:
            daemon.terminate()
            daemon.wait()
        for name, path in written.items():
            text = path.read_text("utf-8")
            (folder / name).write_text("".join(f"{line}\n" for line in text.splitlines() if "[471" in line), "utf-8")


def _send(path: Path, turns: list[tuple[str, str, bool]]) -> None:
    _wait_for(path.exists)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.connect(str(path))
        for program, line, _ in turns:
            sender.send(f"<14>Nov 30 17:49:25 {program}: {line}".encode())


def _wait_for(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not is_so():
        if time.monotonic() > until:
            raise TimeoutError("rsyslogd does not get on")
        time.sleep(0.05)


def _rsyslogd() -> str:
    return shutil.which("rsyslogd") or "/usr/sbin/rsyslogd"


def long_lines() -> list[str]:
    """Lines longer than a runtime keeps whole: a drop after 40,000 characters, and one that is cut in its middle."""
    logger = "com.google.adk.flows.llmflows.Functions"
    said = [("x" * 40_000, "after_a_long_field"), ("x" * (PIECE - 125), "cut_in_two"), ("\u00e4" * 12_000, "wide")]
    return [
        json.dumps(
            {"context": padding, "level": "WARN", "loggerName": logger, "message": f"Tool not found: {name}"},
            ensure_ascii=False,
        )
        for padding, name in said
    ]


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")


def _pieces(lines: list[str]) -> Iterator[tuple[str, bool]]:
    """Lines in pieces, each with whether it is the last one of its line."""
    for line in lines:
        raw = line.encode()
        for at in range(0, max(1, len(raw)), PIECE):
            yield raw[at : at + PIECE].decode("utf-8", "replace"), at + PIECE >= len(raw)


def _in_turns(outputs: dict[str, list[tuple[str, bool]]]) -> Iterator[tuple[str, str, bool]]:
    """Pieces of two streams, so mixed that the records of each are torn apart by the other's."""
    for place in range(max(map(len, outputs.values()))):
        for stream, pieces in outputs.items():
            if place < len(pieces):
                yield stream, *pieces[place]


def _docker(turns: list[tuple[str, str, bool]]) -> Iterator[str]:
    for place, (stream, piece, is_last) in enumerate(turns):
        text = json.dumps(piece + ("\n" if is_last else ""), ensure_ascii=False)
        for character in "<>&\u2028\u2029":  # its encoder writes for web pages
            text = text.replace(character, f"\\u{ord(character):04x}")
        yield f'{{"log":{text},"stream":"{stream}","time":"{_time(place)}"}}\n'


def _cri(turns: list[tuple[str, str, bool]]) -> Iterator[str]:
    for place, (stream, piece, is_last) in enumerate(turns):
        yield f"{_time(place)} {stream} {'F' if is_last else 'P'} {piece}\n"


def _time(place: int) -> str:
    return f"2026-11-30T17:{place // 60:02d}:{place % 60:02d}.123456789Z"


def main() -> None:
    """Write the files anew."""
    if missing := what_is_missing():
        raise SystemExit(missing)
    make_java_logs(HERE)
    make_documented_logs(HERE)
    make_container_logs(HERE, HERE)
    make_syslogs(HERE, HERE)


if __name__ == "__main__":
    main()
