"""Which arguments do not fit a signature: what Python's own TypeError says in prose, as data."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from tooltel.outcome import Fault
from tooltel.text import clean


def find_misfits(signature: inspect.Signature | None, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Fault]:
    """The arguments that do not fit *signature*; empty when they do, or when there is no signature to ask."""
    if signature is None:
        return []
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return _faults(signature, args, kwargs)
    return []


def _faults(signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Fault]:
    parameters = signature.parameters
    try:
        given = {*signature.bind_partial(*args).arguments, *kwargs}
    except TypeError:
        return [Fault("", f"{len(args)} positional arguments do not fit", f"at most {len(parameters)}")]
    missing = [
        Fault(name, "missing", "a value")
        for name, parameter in parameters.items()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        and name not in given
    ]
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    unexpected = [Fault(clean(name), "unexpected") for name in kwargs if not takes_any and name not in parameters]
    return missing + unexpected or [Fault("", "does not fit the signature")]
