"""Suggestions: what somebody probably meant who wrote a name that is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tooltel.catalog.nearest import Nearest
from tooltel.catalog.paths import shown
from tooltel.text import clean

if TYPE_CHECKING:
    from collections.abc import Collection

_LOOKUPS: Final = 200  # different names looked up per catalog: a file that is wrong everywhere must not take minutes
_LISTED: Final = 8  # names that are listed where nothing is near


class Hints:
    """Suggests one of *names*. The index is built on the first suggestion, as most catalogs need none."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = names
        self._index: Nearest | None = None
        self._found: dict[str, str | None] = {}

    def nearest(self, name: str) -> str | None:
        """The known name nearest to *name*, or None."""
        name = clean(name)
        if name not in self._found and len(self._found) < _LOOKUPS:
            if self._index is None:
                self._index = Nearest(self._names)
            self._found[name] = self._index.find(name)
        return self._found.get(name)

    def fix(self, name: str, *, otherwise: str = "") -> str:
        """What to write instead of *name*: the nearest name, or a few that there are, or *otherwise*."""
        near = self.nearest(name)
        if near is not None:
            return f"did you mean {shown(near)}?" + (f" Otherwise {otherwise}" if otherwise else "")
        few = ", ".join(shown(each) for each in list(self._names)[:_LISTED])
        more = ", ..." if len(self._names) > _LISTED else ""
        choice = f"write one of {few}{more}" if few else ""
        return " or ".join(part for part in (choice, otherwise) if part) or "remove it"
