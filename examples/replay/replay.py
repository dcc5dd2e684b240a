"""
Replay 200 real conversations of eight stateful tool APIs through tooltel.

    .venv/bin/python examples/replay/replay.py             # the right answers
    .venv/bin/python examples/replay/replay.py --careless  # what a careless model makes of them
    .venv/bin/python examples/replay/replay.py --openmetrics > replay.om

Nobody here wrote the tools, their declarations or the calls: they are the Berkeley Function Calling Leaderboard's,
from PyPI's bfcl-eval. What was executed is held against what the metrics say; a difference ends the program with 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

if __package__ in (None, ""):  # run as a script, which makes its own folder importable and not the repository's
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from prometheus_client import CollectorRegistry

from examples.replay.accounts import executed_calls, openmetrics, recorded_calls
from examples.replay.conversations import MissingDataError, load_conversations
from examples.replay.playing import Played, play
from examples.replay.slips import careless
from examples.replay.summary import print_summary
from examples.replay.tools import make_catalog
from tooltel import Tooltel


def replay(*, slips: int | None = None, registry: CollectorRegistry | None = None) -> tuple[Tooltel, list[Played]]:
    """
    Play all conversations; give the Tooltel that recorded them, and every answer.

    With *slips*, a seed, the model is careless. Metrics are on *registry*, by default one of their own. Raises
    MissingDataError where the data is not installed.
    """
    right = load_conversations()
    conversations = right if slips is None else list(careless(right, seed=slips))
    tel = Tooltel(make_catalog(right), registry=registry if registry is not None else CollectorRegistry())
    return tel, list(play(tel, conversations))


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line, replay, print; give the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--careless", type=int, nargs="?", const=1, metavar="SEED", help="make slips at random")
    parser.add_argument("--openmetrics", action="store_true", help="print the metrics instead of a summary")
    options = parser.parse_args(argv)
    try:
        tel, played = replay(slips=options.careless)
    except MissingDataError as error:
        print(error, file=sys.stderr)
        return 1
    if options.openmetrics:
        print(openmetrics(tel), end="")
    else:
        print_summary(tel, played)
    executed, counted = executed_calls(played), recorded_calls(tel)
    if executed != counted:
        unequal = sorted(name for name in executed | counted if executed[name] != counted[name])
        print(f"recorded and executed calls differ: {', '.join(unequal)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
