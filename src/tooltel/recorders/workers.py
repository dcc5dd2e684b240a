"""
What several processes share: the files into which prometheus_client writes each worker's values.

A worker may be killed at any moment, also while it makes its file; a scrape must not fail for that.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric as Family

_LIVE_FILE: Final = re.compile(r"gauge_live\w+_(\d+)\.db$")
_HEADER: Final = 8  # bytes; a file has fewer for the moment between its making and its first use, or for ever


def read_workers(directory: Path, contain: Callable[[Exception], None]) -> Iterable[Family]:
    """
    The families of all workers, their values added up; live gauges of dead workers leave for good.

    *contain* is told of files that cannot be read; they are left out. Raises FileNotFoundError when there is no
    such directory, as nothing would be counted then.
    """
    if not directory.is_dir():
        raise FileNotFoundError(
            f"PROMETHEUS_MULTIPROC_DIR is {str(directory)!r}, which is no directory: make it before the process starts"
        )
    _drop_dead_workers(directory)
    files = [str(file) for file in directory.glob("*.db") if _size(file) >= _HEADER]
    try:
        return _merged(files)
    except Exception as error:  # noqa: BLE001 - struct.error, KeyError, ...: whatever a broken file holds
        contain(error)
    return _merged(list(_readable(files)))


def _merged(files: list[str]) -> Iterable[Family]:
    families: Iterable[Family] = MultiProcessCollector.merge(files)  # type: ignore[no-untyped-call]
    return families


def _readable(files: Iterable[str]) -> Iterator[str]:
    for file in files:
        try:
            _merged([file])
        except Exception:  # noqa: BLE001, S112 - the caller has told of it
            continue
        yield file


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:  # another scrape has removed it
        return 0


def _drop_dead_workers(directory: Path) -> None:
    """A worker that was killed leaves its live gauges behind; they would stay in the sum for ever."""
    for file in directory.glob("gauge_live*.db"):
        found = _LIVE_FILE.search(file.name)
        if found and not _is_alive(int(found[1])):
            try:
                mark_process_dead(int(found[1]), str(directory))  # type: ignore[no-untyped-call]
            except OSError:  # another process was faster
                continue


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    """Whether the process has ended and nobody has asked for its exit code; known on Linux only."""
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state in (b"Z", b"X")
