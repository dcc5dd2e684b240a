"""The script of a shift: which session tells which story, in which order; the same for the same seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tooltel.demo.books import Books
from tooltel.demo.plots import BACK_OFFICE, GOOD_PLOTS, SUPPORT, Cast, Plot
from tooltel.demo.steps import Beat, Visit
from tooltel.demo.troubles import TROUBLES, bank_is_down

if TYPE_CHECKING:
    from collections.abc import Iterator

LEAST: Final = 40  # sessions: fewer cannot hold every trouble and some peace
SUPPORT_SHARE: Final = 0.7
OUTAGE: Final = (0.35, 0.50)  # the stretch of the shift during which a bank is down
OUTAGE_SHARE: Final = 0.04  # of all sessions want their money back from it, and each asks twice
OUTAGE_LEAST: Final = 6


@dataclass(frozen=True, slots=True)
class Script:
    """A shift before it is played: its sessions in order, and the books that they find."""

    seed: int
    visits: tuple[Visit, ...]
    books: Books


def write_script(seed: int, sessions: int, *, first: int = 0) -> Script:
    """
    Write the script of a shift of *sessions*, numbered from *first*; raises ValueError for fewer than `LEAST`.

    Sessions of equal numbers are the same conversation: shifts of one desk must not share any.
    """
    if sessions < LEAST:
        raise ValueError(f"a shift needs at least {LEAST} sessions, not {sessions}: every trouble has its place in it")
    chance = random.Random(f"{seed}/script")  # noqa: S311 - a story, not a secret
    books = Books(seed)
    visits = []
    for number, (profile, plot) in enumerate(_line_up(chance, sessions), start=first):
        groups = plot(Cast(books, chance, number))
        beats = tuple(Beat(group if isinstance(group, tuple) else (group,)) for group in groups)
        visits.append(Visit(number, profile, plot.__name__, beats))
    return Script(seed, tuple(visits), books)


def _line_up(chance: random.Random, sessions: int) -> list[tuple[str, Plot]]:
    stricken = max(OUTAGE_LEAST, round(OUTAGE_SHARE * sessions))
    calm = [(each.profile, each.plot) for each in TROUBLES for _ in range(each.times(sessions))]
    calm += _good(chance, sessions - stricken - len(calm))
    chance.shuffle(calm)
    start, end = (round(share * sessions) for share in OUTAGE)
    places = set(chance.sample(range(start, max(end, start + stricken)), stricken))
    rest = iter(calm)
    return [(SUPPORT, bank_is_down) if place in places else next(rest) for place in range(sessions)]


def _good(chance: random.Random, count: int) -> Iterator[tuple[str, Plot]]:
    for place in range(count):
        # By place, not by lot: both agents are at work in the shortest shift.
        profile = SUPPORT if place % 10 < 10 * SUPPORT_SHARE else BACK_OFFICE
        plots = GOOD_PLOTS[profile]
        yield profile, chance.choices(tuple(plots), tuple(plots.values()))[0]
