"""
Draw the committed dashboards with a stand-in for Grafana, over real data, into .preview/.

    .venv/bin/python -m tests.preview.draw                         # everything
    .venv/bin/python -m tests.preview.draw demo --board tool       # one past, one dashboard

Prometheus is real, and filled by the demo and by the replay; Chromium draws with Grafana's Apache-2.0 libraries. The
pictures are no proof of what Grafana shows: what it has and the libraries do not is put together here.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.backfill import Prometheus, write_blocks
from tests.preview.alerting import alerted
from tests.preview.pasts import END, PASTS, SCRAPE, MissingError, Past
from tests.servers import HOW_TO_GET, Servers, generations
from tooltel.promql import seconds

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parents[1]
FOLDER: Final = ROOT / ".preview"
BOARDS: Final = ("fleet", "owner", "tool", "lifecycle", "itself")
THEMES: Final = ("light", "dark")
WIDTHS: Final = (1280, 1920)
BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MAC_BROWSER: Final = Path("/Applications/Chromium.app/Contents/MacOS/Chromium")
NO_BROWSER: Final = (
    "preview: no Chromium; get one (Debian: apt-get install chromium; macOS: brew install --cask chromium)"
)
NO_NODE: Final = (
    "preview: no Node.js 20 or later with npm; get it (Debian: apt-get install nodejs npm; macOS: brew install node)"
)


@dataclass(frozen=True, slots=True)
class Tools:
    """What pictures are taken with: the folder of the page, a Chromium, and a Prometheus."""

    page: Path
    browser: str
    servers: Servers


@dataclass(frozen=True, slots=True)
class Choice:
    """Which pictures are taken: every combination."""

    boards: Sequence[str] = BOARDS
    themes: Sequence[str] = THEMES
    widths: Sequence[int] = WIDTHS


def find_browser() -> str:
    """The path of a Chromium; raises MissingError."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None and MAC_BROWSER.exists():
        return str(MAC_BROWSER)
    if found is None:
        raise MissingError(NO_BROWSER)
    return found


def find_servers() -> Servers:
    """The newest Prometheus; raises MissingError."""
    found = generations()
    if not found:
        raise MissingError(f"preview: no Prometheus; {HOW_TO_GET}")
    return next((servers for servers in found if servers.name == "new"), found[-1])


def prepare_page(folder: Path) -> None:
    """Install what the page is made of, where that is not done yet, and make the page in *folder*."""
    if shutil.which("npm") is None:
        raise MissingError(NO_NODE)
    installed = HERE / "node_modules" / ".package-lock.json"
    wanted = HERE / "package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < wanted.stat().st_mtime:
        say("npm ci: Grafana's libraries, half a minute and half a gigabyte, once")
        subprocess.run(
            ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], cwd=HERE, check=True
        )
        installed.touch()
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["node", HERE / "bundle.mjs", folder], check=True)


@contextmanager
def filled(servers: Servers, past: Past) -> Iterator[Prometheus]:
    """Run Prometheus over *past*, with the alerts that the committed rules would have raised."""
    with tempfile.TemporaryDirectory() as name:
        data = Path(name, "data")
        for text in past.texts():
            write_blocks(servers, text, data)
        rules = sorted((ROOT / "alerts" / "rules").glob("*.yml"))
        with alerted(servers, data, rules, start=END - past.alerts, end=END) as prometheus:
            yield prometheus


def shots_of(past: Past, choice: Choice, folder: Path) -> list[dict[str, Any]]:
    """What to draw of *past*: a picture for each dashboard, theme and width, as `shoot.mjs` takes it."""
    shots = []
    for name in choice.boards:
        path = ROOT / "dashboards" / f"tooltel-{name}.json"
        since = json.loads(path.read_text(encoding="utf-8"))["time"]["from"].removeprefix("now-")
        span = {"end": END, "range": past.range or seconds(since), "scrape": SCRAPE}
        ways = {name: {}, **({f"{name}-one": past.chosen[name]} if name in past.chosen else {})}
        for (stem, chosen), theme, width in itertools.product(ways.items(), choice.themes, choice.widths):
            file = folder / f"{stem}-{width}-{theme}.png"
            look = {"theme": theme, "width": width, "chosen": chosen, "time": span, "open": past.opened}
            shots.append({"board": str(path), "file": str(file), **look})
    return shots


def draw(past: Past, choice: Choice, *, tools: Tools, folder: Path) -> list[dict[str, Any]]:
    """Take the pictures of *past* into *folder*; give what the page found wrong with each."""
    folder.mkdir(parents=True, exist_ok=True)
    shots = shots_of(past, choice, folder)
    with filled(tools.servers, past) as prometheus:
        job = {"page": str(tools.page), "chromium": tools.browser, "prometheus": prometheus.url, "shots": shots}
        found = list(taken(job))
    if len(found) < len(shots):
        raise RuntimeError(f"{past.name}: only {len(found)} of {len(shots)} pictures were taken; the reason is above")
    return found


def taken(job: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Let the browser take the pictures of *job*; yields what it says of each, and ends with it."""
    command = ["node", str(HERE / "shoot.mjs")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as node:
        assert node.stdin is not None
        assert node.stdout is not None
        try:
            node.stdin.write(json.dumps(job))
            node.stdin.close()
            for line in node.stdout:
                shot = json.loads(line)
                say(summary(shot))
                yield shot
        except BaseException:
            node.terminate()  # it closes its browser
            raise


def summary(shot: dict[str, Any]) -> str:
    """One line on a picture, and one on each thing that is wrong with it."""
    lines = [
        str(Path(shot["file"]).relative_to(FOLDER.parent) if FOLDER in Path(shot["file"]).parents else shot["file"])
    ]
    for key in ("faults", "cut", "empty"):
        lines += [f"    {key}: {each}" for each in shot[key]]
    return "\n".join(lines)


def say(text: str) -> None:
    print(f"preview: {text}", flush=True)  # noqa: T201 - it talks to a person


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line, draw, print; give the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("past", nargs="*", choices=[[], *PASTS], help="what to draw; everything by default")
    parser.add_argument("--board", action="append", choices=BOARDS)
    parser.add_argument("--theme", action="append", choices=THEMES)
    parser.add_argument("--width", action="append", type=int)
    options = parser.parse_args(argv)
    choice = Choice(options.board or BOARDS, options.theme or THEMES, options.width or WIDTHS)
    shots = []
    try:
        tools = Tools(FOLDER / "page", find_browser(), find_servers())
        prepare_page(tools.page)
        for name in options.past or PASTS:
            began, folder = time.monotonic(), FOLDER / name
            say(f"{name}: {PASTS[name].says}")
            shots += draw(PASTS[name], choice, tools=tools, folder=folder)
            say(f"{name}: {folder.relative_to(ROOT)} after {time.monotonic() - began:.0f} s")
    except MissingError as missing:
        print(missing, file=sys.stderr)  # noqa: T201
        return 1
    wrong = sum(bool(shot["faults"] or shot["cut"]) for shot in shots)
    say(f"{len(shots)} pictures, {wrong} with something wrong; look at them, they are not Grafana's own")
    return 1 if wrong else 0


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):  # so that children are ended on the way out
        signal.signal(number, lambda stopped, _: sys.exit(128 + stopped))
    sys.exit(main())
