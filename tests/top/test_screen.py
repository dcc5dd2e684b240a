"""The live table, through textual's own pilot: what it shows, and what each key does."""

from __future__ import annotations

import asyncio
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.processes import PATIENCE, Site, serving
from tests.top.fleets import Agent, make_agent, quiet
from tests.top.snapshots import read_snapshot
from tests.top.test_cells import HOSTILE, fleet, gains
from tooltel.errors import NoMetricsError
from tooltel.top.asking import read_address
from tooltel.top.board import Order
from tooltel.top.looks import Look
from tooltel.top.rows import By
from tooltel.top.screen import TopApp
from tooltel.top.sources import MetricsPage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator

    from textual.pilot import Pilot

    from tooltel.top.looks import Source

NEVER = 1e6  # seconds: looks are taken by the test
KEYS = "q Quit  space Pause  s Sort  r Reverse  o Owners/tools  / Filter"


class Fixed:
    """A source that always shows the same, or what is put into it."""

    title = "http://p:9090"

    def __init__(self, look: Look) -> None:
        self.seen: Look | Exception = look
        self.looks = 0

    def look(self) -> Look:
        self.looks += 1
        if isinstance(self.seen, Exception):
            raise self.seen
        return self.seen


@asynccontextmanager
async def opened(
    source: Source, first: Look | None = None, *, width: int = 80, order: Order | None = None
) -> AsyncIterator[Pilot[int]]:
    """The view of *source* on a screen of *width* by 16."""
    app = TopApp(source, first=first or source.look(), order=order or Order(), interval=NEVER)
    async with app.run_test(size=(width, 16)) as pilot:
        await settled(pilot)
        yield pilot


async def settled(pilot: Pilot[int]) -> None:
    """Wait until every answer is there and drawn."""
    async with asyncio.timeout(PATIENCE):
        await pilot.pause()
        while app_of(pilot).is_asking:
            await pilot.pause()


def screen(pilot: Pilot[int]) -> list[str]:
    """The lines of the screen, as a person sees them."""
    strips = pilot.app.screen._compositor.render_strips()
    return [strip.text.rstrip() for strip in strips]


def tools(pilot: Pilot[int]) -> list[str]:
    """The first words of the table's rows."""
    below = 3 if pilot.app.query_one("#filter").display else 2  # the filter, the chosen row, the keys
    return [line.split()[0] for line in screen(pilot)[2:-below] if line.strip()]


def live(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Run a test that awaits."""

    def run() -> None:
        asyncio.run(test())

    run.__doc__ = test.__doc__
    return run


@pytest.fixture(autouse=True)
def colors(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("by", By)
def test_the_screen_is_the_committed_one(width: int, by: By) -> None:
    async def look() -> list[str]:
        async with opened(Fixed(fleet()), width=width, order=Order(by=by)) as pilot:
            return screen(pilot)

    assert asyncio.run(look()) == read_snapshot(f"screen-{by}-{width}").splitlines()


@live
async def test_sort_goes_from_column_to_column_and_back() -> None:
    async with opened(Fixed(fleet()), width=120) as pilot:
        assert tools(pilot)[0] == "kb_search"
        assert "▼CALLS/S" in screen(pilot)[1]
        await pilot.press("s")
        assert tools(pilot)[0] == "order_refund"
        assert "▼ERRORS" in screen(pilot)[1]
        await pilot.press("r")
        assert "▲ERRORS" in screen(pilot)[1]
        assert tools(pilot)[-1] in {"idle_tool", "refund_order"}  # what is not known stays last
        await pilot.press("S")
        assert tools(pilot)[0] == "kb_search"
        await pilot.press("S")
        assert "TOOL▼" in screen(pilot)[1]


@live
async def test_a_key_goes_from_tools_to_owners_and_back() -> None:
    async with opened(Fixed(fleet())) as pilot:
        await pilot.press("o")
        assert screen(pilot)[1].split()[:2] == ["OWNER", "TOOLS"]
        assert tools(pilot)[0] == "knowledge-base"
        await pilot.press("o")
        assert screen(pilot)[1].split()[0] == "TOOL"


@live
async def test_a_filter_is_written_kept_and_cleared() -> None:
    async with opened(Fixed(fleet())) as pilot:
        await pilot.press("/", *"refund")
        assert tools(pilot) == ["order_refund", "refund_order"]
        assert screen(pilot)[0].split()[:4] == ["1", "of", "5", "tools"]
        await pilot.press("enter")
        await pilot.press("s")  # a key again, no letter of the filter
        assert "▼ERRORS" in screen(pilot)[1]
        assert tools(pilot) == ["order_refund", "refund_order"]
        await pilot.press("/", *" nothing like it")
        assert tools(pilot) == []
        await pilot.press("escape")
        assert len(tools(pilot)) == 7
        await pilot.press("down", "q")
    assert pilot.app.return_code == 0


@live
async def test_letters_in_a_filter_are_letters() -> None:
    async with opened(Fixed(fleet())) as pilot:
        await pilot.press("/", *"q so p")
        assert pilot.app.is_running
        assert pilot.app.query_one("#filter").value == "q so p"  # type: ignore[attr-defined]


@live
async def test_pause_holds_what_is_shown() -> None:
    source = Fixed(fleet())
    async with opened(source, fleet()) as pilot:
        await pilot.press("space")
        assert screen(pilot)[0].startswith(" PAUSED · 5 tools")
        source.seen = Look(gains("new_tool", "kb", 5), frozenset(), 300.0)
        assert not app_of(pilot).look_again()
        await settled(pilot)
        assert source.looks == 0
        assert tools(pilot)[0] == "kb_search"
        await pilot.press("space")
        await settled(pilot)
        assert tools(pilot) == ["new_tool"]


@live
async def test_what_goes_wrong_is_told_and_the_numbers_stay() -> None:
    source = Fixed(fleet())
    async with opened(source) as pilot:
        before, source.seen = source.seen, NoMetricsError("nothing listens at http://p:9090\x1b[2J: start it")
        app_of(pilot).look_again()
        await settled(pilot)
        assert screen(pilot)[0] == " nothing listens at http://p:9090\\x1b[2J: start it"
        assert tools(pilot)[0] == "kb_search"
        source.seen = before
        app_of(pilot).look_again()
        await settled(pilot)
        assert screen(pilot)[0].startswith(" 5 tools")


@live
async def test_a_fault_of_ours_ends_it_and_is_seen() -> None:
    source = Fixed(fleet())
    async with opened(source) as pilot:
        source.seen = ZeroDivisionError("ours")
        app_of(pilot).look_again()
        await settled(pilot)
    assert isinstance(app_of(pilot).fault, ZeroDivisionError)
    assert pilot.app.return_code == 1


@live
async def test_ctrl_c_leaves_as_interrupted() -> None:
    async with opened(Fixed(fleet())) as pilot:
        await pilot.press("/", "a", "ctrl+c")
    assert pilot.app.return_code == 130


@live
async def test_the_chosen_row_is_told_in_full_and_stays_chosen() -> None:
    source = Fixed(fleet())
    async with opened(source) as pilot:
        await pilot.press("down")
        assert screen(pilot)[-2] == (
            " order_refund of orders · error 84, ok 1,200 · ToolErrorBudgetBurn ToolLatencyHigh"[:78] + "…"
        )
        await pilot.press("s", "s")
        assert screen(pilot)[-2].startswith(" order_refund of orders")
        source.seen = Look({**fleet().gains, **gains("order_refund", "orders", 1, 0)}, fleet().keys, 300.0)
        app_of(pilot).look_again()
        await settled(pilot)
        assert screen(pilot)[-2] == " order_refund of orders · ok 1"


@live
async def test_no_name_writes_anywhere_else() -> None:
    names = [HOSTILE, "[bold]x[/bold]", "[/]", "返金" * 40, "a" * 3000]
    found = {part: gain for name in names for part, gain in gains(name, name, 1).items()}
    async with opened(Fixed(Look(found, frozenset(), 10.0))) as pilot:
        for _ in names:
            shown = screen(pilot)
            assert all(line.isprintable() for line in shown)
            assert len(tools(pilot)) == len(names)
            await pilot.press("down")
        assert any("[bold]x[/bold]" in line for line in screen(pilot))


@live
async def test_a_terminal_that_is_resized_is_laid_out_anew() -> None:
    async with opened(Fixed(fleet())) as pilot:
        assert "NOTFND" in screen(pilot)[1]
        await pilot.resize_terminal(120, 16)
        await pilot.pause()
        assert "NOT FOUND" in screen(pilot)[1]
        await pilot.resize_terminal(20, 6)
        await pilot.pause()
        assert screen(pilot)[1].split() == ["TOOL", "▼CALLS/S"]


# --- over a real page ------------------------------------------------------------------------------------


@pytest.fixture
def agent() -> Iterator[tuple[Agent, str]]:
    """An agent with its real /metrics, and the URL of that."""
    with quiet():
        made = make_agent({"order_refund": "orders", "kb_search": "kb"})
        with made.tel.serve(port=0) as served:
            yield made, served.url


def test_calls_that_an_agent_makes_appear(agent: tuple[Agent, str]) -> None:
    made, url = agent

    async def watch() -> None:
        async with opened(MetricsPage(read_address(url), window=60)) as pilot:
            assert screen(pilot)[0] == f" 2 tools · since its start · {url}"
            made.call("order_refund", 3)
            app_of(pilot).look_again()
            await settled(pilot)
            assert tools(pilot)[0] == "order_refund"
            assert screen(pilot)[-2] == " order_refund of orders · ok 3"  # on top, where nobody moved away from

    asyncio.run(watch())


def test_an_answer_that_is_late_holds_up_no_key() -> None:
    """And no second question is asked meanwhile."""
    page = (200, "text/plain", b'tooltel_tool_calls_total{outcome="ok",owner="o",tool="t"} 3\n')

    async def watch() -> None:
        with serving(Site({"/metrics": page})) as site:
            source = MetricsPage(read_address(f"{site.url}/metrics"), window=60)
            async with opened(source) as pilot:
                site.go = threading.Event()
                app_of(pilot).look_again()
                assert not app_of(pilot).look_again()
                await pilot.press("o")
                assert screen(pilot)[1].split()[0] == "OWNER"
                site.go.set()
                await settled(pilot)
            assert len(site.requests) == 2

    asyncio.run(watch())


def test_an_answer_that_comes_while_paused_is_not_shown(agent: tuple[Agent, str]) -> None:
    made, url = agent

    async def watch() -> None:
        async with opened(MetricsPage(read_address(url), window=60)) as pilot:
            made.call("order_refund", 3)
            assert app_of(pilot).look_again()
            app_of(pilot).action_pause()  # before the answer can be handled: nothing else had its turn
            await settled(pilot)
            assert tools(pilot)[0] == "kb_search"

    asyncio.run(watch())


def app_of(pilot: Pilot[int]) -> TopApp:
    """The app under test."""
    assert isinstance(pilot.app, TopApp)
    return pilot.app
