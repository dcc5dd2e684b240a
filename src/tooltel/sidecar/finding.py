"""Which files there are: what the sources' patterns mean now, and what rotation called the older ones."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from tooltel.sidecar.logfile import is_rotated_name

if TYPE_CHECKING:
    from tooltel.catalog import Source
    from tooltel.sidecar.disk import Disk, Key, Seen


class Place(NamedTuple):
    """Where a file was found, for which source, and what it is."""

    path: str
    source: str
    seen: Seen


class Failure(NamedTuple):
    """A path that could not be looked at: it may mean what it meant."""

    path: str
    source: str
    error: OSError


class Found(NamedTuple):
    """What the patterns mean: the files, the patterns that mean none, and what could not be looked at."""

    files: dict[Key, Place]
    missing: list[str]
    failures: list[Failure]


def find_files(disk: Disk, sources: Iterable[Source], names: Mapping[str, Key]) -> Found:
    """
    Find every regular file that *sources* mean.

    A file with several names counts for one source, under the name that led to it before by *names*.
    """
    found = Found({}, [], [])
    for source in sources:
        for pattern in source.files:
            is_there = False
            for path in _paths(disk, pattern):
                try:
                    seen = disk.stat(path)
                except (FileNotFoundError, NotADirectoryError):
                    continue
                except OSError as error:
                    found.failures.append(Failure(path, source.name, error))
                    continue
                if stat.S_ISREG(seen.mode):
                    is_there = True
                    known = found.files.get(seen.key)
                    if known is None or names.get(path) == seen.key != names.get(known.path):
                        found.files[seen.key] = Place(path, source.name, seen)
            if not is_there:
                found.missing.append(pattern)
    return found


def _paths(disk: Disk, pattern: str) -> Iterator[str]:
    with suppress(OSError):
        yield from sorted(disk.find(pattern))


def find_beside(disk: Disk, path: str) -> Iterator[tuple[str, Seen]]:
    """Find the regular files that rotation may have made of *path*, also where that is a link."""
    for place in dict.fromkeys((path, disk.real(path))):
        directory = os.path.dirname(place)  # noqa: PTH120 - names may hold any bytes, and there are many
        with suppress(OSError):
            for name in sorted(disk.names(directory)):
                beside = os.path.join(directory, name)  # noqa: PTH118
                if is_rotated_name(beside, place):
                    with suppress(OSError):
                        seen = disk.stat(beside)
                        if stat.S_ISREG(seen.mode):
                            yield beside, seen


def is_one_name(pattern: str) -> bool:
    """Whether *pattern* is a path, without a wildcard."""
    return not glob.has_magic(pattern)
