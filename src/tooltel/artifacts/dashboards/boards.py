"""Every dashboard, each with the variables that narrow it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tooltel.artifacts.dashboards.board import Board, write_board
from tooltel.artifacts.dashboards.fleet import fleet_board
from tooltel.artifacts.dashboards.itself import itself_board
from tooltel.artifacts.dashboards.lifecycle import lifecycle_board
from tooltel.artifacts.dashboards.owner import owner_board
from tooltel.artifacts.dashboards.tool import tool_board
from tooltel.artifacts.dashboards.view import FILTERS, OWNER, PROFILE, TOOL, View

if TYPE_CHECKING:
    from tooltel.artifacts.options import RenderOptions
    from tooltel.catalog import Catalog

# What is not named here is still there, hidden, so that links carry it on.
_BOARDS: Final[tuple[tuple[Callable[[View], Board], tuple[str, ...]], ...]] = (
    (fleet_board, FILTERS),
    (owner_board, FILTERS),
    (tool_board, FILTERS),
    (lifecycle_board, (OWNER, PROFILE, TOOL)),
    (itself_board, ()),
)


def write_boards(catalog: Catalog, options: RenderOptions) -> dict[str, str]:
    """The text of every dashboard by its uid."""
    texts = {}
    for build, filters in _BOARDS:
        view = View(catalog, options, filters)
        board = build(view)
        texts[board.uid] = write_board(board, view)
    return texts
