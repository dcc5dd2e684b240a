"""What the exit codes of each verb mean: the one table, for the help and for the reference pages."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from tooltel.cli import CANNOT_RUN, FINE, HUNG_UP, INTERRUPTED, PROBLEMS

if TYPE_CHECKING:
    from collections.abc import Mapping

# The empty name is the command line itself; what it says holds wherever a verb says nothing of a code.
EXIT_CODES: Final[Mapping[str, Mapping[int, str]]] = MappingProxyType(
    {
        "": {
            FINE: "fine",
            PROBLEMS: "problems were found",
            CANNOT_RUN: "wrong usage, or something kept the verb from running",
            INTERRUPTED: "interrupted with Ctrl-C",
            HUNG_UP: "whoever read its output went away, as head does",
        },
        "check": {
            FINE: "no errors (with --strict: no warnings either)",
            PROBLEMS: "problems were found",
            CANNOT_RUN: "wrong usage, or there is no such file or module",
        },
        "render": {
            FINE: "written, or (with --check) everything is as rendered",
            PROBLEMS: "the catalog has problems, or (with --check) a file is missing, stale or left over",
            CANNOT_RUN: "wrong usage, or something keeps it from running",
        },
        "sidecar": {
            FINE: "stopped, or read to the end; with a COMMAND, its own",
            PROBLEMS: "the catalog has problems, or (with --once) no file is there",
            CANNOT_RUN: "wrong usage, the state folder is in use, or something keeps it from running",
            INTERRUPTED: "interrupted with Ctrl-C before it ran; after that, Ctrl-C stops it",
        },
        "demo": {
            FINE: "what was recorded is what was done, and every page went to its team",
            PROBLEMS: "it is not, and the summary says where",
            CANNOT_RUN: "wrong usage, the port is in use, or something keeps it from running",
            INTERRUPTED: "interrupted with Ctrl-C; what --serve keeps up is ended by it",
        },
        "top": {
            FINE: "shown; whatever fires, it is no failure of this command",
            CANNOT_RUN: "wrong usage, or the URL shows nothing of tooltel's",
        },
        "pager": {
            FINE: "stopped",
            CANNOT_RUN: "wrong usage, or the port is in use",
            INTERRUPTED: "interrupted with Ctrl-C before it ran; after that, Ctrl-C stops it",
        },
        "completion": {FINE: "printed", CANNOT_RUN: "no such shell"},
    }
)


def codes_of(verb: str) -> dict[int, str]:
    """Every exit code that *verb* (empty: the command line itself) may have, with its meaning, in order."""
    common = dict(EXIT_CODES[""])
    if verb and PROBLEMS not in EXIT_CODES[verb]:
        del common[PROBLEMS]
    return dict(sorted({**common, **EXIT_CODES[verb]}.items()))


def epilog(verb: str, examples: str, *notes: str) -> str:
    """The end of a verb's help: *examples* a line each, *notes* a paragraph each, and its exit codes."""
    lines = "\n".join(f"  {line}" for line in examples.strip().splitlines())
    codes = "\n".join(f"  {code:>3}  {meaning}" for code, meaning in codes_of(verb).items())
    parts = [f"\b\nExamples:\n{lines}", *(f"\b\n{note.strip()}" for note in notes), f"\b\nExit codes:\n{codes}"]
    return "\n\n".join(parts)
