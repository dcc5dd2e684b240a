"""How a place in a catalog, and a value found there, are written in problems."""

from __future__ import annotations

import re
from typing import Final

from tooltel.text import clean

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_SHOWN: Final = 80  # characters of a value in a sentence; more would hide what the sentence says


def key_path(*parts: str | int) -> str:
    """
    Write *parts* as a dotted TOML key: `tools.refund.aliases`, `signatures[0].pattern`, `tools."a.b"`.

    A key that TOML would not accept bare is quoted, cleaned and cut, so that a path is always one short line.
    """
    text = ""
    for part in parts:
        if isinstance(part, int):
            text += f"[{part}]"
            continue
        key = part if _BARE.fullmatch(part) and len(part) <= _SHOWN else f'"{clean(part)}"'
        text += f".{key}" if text else key
    return text


def shown(value: object) -> str:
    """Write *value* for a sentence: one line, cut, strings in single quotes."""
    text = clean(value, limit=_SHOWN)
    return f"'{text}'" if isinstance(value, str) else text
