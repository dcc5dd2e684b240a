"""What is known across a restart: counts, files with their offsets, and names, as one checked payload."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, Protocol

from tooltel.sidecar.counting import Ledger, dump_counts, load_counts
from tooltel.sidecar.logfile import dump_file, dump_identity, load_file, load_identity

if TYPE_CHECKING:
    from tooltel.sidecar.following import Follower
    from tooltel.sidecar.slots import Loaded

_VERSION: Final = 1


class Keeping(Protocol):
    """Where state is kept."""

    def load(self) -> Loaded:
        """The newest payload."""

    def commit(self, payload: bytes) -> None:
        """Save a payload so that it survives a crash; raises OSError."""

    def close(self) -> None:
        """Let go."""


class Forgetting:
    """Keeps nothing: every start is the first one."""

    def load(self) -> Loaded:
        """Nothing."""
        from tooltel.sidecar.slots import Loaded

        return Loaded(None, 0)

    def commit(self, payload: bytes) -> None:
        """Nothing is saved, and nothing is promised."""

    def close(self) -> None:
        """There is nothing to let go."""


def dump(ledger: Ledger, follower: Follower) -> bytes:
    """Everything that the next process has to know."""
    # ASCII, as a path may hold bytes that are no UTF-8, which Python reads as lone surrogates.
    return json.dumps(
        {
            "version": _VERSION,
            "looked_at": follower.looked_at,
            "counts": dump_counts(ledger.values),
            "repeats": ledger.repeats,
            "files": [dump_file(log) for log in follower.logs.values()],
            "retired": [dump_identity(identity) for identity in follower.retired],
            "names": {path: list(key) for path, key in follower.names.items()},
        },
        separators=(",", ":"),
    ).encode("ascii")


def restore(payload: bytes, ledger: Ledger, follower: Follower, *, sources: frozenset[str]) -> bool:
    """
    Take over what an earlier process knew; False where the payload is none of this version.

    Files of a source that is no more are forgotten: what their bytes would count for is not known.
    """
    try:
        found: Any = json.loads(payload)
        if found["version"] != _VERSION:
            return False
        files = [load_file(row) for row in found["files"]]
        retired = [load_identity(row) for row in found["retired"]]
        names = {str(path): (int(key[0]), int(key[1])) for path, key in found["names"].items()}
        looked_at = int(found["looked_at"])
        repeats = {str(key): int(lines) for key, lines in found["repeats"].items()}
    except (ValueError, TypeError, KeyError, IndexError, AttributeError):
        return False
    ledger.restore(load_counts(found["counts"]))
    ledger.repeats = repeats
    follower.logs = {log.key: log for log, _ in files if log.source in sources}
    for log, original in files:
        log.original = follower.logs.get(original) if original is not None else None
    follower.retired.extend(retired)
    follower.names = names
    follower.looked_at = looked_at
    follower.skip_existing = False
    return True
