"""
Programs of several processes, each run in an interpreter of its own, as prometheus_client decides once at import.

    python -m tests.multiprocess.programs NAME [ARGUMENT ...]

prints one JSON object. PROMETHEUS_MULTIPROC_DIR says whether values are shared.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from opentelemetry.trace import NoOpTracerProvider
from prometheus_client import generate_latest

import tooltel
from tests.signals.desk import SENTENCE, Desk, make_catalog, make_tools, raising
from tests.signals.scrape import (
    OPENMETRICS,
    families,
    fetch,
    parse,
    read_openmetrics,
    samples,
    series,
    total,
    write_openmetrics,
)
from tooltel import Tool
from tooltel.errors import SettingError
from tooltel.exposition import CatalogCollector

CALLS = "tooltel_tool_calls_total"
ACTIVE = "tooltel_tool_calls_active"
INFO = "tooltel_tool_declaration_info"


def open_desk(**options: Any) -> Desk:
    """A desk without spans or logs, with every tool wrapped, as a server has it before it forks."""
    desk = Desk(tracer_provider=NoOpTracerProvider(), settings={"log_calls": "off"}, **options)
    for tool in make_tools():
        desk.tool(tool.name)
    return desk


def in_child(work: Callable[[], object]) -> int:
    """Fork, and run *work* in the child; give the child's id."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return pid


def reap(*pids: int) -> list[int]:
    """Wait for children; give their exit codes."""
    return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]


def shift(desk: Desk, turns: int) -> None:
    """The same mixed work in every worker."""
    for _ in range(turns):
        with desk.tel.session(profile="support", id=f"s-{os.getpid()}"):
            desk.act("kb_search")
            desk.act("kb_search", raising(ValueError()))
            desk.act("order_lookup", raising(TimeoutError()))
            desk.act("order_refund", raising(tooltel.Refused("no", policy="refunds")))
            desk.act("order_update", raising(tooltel.Rejected("limit")))
            desk.tel.not_found("made_up")
            desk.tel.not_found("refund")
        list(desk.act("kb_read_pages", lambda: [1, 2]))


def summary(desk: Desk) -> dict[str, float]:
    """What the shift must have added up to."""
    found = samples(desk.tel)
    return {
        "calls": total(found, CALLS),
        "ok": total(found, CALLS, outcome="ok", tool="kb_search", profile="support"),
        "streams": total(found, CALLS, outcome="ok", tool="kb_read_pages", profile="none"),
        "error": total(found, CALLS, outcome="error", tool="kb_search"),
        "timeout": total(found, CALLS, outcome="timeout", tool="order_lookup"),
        "durations": total(found, "gen_ai_execute_tool_duration_seconds_count"),
        "first items": total(found, "tooltel_stream_first_item_seconds_count"),
        "unknown": total(found, "tooltel_tool_not_found_total", reason="unknown", profile="support"),
        "renamed": total(found, "tooltel_tool_not_found_total", reason="renamed", requested="refund"),
        "refused": total(found, "tooltel_policy_refusals_total", policy="refunds"),
        "rejected": total(found, "tooltel_rejections_total", kind="domain", source="tool"),
        "fields": total(found, "tooltel_rejected_fields_total", field="limit"),
        "active": total(found, ACTIVE),
        "internal errors": total(found, "tooltel_internal_errors_total"),
    }


def prefork(workers: str, turns: str) -> Any:
    """Tools are wrapped, then the process forks, as gunicorn does with preload."""
    desk = open_desk()
    codes = reap(*[in_child(lambda: shift(desk, int(turns))) for _ in range(int(workers))])
    return {"codes": codes} | summary(desk)


def _spawned(turns: int) -> None:
    shift(open_desk(), turns)


def spawn(workers: str, turns: str) -> Any:
    """Every worker wraps for itself."""
    desk = open_desk()
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_spawned, args=(int(turns),)) for _ in range(int(workers))]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return {"codes": [process.exitcode for process in processes]} | summary(desk)


def untouched() -> Any:
    """Every series of a scrape before anything happened, with its value."""
    desk = open_desk()
    return sorted([name, sorted(has), value] for (name, has), value in samples(desk.tel).items())


def first_call() -> Any:
    """What is new in a scrape after one call in a worker."""
    desk = open_desk()
    before = samples(desk.tel)
    reap(in_child(lambda: desk.act("kb_search")))
    after = samples(desk.tel)
    return {
        "new": sorted({name for name, _ in set(after) - set(before)}),
        "changed": sorted({name for name, has in before if after[name, has] != before[name, has]}),
        "gone": sorted({name for name, _ in set(before) - set(after)}),
    }


def killed(reaped: str) -> Any:
    """A worker is killed in the middle of a call; another one goes on with its own."""
    desk = open_desk()
    ready, inside = os.pipe()

    def forever() -> None:
        os.write(inside, b"x")
        signal.pause()

    pids = [in_child(lambda: desk.act("kb_search", forever)) for _ in range(2)]
    assert len(os.read(ready, 1) + os.read(ready, 1)) == 2
    seen = [total(samples(desk.tel), ACTIVE, tool="kb_search", owner="kb")]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # it is dead; nobody has asked for its exit code yet
        if reaped == "reaped":
            reap(pid)
        seen.append(total(samples(desk.tel), ACTIVE, tool="kb_search", owner="kb"))
    return {"active": seen, "shown": len(series(samples(desk.tel), ACTIVE)), "calls": total(samples(desk.tel), CALLS)}


def declare() -> Any:
    """One worker declares, another declares something else, the parent sees both and then the last."""
    desk = open_desk(count_tokens=len)

    def declaring(profile: str, text: str) -> Callable[[], None]:
        return lambda: desk.tel.declared(profile, [{"name": "kb_search", "description": text}])

    seen = []
    for work in (declaring("support", "Search."), declaring("sales", "Search better."), declaring("support", "Find.")):
        reap(in_child(work))
        found = samples(desk.tel)
        seen.append(
            {
                "tools": {dict(has)["profile"]: value for has, value in series(found, "tooltel_profile_tools").items()},
                "chars": {
                    dict(has)["profile"]: value for has, value in series(found, "tooltel_declaration_chars").items()
                },
                "tokens": len(series(found, "tooltel_declaration_tokens")),
                "budget": total(found, "tooltel_declaration_budget_chars"),
                "infos": len(series(found, INFO)),
                "info values": sorted(set(series(found, INFO).values())),
            }
        )
    return seen


def redeclare() -> Any:
    """One worker changes its mind: the old fingerprint leaves."""
    desk = open_desk()
    counts = []

    def work() -> None:
        for text in ("Search.", "Search better.", "Search best."):
            desk.tel.declared("support", [{"name": "kb_search", "description": text}])
            counts.append(len(series(samples(desk.tel), INFO)))
        os.write(inside, json.dumps(counts).encode())

    ready, inside = os.pipe()
    reap(in_child(work))
    return {"in the worker": json.loads(os.read(ready, 1000)), "in the parent": len(series(samples(desk.tel), INFO))}


def infos() -> Any:
    """How often each series of the catalog's state is there, with several workers about."""
    desk = open_desk()
    reap(*[in_child(lambda: shift(desk, 1)) for _ in range(3)])
    found = samples(desk.tel)  # fails for a series that is there twice
    names = ("tooltel_tool_info", "tooltel_catalog_info", "tooltel_build_info", "tooltel_tool_objective_ratio")
    before = {name: len(series(found, name)) for name in names}
    assert not desk.tel.reload(
        make_catalog([Tool(tool.name, tool.owner, description=SENTENCE) for tool in make_tools()])
    )
    after = samples(desk.tel)
    return {
        "before": before,
        "after": {name: len(series(after, name)) for name in names},
        "calls": total(after, CALLS) == total(found, CALLS),
    }


def served() -> Any:
    """A real scrape of several processes, in both formats."""
    desk = open_desk()
    reap(*[in_child(lambda: shift(desk, 2)) for _ in range(2)])
    reap(in_child(lambda: desk.tel.declared("support", [{"name": "kb_search"}])))
    with desk.tel.serve(port=0) as exposition:
        text = {name: family.type for name, family in families(exposition.url).items()}
        openmetrics = {name: family.type for name, family in families(exposition.url, OPENMETRICS).items()}
        one = parse(fetch(f"{exposition.url}?name[]={CALLS}")[0].decode())
        whole = parse(fetch(exposition.url)[0].decode())
    return {
        "text": text,
        "openmetrics": openmetrics,
        "restricted": sorted({name for name, _ in one}),
        "same": one == {key: value for key, value in whole.items() if key[0] == CALLS},
    }


def exemplars() -> Any:
    """Exemplars were asked for, and files have no place for them."""
    desk = Desk(settings={"exemplars": True, "log_calls": "off"})
    reap(in_child(lambda: desk.act("kb_search")))
    desk.act("kb_search")
    text = write_openmetrics(desk.tel.view)
    found = [sample for family in read_openmetrics(text) for sample in family.samples]
    return {
        "exemplars": sum(sample.exemplar is not None for sample in found),
        "calls": sum(sample.value for sample in found if sample.name == CALLS),
        "spans": len(desk.spans.ended),
        "internal errors": sum(sample.value for sample in found if sample.name == "tooltel_internal_errors_total"),
    }


def host_registry() -> Any:
    """A host that exposes its own multiprocess registry sees the counts, and the catalog with our collector."""
    from prometheus_client import CollectorRegistry
    from prometheus_client.multiprocess import MultiProcessCollector

    desk = open_desk()
    reap(in_child(lambda: shift(desk, 3)))
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    (collector,) = [each for each in desk.registry._collector_to_names if isinstance(each, CatalogCollector)]
    registry.register(collector)
    found = parse(generate_latest(registry).decode())
    return {
        "calls": total(found, CALLS),
        "tools": len(series(found, "tooltel_tool_info")),
        "created": any(name.endswith("_created") for name, _ in found),
    }


def recycled(workers: str) -> Any:
    """One worker after the other, as a server replaces them; a scrape after each."""
    desk = open_desk()
    seen = []
    for _ in range(int(workers)):
        reap(in_child(lambda: shift(desk, 5)))
        found = samples(desk.tel)
        seen.append({name: total(found, name) for name in (CALLS, "gen_ai_execute_tool_duration_seconds_count")})
    return seen


def threads_and_forks(forks: str) -> Any:
    """Threads record without a pause while the process forks; every child records, too."""
    sys.setswitchinterval(1e-5)
    desk = open_desk()
    stop = threading.Event()

    def hammer() -> None:
        while not stop.is_set():
            shift(desk, 1)
            desk.tel.declared("support", [{"name": "kb_search"}])

    def child() -> None:
        faulthandler.register(signal.SIGALRM, chain=True)  # says where, and ends
        signal.alarm(30)  # a child that waits for a lock for ever
        shift(desk, 1)
        desk.tel.declared("support", [{"name": "kb_search"}])

    threads = [threading.Thread(target=hammer, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of just this
        codes = [reap(in_child(child))[0] for _ in range(int(forks))]
    stop.set()
    for thread in threads:
        thread.join()
    return {
        "failed": sum(code != 0 for code in codes),
        "internal errors": total(samples(desk.tel), "tooltel_internal_errors_total"),
    }


def scraped_meanwhile() -> Any:
    """Scrapes while workers start, record and are killed: none fails, and no total goes back."""
    desk = open_desk()
    seen = []
    with desk.tel.serve(port=0) as exposition:
        pids: list[int] = []
        for turn in range(60):
            if turn % 4 == 0:
                pids.append(in_child(lambda: shift(desk, 2000)))
            if turn % 8 == 7:
                victim = pids.pop(0)
                os.kill(victim, signal.SIGKILL)
                reap(victim)
            seen.append(total(parse(fetch(exposition.url)[0].decode()), CALLS))
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        reap(*pids)
        final = parse(fetch(exposition.url)[0].decode())
    return {"monotonic": seen == sorted(seen), "seen": seen[-1] > 0, "active": total(final, ACTIVE)}


def collected(streams: str) -> Any:
    """Abandoned streams are collected while other calls make their series; nothing may wait for itself."""
    desk = open_desk()

    class Knot:
        """What only a garbage collection takes apart."""

    signal.alarm(60)
    gc.set_threshold(1, 1, 1)
    for number in range(int(streams)):
        name = f"stream_{number}"
        knot: Any = Knot()
        knot.itself = knot
        knot.stream = desk.tel.tool(lambda: (yield 1), name=name, owner="kb", description=SENTENCE)()
        next(knot.stream)
        del knot
        desk.act("kb_search", raising(type(f"Error{number}", (Exception,), {})()))
        desk.tel.not_found("made_up")
    gc.collect()
    found = samples(desk.tel)
    return {
        "abandoned": total(found, CALLS, outcome="abandoned"),
        "errors": total(found, CALLS, outcome="error"),
        "active": total(found, ACTIVE),
    }


def broken_files() -> Any:
    """Files that a killed worker left half made, or that are none of ours, beside good ones."""
    directory = Path(os.environ["PROMETHEUS_MULTIPROC_DIR"])
    desk = open_desk()
    reap(in_child(lambda: shift(desk, 1)))
    (good,) = [file for file in directory.glob("counter_*.db") if str(os.getpid()) not in file.name]
    (directory / "counter_999999991.db").touch()  # killed between making the file and its size
    (directory / "counter_999999992.db").write_bytes(bytes(65536))  # killed right after
    seen = [total(samples(desk.tel), CALLS), total(samples(desk.tel), "tooltel_internal_errors_total")]
    (directory / "counter_999999993.db").write_bytes(good.read_bytes()[:100])
    (directory / "counter_999999994.db").write_bytes(b"\xff" * 4096)
    (directory / "notes.db").write_text("somebody else's file, not one of prometheus_client")
    with desk.tel.serve(port=0) as exposition:
        for _ in range(2):
            fetch(exposition.url)
        found = parse(fetch(exposition.url)[0].decode())
    seen += [total(found, CALLS), total(found, "tooltel_internal_errors_total", component="exposition")]
    return seen


def no_directory(moment: str) -> Any:
    """The directory is not there at the start, or is gone later."""
    directory = Path(os.environ["PROMETHEUS_MULTIPROC_DIR"])
    if moment == "start":
        directory.rmdir()
        try:
            open_desk()
        except SettingError as error:
            return str(error)
    desk = open_desk()
    desk.act("kb_search")
    for file in directory.iterdir():
        file.unlink()
    directory.rmdir()
    results = [desk.act("kb_search"), str(desk.act("kb_search", raising(ValueError("mine"))))]
    results += [desk.act("order_lookup"), len(list(desk.act("kb_read_pages", lambda: [1, 2])))]
    try:
        samples(desk.tel)
    except FileNotFoundError as error:
        results.append(str(error))
    return results


# --- without the variable ---


def forked_without() -> Any:
    """What is warned about, where, when values are not shared."""
    desk = open_desk()
    seen: dict[str, list[str]] = {}
    ready, inside = os.pipe()

    def record() -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(3):
                shift(desk, 1)
        os.write(inside, json.dumps([str(each.message) for each in caught]).encode())

    def nothing() -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
        os.write(inside, json.dumps([str(each.message) for each in caught]).encode())

    for name, work in (("child that calls", record), ("child that does not", nothing)):
        reap(in_child(work))
        seen[name] = json.loads(os.read(ready, 10_000))
    record()
    seen["parent"] = json.loads(os.read(ready, 10_000))
    return seen


def warned_as_an_error() -> Any:
    """A host that turns warnings into errors still gets its results, and no gauge below zero."""
    desk = open_desk()
    ready, inside = os.pipe()

    def work() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            results = [desk.act("kb_search") for _ in range(3)]
        found = samples(desk.tel)
        facts = {"results": results, "active": total(found, ACTIVE), "calls": total(found, CALLS)}
        os.write(inside, json.dumps(facts).encode())

    reap(in_child(work))
    return json.loads(os.read(ready, 1000))


def variable_too_late(directory: str) -> Any:
    """The variable is set after prometheus_client was imported: its values are in memory, whatever it says."""
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = directory
    desk = open_desk()
    desk.act("kb_search")
    found = samples(desk.tel)
    return {
        "calls": total(found, CALLS),
        "infos": len(series(found, "tooltel_tool_info")),
        "files": [*map(str, Path(directory).iterdir())],
    }


if __name__ == "__main__":
    name, *arguments = sys.argv[1:]
    print(json.dumps(globals()[name](*arguments)))  # noqa: T201 - this is its way out
