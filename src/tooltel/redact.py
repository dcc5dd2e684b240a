"""
What may be kept of a payload: bounded, one line, without what looks like a secret.

Payloads are off by default. Redaction is a net, not a promise: it goes by the names of fields and the shapes of
well-known secrets. Who knows more about their payloads passes a redactor of their own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from itertools import islice
from typing import Any, Final

from tooltel.text import ELLIPSIS, clean

LIMIT: Final = 4096  # characters of one payload: as much as tracing back ends commonly keep of an attribute
ITEMS: Final = 64  # of one list or mapping
DEPTH: Final = 8
ENOUGH: Final = 4 * LIMIT  # characters and values to look at: redacted ones take less room than they had
REDACTED: Final = "[redacted]"

_SECRET_FIELD: Final = re.compile(
    r"pass(?:word|wd|phrase|code)|pwd|secret|token|api[-_ ]?key|auth(?:orization)?$|cookie|credential|private[-_ ]?key|"
    r"signature|(?:card|account)[-_ ]?(?:number|no)|cvv|cvc|iban|ssn|(?:^|[-_])pin(?:$|[-_])|otp",
    re.IGNORECASE,
)
_SECRET_VALUE: Final = re.compile(
    r"\b(?:bearer|basic)\s+[\w.~+/=-]{8,}"  # an Authorization header
    r"|\beyJ[\w-]+\.(?:[\w-]+\.[\w-]*|[\w-]+\Z)"  # a JSON web token, also one that is cut
    r"|\b(?:sk|pk|rk|ghp|gho|ghs|glpat|xox[abprs])[-_][\w-]{8,}"  # keys that name themselves
    r"|\bAKIA[0-9A-Z]{16}\b"  # a cloud access key
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"  # all of it
    r"|\b(?:\d[ -]?){13,19}\b"  # a payment card
    r"|\b\w+://[^/\s:@]*:[^/\s@]+@",  # a URL with a password; from where a word begins, or it takes a square of time
    re.IGNORECASE,
)


def redact(value: object) -> str:
    """Give *value* as JSON of at most LIMIT characters, secrets replaced, whatever it is."""
    plain = _Walk().plain(value, DEPTH)
    return clean(json.dumps(plain, ensure_ascii=False, separators=(",", ":")), limit=LIMIT)


class _Walk:
    """One payload on its way to text. No more of it is looked at than ENOUGH, however large, or often in itself."""

    def __init__(self) -> None:
        self._left = ENOUGH

    def plain(self, value: object, depth: int) -> Any:
        self._left -= 1
        if self._left < 0:
            return ELLIPSIS
        if value is None or isinstance(value, (bool, int, float)):
            return value if not isinstance(value, int) or isinstance(value, bool) else _number(value)
        if isinstance(value, str):
            return self._text(value)
        if depth == 0:
            return f"<{type(value).__name__}>"
        if is_dataclass(value) and not isinstance(value, type):
            value = {each.name: getattr(value, each.name) for each in fields(value)}
        if isinstance(value, Mapping):
            pairs = [(clean(key), each) for key, each in islice(value.items(), ITEMS)]
            return {key: REDACTED if _SECRET_FIELD.search(key) else self.plain(each, depth - 1) for key, each in pairs}
        if isinstance(value, (list, tuple, set, frozenset)):
            return [self.plain(each, depth - 1) for each in islice(value, ITEMS)]
        return self._text(value)

    def _text(self, value: object) -> str:
        most = min(LIMIT, self._left + 1)
        text = _text_of(value)[: most + 1]
        self._left -= len(text)
        # Before it is cleaned: an escaped line break would stand before a secret as if it were a part of it.
        return clean(_SECRET_VALUE.sub(REDACTED, text), limit=most)


def _text_of(value: object) -> str:
    try:
        return str.__str__(value if isinstance(value, str) else str(value))
    except Exception:  # noqa: BLE001 - a hostile __str__
        return f"<unprintable {type(value).__name__}>"


def _number(value: int) -> int | str:
    # A card number is a secret as a number, too; and a number of a thousand digits is a payload.
    digits = len(str(value)) if -(10**24) < value < 10**24 else 25
    return value if digits < 13 else REDACTED  # the shortest payment card has 13


class Payloads:
    """What is kept of arguments and results. A redactor that fails, or gives no text, keeps nothing."""

    def __init__(self, redactor: Callable[[object], str] = redact) -> None:
        self._redactor = redactor

    def text(self, value: object) -> str:
        """The text to keep of *value*: what the redactor gave, cleaned and bounded once more. Raises what it raises."""
        given = self._redactor(value)
        if not isinstance(given, str):
            raise TypeError(f"the redactor gave {type(given).__name__} instead of text: nothing is kept")
        return clean(given, limit=LIMIT)
