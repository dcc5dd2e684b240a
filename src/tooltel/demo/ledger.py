"""What the script really did, counted when it is done: the other half of double-entry bookkeeping."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tooltel import signals
from tooltel.demo.entries import Settled, Tally, entry
from tooltel.demo.steps import Step, Visit
from tooltel.signals import Reason, Status

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tooltel.catalog import Catalog
    from tooltel.demo.entries import Entry


class Ledger:
    """
    A tally of steps, as the agent saw them end.

    It asks the *catalog* for owners and risks, as a person would look them up, and nothing else of tooltel.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self.tally: Tally = Tally()
        self.settled: Counter[Settled] = Counter()

    @property
    def calls(self) -> int:
        """Calls that reached a tool."""
        return self.settled.total() - self.drops

    @property
    def drops(self) -> int:
        """Calls that reached none."""
        return sum(count for each, count in self.settled.items() if not each.tool)

    def book(self, visit: Visit, step: Step, items: int | None) -> None:
        """Enter a finished *step* of *visit*; *items* is what the agent read of a stream, if it is one."""
        if step.fate.status is Status.NOT_FOUND:
            self._book_drop(visit, step)
            return
        self._book_call(visit, self._tool_of(step), step, items)
        for name in step.fate.inner:
            self._book_call(visit, name, Step(name), None)

    def _tool_of(self, step: Step) -> str:
        name = str(step.name)
        alias = self._catalog.aliases.get(name)
        if alias is not None:
            self._add(entry(signals.ALIAS_CALLS, name, alias.tool, alias.owner))
        return alias.tool if alias else name

    def _book_call(self, visit: Visit, name: str, step: Step, items: int | None) -> None:
        tool, fate = self._catalog.tools[name], step.fate
        self.settled[Settled(tool.name, visit.profile, fate.status)] += 1
        who = (tool.name, tool.owner)
        self._add(entry(signals.TOOL_CALLS, *who, tool.risk, visit.profile, fate.status))
        self._add(entry(signals.DURATION, *who, tool.risk))
        if items:
            self._add(entry(signals.FIRST_ITEM, *who))
        if fate.kind is not None and fate.source is not None:
            self._add(entry(signals.REJECTIONS, *who, fate.kind, fate.source))
            self._add_all(entry(signals.REJECTED_FIELDS, *who, fate.kind, field) for field in fate.fields)
        if fate.policy is not None:
            self._add(entry(signals.POLICY_REFUSALS, *who, tool.risk, fate.policy))
        if fate.repeated:
            self._add(entry(signals.REPEATED_CALLS, *who, tool.risk))
        for status, count in fate.items.items():
            self._add(entry(signals.BATCH_ITEMS, *who, status), count)

    def _book_drop(self, visit: Visit, step: Step) -> None:
        fate = step.fate
        if fate.reason is None:
            raise ValueError(f"{visit.id}: the script does not say why {step.name!r} is no tool")
        self.settled[Settled("", visit.profile, fate.status)] += 1
        owner = self._catalog.profiles[visit.profile].owner
        if fate.reason is Reason.NOT_IN_PROFILE:
            owner = self._catalog.tools[fate.requested].owner
        elif fate.reason is Reason.RENAMED:
            owner = self._catalog.retired[fate.requested].owner
        self._add(entry(signals.NOT_FOUND, visit.profile, owner, fate.reason, fate.requested))

    def _add(self, key: Entry, count: int = 1) -> None:
        self.tally[key] += count

    def _add_all(self, keys: Iterable[Entry]) -> None:
        self.tally.update(keys)
