"""A user's own signatures: judged before they run, as a pattern can stall a reader, and turned into rules."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from re import _constants as sre  # type: ignore[attr-defined]  # the parser of `re` itself: no other one agrees with it
from re import _parser as sre_parser  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any, Final

from tooltel.catalog.paths import key_path, shown
from tooltel.errors import CatalogError, Problem
from tooltel.match.rules import SIGNATURE_LIMIT, Rule
from tooltel.match.table import FRAMEWORKS, builtin_rules
from tooltel.signals import Status

if TYPE_CHECKING:
    from tooltel.catalog import Catalog, Signature

LEVELS: Final = ("TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
# Ways in which a pattern may be tried at one place, at most: two open repeats of a line, and a few choices. Each takes
# some nanoseconds.
_WAYS: Final = 16.0 * SIGNATURE_LIMIT**2
_SAFE: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz _.:-")
_REPEATS: Final = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)


def rules_of_catalog(catalog: Catalog) -> tuple[Rule, ...]:
    """
    The user's rules, then every framework's.

    Raises CatalogError with every problem of a signature that cannot be used.
    """
    if problems := find_signature_problems(catalog):
        raise CatalogError(problems, source=catalog.source)
    own = tuple(_rule(place, signature) for place, signature in enumerate(catalog.signatures))
    return (*own, *builtin_rules())


def find_signature_problems(catalog: Catalog) -> list[Problem]:
    """Signatures that cannot be used, and sources of a framework that nobody knows. `catalog.checks` finds the rest."""
    found = [problem for place, signature in enumerate(catalog.signatures) for problem in _problems(place, signature)]
    for source in catalog.sources.values():
        if isinstance(source.framework, str) and source.framework not in FRAMEWORKS:
            path = key_path("sidecar", "sources", source.name, "framework")
            what = f"no framework {shown(source.framework)} has signatures"
            found.append(Problem("unknown_framework", path, what, f"write one of {', '.join(FRAMEWORKS)}"))
    return found


def _rule(place: int, signature: Signature) -> Rule:
    level = _level(signature.level)
    return Rule(
        id=f"signatures.{place}",
        framework="",
        moment=Status(signature.moment),
        literal=(literal_of(signature.pattern) or "").encode("ascii"),
        pattern=re.compile(signature.pattern, re.DOTALL),
        loggers=(signature.logger,) if signature.logger else (),
        levels=(level,) if level else (),
    )


def _level(level: str | None) -> str | None:
    upper = level.upper() if level else None
    return "WARNING" if upper == "WARN" else upper


def _problems(place: int, signature: Signature) -> Iterator[Problem]:
    path = key_path("signatures", place, "pattern")
    if not all(isinstance(value, str) for value in (signature.moment, signature.pattern, signature.level or "")):
        yield Problem("bad_pattern", path, "is no text", "write strings")  # only a catalog made in code can say so
        return
    if signature.moment not in frozenset(Status):
        yield Problem("unknown_moment", key_path("signatures", place, "moment"), "is no moment", 'write "not_found"')
    level = _level(signature.level)
    if level is not None and level not in LEVELS:
        what = f"no level {shown(signature.level)}"
        yield Problem(
            "unknown_level", key_path("signatures", place, "level"), what, f"write one of {', '.join(LEVELS)}"
        )
    try:
        compiled = re.compile(signature.pattern, re.DOTALL)
        parsed = sre_parser.parse(signature.pattern, re.DOTALL)
    except (re.error, RecursionError, OverflowError, TypeError) as error:
        yield Problem("bad_pattern", path, f"is no regular expression: {error}", "write one of Python's re module")
        return
    if _ways(parsed) > _WAYS:
        what = "can take minutes for one line: it has repeats in repeats, or too many side by side"
        fix = "write one open repeat, as in 'no such tool (?P<name>\\S*)', or two"
        yield Problem("slow_pattern", path, what, fix)
    if literal_of(signature.pattern) is None:
        what = "has no fixed text of at least 4 letters, by which lines are found"
        yield Problem("bad_pattern", path, what, "write what every such line says, as in 'no such tool '")
    if signature.moment != Status.NOT_FOUND and "name" not in compiled.groupindex:
        what = f"does not say which tool is {shown(signature.moment)}"
        yield Problem("bad_pattern", path, what, "put (?P<name>...) around the tool's name")


def literal_of(pattern: str) -> str | None:
    """The longest text that every match of *pattern* holds and that no JSON encoder escapes; None under 4 letters."""
    if len(pattern) > 10_000:
        return None
    try:
        parsed = sre_parser.parse(pattern, re.DOTALL)
    except (re.error, RecursionError, OverflowError, TypeError):
        return None
    if parsed.state.flags & re.IGNORECASE:
        return None
    longest = max(_runs(parsed), key=len, default="")
    return longest if len(longest.strip()) >= 4 else None


def _runs(parsed: Any) -> Iterator[str]:
    """Texts that must be there, of characters side by side."""
    run = ""
    for op, value in parsed:
        if op is sre.LITERAL and chr(value) in _SAFE:
            run += chr(value)
            continue
        yield run
        run = ""
        if op is sre.SUBPATTERN and not value[1] & re.IGNORECASE:
            yield from _runs(value[3])
        elif op is sre.ATOMIC_GROUP:
            yield from _runs(value)
        elif op in _REPEATS and value[0] > 0:
            yield from _runs(value[2])
    yield run


def _ways(parsed: Any) -> float:
    """In how many ways a backtracking matcher may try to match a line; a hostile line makes it try them all."""
    total = 1.0
    for op, value in parsed:
        if op in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            low, high = value[0], min(value[1], SIGNATURE_LIMIT)
            inner = _ways(value[2])
            if inner > 1 and high > 1:
                total *= inner**high if high * math.log2(inner) < 100 else math.inf
            total *= max(1, high - low + 1) * (inner if high == 1 else 1)
        elif op is sre.POSSESSIVE_REPEAT:
            total *= _ways(value[2])
        elif op is sre.SUBPATTERN:
            total *= _ways(value[3])
        elif op is sre.ATOMIC_GROUP:
            total *= _ways(value)
        elif op in (sre.ASSERT, sre.ASSERT_NOT):
            total *= _ways(value[1])
        elif op is sre.BRANCH:
            total *= sum(_ways(branch) for branch in value[1])
        elif op in (sre.GROUPREF, sre.GROUPREF_EXISTS):
            total *= SIGNATURE_LIMIT  # comparing takes as long as what was matched
    return total
