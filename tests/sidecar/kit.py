"""A sidecar on a bench: real files, a judge of two signatures, and clocks that a test turns by hand."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tooltel import Catalog, Owner, Profile, Tool, signals
from tooltel.catalog import Source
from tooltel.outcome import Origin, Outcome
from tooltel.sidecar.disk import Disk
from tooltel.sidecar.engine import Engine, Job
from tooltel.sidecar.reading import Limits
from tooltel.sidecar.slots import Slots
from tooltel.signals import Status

if TYPE_CHECKING:
    from tooltel.sidecar.state import Keeping

SENTENCE = "A description that is long enough for the house rule about descriptions."
NAMES = 400  # names that are known, so that each has a series of its own
SMALL = Limits(chunk=256, line=1024, turn=4096)  # so that a few lines are many chunks


class Rule(NamedTuple):
    id: str
    literal: bytes
    pattern: re.Pattern[str]
    second: re.Pattern[str] | None = None


class Match(NamedTuple):
    rule: Rule
    outcome: Outcome


RULES = (
    Rule("plain.not_found", b"Tool not found: ", re.compile(r"Tool not found: (?P<name>.*)", re.DOTALL)),
    Rule(
        "two.not_found",
        b" not found.",
        re.compile(r"Tool '(?P<name>[^']*)' not found\."),
        re.compile(r"Available tools: .*"),
    ),
)


class Judge:
    """What a line like `Tool not found: NAME` says; `Tool 'NAME' not found.` needs its second line."""

    rules = RULES
    literals = tuple(rule.literal for rule in RULES)

    def __init__(self, catalog: Catalog, profile: str | None = None) -> None:
        self._catalog = catalog
        self._profile = profile
        self.judged: list[Any] = []

    def judge(self, record: Any, /) -> Match | None:
        self.judged.append(record)
        for rule in self.rules:
            found = rule.pattern.fullmatch(record.message)
            if found is None:
                continue
            if rule.second is not None and not (record.following and rule.second.fullmatch(record.following[0])):
                continue
            missing = self._catalog.explain(found["name"], self._profile, suggest=False)
            origin = Origin(self._catalog.profile_label(self._profile))
            return Match(rule, Outcome(Status.NOT_FOUND, None, origin, missing=missing))
        return None


def make_catalog() -> Catalog:
    """A catalog with a tool that has had very many names, so that a count by name is a count by line."""
    retired = tuple(f"old_{number}" for number in range(NAMES))
    tool = Tool("order_lookup", "orders", profiles=("support",), retired=retired, description=SENTENCE)
    return Catalog(
        tools=[tool],
        owners=[Owner("orders"), Owner("platform")],
        profiles=[Profile("support", "platform")],
        platform_owner="platform",
    )


CATALOG = make_catalog()


class HandClock:
    """Two clocks that stand still. The wall's is the file system's, as rotation compares the two."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def wall(self) -> int:
        import time

        return time.time_ns()

    def advance(self, seconds: float) -> None:
        self.now += seconds


class Sidecar:
    """One sidecar in *folder*; `restart` is a kill followed by a start: nothing that was not committed survives."""

    def __init__(
        self,
        folder: Path,
        *files: str,
        disk: Disk | None = None,
        keeping: Callable[[Path], Keeping] = Slots,
        source: dict[str, Any] | None = None,
        sources: Iterable[Source] = (),
        **job: Any,
    ) -> None:
        self.folder = folder
        self.clock = HandClock()
        self.said: list[str] = []
        self.disk = disk or Disk()
        self.judge: Judge
        self._keeping_of = keeping
        facts = {"profile": "support", **(source or {})}
        patterns = tuple(os.path.join(folder, name) for name in (files or ("app.log",)))  # noqa: PTH118 - any bytes
        self._sources = tuple(sources) or (Source("agent", patterns, **facts),)
        self._job = {"limits": SMALL, **job}
        self.start()

    def _make_judge(self, source: Source) -> Judge:
        self.judge = Judge(CATALOG, source.profile)
        return self.judge

    def start(self) -> None:
        self.keeping = self._keeping_of(self.folder / "state")
        job = Job(CATALOG, self._sources, self._make_judge, **self._job)
        self.engine = Engine(job, disk=self.disk, keeping=self.keeping, clock=self.clock, say=self._say)

    def _say(self, level: str, sentence: str) -> None:
        self.said.append(f"{level}: {sentence}")

    def kill(self) -> None:
        self.engine.follower.close()
        self.keeping.close()

    def restart(self) -> None:
        self.kill()
        self.start()

    def crank(self, *, turns: int = 3, seconds: float = 1.1) -> None:
        """Let some time pass, a turn at a time, so that everything is read and committed."""
        for _ in range(turns):
            self.clock.advance(seconds)
            for _ in range(1000):
                if not self.engine.turn():
                    break
            else:
                raise AssertionError("the sidecar never comes to rest")

    def settle(self) -> None:
        """Let so much time pass that nothing waits any more."""
        self.crank(turns=8, seconds=2.0)

    # --- what came out ---

    def names(self) -> dict[str, int]:
        """How often each known name was counted, as committed."""
        return {
            series.values[3]: int(value)
            for series, value in self.engine.shown.values.items()
            if series.metric is signals.NOT_FOUND and value and series.values[3] != signals.OTHER
        }

    def total(self, metric: signals.Metric, **labels: str) -> float:
        """The sum of a metric's series with *labels*, as committed."""
        wanted = labels.items()
        return sum(
            value
            for series, value in self.engine.shown.values.items()
            if series.metric is metric and wanted <= dict(zip(metric.labels, series.values, strict=True)).items()
        )

    @property
    def matches(self) -> int:
        """Lines that a signature counted."""
        return int(self.total(signals.SIDECAR_MATCHES))


def line(number: int) -> bytes:
    """A log line that counts as one drop of `old_NUMBER`, different from all others."""
    stamp = f"2026-11-30 17:{number // 60 % 60:02d}:{number % 60:02d},{number % 1000:03d} [main] WARN com.acme.Agent - "
    return stamp.encode() + f"Tool not found: old_{number}\n".encode()


def noise(number: int) -> bytes:
    """A log line that counts for nothing."""
    return f"2026-11-30 17:00:00,{number % 1000:03d} [main] INFO com.acme.Agent - step {number} done\n".encode()


def append(path: Path, *parts: bytes) -> None:
    """Write at the end of *path*, as a logger does."""
    with path.open("ab") as file:
        file.write(b"".join(parts))


def expected(*numbers: int) -> dict[str, int]:
    """What `Sidecar.names` is when each of *numbers* counted once."""
    return {f"old_{number}": 1 for number in numbers}
