"""Size and fingerprint of declarations, as they are sent to the model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from tooltel.declarations.forms import Form, as_data, read_forms
from tooltel.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterable


class Declaration(NamedTuple):
    """
    One tool as the model is shown it.

    `chars` is the length of `text`, the compact JSON that is sent, wrapping included. `sha` is a short
    fingerprint of name, description and parameter schema, equal for equal content whatever the order of keys
    and the provider's wrapping. `properties` are the names of the schema's top-level properties. `problem`
    says what is wrong with a piece that could not be read: its name is then empty, its size still counts.
    """

    name: str
    chars: int
    sha: str
    properties: frozenset[str] = frozenset()
    text: str = ""
    problem: str | None = None


def measure(declarations: Iterable[Any] | Mapping[str, Any] | str | bytes) -> tuple[Declaration, ...]:
    """
    Measure *declarations* in the form of OpenAI, Anthropic, Gemini, MCP or Bedrock, or a plain one.

    A plain one has name, description and parameters. Each may be a mapping, JSON text, or an object with
    `model_dump`, `to_dict` or `dict`. Never raises for what it is given: what cannot be read comes back as a
    Declaration with a `problem`.
    """
    if isinstance(declarations, (Mapping, str, bytes)):
        declarations = (declarations,)
    found: list[Declaration] = []
    try:
        for given in declarations:
            found.extend(_measure(given))
    except Exception as error:  # noqa: BLE001 - a host's iterable may raise anything; what came before counts
        found.append(_unreadable(error))
    return tuple(found)


def _measure(given: object) -> list[Declaration]:
    try:
        return [_declaration(form) for form in read_forms(given)]
    except Exception as error:  # noqa: BLE001 - a framework's object may raise anything when it is dumped
        return [_unreadable(error)]


def _unreadable(error: Exception) -> Declaration:
    return Declaration("", 0, "", problem=f"cannot be read: {type(error).__name__}: {clean(error)}")


def _declaration(form: Form) -> Declaration:
    try:
        text = _compact(form.sent)
        sha = _fingerprint(form)
    except Exception as error:  # noqa: BLE001 - cycles, unsortable keys, a __str__ that raises
        return _unreadable(error)
    properties = (form.schema or {}).get("properties")
    names = frozenset(key for key in properties if isinstance(key, str)) if isinstance(properties, Mapping) else ()
    name = "" if form.problem else form.name
    return Declaration(name, len(text), sha, frozenset(names), text, form.problem)


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_jsonable)


def _fingerprint(form: Form) -> str:
    said = json.loads(_compact([form.name, form.description, form.schema or {}]))
    canonical = json.dumps(said, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _jsonable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)  # a set's own order changes from run to run, and so would the fingerprint
    data = as_data(value)
    return str(value) if data is value else data
