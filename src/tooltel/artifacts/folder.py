"""
Rendered texts against a folder: what differs, what is left over, and writing only what changed.

A file that does not say that it is generated is somebody's work: it is never overwritten and never left over.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Final

from tooltel.artifacts.documents import MARK

SUFFIXES: Final = (".yml", ".yaml", ".json", ".md")  # what is rendered; nothing else is looked into


class Difference(StrEnum):
    """How a file of the folder differs from what was rendered."""

    MISSING = "missing"
    STALE = "stale"
    LEFT_OVER = "left over"  # generated once, and no longer part of what is rendered
    FOREIGN = "not generated"  # it stands where a rendered file belongs, and somebody else wrote it


@dataclass(frozen=True, slots=True)
class Change:
    """One file that is not as rendered: its text now and the rendered one, each None where there is none."""

    path: str
    difference: Difference
    old: str | None
    new: str | None


def compare(files: Mapping[str, str], folder: Path, *, leftovers: bool = True) -> list[Change]:
    """
    Find every difference between *files* and *folder*, in the order of their paths.

    *leftovers* looks for generated files below the same top folders that are not among *files*: pass False
    when only a part was rendered.
    """
    changes = [change for path, text in files.items() if (change := _change(path, text, folder / path))]
    if leftovers:
        changes += _left_over(files, folder)
    return sorted(changes, key=lambda change: change.path)


def write(changes: Collection[Change], folder: Path) -> list[str]:
    """
    Write what is missing or stale, each file in one step, and give the paths written.

    Files left over stay: whoever reads the list decides. Raises FileExistsError, before anything is written,
    where a file stands in the way that was not generated.
    """
    for change in changes:
        if change.difference is Difference.FOREIGN:
            raise FileExistsError(None, "was not written by `tooltel render`: move it away", str(folder / change.path))
    written = []
    for change in changes:
        if change.new is not None:
            _replace(folder / change.path, change.new)
            written.append(change.path)
    return written


def _change(path: str, text: str, target: Path) -> Change | None:
    try:
        data = target.read_bytes()
    except FileNotFoundError:
        return Change(path, Difference.MISSING, None, text)
    if data == text.encode():
        return None
    old = data.decode("utf-8", errors="replace")
    difference = Difference.STALE if _is_generated(target, old) else Difference.FOREIGN
    return Change(path, difference, old, text)


def _left_over(files: Mapping[str, str], folder: Path) -> Iterator[Change]:
    for top in sorted({PurePosixPath(path).parts[0] for path in files}):
        for place, folders, names in os.walk(folder / top):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in names:
                target = Path(place, name)
                path = target.relative_to(folder).as_posix()
                if path not in files and target.suffix in SUFFIXES:
                    text = target.read_text(encoding="utf-8", errors="replace")
                    if _is_generated(target, text):
                        yield Change(path, Difference.LEFT_OVER, text, None)


def _is_generated(target: Path, text: str) -> bool:
    """Whether *text* says that it is generated: in its first line, or in a JSON file's description."""
    if target.suffix != ".json":
        return MARK in text.partition("\n")[0]
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and MARK in str(document.get("description", ""))


def _replace(target: Path, text: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            os.fchmod(file.fileno(), 0o666 & ~_umask())  # a temporary file is for its owner alone
        Path(name).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
