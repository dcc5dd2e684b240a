"""Which arguments do not fit a signature: what Python's own TypeError says in prose, as data."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from inspect import Parameter
from traceback import walk_tb
from typing import Any, Final

from tooltel.outcome import Fault
from tooltel.text import clean

_BY_POSITION: Final = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_MANY: Final = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
_LAYERS: Final = 100  # decorators on one tool; a stub that answers to every name has no innermost


def find_misfits(signature: inspect.Signature | None, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Fault]:
    """The arguments that do not fit *signature*; empty when they do, or when there is no signature to ask."""
    if signature is None:
        return []
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return list(_faults(signature, args, kwargs)) or [Fault("", "does not fit the signature")]
    return []


def was_raised_by_calling(fn: Callable[..., Any] | None, error: TypeError) -> bool:
    """
    Whether *error*, caught where *fn* was called, came from the act of calling it and not from its body.

    Decorators below ours only pass arguments on: then Python names the innermost function, which was never entered.
    """
    traceback = error.__traceback__
    if traceback is None or traceback.tb_next is None:
        return True
    innermost = _innermost(fn)
    code = getattr(innermost, "__code__", None)
    if code is None or not str(error).startswith(f"{innermost.__qualname__}()"):
        return False
    return all(frame.f_code is not code for frame, _ in walk_tb(traceback))


def _innermost(fn: Any) -> Any:
    for _ in range(_LAYERS):
        if isinstance(fn, functools.partial):
            fn = fn.func
        elif inspect.ismethod(fn):
            fn = fn.__func__
        elif hasattr(fn, "__wrapped__"):
            fn = fn.__wrapped__
        elif inspect.isroutine(fn):
            return fn
        else:
            fn = type(fn).__call__
    return None


def _faults(signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Iterator[Fault]:
    parameters = signature.parameters
    kinds = {parameter.kind for parameter in parameters.values()}
    by_position = [name for name, parameter in parameters.items() if parameter.kind in _BY_POSITION]
    if len(args) > len(by_position) and Parameter.VAR_POSITIONAL not in kinds:
        yield Fault("", f"{len(args)} positional arguments", f"at most {len(by_position)}")
    placed = frozenset(by_position[: len(args)])
    takes_any = Parameter.VAR_KEYWORD in kinds
    for name, parameter in parameters.items():
        by_name = name in kwargs and parameter.kind not in _MANY
        only_placed = parameter.kind is Parameter.POSITIONAL_ONLY
        if by_name and only_placed and not takes_any:
            yield Fault(name, "given by name", "by position only")
        elif by_name and name in placed and not only_placed:
            yield Fault(name, "given twice", "once")
        elif _is_required(parameter) and name not in placed and (only_placed or not by_name):
            yield Fault(name, "missing", "a value")
    if not takes_any:
        known = {name for name, parameter in parameters.items() if parameter.kind not in _MANY}
        yield from (Fault(clean(name), "unexpected") for name in kwargs if name not in known)


def _is_required(parameter: Parameter) -> bool:
    return parameter.default is parameter.empty and parameter.kind not in _MANY
