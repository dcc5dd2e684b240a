"""A reload takes all of a new catalog, or nothing of it; what is running goes on as it began."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client import CollectorRegistry

from tooltel import Catalog, Owner, Profile, Tool, Tooltel
from tooltel.testing import capture

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

FILE = """
[catalog]
platform_owner = "orders"
[owners.orders]
[owners.payments]
[profiles.support]
owner = "orders"

[tools.order_lookup]
owner = "orders"
version = 1
risk = "read"
profiles = ["support"]
description = "Look up one order by its number, with its items and its delivery state."
aliases = ["get_order"]

[tools.order_refund]
owner = "payments"
risk = "irreversible"
profiles = ["support"]
description = "Refund one order in full, after a human being has approved of it."
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tools.toml"
    path.write_text(FILE)
    return path


def make(catalog: Any, **options: Any) -> Tooltel:
    return Tooltel(catalog, registry=CollectorRegistry(), **options)


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def order_lookup(order_id: str = "o-1", then: Callable[[], Any] | None = None) -> Any:
    return then() if then else order_id


def test_calls_made_after_a_reload_are_of_the_new_tool(file: Path) -> None:
    tel = make(file)
    tool = tel.tool(order_lookup)
    with capture(tel) as seen, tel.session(profile="support"):
        tool()
        change(file, "version = 1", "version = 2")
        assert tel.reload() == ()
        tool()
    assert [outcome.tool.version for outcome in seen.outcomes if outcome.tool] == ["1", "2"]
    assert [(span.attributes or {})["tool.version"] for span in seen.spans] == ["1", "2"]
    (line,) = seen.logged("catalog_reloaded")
    assert line["sha"] == tel.catalog.sha


def test_a_running_call_keeps_the_tool_that_it_began_as(file: Path) -> None:
    tel = make(file)
    tool = tel.tool(order_lookup)

    def reload() -> None:
        change(file, 'owner = "orders"\nversion = 1', 'owner = "payments"\nversion = 2')
        assert tel.reload() == ()

    with capture(tel) as seen:
        tool("o-1", reload)
        tool()
    assert [(o.tool.owner, o.tool.version) for o in seen.outcomes if o.tool] == [("orders", "1"), ("payments", "2")]
    assert seen.increase("tooltel_tool_calls_active") == 0


def test_a_stream_and_a_task_that_are_running_keep_theirs(file: Path) -> None:
    tel = make(file)

    def rows() -> Iterator[int]:
        yield from (1, 2)

    async def slow_rows() -> AsyncIterator[int]:
        yield 1
        await asyncio.sleep(0)
        yield 2

    stream = tel.tool(rows, name="order_lookup")()
    slow = tel.tool(slow_rows, name="order_refund")

    async def main() -> None:
        running = slow()
        await anext(running)
        next(stream)
        change(file, "version = 1", "version = 2")
        change(file, 'owner = "payments"', 'owner = "orders"')
        assert tel.reload() == ()
        assert list(stream) == [2]
        assert [item async for item in running] == [2]

    with capture(tel) as seen:
        asyncio.run(main())
    assert {(o.tool.name, o.tool.owner, o.tool.version) for o in seen.outcomes if o.tool} == {
        ("order_lookup", "orders", "1"),
        ("order_refund", "payments", "1"),
    }
    assert seen.increase("tooltel_tool_calls_active") == 0


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ('owner = "payments"', 'owner = "paymnts"', "unknown_owner"),
        ("version = 1", "versoin = 1", "unknown_key"),
        ("[catalog]", "[catalog", None),
        ('aliases = ["get_order"]', "", "unknown_alias"),
        ("[tools.order_lookup]", "[tools.order_find]", "wrapped_tool_missing"),
    ],
)
def test_a_new_file_with_any_problem_replaces_nothing(file: Path, old: str, new: str, rule: str | None) -> None:
    tel = make(file)
    tool = tel.tool(order_lookup)
    aliased = tel.alias("get_order", tool)
    before = tel.catalog
    change(file, old, new)
    with capture(tel) as seen:
        problems = tel.reload()
        aliased()
    assert problems
    assert rule is None or rule in {problem.rule for problem in problems}
    assert tel.catalog is before
    assert seen.outcomes[0].tool is before.tools["order_lookup"]
    assert seen.increase("tooltel_catalog_reload_failures_total") == 1
    (line,) = seen.logged("catalog_reload_failed")
    assert len(line["problems"]) == len(problems)


def test_a_file_that_is_gone_or_no_catalog_replaces_nothing(file: Path) -> None:
    tel = make(file)
    before = tel.catalog
    file.unlink()
    assert tel.reload()
    assert tel.reload(str(file.parent))
    assert tel.reload(b"\x00")  # type: ignore[arg-type]  # the point
    assert tel.reload(7)  # type: ignore[arg-type]  # the point
    assert tel.catalog is before


def test_a_tool_that_is_wrapped_must_stay_and_what_is_missing_says_so(file: Path) -> None:
    tel = make(file)
    wrapped = tel.tool(order_lookup)
    change(file, "[tools.order_lookup]", "[tools.order_find]")
    (problem,) = tel.reload()
    assert wrapped() == "o-1"
    assert (problem.rule, problem.path) == ("wrapped_tool_missing", "tools.order_lookup")
    assert "until no running process wraps it" in problem.fix


def test_a_tool_that_nothing_wraps_any_more_may_go(file: Path) -> None:
    tel = make(file)
    tool = tel.tool(order_lookup)
    change(file, "[tools.order_lookup]", "[tools.order_find]")
    assert tel.reload()
    del tool
    assert tel.reload() == ()


def test_another_catalog_may_be_given_and_is_the_one_that_is_read_from_then_on(file: Path) -> None:
    tel = make(file)
    other = file.with_name("other.toml")
    other.write_text(FILE.replace("version = 1", "version = 7"))
    assert tel.reload(other) == ()
    assert tel.catalog.tools["order_lookup"].version == "7"
    change(other, "version = 7", "version = 8")
    assert tel.reload() == ()
    assert tel.catalog.tools["order_lookup"].version == "8"


def test_tools_declared_in_code_stay(file: Path) -> None:
    tel = make(file)
    tool = tel.tool(order_lookup, name="order_tag", owner="orders", description="x" * 50)
    assert tel.reload() == ()
    assert "order_tag" in tel.catalog.tools
    with capture(tel) as seen:
        tool()
    assert seen.outcomes[0].tool is tel.catalog.tools["order_tag"]


def test_an_open_catalog_can_be_reloaded_too() -> None:
    tel = make(None)
    tel.tool(order_lookup, owner="orders", description="x" * 50)
    assert tel.reload() == ()
    assert "order_lookup" in tel.catalog.tools


def test_the_process_profile_becomes_known_with_the_catalog_that_holds_it(file: Path) -> None:
    tel = make(file, profile="sales")
    tool = tel.tool(order_lookup)
    with capture(tel) as seen:
        tool()
        change(file, "[profiles.support]", '[profiles.sales]\nowner = "orders"\n[profiles.support]')
        assert tel.reload() == ()
        tool()
    assert [outcome.origin.profile for outcome in seen.outcomes] == ["other", "sales"]


def test_drops_are_explained_by_the_new_catalog(file: Path) -> None:
    tel = make(file)
    assert getattr(tel.not_found("order_find").missing, "reason", None) == "unknown"
    change(file, 'aliases = ["get_order"]', 'aliases = ["get_order"]\nretired = ["order_find"]')
    assert tel.reload() == ()
    assert getattr(tel.not_found("order_find").missing, "reason", None) == "renamed"


def test_house_rules_that_were_relaxed_stay_relaxed(file: Path) -> None:
    tel = make(file, on_problem="warn")
    change(file, "Look up one order by its number, with its items and its delivery state.", "Short.")
    with capture(tel) as seen:
        assert tel.reload() == ()
    assert any(
        "Short" in line["problem"] or "description" in line["problem"] for line in seen.logged("catalog_problem")
    )
    tel.tool(lambda: None, name="order_tag", owner="orders")


def test_reloads_while_tools_are_wrapped_and_called_lose_nothing() -> None:
    tools = [Tool(f"order_tool_{n}", "orders", description="x" * 50) for n in range(50)]
    catalog = Catalog(tools=tools, owners=[Owner("orders")], profiles=[Profile("support", "orders")])
    tel = make(catalog)
    stop = time.monotonic() + 1.0
    failures: list[Any] = []

    def reload() -> None:
        while time.monotonic() < stop:
            failures.extend(tel.reload(catalog))

    def work(start: int) -> int:
        calls = 0
        while time.monotonic() < stop:
            tel.tool(order_lookup, name=f"order_tool_{(start + calls) % 50}")()
            calls += 1
        return calls

    counted: list[int] = []
    threads = [threading.Thread(target=reload)]
    threads += [threading.Thread(target=lambda n=n: counted.append(work(n))) for n in range(3)]
    with capture(tel) as seen:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []
    assert len(counted) == 3
    assert seen.increase("tooltel_tool_calls_total", outcome="ok") == sum(counted) == len(seen.outcomes)
    assert seen.increase("tooltel_tool_calls_active") == 0


def test_a_log_that_fails_fails_no_reload(file: Path) -> None:
    def broken(*_: Any) -> None:
        raise OSError("disk full")

    tel = make(file)
    tel.events.sink = broken
    assert tel.reload() == ()
    change(file, 'owner = "payments"', 'owner = "paymnts"')
    assert tel.reload()


def test_a_signal_handler_may_reload_and_call_tools_wherever_the_thread_is(file: Path) -> None:
    """It runs in the thread that it interrupts, which may hold any of these locks."""
    tel = make(file)
    tool = tel.tool(order_lookup)

    def interrupted() -> None:
        with tel._declared._lock, tel._metrics._lock, tel._lock:
            assert tel.reload() == ()
            tel.declared("support", [{"name": "order_lookup", "description": "Look it up.", "parameters": {}}])
            tool()

    thread = threading.Thread(target=interrupted, daemon=True)
    thread.start()
    thread.join(timeout=30)
    assert not thread.is_alive(), "locked up"
