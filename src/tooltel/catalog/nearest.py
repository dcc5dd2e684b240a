"""The known name nearest to a made-up one: bounded work, whatever a model asks for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

CANDIDATES: Final = 24  # names compared letter by letter; the trigram index has ranked them before
CUTOFF: Final = 0.6  # difflib's own default for a close match


class Nearest:
    """An index of *names* by trigram. Building is linear in the names, a look-up in the names that share one."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(dict.fromkeys(names))
        self._holders: dict[str, list[int]] = {}
        for place, name in enumerate(self._names):
            for gram in _trigrams(name):
                self._holders.setdefault(gram, []).append(place)

    def find(self, name: str) -> str | None:
        """The name most like *name*, or None when none is close."""
        from difflib import SequenceMatcher  # late: most processes never look for a name

        wanted = _folded(name)
        shared: Counter[int] = Counter()
        for gram in _trigrams(name):
            shared.update(self._holders.get(gram, ()))
        best, best_ratio = None, CUTOFF
        # Sorted by index within a rank, so that equal candidates give the same answer every time.
        for place, _ in sorted(shared.most_common(CANDIDATES)):
            ratio = SequenceMatcher(None, _folded(self._names[place]), wanted, autojunk=False).ratio()
            if ratio > best_ratio:
                best, best_ratio = self._names[place], ratio
        return best


def _folded(name: str) -> str:
    return name.casefold().removeprefix("functions.").partition("<|")[0].strip()


def _trigrams(name: str) -> set[str]:
    padded = f"  {_folded(name)} "
    return {padded[at : at + 3] for at in range(len(padded) - 2)}
