"""
Whether a file is a copy of one that is read already: then what was counted there must not count again.

A copy of a file that is still there is bound to it, and not read: whatever it holds, the original holds too. When the
original is truncated or gone, its copy goes on where the reading had come to.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto
from typing import TYPE_CHECKING

from tooltel.sidecar.logfile import HEAD, MARK, Identity, LogFile, Print, fingerprint, is_rotated_name

if TYPE_CHECKING:
    from tooltel.sidecar.disk import Disk


class Kinship(Enum):
    """What two files have to do with each other."""

    NONE = auto()
    COPY = auto()
    EXTENDED = auto()  # a copy that has grown by itself since


def find_gone(disk: Disk, log: LogFile, size: int, others: Iterable[Identity]) -> Identity | None:
    """Of the files that are gone, the one of which *log*, open and of *size* bytes, is a copy. May raise OSError."""
    head = disk.read_whole(log.descriptor, HEAD, 0)
    likely = [other for other in _with_same_head(log, head, others) if other.offset <= size]
    fitting = [other for other in likely if fits(disk, log, other)]
    return max(fitting, key=lambda other: other.offset, default=None)


def find_living(disk: Disk, log: LogFile, others: Iterable[LogFile]) -> list[LogFile]:
    """The files of which *log*, which is open, may be a copy by their first KiB. May raise OSError."""
    head = disk.read_whole(log.descriptor, HEAD, 0)
    by_identity = {other.identity.key: other for other in others if other is not log}
    found = _with_same_head(log, head, (other.identity for other in by_identity.values()), shorter=True)
    return sorted((by_identity[identity.key] for identity in found), key=lambda other: -other.offset)


def relate(disk: Disk, log: LogFile, original: LogFile) -> Kinship:
    """Tell what *log*, which is open, is to *original*, open if it can be. May raise OSError."""
    size = disk.fstat(log.descriptor).size
    there = -1 if original.fd is None else disk.fstat(original.fd).size  # after the other: see EXTENDED
    if there < original.offset or not fits(disk, original, original.identity):
        # The original is gone or truncated, which its own look will find: what is known of it has to do.
        is_copy = log.original is original or (original.offset <= size and fits(disk, log, original.identity))
        return Kinship.COPY if is_copy else Kinship.NONE
    common = min(size, there)
    for length, at in ((min(HEAD, common), 0), (min(MARK, common), max(0, common - MARK))):
        if disk.read_whole(log.descriptor, length, at) != disk.read_whole(original.descriptor, length, at):
            return Kinship.NONE
    if size <= there:
        return Kinship.COPY
    # Its size was asked for first, so what it has more it was given itself.
    return Kinship.EXTENDED if original.offset == there else Kinship.COPY


def fits(disk: Disk, log: LogFile, identity: Identity) -> bool:
    """Whether the file that *log* has open holds what was read of *identity*. May raise OSError."""
    length = identity.mark.length
    return identity.head.fits(disk.read_whole(log.descriptor, HEAD, 0)) and identity.mark.fits(
        disk.read_whole(log.descriptor, length, identity.offset - length)
    )


def _with_same_head(log: LogFile, head: bytes, others: Iterable[Identity], *, shorter: bool = False) -> list[Identity]:
    """
    The files that begin as *log* does.

    Without a whole KiB in common, a file is a copy only if its name says that it was rotated. With *shorter*, it may
    be shorter than what is known of the other's head: then the name has to do for now.
    """
    prints: dict[int, Print] = {}
    found = []
    for other in others:
        length = other.head.length
        if not other.offset or not head:
            continue
        if length < HEAD and log.key != other.key and not is_rotated_name(log.path, other.origin):
            continue
        if length > len(head):
            if shorter and is_rotated_name(log.path, other.origin):
                found.append(other)
            continue
        if length not in prints:
            prints[length] = fingerprint(head[:length])
        if prints[length] == other.head:
            found.append(other)
    return found
