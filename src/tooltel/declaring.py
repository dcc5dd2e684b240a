"""What the model was really sent, as gauges: size against budget, number of tools, fingerprints."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tooltel import signals
from tooltel.declarations import Declaration, measure
from tooltel.recorders.prometheus import Series, is_multiprocess
from tooltel.signals import Event
from tooltel.text import clean

if TYPE_CHECKING:
    from tooltel.catalog import Catalog
    from tooltel.recorders.prometheus import Instruments


class Noted(NamedTuple):
    """What came of one set of declarations: names, schema properties by tool, warnings, and events with facts."""

    names: tuple[str, ...]
    properties: Mapping[str, frozenset[str]]
    warnings: tuple[str, ...]
    events: tuple[tuple[Event, Mapping[str, Any]], ...]


class Declared:
    """Remembers the last declarations of each profile, so that a change is seen and old series leave."""

    def __init__(self, instruments: Instruments, count_tokens: Callable[[str], int] | None) -> None:
        self._instruments = instruments
        self._count_tokens = count_tokens
        self._shas: dict[tuple[str, str], str] = {}  # (tool, version) -> last fingerprint
        self._info: dict[str, Series] = {}
        self._lock = threading.Lock()

    def note(self, profile: str, sent: Sequence[Any], catalog: Catalog) -> Noted:
        """Set the gauges of *profile*; give what is worth saying."""
        found = measure(sent)
        label, owner = catalog.profile_label(profile), catalog.profile_owner(profile)
        known = catalog.profiles.get(profile)
        budget = known.budget_chars if known else None
        chars = sum(declaration.chars for declaration in found)
        put = self._instruments.put
        with self._lock:
            put(chars, signals.DECLARATION_CHARS, label, owner)
            put(len(found), signals.PROFILE_TOOLS, label, owner)
            if budget is not None:
                put(budget, signals.DECLARATION_BUDGET, label, owner)
            if self._count_tokens is not None:
                tokens = sum(self._count_tokens(declaration.text) for declaration in found)
                put(tokens, signals.DECLARATION_TOKENS, label, owner)
            events = [event for declaration in found for event in self._note_tool(declaration, catalog)]
        warnings = [
            f"profile {clean(profile)!r} declares {declaration.name!r}, which the catalog does not hold"
            for declaration in found
            if declaration.name not in catalog.tools and declaration.name not in catalog.aliases
        ]
        if budget is not None and chars > budget:
            warnings.append(f"profile {clean(profile)!r} declares {chars} characters; its budget is {budget}")
        return Noted(
            tuple(declaration.name for declaration in found),
            {declaration.name: declaration.properties for declaration in found},
            tuple(warnings),
            tuple(events),
        )

    def _note_tool(self, declaration: Declaration, catalog: Catalog) -> list[tuple[Event, Mapping[str, Any]]]:
        tool = catalog.tools.get(declaration.name)
        if tool is None:  # a stranger's name is no label
            return []
        self._instruments.put(declaration.chars, signals.TOOL_DECLARATION_CHARS, tool.name, tool.owner)
        series = Series(signals.TOOL_DECLARATION_INFO, (tool.name, tool.owner, tool.version, declaration.sha))
        old = self._info.get(tool.name)
        if old is not None and old != series:
            self._take_back(old)
        self._info[tool.name] = series
        self._instruments.put(1.0, series.metric, *series.values)
        before = self._shas.get((tool.name, tool.version))
        self._shas[tool.name, tool.version] = declaration.sha
        if before is None or before == declaration.sha:
            return []
        facts = {signals.TOOL_NAME: tool.name, signals.VERSION: tool.version, signals.KEY_SHA: declaration.sha}
        return [(Event.DECLARATION_CHANGED, facts)]

    def _take_back(self, series: Series) -> None:
        if is_multiprocess():  # files cannot forget a series: 0 means gone, and the exposition leaves it out
            self._instruments.put(0.0, series.metric, *series.values)
        else:
            self._instruments.remove(series)
