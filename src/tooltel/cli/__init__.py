"""
The command line: the only room that prints, reads argv or chooses an exit code.

What the exit codes mean stands in `tooltel.cli.codes`, for every verb.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from tooltel.errors import CatalogError, MissingExtraError, TooltelError
from tooltel.text import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

FINE: Final = 0
PROBLEMS: Final = 1
CANNOT_RUN: Final = 2
INTERRUPTED: Final = 130  # 128 + SIGINT, as shells have it
HUNG_UP: Final = 141  # 128 + SIGPIPE

# What to do about what the system refuses.
_NEXT_STEPS: Final = {
    errno.ENOENT: "check the path",
    errno.ENOTDIR: "a part of the path is a file: give a folder",
    errno.EISDIR: "give a file in it",
    errno.EACCES: "check who may, or give another path",
    errno.EPERM: "check who may, or give another path",
    errno.EROFS: "give a path that can be written",
    errno.ENOSPC: "make room, or give another path",
    errno.EADDRINUSE: "stop what listens there, or give another port",
}

_LINE_LIMIT: Final = 2000  # characters of one line of ours: a problem quotes what it found


def main(argv: Sequence[str] | None = None) -> int:
    """
    Run the verb that *argv* names (default: the process's own arguments) and return its exit code.

    A user's mistake is told in one sentence on standard error, the problems of a catalog in a line each;
    neither shows a traceback. Needs the packages of `tooltel[cli]` and says so where they are missing.
    """
    try:
        code = _run(argv)
        if sys.stdout is not None:
            sys.stdout.flush()  # here, where what goes wrong can still be told
    except BrokenPipeError:
        _let_go()
        return HUNG_UP
    except KeyboardInterrupt:
        with suppress(OSError):
            print("\nInterrupted.", file=sys.stderr)  # the line break ends the terminal's ^C
        return INTERRUPTED
    except OSError as error:
        code = _complain(_explain(error))
        _let_go()
    return code


def _run(argv: Sequence[str] | None) -> int:
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
        raise
    except OSError as error:
        return _complain(_explain(error))


def _explain(error: OSError) -> str:
    where = f"{error.filename}: " if error.filename is not None else ""
    said = f"{where}{error.strerror or error}"
    step = _NEXT_STEPS.get(error.errno or 0, "")
    return f"{said}: {step}" if step and ";" not in said else said  # ours say the next step themselves


def _complain(problem: TooltelError | str) -> int:
    print(f"tooltel: {clean(problem, limit=_LINE_LIMIT)}", file=sys.stderr)
    return CANNOT_RUN


def _let_go() -> None:
    """Stop writing: what is still buffered would raise again at the interpreter's last flush, in nobody's name."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            os.dup2(nowhere, stream.fileno())


def _print_anything(stream: object) -> None:
    # A terminal that is not UTF-8 gets escapes, not a UnicodeEncodeError; standard error does so by itself.
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
