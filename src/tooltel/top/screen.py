"""The live table in a terminal: looks again and again, and listens to the keyboard."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import DataTable, Footer, Input, Static

from tooltel.errors import NoMetricsError
from tooltel.text import clean
from tooltel.top.board import Board, make_board, tone
from tooltel.top.cells import NO_TOOL, alerts, count, fit, name, owner
from tooltel.top.rows import By, Row, Sort

if TYPE_CHECKING:
    from textual.events import Resize

    from tooltel.top.board import Order
    from tooltel.top.looks import Look, Source

INTERRUPTED: Final = 130  # as shells have it for Ctrl-C
_STYLES: Final = {"page": "bold red", "firing": "yellow", "idle": "dim", "": ""}
_SCROLLBAR: Final = 1
_SORTS: Final = tuple(Sort)
_LINE: Final = 1000  # characters


class Seen(Message):
    """What a look saw, or the reason why it saw nothing."""

    def __init__(self, what: Look | Exception) -> None:
        super().__init__()
        self.what = what


class TopApp(App[int]):
    """
    The table of *source*, looked at every *interval* seconds, beginning with *first*.

    What goes wrong is told in the headline, and the numbers of before stay.
    """

    ENABLE_COMMAND_PALETTE = False
    TITLE = "tooltel top"
    CSS = """
    Screen { layout: vertical; }
    #head, #detail { height: 1; width: 100%; padding: 0 1; }
    #head { text-style: bold; }
    #detail { color: $text-muted; }
    DataTable { height: 1fr; scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0; }
    #filter { display: none; height: 1; border: none; padding: 0 1; }
    #filter.-open { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit_with(0)", "Quit"),
        Binding("space,p", "pause", "Pause", key_display="space"),
        Binding("s", "sort(1)", "Sort"),
        Binding("S", "sort(-1)", "Sort back", show=False),
        Binding("r", "turn", "Reverse"),
        Binding("o", "group", "Owners/tools"),
        Binding("slash", "filter", "Filter", key_display="/"),
        Binding("escape", "clear_filter", "Clear filter", show=False),
        Binding("ctrl+c", f"quit_with({INTERRUPTED})", "Interrupt", show=False, priority=True),
    ]

    def __init__(self, source: Source, *, first: Look, order: Order, interval: float) -> None:
        super().__init__()
        self._source, self._interval = source, interval
        self._look, self.order = first, order
        self.paused = False
        self.is_asking = False
        self.fault: Exception | None = None
        self._problem = ""
        self._width = 0  # cells of the terminal
        self._rows: dict[str, Row] = {}

    # --- life ----------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """The headline, the table, the filter, a line about the chosen row, and the keys."""
        yield Static(id="head", markup=False)
        yield DataTable(id="table", cursor_type="row")
        yield Input(id="filter", placeholder="part of a tool's, an owner's or an alert's name")
        yield Static(id="detail", markup=False)
        footer = Footer()
        footer.compact = True
        yield footer

    def on_mount(self) -> None:
        """Show the first look, and take the next ones."""
        self._width = self.size.width
        self._table.focus()
        self._draw()
        self.set_interval(self._interval, self.look_again)

    def on_resize(self, event: Resize) -> None:
        """Lay the columns out anew."""
        self._width = event.size.width
        self._draw()

    def look_again(self) -> bool:
        """Ask, while keys are heard; not while paused, nor while an answer is due. Tells whether it asks."""
        if self.paused or self.is_asking:
            return False
        self.is_asking = True
        # A thread of our own, as leaving would wait for a pool's until a server that hangs has been given up.
        threading.Thread(target=self._ask, daemon=True).start()
        return True

    def _ask(self) -> None:
        try:
            self.post_message(Seen(self._source.look()))
        except Exception as error:  # noqa: BLE001 - whatever it is, the app tells it
            self.post_message(Seen(error))

    def on_seen(self, message: Seen) -> None:
        """Show what was seen, or why nothing was."""
        self.is_asking = False
        if isinstance(message.what, NoMetricsError):
            self._problem = clean(message.what, limit=_LINE)
        elif isinstance(message.what, Exception):
            # A fault of ours: leave the terminal as it was, then let it be seen.
            self.fault = message.what
            self.exit(return_code=1)
            return
        elif not self.paused:
            self._look, self._problem = message.what, ""
        self._draw()

    # --- keys ----------------------------------------------------------------------------------------

    def action_quit_with(self, code: int) -> None:
        """Leave."""
        self.exit(code, return_code=code)

    def action_pause(self) -> None:
        """Stop looking, or look again."""
        self.paused = not self.paused
        self._draw()
        self.look_again()

    def action_sort(self, step: int) -> None:
        """Sort by the next column, or by the one before."""
        place = (_SORTS.index(self.order.sort) + step) % len(_SORTS)
        self._arrange(sort=_SORTS[place], reverse=False)

    def action_turn(self) -> None:
        """Turn the order around."""
        self._arrange(reverse=not self.order.reverse)

    def action_group(self) -> None:
        """Go from tools to owners, or back."""
        self._arrange(by=By.OWNER if self.order.by is By.TOOL else By.TOOL)

    def action_filter(self) -> None:
        """Open the line in which a filter is written."""
        self._filter.add_class("-open")
        self._filter.value = self.order.wanted
        self._filter.focus()

    def action_clear_filter(self) -> None:
        """Show all rows again."""
        self._filter.value = ""
        self._close_filter()
        self._arrange(wanted="")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while it is written."""
        if self._filter.has_class("-open"):
            self._arrange(wanted=event.value)

    def on_input_submitted(self, _event: Input.Submitted) -> None:
        """Keep the filter, and give the keys back to the table."""
        self._close_filter()

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        """Say more of the chosen row."""
        self._tell(self._rows.get(str(event.row_key.value)))

    # --- drawing -------------------------------------------------------------------------------------

    @property
    def _table(self) -> DataTable[Text]:
        return self.query_one("#table", DataTable)

    @property
    def _filter(self) -> Input:
        return self.query_one("#filter", Input)

    def _close_filter(self) -> None:
        self._filter.remove_class("-open")
        self._table.focus()

    def _arrange(self, **changes: Any) -> None:
        self.order = replace(self.order, **changes)
        self._draw()

    def _draw(self) -> None:
        board = make_board(self._look, self.order)
        self.query_one("#head", Static).update(self._headline(board))
        # Who has moved down to a row wants to keep an eye on it; who has not, on whatever is on top.
        chosen = self._chosen() if self._table.cursor_row > 0 else ""
        self._fill(board)
        if chosen in self._rows:
            self._table.move_cursor(row=self._table.get_row_index(chosen))
        self._tell(self._rows.get(self._chosen()))

    def _headline(self, board: Board) -> Text:
        if self._problem:
            return Text(self._cut(self._problem), style="bold red")
        state = "PAUSED · " if self.paused else ""
        return Text(self._cut(state + board.headline(self._source.title)))

    def _cut(self, line: str) -> str:
        return fit(line, max(self._width - 2, 1), right=False)

    def _fill(self, board: Board) -> None:
        # One cell a row, laid out by us: with eight of them, a thousand rows take a quarter of a second to draw
        # a row take.
        table = self._table
        laid = board.lay_out(max(self._width - _SCROLLBAR - 2, 1), mark=True)
        top = table.scroll_offset.y
        table.clear(columns=True)
        table.add_column(Text(board.heading(laid)), width=max(self._width - _SCROLLBAR - 2, 1))
        self._rows = {}
        for row in board.rows:
            key = f"{row.owner}\0{row.tool}"
            table.add_row(Text(board.line(row, laid), style=_STYLES[tone(row)]), key=key)
            self._rows[key] = row
        table.scroll_to(y=top, animate=False)

    def _chosen(self) -> str:
        table = self._table
        if not table.row_count:
            return ""
        return str(table.coordinate_to_cell_key(table.cursor_coordinate).row_key.value)

    def _tell(self, row: Row | None) -> None:
        self.query_one("#detail", Static).update(Text(self._cut(describe(row))) if row else "")


def describe(row: Row) -> str:
    """One line about a *row*: its whole name, its calls by outcome, and its alerts by name."""
    who = owner(row) if not row.tool else f"{name(row)} of {owner(row)}"
    if not row.tool and not row.tools:
        who = f"{NO_TOOL} of {owner(row)}"
    outcomes = [f"{clean(outcome)} {count(calls)}" for outcome, calls in sorted(row.outcomes.items()) if calls]
    facts = [who, ", ".join(outcomes) or "no calls"]
    return " · ".join([*facts, alerts(row)] if row.firing else facts)
