"""What the table looks like, as text: committed, so that a change of it is seen in review."""

from __future__ import annotations

from pathlib import Path


def read_snapshot(name: str) -> str:
    """The committed text called *name*."""
    return (Path(__file__).parent / f"{name}.txt").read_text("utf-8")
