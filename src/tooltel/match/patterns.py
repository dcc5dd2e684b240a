"""Regular expressions that are compiled when they are first tried: of a table of them, a process needs a few."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

Try: TypeAlias = Callable[..., re.Match[str] | None]


class Pattern:
    """A regular expression with the methods that this package uses. Raises re.error only when first tried."""

    __slots__ = ("_flags", "_text", "fullmatch", "match", "search")

    match: Try
    fullmatch: Try
    search: Try

    def __init__(self, text: str, flags: int = 0) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        """Compile it, and from then on be as fast as what was compiled."""
        if name not in ("match", "fullmatch", "search"):
            raise AttributeError(name)
        made = re.compile(self._text, self._flags)
        self.match, self.fullmatch, self.search = made.match, made.fullmatch, made.search
        return getattr(made, name)
