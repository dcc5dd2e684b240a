"""What the pictures show: the demo's shifts, hours without trouble, and conversations that nobody here wrote."""

from __future__ import annotations

import asyncio
import contextlib
import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from prometheus_client import CollectorRegistry

from tests.preview.logged import logged_past
from tooltel import Tooltel
from tooltel.demo.desk import Desk
from tooltel.demo.pace import SimulatedTime
from tooltel.demo.plots import GOOD_PLOTS
from tooltel.demo.script import write_script
from tooltel.demo.shift import Shift
from tooltel.demo.telemetry import watched
from tooltel.demo.timeline import TARGET, History, play_history

END: Final = 1_780_331_820.0  # Monday, 1 June 2026, 16:37 UTC: at a full hour, the last label of an axis would be cut
SCRAPE: Final = 30  # seconds
SELDOM: Final = 240.0  # the same on days of which only the outline is drawn: no longer than Prometheus looks back
HOUR: Final = 3600.0
DAY: Final = 24 * HOUR
SEED: Final = 7

# The last shift is two hours long and not over yet: its bank is down from 24 minutes to 6 minutes before the end.
SHIFT, PLAYED = 2 * HOUR, 66 * 60.0
BUCKETS: Final = re.compile(r"^\w+_bucket\{.*\n", re.MULTILINE)


class MissingError(Exception):
    """Something that has to be installed first; the message says how."""


@dataclass(frozen=True, slots=True)
class Past:
    """
    A past to be drawn, as OpenMetrics texts.

    `range` in seconds replaces the dashboards' own time range, the rules ran for `alerts` seconds before the end, and
    a dashboard in `chosen` is drawn a second time with these values of its variables. With `opened`, closed rows are
    drawn open.
    """

    name: str
    says: str
    texts: Callable[[], Iterator[str]]
    alerts: float
    range: float | None = None
    chosen: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    opened: bool = False


def demo_texts() -> Iterator[str]:
    """A week of the demo's desk, a shift a day, then today's, in the middle of its trouble."""
    now = END - PLAYED  # when today's shift began
    morning = now - 5 * HOUR
    for day in range(7):
        start = morning - (7 - day) * DAY + SELDOM
        past, _ = play_history(SEED + 1 + day, 1000, start=start, seconds=DAY - SELDOM, step=SELDOM)
        yield BUCKETS.sub("", past.text())  # no dashboard looks at durations of days
    for seed, sessions, start, seconds in ((SEED + 9, 1500, morning, now - morning - SCRAPE), (SEED, 600, now, SHIFT)):
        past, _ = play_history(seed, sessions, start=start + SCRAPE, seconds=seconds, step=SCRAPE)
        yield past.text()
    yield logged_past(start=END - 6 * HOUR, end=END, step=SCRAPE)


def calm_texts() -> Iterator[str]:
    """Six hours of the same desk on which every session goes well."""
    seconds, sessions = 6 * HOUR, 1500
    scrapes = round(seconds / SCRAPE)
    script, pace, history = write_script(SEED, sessions), SimulatedTime(), History(TARGET)
    good = {plot.__name__ for plots in GOOD_PLOTS.values() for plot in plots}
    visits = [visit for visit in script.visits if visit.plot in good]
    start = END - seconds
    with watched(pace, spans=io.StringIO(), logs=io.StringIO()) as telemetry:
        desk = Desk(telemetry.tel, script.books, pace)
        desk.declare()
        shift = Shift(telemetry.tel, desk, pace, tracer=telemetry.tracer)

        async def play() -> None:
            for place in range(scrapes + 1):
                history.add(telemetry.tel.view.collect(), start + place * SCRAPE, loaded=start)
                begin, end = (round(len(visits) * at / scrapes) for at in (place, place + 1))
                await shift.play(visits[begin:end])

        asyncio.run(play())
    yield history.text()


def replay_texts() -> Iterator[str]:
    """Real conversations over the last hour, as a careless model would lead them."""
    with contextlib.redirect_stderr(io.StringIO()):  # the log lines of a host that configured no logging
        yield _replayed()


def _replayed() -> str:
    from examples.replay import conversations, playing, slips, tools

    try:
        talks: Any = list(slips.careless(conversations.load_conversations(), seed=1))
    except conversations.MissingDataError as missing:
        raise MissingError(f"preview: {missing}") from missing
    tel = Tooltel(tools.make_catalog(talks), registry=CollectorRegistry())
    history, start = History({"job": "tooltel", "instance": "assistant:9464"}), END - HOUR
    history.add(tel.view.collect(), start, loaded=start)
    scrapes, played = round(HOUR / SCRAPE), 0
    for place, _ in enumerate(playing.play(tel, talks), 1):
        while played < scrapes * place // len(talks):
            played += 1
            history.add(tel.view.collect(), start + played * SCRAPE, loaded=start)
    return history.text()


# Two dashboards are made for one owner and for one tool: they are drawn once more as a page's link opens them.
CHOSEN: Final = {
    "owner": {"owner": "payments"},
    "tool": {"owner": "payments", "tool": "payment_refund"},
}
PASTS: Final[Mapping[str, Past]] = {
    past.name: past
    for past in (
        Past(
            "demo",
            "a week of the demo's support desk, whose bank does not answer",
            demo_texts,
            alerts=6 * HOUR,
            chosen=CHOSEN,
            opened=True,
        ),
        Past("calm", "six hours of it on which nothing goes wrong", calm_texts, range=6 * HOUR, alerts=6 * HOUR),
        Past("replay", "an hour of real conversations, another catalog", replay_texts, range=HOUR, alerts=HOUR),
    )
}
