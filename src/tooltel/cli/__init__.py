"""
The command line: the only room that prints, reads argv or chooses an exit code.

Exit codes of every verb: 0 fine, 1 problems were found, 2 wrong usage or something that keeps the verb from
running, 130 interrupted.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from tooltel.errors import CatalogError, MissingExtraError, TooltelError
from tooltel.text import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

FINE: Final = 0
PROBLEMS: Final = 1
CANNOT_RUN: Final = 2
INTERRUPTED: Final = 130  # 128 + SIGINT, as shells have it

_LINE_LIMIT: Final = 2000  # characters of one line of ours: a problem quotes what it found


def main(argv: Sequence[str] | None = None) -> int:
    """
    Run the verb that *argv* names (default: the process's own arguments) and return its exit code.

    A user's mistake is told in one sentence on standard error, the problems of a catalog in a line each;
    neither shows a traceback. Needs the packages of `tooltel[cli]` and says so where they are missing.
    """
    _print_anything(sys.stdout)
    try:
        from tooltel.cli.app import run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "tooltel":
            raise
        return _complain(MissingExtraError(error.name or "click", extra="cli", purpose="the command line"))
    try:
        return run(argv)
    except CatalogError as error:
        for line in (str(error).partition("\n")[0], *(f"  {problem}" for problem in error.problems)):
            print(clean(line, limit=_LINE_LIMIT), file=sys.stderr)
        return PROBLEMS
    except TooltelError as error:
        return _complain(error)
    except BrokenPipeError:
        return _hang_up()
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        return _complain(f"{where}{error.strerror or error}")


def _complain(problem: TooltelError | str) -> int:
    print(f"tooltel: {clean(problem, limit=_LINE_LIMIT)}", file=sys.stderr)
    return CANNOT_RUN


def _hang_up() -> int:
    """Leave quietly when the reader of a pipe has gone, also at the interpreter's last flush."""
    import os

    # What is still buffered would raise again in the flush at exit, as a message nobody asked for.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return PROBLEMS


def _print_anything(stream: object) -> None:
    # A terminal that is not UTF-8 gets escapes, not a UnicodeEncodeError; standard error does so by itself.
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
