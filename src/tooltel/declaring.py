"""What the model was really sent, as gauges: size against budget, number of tools, fingerprints."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from tooltel import signals
from tooltel.declarations import Declaration, measure
from tooltel.recorders.prometheus import Series, is_multiprocess
from tooltel.signals import Event
from tooltel.text import clean

if TYPE_CHECKING:
    from tooltel.catalog import Catalog, Tool
    from tooltel.recorders.prometheus import Instruments
    from tooltel.signals import Metric

_Events = list[tuple[Event, Mapping[str, Any]]]


class Noted(NamedTuple):
    """
    What came of one set of declarations.

    Names as sent, schema properties by tool, warnings, events with facts, and the failure of the token counter.
    """

    names: tuple[str, ...]
    properties: Mapping[str, frozenset[str]]
    warnings: tuple[str, ...]
    events: tuple[tuple[Event, Mapping[str, Any]], ...]
    failure: Exception | None


class _Kept(NamedTuple):
    """What a profile sent last, under which catalog, and what there is to say when it sends just that again."""

    catalog: Catalog
    sent: list[dict[str, Any]]
    noted: Noted


class _Sizes(NamedTuple):
    chars: int
    tools: int
    tokens: float | None


class Declared:
    """Remembers the last declarations of each profile, so that a change is seen and old series leave."""

    def __init__(self, instruments: Instruments, count_tokens: Callable[[str], int] | None) -> None:
        self._instruments = instruments
        self._count_tokens = count_tokens
        self._sizes: dict[str, _Sizes] = {}  # by profile, as its label says
        self._shown: dict[tuple[Metric, str], Series] = {}  # by gauge, and profile or tool
        self._infos: dict[str, dict[str, Series]] = {}  # by tool, then profile: two may send it differently
        self._kept: dict[str, _Kept] = {}  # by profile, as its label says
        self._lock = threading.RLock()  # reentrant, as a signal handler may reload the catalog

    def note(self, profile: str, sent: Iterable[Any], catalog: Catalog) -> Noted:
        """Set the gauges of *profile*; give what is worth saying."""
        label = catalog.profile_label(profile)
        kept = self._kept.get(label)
        if kept is not None and kept.catalog is catalog and _are_equal(sent, kept.sent):
            return kept.noted  # as for every new conversation: to measure takes a hundred times as long
        found = measure(sent)
        tokens, failure = self._tokens(found)
        sizes = _Sizes(sum(declaration.chars for declaration in found), len(found), tokens)
        events: _Events = []
        with self._lock:
            self._sizes[label] = sizes
            self._show_profile(label, sizes, catalog)
            for declaration in found:
                tool = catalog.tools.get(declaration.name)
                if tool is not None:  # a stranger's name is no label
                    events += self._note_tool(label, tool, declaration)
        properties: dict[str, frozenset[str]] = {}
        for declaration in found:
            alias = catalog.aliases.get(declaration.name)
            name = alias.tool if alias else declaration.name
            properties[name] = properties.get(name, frozenset()) | declaration.properties
        names = tuple(declaration.name for declaration in found)
        copied = _copied(sent) if failure is None else None
        if copied is not None:
            self._kept[label] = _Kept(catalog, copied, Noted(names, {}, (), (), None))
        else:
            self._kept.pop(label, None)
        return Noted(names, properties, tuple(_warnings(profile, found, catalog)), tuple(events), failure)

    def follow(self, catalog: Catalog) -> None:
        """Show the profiles under the owners and budgets that a new catalog gives them."""
        with self._lock:
            for label, sizes in self._sizes.items():
                self._show_profile(label, sizes, catalog)

    def forked(self) -> None:
        """Start with a free lock, as another thread may have held it, and with gauges that are this process' own."""
        self._lock = threading.RLock()
        self._kept = {}

    def _tokens(self, found: Iterable[Declaration]) -> tuple[float | None, Exception | None]:
        if self._count_tokens is None:
            return None, None
        try:
            return float(sum(self._count_tokens(declaration.text) for declaration in found)), None
        except Exception as error:  # noqa: BLE001 - the counter is the host's
            return None, error

    def _show_profile(self, label: str, sizes: _Sizes, catalog: Catalog) -> None:
        owner, known = catalog.profile_owner(label), catalog.profiles.get(label)
        values: dict[Metric, float | None] = {
            signals.DECLARATION_CHARS: sizes.chars,
            signals.PROFILE_TOOLS: sizes.tools,
            signals.DECLARATION_TOKENS: sizes.tokens,
            signals.DECLARATION_BUDGET: known.budget_chars if known else None,
        }
        for row, value in values.items():
            self._show(row, label, owner, value)

    def _note_tool(self, label: str, tool: Tool, declaration: Declaration) -> _Events:
        self._show(signals.TOOL_DECLARATION_CHARS, tool.name, tool.owner, declaration.chars)
        new = Series(signals.TOOL_DECLARATION_INFO, (tool.name, tool.owner, tool.version, declaration.sha))
        infos = self._infos.setdefault(tool.name, {})
        old = infos.get(label)
        # Compared with what this profile sent before, or else with what the others send of this version.
        before = {
            series.values[-1] for series in ([old] if old else infos.values()) if series.values[2] == tool.version
        }
        infos[label] = new
        if old is not None and old not in infos.values():
            self._take_back(old)
        self._instruments.put(1.0, new.metric, *new.values)
        if not before or declaration.sha in before:
            return []
        facts = {signals.TOOL_NAME: tool.name, signals.VERSION: tool.version, signals.KEY_SHA: declaration.sha}
        return [(Event.DECLARATION_CHANGED, facts)]

    def _show(self, row: Metric, subject: str, owner: str, value: float | None) -> None:
        """Set the gauge of a profile or a tool, or take it away; it has one owner at a time."""
        new = Series(row, (subject, owner))
        old = self._shown.pop((row, subject), None)
        if old is not None and (value is None or old != new):
            self._take_back(old)
        if value is not None:
            self._shown[row, subject] = new
            self._instruments.put(value, row, *new.values)

    def _take_back(self, series: Series) -> None:
        if is_multiprocess():  # files cannot forget a series: 0 means gone, and the exposition leaves an info out
            self._instruments.put(0.0, series.metric, *series.values)
        else:
            self._instruments.remove(series)


def _is_plain(sent: object) -> TypeGuard[list[dict[str, Any]]]:
    return type(sent) is list and all(type(each) is dict for each in sent)


def _copied(sent: object) -> list[dict[str, Any]] | None:
    # A copy, as what is changed in place would go on looking like itself.
    try:
        return deepcopy(sent) if _is_plain(sent) else None
    except Exception:  # noqa: BLE001 - what is inside may refuse to be copied
        return None


def _are_equal(sent: object, before: list[dict[str, Any]]) -> bool:
    try:
        return _is_plain(sent) and bool(sent == before)
    except Exception:  # noqa: BLE001 - what is inside may refuse to be compared
        return False


def _warnings(profile: str, found: Iterable[Declaration], catalog: Catalog) -> list[str]:
    known = catalog.profiles.get(profile)
    budget, chars = known.budget_chars if known else None, sum(declaration.chars for declaration in found)
    warnings = [
        f"profile {clean(profile)!r} declares {clean(declaration.name)!r}, which the catalog does not hold"
        for declaration in found
        if declaration.name not in catalog.tools and declaration.name not in catalog.aliases
    ]
    if budget is not None and chars > budget:
        warnings.append(f"profile {clean(profile)!r} declares {chars} characters; its budget is {budget}")
    return warnings
