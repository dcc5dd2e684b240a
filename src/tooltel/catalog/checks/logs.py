"""What a sidecar reads: its sources, and a user's own log signatures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tooltel.catalog.checks.house import pattern_error
from tooltel.catalog.hints import Hints
from tooltel.catalog.paths import key_path, shown
from tooltel.errors import Problem
from tooltel.signals import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tooltel.catalog.catalog import Catalog
    from tooltel.catalog.nouns import Signature, Source

FORMATS: Final = ("auto", "text", "json", "docker", "cri")
MOMENTS: Final = tuple(status.value for status in Status)  # a matched line ends in the same outcome as a call


def find_log_problems(catalog: Catalog) -> Iterator[Problem]:
    """Sources without files or of an unknown format; signatures that match nothing, or everything."""
    formats, moments = Hints(FORMATS), Hints(MOMENTS)
    for source in catalog.sources.values():
        yield from _source(source, formats)
    for place, signature in enumerate(catalog.signatures):
        yield from _signature(signature, place, moments)


def _source(source: Source, formats: Hints) -> Iterator[Problem]:
    path = ("sidecar", "sources", source.name)
    if not source.files or "" in source.files:
        yield Problem("no_files", key_path(*path, "files"), "names no file", 'write files = ["/var/log/agent/*.log"]')
    if source.format not in FORMATS:
        fix = formats.fix(source.format)
        yield Problem("unknown_format", key_path(*path, "format"), f"no format {shown(source.format)}", fix)


def _signature(signature: Signature, place: int, moments: Hints) -> Iterator[Problem]:
    moment, pattern = signature.moment, signature.pattern
    if moment not in MOMENTS:
        what = f"no moment {shown(moment)}" if moment else "has no moment"
        yield Problem("unknown_moment", key_path("signatures", place, "moment"), what, moments.fix(moment))
    path = key_path("signatures", place, "pattern")
    if error := pattern_error(pattern):
        fix = "write one of Python's re module, in single quotes: 'no such tool (?P<name>\\S*)'"
        yield Problem("bad_pattern", path, f"{shown(pattern)} is no regular expression: {error}", fix)
    elif re.search(pattern, ""):
        what = "matches every line" if pattern else "has no pattern"
        yield Problem("bad_pattern", path, what, "write what only the lines that count hold")
