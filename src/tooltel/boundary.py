"""
The boundary of a home-made loop: what a model was offered, against what it asks for.

No framework is needed: a loop says `tel.offered(declarations)` before it asks the model, and
`tel.requested(name, arguments)` for each tool call in the answer.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tooltel.declarations.forms import read_forms
from tooltel.errors import MissingExtraError
from tooltel.outcome import MAX_FAULTS, Fault
from tooltel.text import clean

if TYPE_CHECKING:
    from tooltel.catalog import Missing


_REPEATED_GROUP: Final = re.compile(r"\)[*+{]")
_SEARCHED: Final = 256  # characters of a text that a pattern is asked about
_COMPARED: Final = 100  # items of a list that are compared with one another
_REFERENCES: Final = 1000  # within a schema, that are followed
_followed: Final = threading.local()


class Requested(NamedTuple):
    """
    What is known of one tool call that a model asks for, before anything runs.

    `missing` says why there is no such tool, and is None when there is one; it is counted. `faults` are the raw
    arguments that do not match the schema that the model was shown, counted as a structural rejection; the loop may
    answer the model with them, or run the tool all the same. `arguments` are the arguments as data.
    """

    name: str
    missing: Missing | None
    faults: tuple[Fault, ...]
    arguments: Any

    @property
    def is_good(self) -> bool:
        """Whether the tool is there and the arguments match."""
        return self.missing is None and not self.faults


def read_schemas(declarations: Iterable[Any]) -> dict[str, Mapping[str, Any] | None]:
    """The JSON Schema of each declared tool, by name; None where it has none. Odd declarations are left out."""
    return {form.name: form.schema for form in read_forms(list(declarations)) if form.problem is None}


def read_arguments(arguments: object) -> tuple[Any, tuple[Fault, ...]]:
    """The arguments as data, from data or from JSON text, with the fault of text that is no JSON."""
    if not isinstance(arguments, (str, bytes, bytearray)):
        return arguments, ()
    try:
        return json.loads(arguments or "{}"), ()
    except (ValueError, RecursionError) as error:
        return None, (Fault("", f"is no JSON: {clean(error)}", "a JSON object"),)


def read_object(arguments: str) -> Mapping[str, Any] | None:
    """The arguments in JSON text; None where it holds no object."""
    data, _ = read_arguments(arguments)
    return data if isinstance(data, dict) else None


def find_faults(arguments: Any, schema: Mapping[str, Any] | None) -> tuple[Fault, ...]:
    """
    The places where raw *arguments* do not match *schema*; empty without a schema.

    Nothing is coerced: "10" is no integer. Values are left out of the faults. A schema may be a foreign server's: what
    it refers to elsewhere is never fetched, and a pattern over which a model's text could take forever is not asked.
    Raises MissingExtraError without jsonschema.
    """
    if schema is None:
        return ()
    try:
        from jsonschema import validators
        from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]
    except ModuleNotFoundError:
        purpose = "checking raw arguments against their schema"
        raise MissingExtraError("jsonschema", extra="schema", purpose=purpose) from None
    draft: Any = validators.validator_for(schema, default=validators.Draft202012Validator)
    _followed.left = _REFERENCES
    checker = _bounded(draft)(schema, registry=REGISTRY)  # without one, jsonschema asks the network
    found = [fault for error in islice(checker.iter_errors(arguments), MAX_FAULTS) for fault in _faults(error)]
    return tuple(dict.fromkeys(found))[:MAX_FAULTS]


@cache
def _bounded(draft: Any) -> Any:
    """The validator *draft*, whose time no schema and no arguments can make boundless."""
    from jsonschema import validators

    asks = draft.VALIDATORS

    def pattern(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        return asks["pattern"](validator, value, instance, schema) if _is_quick((value,), (instance,)) else ()

    def unique(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        is_short = not isinstance(instance, list) or len(instance) <= _COMPARED
        return asks["uniqueItems"](validator, value, instance, schema) if is_short else ()

    def by_pattern(keyword: str) -> Any:
        def ask(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
            is_quick = _is_quick(schema.get("patternProperties", ()), instance)
            return asks[keyword](validator, value, instance, schema) if is_quick else ()

        return ask

    def followed(keyword: str) -> Any:
        def ask(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
            _followed.left -= 1  # each may lead to two others, and each of them to two more
            return asks[keyword](validator, value, instance, schema) if _followed.left >= 0 else ()

        return ask

    bounded = {"pattern": pattern, "uniqueItems": unique, "unevaluatedProperties": lambda *_: ()}  # patterns again
    bounded |= {keyword: followed(keyword) for keyword in ("$ref", "$dynamicRef", "$recursiveRef")}
    bounded |= {keyword: by_pattern(keyword) for keyword in ("patternProperties", "additionalProperties")}
    extend: Any = validators.extend
    return extend(draft, {keyword: ask for keyword, ask in bounded.items() if keyword in asks})


def _is_quick(patterns: Iterable[Any], texts: Any) -> bool:
    """Whether searching *texts* takes little time: only what is repeated as a group can take exponential time."""
    known = [pattern for pattern in patterns if isinstance(pattern, str)]
    if not known:
        return True
    searched = (text for text in texts if isinstance(text, str)) if isinstance(texts, (tuple, Mapping)) else ()
    return not any(_REPEATED_GROUP.search(each) for each in known) and all(len(text) <= _SEARCHED for text in searched)


def _faults(error: Any) -> list[Fault]:
    """One of jsonschema's errors as faults, named by the argument that is wrong."""
    path = ".".join(str(part) for part in error.absolute_path)
    inside = f"{path}." if path else ""
    if error.validator == "required":
        return [
            Fault(clean(f"{inside}{name}"), "missing") for name in error.validator_value if name not in error.instance
        ]
    if error.validator == "additionalProperties" and isinstance(error.instance, Mapping):
        known = error.schema.get("properties", {})
        return [Fault(clean(f"{inside}{name}"), "unexpected") for name in error.instance if name not in known]
    expected = None if isinstance(error.validator_value, Mapping) else f"{error.validator} {error.validator_value}"
    return [Fault(clean(path), f"does not match {error.validator}", None if expected is None else clean(expected))]
