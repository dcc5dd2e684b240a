"""The shift under the eyes of a real Prometheus and a real Alertmanager: who is told, and how soon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tooltel.artifacts.defaults import PAGE
from tooltel.artifacts.options import RenderOptions
from tooltel.artifacts.routes.config import FIRING, RESOLVED
from tooltel.demo.delivery import Delivery, deliveries, find_told
from tooltel.demo.judgment import BURN, judge
from tooltel.demo.readback import Scrape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tooltel.demo.judgment import Notice
    from tooltel.demo.stack import Notification, Stack
    from tooltel.demo.stage import Stage

SECONDS_TO_PAGE: Final = 20.0  # after the last call: twice what it has ever taken
SECONDS_TO_END: Final = 60.0  # a burn is over when its short window is clear and has been for a while


class Live:
    """What *stack* tells of the shift on *stage*. Waits are for what the shift's own counts call for."""

    def __init__(self, stage: Stage, stack: Stack) -> None:
        self._stage = stage
        self._stack = stack
        self._options = RenderOptions.from_catalog(stage.catalog)

    def await_pages(self, *, seconds: float = SECONDS_TO_PAGE) -> bool:
        """Wait until everybody is paged whom the counts so far call for; False when *seconds* were too few."""
        due = [notice for notice in self._judged() if notice.is_page]

        def all_there(arrived: Sequence[Notification]) -> bool:
            return all(self._find(arrived, notice, FIRING) for notice in due)

        return bool(self._stack.pager.wait_for(all_there, seconds=seconds))

    def await_end(self, *, seconds: float = SECONDS_TO_END) -> bool:
        """Wait until the burst of errors is over for those who were paged; False after *seconds*."""
        name = self._options.alert_name(BURN)
        burning = [notice for notice in self._judged() if notice.is_page and notice.alert == name]

        def all_over(arrived: Sequence[Notification]) -> bool:
            return all(self._find(arrived, notice, RESOLVED) for notice in burning)

        return bool(self._stack.pager.wait_for(all_over, seconds=seconds))

    def deliveries(self) -> list[Delivery]:
        """Every alert that has reached a receiver so far."""
        return deliveries(self._stack.pager.notifications, self._stage.causes, self._options)

    def _judged(self) -> list[Notice]:
        return judge(self._stage.catalog, Scrape(self._stage.scrape()))

    def _find(self, arrived: Sequence[Notification], notice: Notice, status: str) -> Notification | None:
        receiver, tool = f"{notice.owner}-{PAGE}", notice.tool or ""
        return find_told(arrived, receiver=receiver, alert=notice.alert, tool=tool, status=status)
